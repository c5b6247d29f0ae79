"""Text as Go's fmt prints it, because the server's messages are made that way and clients match on them."""

from __future__ import annotations

import math

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


def quoted(text: str) -> str:
    """`%q` of a string: strconv.Quote."""
    if text.isascii() and text.isprintable() and "\\" not in text and '"' not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == " " or (char.isprintable() and not char.isspace()):
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"  # half a pair cannot be in Go text: it became the replacement character on the way in
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """`%v` of a number: the shortest digits that read back, an exponent below 1e-4 and from 1e6 on."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    sign, digits, exponent = decimal(value)
    if not -4 <= exponent < 6:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + positional(digits, exponent)


def decimal(value: float) -> tuple[str, str, int]:
    """A finite float as sign, shortest digits that read back, and the power of ten of the first digit."""
    sign = "-" if math.copysign(1, value) < 0 else ""
    mantissa, _, power = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return sign, "0", 0
    leading_zeros = len(whole + fraction) - len(digits)
    return sign, digits.rstrip("0"), int(power or 0) + len(whole) - 1 - leading_zeros


def positional(digits: str, exponent: int) -> str:
    """Those digits written out without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def plain(value: object) -> str:
    """`%v` of a decoded JSON value."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return general(value)
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{plain(value[name])}" for name in sorted(value)) + "]"
    return str(value)


def pointed(value: object) -> str:
    """`%v` of a pointer to a struct that holds nothing but the value."""
    return "&{" + plain(value) + "}"


def syntax(value: object) -> str:
    """`%#v` of a decoded JSON value."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{quoted(name)}:{syntax(value[name])}" for name in sorted(value)) + "}"
    return plain(value)


def type_name(value: object) -> str:
    """`%T` of a decoded JSON value."""
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: "map[string]interface {}"}
    return names.get(type(value), "<nil>")


def as_string(value: object) -> str:
    """`%s` of a decoded JSON scalar, with Go's complaint where it is no string."""
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({type_name(value)}={plain(value)})"


def general(value: float) -> str:
    """`%v` of a float64."""
    return number(float(value))
