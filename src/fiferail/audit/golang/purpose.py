"""Is writing a status what a function is for, whatever its name?

Called by `frontend` for functions that write the status of something they are given, or that their receiver holds. It is, when every call
that succeeds passes a status write (`must_write`), it has no other effect (`effects`), and it answers nothing but how that went. A function
that runs a reconcile or a step of one decides, and is never taken for a writer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.golang.effects import Effects
from fiferail.audit.golang.must_write import Paths
from fiferail.audit.golang.trees import type_name

if TYPE_CHECKING:
    from fiferail.audit.golang.effects import Answers
    from fiferail.audit.golang.project import Func
    from fiferail.audit.model import Site

_SHORT = 30
_STEP = re.compile(
    r"(?i)^(?!\w*(?:(?-i:Err)|fail(?!over)))"
    r"(?:(?:do|inner)?reconcile|sync|setup|main|execute$|run|\w*worker$|on(?:add|update|delete))"
)
_ASKS = re.compile(r"(?i)^(?!\w*(?:(?-i:Err)|fail(?!over)))(?:check|should|verify|validate|detect|wait)")
# Who closes a scope persists what was staged in it, whatever has to be done before.
_MARKS = re.compile(r"(?i)^(?:mark|flag|set(?!up)|fail|record|register|report|close$|handle\w*(?:err|fail))")
_OUTCOMES = {"error", "bool", "Result", "Duration", "Status"}


def is_step(name: str) -> bool:
    """A reconcile, or a step of one: it decides."""
    return _STEP.search(name) is not None and _MARKS.search(name) is None


def is_for_writing(func: Func, sites: dict[int, Site], answers: Answers) -> bool:
    """Whether the writes of a function, by the identity of their calls, are its purpose. `answers` knows calls that are made for what they
    return."""
    marks = _MARKS.search(func.name) is not None
    if is_step(func.name) or (_ASKS.search(func.name) and not marks) or not _of_status(sites):
        return False
    if not _answers_little(func, {site.kind for site in sites.values()}):
        return False
    if not marks and Effects(func, sites, answers).any(func.body):
        return False
    return Paths(func, sites, alone=True).always(func.body)


def _of_status(sites: dict[int, Site]) -> bool:
    """Nothing but statuses is written, though what is missing may be made first."""
    if any(site.target not in ("status", "create") for site in sites.values()):
        return False
    return all(site.failing for site in sites.values() if site.target == "create")


def _answers_little(func: Func, kinds: set[str]) -> bool:
    """Whether it wrote, what, how that went, when to come again: who asks for anything else does not call it for the write."""
    if makes_function(func):
        # It makes the function that writes.
        return True
    names = [type_name(result[1]) for result in func.ir[5]]
    given = {type_name(parameter[1]) for parameter in func.ir[4]} & {"Unstructured", "Object"}
    return all(name in _OUTCOMES or name in kinds or name in given or name.endswith(("Result", "Period")) for name in names)


def makes_function(func: Func) -> bool:
    """Whether it answers with a closure: what that does happens later."""
    return any(one[0] == "r" and one[1] and one[1][0][0] == "F" for one in func.body)


def has_few_statements(func: Func) -> bool:
    """Three at most, none of them a choice between many."""
    return len(func.body) <= 3 and not any(one and one[0] == "sw" for one in func.body)


def is_short(func: Func) -> bool:
    """Few statements, none of them a loop over everything or a page long: the write is what is there."""
    return (
        has_few_statements(func) and int(func.ir[8]) - func.line <= _SHORT and not any(one and one[0] in ("for", "g") for one in func.body)
    )
