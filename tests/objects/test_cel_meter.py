"""What rules may cost while they run."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.errors import Unsupported
from fiferail.objects.schema import celcheck, celmeter
from fiferail.objects.schema.celmeter import METER, CostExceeded, Meter
from fiferail.objects.schema.celtypes import DYN

LONG = "x" * 5000


def run(rule: str, value: Any) -> tuple[Any, float]:
    """The value of an expression over `self`, and what it cost."""
    meter = Meter()
    return celcheck.compile_rule(rule, {"self": DYN, "oldSelf": DYN}).run({"self": value, "oldSelf": None, METER: meter}), meter.spent


@pytest.mark.parametrize(
    ("rule", "value", "cost"),
    [
        ("self.all(x, true)", [1, 2, 3], 9),
        ("self.exists(x, false)", [1, 2, 3], 12),
        ("self.exists_one(x, false)", [1, 2, 3], 0),
        ("self.map(x, x).size() == 3", [1, 2, 3], 36 + 3),
        ("5 in self", [1, 2, 3], 3),
        ("self == self", "x" * 100, 10),
        ("self + self == ''", "x" * 100, 20),
    ],
)
def test_charges(rule: str, value: Any, cost: float) -> None:
    """Loops are charged by the round, comparisons and searches by the size of what they go through."""
    assert run(rule, value)[1] == cost


@pytest.mark.parametrize(
    "rule",
    [
        "self.all(x, self.all(y, true))",
        "self.all(x, !self.exists(y, false))",
        "true || self.all(x, self.all(y, true)) && self.all(x, self.all(y, true))",
        "self.all(x, self == self)",
        "self.all(x, !('z' in self))",
    ],
)
def test_stopped(rule: str) -> None:
    """An evaluation that costs more than the limit is stopped, and no other operand makes up for it."""
    if rule.startswith("true"):
        assert run(rule, list(range(2000)))[0] is True
        return
    with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
        run(rule, list(range(2000)))


@pytest.mark.parametrize(
    ("rule", "value", "feature"),
    [
        ("self.exists_one(x, self.exists_one(y, false))", list(range(2000)), "CEL rules that go through more than 400000 rounds"),
        ("self.replace('x', self).replace('x', self) == ''", LONG, "texts of more than 10000000 characters in a CEL rule"),
    ],
)
def test_refused(rule: str, value: Any, feature: str) -> None:
    """Work that costs nothing on the server, and takes long, is refused."""
    with pytest.raises(Unsupported) as caught:
        run(rule, value)
    assert caught.value.feature == feature


def test_limits_are_those_of_the_server() -> None:
    """One rule may cost a million, all rules of an object ten million."""
    assert (celmeter.RULE_LIMIT, celmeter.OBJECT_LIMIT) == (1_000_000, 10_000_000)
