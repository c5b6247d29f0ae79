"""Resource quantities: how the server reads `500m`, `1Gi` and `1e3`, and how it prints them back.

Mirrors `resource.Quantity` of apimachinery. The typed decoder prints every quantity it reads; validation compares their values;
defaulting rounds those of resource lists up to thousandths. Values are exact fractions, never floats.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ...errors import Unsupported
from ...objects import strconv

_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC = "unable to parse numeric part of quantity"
_SUFFIX = "unable to parse quantity's suffix"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_BY_EXPONENT = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}
_DIGITS = frozenset("0123456789")
_LARGEST = 2**63 - 1
#: The real server takes a minute for an exponent of ten digits.
_MOST_DIGITS = 1000


class QuantityError(ValueError):
    """The text is no quantity; the message is the server's."""


class Quantity:
    """A parsed quantity: its exact value, its style (decimal, exponent or binary), and its text where that is kept as written."""

    __slots__ = ("style", "text", "value")

    def __init__(self, value: Fraction, style: str, text: str = "") -> None:
        self.value = value
        self.style = style
        self.text = text

    def printed(self) -> str:
        """As the server prints it."""
        return self.text or _canonical(self.value, self.style)


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """The quantity, or QuantityError."""
    if not text:
        raise QuantityError(_FORMAT_WRONG)
    if text == "0":
        return Quantity(Fraction(0), "decimal", "0")
    negative, whole, fraction, suffix = _split(text)
    base, exponent, style = _interpret(suffix)
    digits = whole + fraction
    if len(digits) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise Unsupported(f"quantities of more than {_MOST_DIGITS} digits", "the real server reads them, and hangs on some")
    value = Fraction(int(digits or "0"), 10 ** len(fraction)) * (Fraction(base) ** exponent)
    if _kept_as_written(digits, whole, fraction, base, exponent):
        return Quantity(-value if negative else value, style, text)
    if value:
        value = Fraction(-((-value * 10**9) // 1), 10**9)  # nothing finer than a billionth; rounded away from zero
    if style == "binary":
        value = min(value, Fraction(_LARGEST))
        if 0 < value < 1:
            style = "decimal"
    return Quantity(-value if negative else value, style)


def canonical(text: str) -> str:
    """The text as the server prints it back after storing it: read, printed, read and printed again."""
    return parse(parse(text.strip()).printed()).printed()


def rounded_up(text: str) -> str:
    """As `canonical`, after rounding away from zero to thousandths: what defaulting does to resource lists."""
    quantity = parse(text)
    if (quantity.value * 1000).denominator == 1:
        return text
    magnitude = Fraction(-((-abs(quantity.value) * 1000) // 1), 1000)
    return parse(Quantity(magnitude if quantity.value > 0 else -magnitude, quantity.style).printed()).printed()


def _split(text: str) -> tuple[bool, str, str, str]:
    position, end = (1 if text[0] in "+-" else 0), len(text)
    start = position
    while position < end and text[position] == "0":
        position += 1
    if position == end:
        return text[0] == "-", "0", "", ""
    whole_start = position
    while position < end and text[position] in _DIGITS:
        position += 1
    whole = text[whole_start:position] or "0"
    if position == whole_start and start == position and text[position] != ".":
        whole = "0"
    fraction = ""
    if position < end and text[position] == ".":
        fraction_start = position = position + 1
        while position < end and text[position] in _DIGITS:
            position += 1
        fraction = text[fraction_start:position]
    if text[:position] in ("", "+", "-", ".", "+.", "-."):
        # No digit at all: the suffix is judged first, then the empty number.
        _interpret(_suffix(text, position))
        raise QuantityError(_NUMERIC)
    return text[0] == "-", whole, fraction, _suffix(text, position)


def _suffix(text: str, start: int) -> str:
    position, end = start, len(text)
    while position < end and text[position] in "eEinumkKMGTP":
        position += 1
    if position < end and text[position] in "+-":
        position += 1
    while position < end and text[position] in _DIGITS:
        position += 1
    if position < end:
        raise QuantityError(_FORMAT_WRONG)
    return text[start:]


def _interpret(suffix: str) -> tuple[int, int, str]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "binary"
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            return 10, strconv.parse_int(suffix[1:]), "exponent"
        except ValueError:
            raise QuantityError(_SUFFIX) from None
    raise QuantityError(_SUFFIX)


def _kept_as_written(digits: str, whole: str, fraction: str, base: int, exponent: int) -> bool:
    """Whether the server takes its fast path and finds the text canonical enough to keep it."""
    if base == 2:
        if fraction or 15 - len(whole) - int(exponent * 3 / 10) - 1 < 0:
            return False
        number = int(digits)
        return number << exponent <= _LARGEST and exponent % 10 == 0 and number & 0x07 != 0
    scale = exponent - len(fraction)
    if 18 - len(digits) < 0 or scale < -9:
        return False
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _canonical(value: Fraction, style: str) -> str:
    if value == 0:
        return "0"
    if style == "binary":
        if abs(value) >= 1024 and value.denominator == 1:
            number, exponent = int(value), 0
            while number % 1024 == 0 and exponent < 60:
                number, exponent = number // 1024, exponent + 10
            return f"{number}{_BINARY_BY_EXPONENT[exponent]}"
        style = "decimal"
    number, exponent = int(value * 10**9), -9
    while number % 10 == 0:
        number, exponent = number // 10, exponent + 1
    while exponent % 3:
        number, exponent = number * 10, exponent - 1
    if style == "decimal":
        return f"{number}{_DECIMAL_BY_EXPONENT.get(exponent, '')}"
    return f"{number}e{exponent}" if exponent else str(number)
