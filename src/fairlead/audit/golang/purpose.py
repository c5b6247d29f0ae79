"""Is writing a status what a function is for, whatever its name?

Called by `frontend` for functions that write the status of something they are given, or that their receiver holds. It is, when every call
that succeeds passes a status write (`must_write`), it has no other effect, and it answers nothing but how that went. A function that runs
a reconcile or a step of one decides, and is never taken for a writer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fairlead.audit.golang.must_write import ERROR, Paths
from fairlead.audit.golang.raw import CONTEXT
from fairlead.audit.golang.trees import flat, parts, render, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fairlead.audit.golang.project import Func
    from fairlead.audit.model import Site

    Answers = Callable[[Func, list[Any]], bool]

_SHORT = 30
_STEP = re.compile(
    r"(?i)^(?!\w*(?:(?-i:Err)|fail(?!over)))"
    r"(?:(?:do|inner)?reconcile|sync|setup|main|execute$|run|\w*worker$|on(?:add|update|delete))"
)
_ASKS = re.compile(r"(?i)^(?!\w*(?:(?-i:Err)|fail(?!over)))(?:check|should|verify|validate|detect|wait)")
# Who closes a scope persists what was staged in it, whatever has to be done before.
_MARKS = re.compile(r"(?i)^(?:mark|flag|set(?!up)|fail|record|register|report|close$|handle\w*(?:err|fail))")
_OUTCOMES = {"error", "bool", "Result", "Duration", "Status"}
_LOOKS = re.compile(
    r"(?i)^(?:get|list|find|fetch|lookup|load|read|is|has|can|should|need|from|into|new|with|log|v|info|error|debug|inject|wrap|done|err|value|"
    r"build|make|compute|calculate|determine|collect|count|parse|convert|deepcopy|to|retry|sleep|wait|store|cache|remember|enqueue|requeue|notify|emit|alert|publish|observe|record|track|measure)|event"
)

_CLIENT = re.compile(r"(?i)(?:client|clientset|kube|config)\w*(?:\(\))?$")
_MEASURES = {"metric", "metrics", "monitoring", "telemetry", "trace", "tracing", "otel", "log", "logger", "klog"}
_DOES = re.compile(
    r"(?i)reconcile|sync|ensure|create|delete|remove|apply|upsert|update|patch|run|start|stop|exec|process|handle|provision|scale|evict|install|"
    r"upgrade|send|invoke|trigger|allocate|register|rotate|schedule|generate|sign|issue|perform|manage"
)


def is_step(name: str) -> bool:
    """A reconcile, or a step of one: it decides."""
    return _STEP.search(name) is not None and _MARKS.search(name) is None


def is_for_writing(func: Func, sites: dict[int, Site], answers: Answers) -> bool:
    """Whether the writes of a function, by the identity of their calls, are its purpose. `answers` knows calls that are made for what they
    return."""
    marks = _MARKS.search(func.name) is not None
    if is_step(func.name) or (_ASKS.search(func.name) and not marks) or any(site.target != "status" for site in sites.values()):
        return False
    if not _answers_little(func, {site.kind for site in sites.values()}):
        return False
    if not marks and _Effects(func, sites, answers).any(func.body):
        return False
    return Paths(func, sites, alone=True).always(func.body)


def _answers_little(func: Func, kinds: set[str]) -> bool:
    """Whether it wrote, what, how that went, when to come again: who asks for anything else does not call it for the write."""
    if makes_function(func):
        # It makes the function that writes.
        return True
    names = [type_name(result[1]) for result in func.ir[5]]
    return all(name in _OUTCOMES or name in kinds or name.endswith(("Result", "Period")) for name in names)


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


class _Effects:
    """What a function does besides: it sets something going, or calls something that is given a context, or a method of what it is given
    that may fail, which neither writes the status nor looks something up."""

    def __init__(self, func: Func, sites: Collection[int], answers: Answers) -> None:
        self.func = func
        self.sites = sites
        self.answers = answers
        self.imported = {"", *(alias or path.rsplit("/", 1)[-1] for alias, path in (func.file.facts or {}).get("imports", ()))}
        self.made = {name for one in flat(func.body) for name in _made(one)}

    def any(self, body: list[Any]) -> bool:
        return any(one[0] == "g" or self._in(one) for one in flat(body))

    def _in(self, one: list[Any]) -> bool:
        assigned = [render(left) for left in one[1]] if one[0] == "=" else []
        may_fail = one[0] == "r" or (bool(assigned) and ERROR.search(assigned[-1]) is not None)
        for expr in _expressions(one):
            for part in parts(expr):
                if part[0] == "F" and self.any(part[1][6]):
                    return True
                if part[0] != "c" or id(part) in self.sites or (part is expr and assigned[:1] == ["ctx"]):
                    continue
                # `text, err := made.Summary()` computes; what answers nothing but an error does something.
                computed = self.made if len(assigned) > 1 else set()
                own = may_fail and part is expr and part[1][0] == "." and _root(part) not in self.imported | computed
                if (own or (part[2] and CONTEXT.search(render(part[2][0])) is not None)) and not self._looks(part):
                    return True
        return False

    def _looks(self, call: list[Any]) -> bool:
        name = _called(call)
        if _root(call) in _MEASURES or _LOOKS.search(name) or _hands_on(call, self.sites):
            return True
        return _DOES.search(name) is None and self.answers(self.func, call)


def _made(one: list[Any]) -> list[str]:
    """Variables that hold something new: `set := patches.New()`, `sum := tally{}`. What is done to it stays here."""
    if one[0] != "=" or one[3] != ":=" or len(one[1]) != len(one[2]):
        return []
    return [str(name[1]) for name, value in zip(one[1], one[2], strict=True) if name[0] == "i" and _is_new(value)]


def _is_new(value: list[Any]) -> bool:
    while value and value[0] in ("&", "*"):
        value = value[1]
    if not value or value[0] != "c":
        return bool(value) and value[0] == "L"
    name = _called(value)
    return name.startswith(("New", "new")) and not any(CONTEXT.search(render(given)) or _CLIENT.search(render(given)) for given in value[2])


def _hands_on(call: list[Any], sites: Collection[int]) -> bool:
    """A call that is given the write to run: a retry of the project's own."""
    return any(argument[0] == "F" and _holds(argument[1][6], sites) for argument in call[2])


def _holds(body: list[Any], sites: Collection[int]) -> bool:
    return any(id(part) in sites for one in flat(body) for expr in _expressions(one) for part in parts(expr))


def _called(call: list[Any]) -> str:
    return str(call[1][2] if call[1][0] == "." else call[1][1] if call[1][0] == "i" else "new")


def _root(expr: list[Any]) -> str:
    while expr and expr[0] in (".", "c", "[", "&", "*", "s"):
        expr = expr[1]
    return str(expr[1]) if expr and expr[0] == "i" else ""


def _expressions(one: list[Any]) -> list[list[Any]]:
    match one[0]:
        case "=":
            return [*one[1], *one[2]]
        case "v":
            return list(one[3])
        case "e" | "d" | "g":
            return [one[1]]
        case "r":
            return list(one[1])
        case "if" | "for":
            return [one[2]] if one[2] else []
        case "rng":
            return [one[2]]
        case "sw":
            return [*([one[2]] if one[2] else []), *(value for case in one[3] for value in case[0])]
    return []
