"""Requests made to keep the server busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api

LONG = "9" * 5000
SHOWN = f'"{LONG}": value out of range'
CANCELLED = "'operation cancelled: actual cost limit exceeded'"
EXCEEDED = f"{CANCELLED}: no further validation rules will be run due to call cost exceeds limit for rule: "


@pytest.mark.parametrize("parameter", ["limit", "timeoutSeconds"])
def test_long_numbers_in_lists(api: Api, parameter: str) -> None:
    """A number of 5,000 digits in the query of a list is 400."""
    api.list(**{parameter: LONG}).refused(400, "BadRequest", f"strconv.ParseInt: parsing {SHOWN}")


@pytest.mark.parametrize("text", ["", "1_000", "٣", " 5", "0x10", "1e3"])
def test_odd_numbers(api: Api, text: str) -> None:
    """A limit that Go does not read as a number is 400."""
    assert api.list(limit=text).refused(400, "BadRequest").message.endswith(": invalid syntax")


def test_leading_zeros(api: Api) -> None:
    """A number of 5,000 digits that are zeros but for the last is a number."""
    api.list(limit="0" * 5000 + "1").ok(200)


def test_long_grace_period(api: Api) -> None:
    """A grace period of 5,000 digits is 400."""
    api.made("g", spec={})
    api.delete("g", gracePeriodSeconds=LONG).refused(400, "BadRequest", f"strconv.ParseInt: parsing {SHOWN}")


def test_long_versions(api: Api) -> None:
    """A resourceVersion of 5,000 digits is refused wherever it is read, and ignored in a create."""
    stored = api.made("g", spec={})
    assert api.list(resourceVersion=LONG).refused(400, "BadRequest").message.endswith(f"strconv.ParseUint: parsing {SHOWN}")
    assert api.get("g", resourceVersion=LONG).ok(500).message.endswith(f"strconv.ParseUint: parsing {SHOWN}")
    changed = {**stored, "metadata": {**stored["metadata"], "resourceVersion": LONG}}
    assert api.put("g", changed).ok(500).message == f"strconv.ParseUint: parsing {SHOWN}"
    api.create(api.obj("h", {"resourceVersion": LONG}, spec={})).ok(201)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("!" * 20_000, "unable to parse requirement: found '!', expected: identifier"),
        ("," * 20_000, "found ',', expected: !, identifier, or 'end of string'"),
        ("a>9223372036854775808", None),
        ("(" * 20_000, "found '(', expected: !, identifier, or 'end of string'"),
    ],
    ids=["exclamation marks", "commas", "a number that is too large", "brackets"],
)
def test_long_selectors(api: Api, selector: str, message: str | None) -> None:
    """A label selector that is no selector is 400, however long it is."""
    api.list(labelSelector=selector).refused(400, "BadRequest", message)


def test_cost_of_rules(api: Api) -> None:
    """A rule with a loop inside a loop is run for a short list, and stopped for a long one together with those after it."""
    piles = api.of("piles", "Pile")
    piles.made("short", spec={"a": list(range(100))})
    reply = piles.create(piles.obj("long", spec={"a": list(range(1000))})).refused(422, "Invalid")
    rule = "dyn(self.a).all(x, dyn(self.a).all(y, x != y || true))"
    assert reply.causes == [("FieldValueInvalid", "spec", f'Invalid value: "object": {EXCEEDED}{rule}')]
