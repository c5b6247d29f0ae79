"""What a plain YAML scalar stands for: `resolve` of go.yaml.in/yaml/v2.

Called by `decode` for every scalar and by `write` to learn whether a text needs quotes. YAML 1.1 with exceptions: `y` and `n` are
booleans, numbers in base 60 are text, and a time stays the text that it is.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import math
import re

from .nodes import YamlError

_PREFIX = "tag:yaml.org,2002:"
STR, BOOL, INT, FLOAT, NULL, TIME = (_PREFIX + name for name in ("str", "bool", "int", "float", "null", "timestamp"))
BINARY, MERGE = _PREFIX + "binary", _PREFIX + "merge"
_RESOLVABLE = ("", STR, BOOL, INT, FLOAT, NULL, TIME)

_WORDS: dict[str, tuple[str, object]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **{sign + word: (FLOAT, math.inf) for word in (".inf", ".Inf", ".INF") for sign in ("", "+")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
    "<<": (MERGE, "<<"),
}
#: Only texts that begin with one of these can be anything but text. `<` is not among them: a merge key is told by its place.
_HINTS = frozenset("+-0123456789yYnNtTfFoO~.")
_NUMBER = frozenset("+-0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_POINT = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(?:(0[xX])([0-9a-fA-F]+)|(0[bB])([01]+)|(0[oO]?)([0-7]+)|([0-9]+))")
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))"
    r"|(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?))?"
)


def value_of(tag: str, text: str) -> object:
    """The value of a scalar that is plain or has a tag. Raises YamlError where the tag does not suit the text."""
    if not tag and text and text[0] not in _HINTS:
        return text
    found, value = resolve(tag, text)
    if found == BINARY:
        return _binary(text)
    return text if found == TIME else value


def resolve(tag: str, text: str) -> tuple[str, object]:
    """The tag and value of a scalar with this tag, or none."""
    if tag not in _RESOLVABLE:
        return tag, text
    found, value = (STR, text) if tag == STR else _looked_up(tag, text)
    if tag in ("", found, STR):
        return found, value
    if tag == FLOAT and found == INT and isinstance(value, int) and value < 2**63:
        return FLOAT, float(value)
    raise YamlError(f"yaml: cannot decode {_short(found)} `{text}` as a {_short(tag)}")


def _looked_up(tag: str, text: str) -> tuple[str, object]:
    if text and text[0] not in _HINTS:
        return STR, text
    known = _WORDS.get(text)
    if known is not None:
        return known
    if text[0] == ".":
        return _floating(text) if _POINT.fullmatch(text) else (STR, text)
    if text[0] in _NUMBER:
        if tag in ("", TIME) and is_time(text):
            return TIME, text
        return _number(text)
    return STR, text


def _number(text: str) -> tuple[str, object]:
    plain = text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match:
        value = _integer(match)
        if value is not None and -(2**63) <= value < (2**63 if match[1] else 2**64):
            return INT, value
    found = _floating(plain) if _FLOAT.fullmatch(plain) else None
    return found if found is not None and found[0] == FLOAT else (STR, text)


def _integer(match: re.Match[str]) -> int | None:
    """The number, when its digits are few enough to be one of 64 bits."""
    sign, _, hexadecimal, _, binary, _, octal, decimal = match.groups()
    if decimal is not None:
        digits, base = decimal, 10
    else:
        digits, base = next((text, base) for text, base in ((hexadecimal, 16), (binary, 2), (octal, 8)) if text is not None)
    digits = digits.lstrip("0") or "0"
    if len(digits) > 64:
        return None
    return int(sign + digits, base)


def _floating(text: str) -> tuple[str, object]:
    value = float(text)
    return (STR, text) if math.isinf(value) else (FLOAT, value)


def is_time(text: str) -> bool:
    """Whether the text is a time, so that it must be quoted to stay text for other readers."""
    match = _DATE.fullmatch(text) if text[4:5] == "-" else None
    if match is None:
        return False
    year, month, day, *clock = (int(part) for part in match.groups() if part is not None)
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 4, month)[1]):
        return False
    return not clock or (clock[0] < 24 and clock[1] < 60 and clock[2] < 60)


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True).decode("utf-8", "fiferail-gojson")
    except (binascii.Error, ValueError):
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_PREFIX) if tag.startswith(_PREFIX) else tag
