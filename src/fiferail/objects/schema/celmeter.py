"""What a rule costs while it runs, and where it is stopped: a rule may not keep the server busy for everybody else.

`cel` gives every evaluation a `Meter`; comprehensions and functions whose work grows with their arguments charge it. The limits are
the server's. The charges are those parts of cel-go's costs that can grow: loops, comparisons and searches. The cost of single steps
is left out, so a rule may run here that the server stops; one that is stopped here is stopped there.
"""

from __future__ import annotations

from typing import Any, Final

from ...errors import Unsupported

#: For one evaluation of one rule, and for all rules of one object.
RULE_LIMIT: Final = 1_000_000
OBJECT_LIMIT: Final = 10_000_000
#: Under this name a meter travels with the variables; no rule can name it.
METER: Final = "@meter"
#: What has a size that a call may have to go through.
SIZED: Final = frozenset({str, bytes, list, dict})
#: Rounds of loops in one evaluation; those of `exists_one` cost nothing on the server, which takes many seconds for a million.
_MOST_STEPS: Final = 400_000
#: Results larger than this are not made.
_LARGEST: Final = 10_000_000


class CostExceeded(Exception):
    """The evaluation was stopped. Unlike an error of the rule, no other operand can make up for it."""


class Meter:
    """The cost of one evaluation so far."""

    __slots__ = ("spent", "steps")

    def __init__(self) -> None:
        self.spent = 0.0
        self.steps = 0

    def charge(self, cost: float) -> None:
        """Adds to the cost; stops the evaluation when that is too much."""
        self.spent += cost
        if self.spent > RULE_LIMIT:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


def charge(variables: dict[str, Any], cost: float) -> None:
    """Charges the meter that travels with the variables, if one does."""
    meter = variables.get(METER)
    if meter is not None:
        meter.charge(cost)


def step(variables: dict[str, Any], cost: int) -> None:
    """Charges one round of a loop."""
    meter = variables.get(METER)
    if meter is not None:
        meter.steps += 1
        if meter.steps > _MOST_STEPS:
            raise Unsupported(f"CEL rules that go through more than {_MOST_STEPS} rounds", "the real server takes some of them")
        meter.charge(cost)


def weight(name: str, values: list[Any]) -> float:
    """What a call costs for the size of its arguments."""
    sizes = [_size(value) for value in values]
    if name in ("_==_", "_!=_"):
        return min(sizes)
    if name == "contains":
        return sizes[0] * sizes[1]
    if name == "@in":
        return sizes[1] if isinstance(values[1], list) else 1
    if name.startswith("sets."):
        return sizes[0] * sizes[1]
    if name == "replace" and _replaced_size(*values[:3]) > _LARGEST:
        raise Unsupported(f"texts of more than {_LARGEST} characters in a CEL rule")
    if name == "_+_" and isinstance(values[0], list) and sum(sizes) > _LARGEST / 10:
        raise Unsupported(f"lists of more than {_LARGEST // 10} entries in a CEL rule")
    return sum(sizes)


def _size(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        return len(value) * 0.1
    return len(value) if isinstance(value, (list, dict)) else 0


def _replaced_size(text: Any, old: Any, new: Any) -> int:
    if not (isinstance(text, str) and isinstance(old, str) and isinstance(new, str)):
        return 0
    return len(text) + text.count(old) * len(new)
