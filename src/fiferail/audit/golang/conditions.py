"""What is known where a condition holds, or does not: `a && !b` true says that a is true and b is not.

Called by `flow`. Pure reading of expressions: a condition that is neither a name, a comparison nor a call says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fiferail.audit.golang.trees import mentions, parts, render

_ERROR = re.compile(r"^(?:err[A-Z]?\w*|\w*[eE]rr(?:or)?s?\d?|\w+\.(?:Err|Error)(?:\(\))?)$")
_EMPTY = ("IsZero", "IsEmpty", "Empty")
_NONE = ("nil", "0", '""')


@dataclass(frozen=True, slots=True)
class Literal:
    """One thing that is known: `text` is true, or is not. `name` is the variable it is about; `plain` where it is that variable's own
    truth and no comparison of it with nil; `call` the call that answered it."""

    text: str
    true: bool
    name: str = ""
    plain: bool = False
    call: int = 0

    @property
    def opposite(self) -> Literal:
        return Literal(self.text, not self.true, self.name, self.plain, self.call)

    @property
    def lasts(self) -> bool:
        """Whether it is still so at the next write: a write changes what is asked of a status, and errors are new each time."""
        return bool(self.text) and ".Status" not in self.text and not _ERROR.match(self.name) and not self.call


NOTHING = Literal("", True)


def implied(condition: list[Any], true: bool) -> list[Literal]:
    """What is known where a condition came out as said."""
    match condition[0]:
        case "u" if condition[1] == "!":
            return implied(condition[2], not true)
        case "b":
            operator, left, right = condition[1], condition[2], condition[3]
            if (operator == "&&" and true) or (operator == "||" and not true):
                return implied(left, true) + implied(right, true)
            if operator in ("==", "!="):
                return [_compared(left, right, (operator == "==") == true)]
            if operator == ">" and render(right) == "0":
                return [_compared(left, right, not true)]
            return []
        case "i" | ".":
            text = render(condition)
            return [Literal(text, true, _root(condition), True)]
        case "c":
            if condition[1][0] == "." and condition[1][2] in _EMPTY and not condition[2]:
                return [_some(condition[1][1], not true)]
            return [Literal(render(condition), true, "", True, id(condition))]
    return []


def _compared(left: list[Any], right: list[Any], equal: bool) -> Literal:
    against = render(right)
    if against in ("true", "false"):
        return Literal(render(left), equal == (against == "true"), _root(left), True)
    if against in _NONE and not _ERROR.match(render(left)):
        # What there is of it is what it answers: nil, none and nothing are its no.
        return Literal(f"{render(left)} == {against}", equal, _root(left)) if "(" in render(left) else _some(left, not equal, against)
    return Literal(f"{render(left)} == {against}", equal, _root(left))


def _some(left: list[Any], there: bool, against: str = "") -> Literal:
    return Literal(render(left) + (" != nil" if against == "nil" else ""), there, _root(left), True)


def _root(expr: list[Any]) -> str:
    while expr and expr[0] in (".", "&", "*", "["):
        expr = expr[1]
    return str(expr[1]) if expr and expr[0] == "i" else ""


def is_failure(fact: Literal) -> bool:
    """Whether it says that an error is there."""
    return (not fact.true and fact.text.endswith(" == nil") and bool(_ERROR.match(fact.text.removesuffix(" == nil")))) or (
        fact.true and bool(re.search(r"(?:\.|^)Is[A-Z]\w*\(\w*[eE]rr\w*[,)]", fact.text))
    )


def may_fail(condition: list[Any], name: str) -> bool:
    """Whether a condition speaks of the failure that a variable holds: `err != nil`, `IsConflict(err)`, `IgnoreNotFound(err) != nil`."""
    for part in parts(condition):
        if part[0] == "b" and part[1] == "!=" and render(part[3]) == "nil" and render(part[2]) == name:
            return True
        if (
            part[0] == "c"
            and render(part[1]).split(".")[-1].startswith(("Is", "As", "Ignore"))
            and any(mentions(one, name) for one in part[2])
        ):
            return True
    return False
