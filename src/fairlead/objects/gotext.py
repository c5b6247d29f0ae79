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
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """`%v` of a number: the shortest digits that read back, an exponent below 1e-4 and from 1e21 on."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    digits, _, exponent = f"{value!r}".partition("e")
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if value and (magnitude < -4 or magnitude >= 21):
        if not exponent:
            digits, _, exponent = f"{value:.17e}".partition("e")
            digits = _shortest_mantissa(value, int(exponent))
        sign = "-" if int(exponent) < 0 else "+"
        return f"{digits.removesuffix('.0')}e{sign}{abs(int(exponent)):02d}"
    if exponent:
        return f"{value:.0f}" if magnitude >= 0 else f"{value:.{-magnitude + 17}f}".rstrip("0")
    return digits.removesuffix(".0")


def _shortest_mantissa(value: float, exponent: int) -> str:
    for precision in range(17):
        mantissa = f"{value:.{precision}e}".partition("e")[0]
        if float(f"{mantissa}e{exponent}") == value:
            return mantissa
    return f"{value:.17e}".partition("e")[0]
