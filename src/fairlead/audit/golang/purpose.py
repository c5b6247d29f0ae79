"""Is writing a status what a function is for, whatever its name?

Called by `frontend` for functions that write the status of something they are given. `fail(ctx, gadget, err)` is for writing when it is
short, writes nothing else, answers nothing but how that went, and its normal path leads through the write: a condition around the write
may ask only about errors, nil and feature gates. A function that runs a reconcile or a step of one decides, and is never taken for one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fairlead.audit.golang.trees import parts, render, type_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from fairlead.audit.golang.project import Func
    from fairlead.audit.model import Site

_LONGEST = 60
_SHORT = 30
_OUTCOMES = {"error", "bool", "Result", "Duration"}
_STEP = re.compile(
    r"(?i)^(?:reconcile|sync|process|run|start|setup|handle(?!\w*(?:err|fail))|ensure|check|create|delete|provision|on(?:add|update|delete))"
)
_BESIDE_THE_POINT = re.compile(r"\berr\w*\b|\w*[eE]rr\b|\bnil\b|Enabled\(")


def is_for_writing(func: Func, sites: dict[int, Site]) -> bool:
    """Whether the writes of a function, by the identity of their calls, are its purpose."""
    if _STEP.search(func.name) or int(func.ir[8]) - func.line > _LONGEST:
        return False
    if any(site.target != "status" for site in sites.values()) or len({site.kind for site in sites.values()}) > 1:
        return False
    return _answers_little(func) and _passes(func.body, sites)


def is_short(func: Func) -> bool:
    """Three statements at most, none of them a loop over everything or a page long: the write is what is there."""
    return len(func.body) <= 3 and int(func.ir[8]) - func.line <= _SHORT and not any(one and one[0] in ("for", "g") for one in func.body)


def _answers_little(func: Func) -> bool:
    """Whether it wrote, how that went, when to come again: who asks for anything else does not call it for the write."""
    return all(type_name(result[1]) in _OUTCOMES for result in func.ir[5])


def _passes(body: list[Any], writes: Collection[int]) -> bool:
    """Whether the normal path through these statements leads through one of the writes."""
    return any(_holds(one, writes) for one in body)


def _holds(one: list[Any], writes: Collection[int]) -> bool:
    if not one:
        return False
    match one[0]:
        case "=":
            return any(_writes(value, writes) for value in one[2])
        case "v":
            return any(_writes(value, writes) for value in one[3])
        case "e":
            return _writes(one[1], writes)
        case "r":
            return any(_writes(value, writes) for value in one[1])
        case "{":
            return _passes(one[1], writes)
        case "if":
            if _holds(one[1], writes) or _writes(one[2], writes):
                return True
            return bool(_BESIDE_THE_POINT.search(render(one[2]))) and (_passes(one[3], writes) or _passes(one[4] or [], writes))
    return False


def _writes(expr: list[Any], writes: Collection[int]) -> bool:
    """In the expression itself, or in a closure that it hands to a call: a retry."""
    return any(id(part) in writes or (part[0] == "F" and _passes(part[1][6], writes)) for part in parts(expr))
