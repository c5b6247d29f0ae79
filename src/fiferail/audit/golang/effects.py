"""What a function does besides writing a status.

Called by `purpose`, and by `frontend` for functions that a helper calls on the way. An effect is something set going, a call that is given
a context, or a method of something that was there before and may fail, unless it looks something up, keeps something in memory, or is a
function of the project that does no more than that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.must_write import ERROR, calls_itself
from fiferail.audit.golang.raw import CONTEXT
from fiferail.audit.golang.trees import flat, parts, render

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fiferail.audit.golang.project import Func

    Answers = Callable[[Func, list[Any]], bool]

_LOOKS = re.compile(
    r"(?i)^(?:get|list|find|fetch|lookup|load|read|is|has|can|should|need|from|into|new|with|log|v|info|error|debug|inject|wrap|done|err|value|"
    r"build|make|compute|calculate|determine|collect|count|parse|convert|deepcopy|to|retry|sleep|wait|store|cache|remember|enqueue|requeue|"
    r"notify|emit|alert|publish|observe|record|track|measure|describe|query|start\w*span)|event|metric"
)

_CLIENT = re.compile(r"(?i)(?:client|clientset|kube|config)\w*(?:\(\))?$")
_MEASURES = {"metric", "metrics", "monitoring", "telemetry", "trace", "tracing", "otel", "apm", "opentracing", "log", "logger", "klog"}
_COMPUTES = re.compile(
    r"^(?:|fmt|errors|strings|bytes|json|yaml|sort|slices|maps|reflect|time|strconv|regexp|cmp|math|url|path|filepath|template|hex|base64|"
    r"semver|meta|apimeta|metav1|equality|apiequality|labels|fields|resource|runtime|schema|unstructured|intstr|ptr|pointer|client|cache|"
    r"conditions|controllerutil|apierrors|kerrors|k8serrors|errutil|jsonpatch|strategicpatch|ctrl|reconcile|log|logf|klog|logr)$"
)
# What is kept in memory: `cc.cache.Update(job)`.
_KEEPS = re.compile(r"(?i)(?:^|\.)\w*(?:cache|queue|lister|informer|expectations|tracker|backoff)\w*(?:\(\))?\.\w+$")
_DOES = re.compile(
    r"(?i)^(?:try|do|maybe|must|batch|bulk|force|safe)?"
    r"(?:reconcile|sync|ensure|create|delete|remove|apply|upsert|update|patch|run|start|stop|exec|process|handle|provision|scale|evict|install|"
    r"upgrade|send|invoke|trigger|allocate|register|rotate|schedule|generate|sign|issue|perform|manage)"
    r"(?!\w*(?:InProgress|Ready|Exists|Needed|Required)$)"
)


class Effects:
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
                if part[0] != "c" or id(part) in self.sites or calls_itself(self.func, part):
                    continue
                if part is expr and any(CONTEXT.search(name) for name in assigned):
                    # `span, ctx := tracer.Start(ctx, "status")`
                    continue
                own = may_fail and part is expr and self._on_given(part, len(assigned) > 1)
                if (own or (part[2] and CONTEXT.search(render(part[2][0])) is not None)) and not self._looks(part):
                    return True
        return False

    def _on_given(self, call: list[Any], answers: bool) -> bool:
        """A method of something that was there before. `text, err := made.Summary()` computes; what answers nothing but an error, or is
        named so, does something."""
        if call[1][0] != "." or _root(call) in self.imported:
            return False
        return not answers or (_root(call) not in self.made and _DOES.search(_called(call)) is not None)

    def outside(self, one: list[Any]) -> bool:
        """Whether a call into a package that is not the project's may fail: `exec.Command("mount").Run()`."""
        failing = one[0] == "r" or (one[0] == "=" and bool(one[1]) and ERROR.search(render(one[1][-1])) is not None)
        return failing and any(
            expr[0] == "c"
            and expr[1][0] == "."
            and _root(expr) in self.imported
            and not _COMPUTES.match(_root(expr))
            and not _LOOKS.search(_called(expr))
            and not self.answers(self.func, expr)
            for expr in _expressions(one)
        )

    def _looks(self, call: list[Any]) -> bool:
        name = _called(call)
        if _root(call) in _MEASURES or _LOOKS.search(name) or _KEEPS.search(render(call[1])) or _hands_on(call, self.sites):
            return True
        return any(_is_status(argument) for argument in call[2]) or self.answers(self.func, call)


def _is_status(argument: list[Any]) -> bool:
    """A part of a status that is changed in memory: `conditions.Set(&gadget.Status.Conditions, ready)`."""
    while argument and argument[0] in ("&", "*"):
        argument = argument[1]
    return bool(argument) and argument[0] == "." and ".Status." in render(argument) + "."


def acts(func: Func, answers: Answers) -> bool:
    """Whether a function does anything but compute, look up and change what it is given. What a package of others does, if it may fail,
    is anybody's guess, but for those that are known to compute."""
    effects = Effects(func, (), answers)
    return effects.any(func.body) or any(effects.outside(one) for one in flat(func.body))


def does(name: str) -> bool:
    """Whether a name says that something is done."""
    return _DOES.search(name) is not None


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
