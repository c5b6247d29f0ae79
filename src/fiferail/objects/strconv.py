"""Whole numbers in text, read as Go's strconv reads them: 64 bits, and a bound on the work whatever the text's length.

Called wherever a number comes from outside as text. Python's `int` takes digits of any script, underscores and spaces, and raises on
more than 4,300 digits.
"""

from __future__ import annotations

import re

from . import gotext

_SIGNED = re.compile(r"([+-]?)([0-9]+)")
_UNSIGNED = re.compile(r"()([0-9]+)")
#: More digits than any number of 64 bits has.
_DIGITS = 20


def parse_int(text: str) -> int:
    """`strconv.ParseInt(text, 10, 64)`. Raises ValueError with Go's text."""
    return _parsed(text, _SIGNED, "ParseInt", range(-(2**63), 2**63))


def parse_uint(text: str) -> int:
    """`strconv.ParseUint(text, 10, 64)`. Raises ValueError with Go's text."""
    return _parsed(text, _UNSIGNED, "ParseUint", range(2**64))


def bounded(digits: str, most: int) -> int:
    """The number that ASCII digits make, or one more than `most` where it is larger."""
    significant = digits.lstrip("0")
    return min(int(significant or "0"), most + 1) if len(significant) <= len(str(most)) else most + 1


def _parsed(text: str, form: re.Pattern[str], function: str, known: range) -> int:
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(f"strconv.{function}: parsing {gotext.quoted(text)}: invalid syntax")
    digits = match[2].lstrip("0") or "0"
    number = int(match[1] + digits) if len(digits) <= _DIGITS else known.stop
    if number not in known:
        raise ValueError(f"strconv.{function}: parsing {gotext.quoted(text)}: value out of range")
    return number
