"""Numbers in text."""

from __future__ import annotations

import pytest

from fiferail.apiserver.builtin import quantity
from fiferail.errors import Unsupported
from fiferail.objects import strconv

LONG = "9" * 5000


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("+5", 5), ("-5", -5), ("0" * 5000 + "7", 7), ("-9223372036854775808", -(2**63))])
def test_numbers(text: str, number: int) -> None:
    """A whole number of 64 bits is read, with as many zeros before it as there are."""
    assert strconv.parse_int(text) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "invalid syntax"), ("1_0", "invalid syntax"), ("٣", "invalid syntax"), ("²", "invalid syntax"), (" 1", "invalid syntax"),
     ("9223372036854775808", "value out of range"), (LONG, "value out of range"), ("-" + LONG, "value out of range")],
)  # fmt: skip
def test_refused_numbers(text: str, problem: str) -> None:
    """Anything else is refused with Go's words, whatever Python would make of it."""
    with pytest.raises(ValueError, match=problem) as caught:
        strconv.parse_int(text)
    assert str(caught.value) == f'strconv.ParseInt: parsing "{text}": {problem}'


def test_bounded_numbers() -> None:
    """A bounded number is the number, or one more than the bound."""
    assert [strconv.bounded(text, 100) for text in ("7", "100", "101", LONG, "000")] == [7, 100, 101, 101, 0]


@pytest.mark.parametrize("text", [LONG, "1e1001", "1e-1001", "1e2147483648", "0." + "1" * 5000])
def test_long_quantities(text: str) -> None:
    """A quantity of thousands of digits is refused; the real server hangs on some."""
    with pytest.raises(Unsupported) as caught:
        quantity.parse(text)
    assert caught.value.feature == "quantities of more than 1000 digits"


def test_exponents_of_quantities() -> None:
    """An exponent that is no number of 64 bits is a bad suffix."""
    with pytest.raises(quantity.QuantityError, match="unable to parse quantity's suffix"):
        quantity.parse("1e99999999999999999999")
