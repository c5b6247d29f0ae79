"""Following one function: statement by statement, what it assigns, changes, compares, reads and writes, in source order.

Called by `frontend` for each function that may write. It produces the events that rules read and hands every call to a callback that
decides whether the call writes. It follows closures where they stand, and knows whether a call runs in a loop, a retry, a defer or under
a check.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.handling import asks_again, speaks_of_failure
from fiferail.audit.golang.periods import is_ticker, runs_again
from fiferail.audit.golang.scopes import Scope
from fiferail.audit.golang.trees import mentions, parts, render, type_name
from fiferail.audit.golang.uses import Uses
from fiferail.audit.model import Event, Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.values import Values

    OnCall = Callable[["Walk", list[Any], Scope], Site | None]

_META_SETTERS = {
    "AddFinalizer": "Finalizers",
    "RemoveFinalizer": "Finalizers",
    "SetFinalizers": "Finalizers",
    "SetLabels": "Labels",
    "SetAnnotations": "Annotations",
    "SetOwnerReferences": "OwnerReferences",
    "SetControllerReference": "OwnerReferences",
    "SetOwnerReference": "OwnerReferences",
}
_CONDITION_WORDS = (
    "SetStatusCondition",
    "RemoveStatusCondition",
    "SetCondition",
    "MarkTrue",
    "MarkFalse",
    "MarkUnknown",
    "SetSummary",
    "MarkReconciling",
    "MarkStalled",
    "SetAggregate",
    "SetMirror",
)
_COMPARE = (
    "DeepEqual",
    "DeepDerivative",
    "Equal",
    "Equals",
    "EqualValues",
    "Changed",
    "changed",
    "NeedsUpdate",
    "HasChanges",
    "IsStatusConditionPresentAndEqual",
)
_FILLS = {"DeepCopyInto", "Unmarshal", "FromUnstructured"}
_AGAIN = ("Every", "Forever", "Tick")
# A list of these is sent as one text.
_TEXT = (("b", "byte"), ("b", "uint8"))
_META_FIELDS = {"Labels", "Annotations", "Finalizers", "OwnerReferences", "ObjectMeta"}


# What is given to these runs when something happens.
_REGISTERS = re.compile(r"^(?:On[A-Z]|Register|Watch|New|With|Handle(?:Func)?$|(?:Add|Set)\w*(?:Handler|Func))")


def follow(values: Values, func: Func, on_call: OnCall, around: Scope | None = None) -> Walk | None:
    """One pass over one function; none where the auditor cannot follow it. A function that breaks the auditor is noted and left out: the
    others are worth more than the traceback."""
    try:
        return Walk(values, func, on_call).run(around)
    except RecursionError:
        return None
    except Exception as error:
        said = f"{func.qualified} could not be followed ({type(error).__name__}); please report it"
        values.broken[f"{func.file.path}:{func.line}"] = said
        return None


class Walk:
    """One pass over one function."""

    def __init__(self, values: Values, func: Func, on_call: OnCall) -> None:
        self.values = values
        self.func = func
        self.on_call = on_call
        self.events: list[Event] = []
        self.found: dict[int, Site] = {}
        self.block: tuple[int, ...] = ()
        self.loops = 0
        self.retry = ""
        self.retry_calls: dict[str, tuple[int, int]] = {}
        self.deferred = False
        self.guards: list[str] = []
        self.returns_after_compare: list[tuple[int, ...]] = []
        self.uses = Uses(func.ir[5])
        self._next_block = 0
        self.scope: Scope | None = None
        self.map_loops = 0
        self.map_ordered: set[str] = set()
        self.periodic = False
        self.asked_again = False
        # Calls whose answer goes straight to another call.
        self.handed: set[int] = set()
        # Closures that write.
        self.closures: set[int] = set()

    def run(self, around: Scope | None = None) -> Walk:
        scope = self.values.entry_scope(self.func, around)
        self.scope = scope
        self.statements(self.func.body, scope)
        return self

    def event(self, what: str, line: int, subject: str = "", path: str = "", detail: str = "", site: Site | None = None) -> None:
        self.events.append(Event(what, line, subject, path, self.block, detail, site))

    # -- statements ----------------------------------------------------------------------------------------------

    def statements(self, body: list[Any], scope: Scope) -> None:
        for position, one in enumerate(body):
            self.uses.enter(one, body[position + 1 :])
            self.statement(one, scope)
            self.uses.leave()

    def inner(self, body: list[Any], scope: Scope, guard: str = "") -> None:
        before = self.block
        self._next_block += 1
        self.block = (*before, self._next_block)
        self.guards.append(guard)
        self.statements(body, Scope(self.func, scope, scope.tparams))
        self.guards.pop()
        self.block = before

    def statement(self, one: list[Any], scope: Scope) -> None:
        match one[0]:
            case "=":
                self._assign(one, scope)
            case "v":
                self._declare(one, scope)
            case "e":
                self.expression(one[1], scope)
            case "if":
                self._if(one, scope)
            case "for":
                self._for(one, scope)
            case "rng":
                self._range(one, scope)
            case "r":
                for value in one[1]:
                    self.expression(value, scope)
                again = "requeue " if any(asks_again(value) for value in one[1]) else ""
                named = "" if one[1] or not self.uses.results else f"bare {self.uses.results[-1][0]}"
                self.event("return", one[2], detail=again + (named or " ".join(render(value) for value in one[1])))
            case "d" | "g":
                self._later(one, scope)
            case "sw":
                self._switch(one, scope)
            case "{":
                self.inner(one[1], scope)
            case "ty":
                # A local type is known by its name from here on, as a type parameter is.
                made = {name: self.values.types.of_syntax(declared[1], scope.file, scope.tparams) for name, declared in one[1].items()}
                scope.tparams = {**scope.tparams, **made}

    def _assign(self, one: list[Any], scope: Scope) -> None:
        left, right, operator, line = one[1], one[2], one[3], one[4]
        for value in right:
            self.expression(value, scope)
        pairs = len(left) == len(right)
        for position, target in enumerate(left):
            value, index = (right[position], 0) if pairs else (right[0], position) if right else (["?"], 0)
            if target[0] == "i":
                self._set_variable(target[1], value, index, operator, scope, line)
            else:
                for part in parts(target):
                    if part[0] == "c":
                        self.expression(part, scope)
                self._mutation(target, value, scope, line, operator)

    def _set_variable(self, name: str, value: list[Any], index: int, operator: str, scope: Scope, line: int) -> None:
        if name == "_":
            return
        var = scope.variables.get(name) if operator == ":=" else scope.find(name)
        if var is None:
            hidden = scope.parent or scope.copy() if mentions(value, name) else None
            var = scope.declare(name)
            var.origin = hidden
        entry = (value, index)
        if operator == "=" and var.scope is not scope and value and value[0] == "c" and value[1][:2] == ["i", "append"]:
            # What is appended in a loop is known there.
            var.origin = scope
        if self.map_loops and value and value[0] == "c" and render(value[1]) == "append":
            self.map_ordered.add(name)
        if (var.scope is scope or var.scope is None) and (not var.values or not mentions(value, name)):
            var.values = [entry]
        else:
            var.values = [*var.values, entry]
        if operator == ":=":
            # In the same scope it is a new value for the old variable, whose type stays.
            var.first = var.first or entry
        kind = value[0] if value else "?"
        if kind == "c" and value[1][0] == "." and value[1][2] in ("DeepCopy", "DeepCopyObject"):
            self.event("copy", line, render(value[1][1]), name)
        elif kind == "a" and value[1][0] == "c" and value[1][1][0] == "." and value[1][1][2] in ("DeepCopy", "DeepCopyObject"):
            self.event("copy", line, render(value[1][1][1]), name)
        if operator == "=":
            self.event("assign", line, name, "", render(value))
        elif kind == "c":
            self.event("define", line, name, "", render(value[1]))

    def _declare(self, one: list[Any], scope: Scope) -> None:
        names, declared, values = one[1], one[2], one[3]
        for value in values:
            self.expression(value, scope)
        for position, name in enumerate(names):
            var = scope.declare(name, self.values.types.of_syntax(declared, scope.file, scope.tparams) if declared else None)
            if len(values) == len(names):
                var.values = [(values[position], 0)]
            elif values:
                var.values = [(values[0], position)]
            var.first = var.values[0] if var.values else None

    def _if(self, one: list[Any], scope: Scope) -> None:
        inside = Scope(self.func, scope, scope.tparams)
        if one[1]:
            self.uses.note(one[1], [["if", None, *one[2:]]])
            self.statement(one[1], inside)
        condition = render(one[2])
        self.expression(one[2], inside)
        compares = (
            any(word in condition for word in _COMPARE)
            or " != " in condition.replace(" != nil", "")
            or "modified" in condition
            or "updated" in condition.lower()
        )
        self.inner(one[3], inside, self._said(one[2], inside))
        if compares:
            self.event("compare", one[5], detail=condition)
            if one[3] and one[3][-1][0] in ("r", "br"):
                self.returns_after_compare.append(self.block)
        if one[4] is not None:
            self.inner(one[4], inside, f"!({condition})")

    def _said(self, condition: list[Any], scope: Scope) -> str:
        """A condition; one that is a variable, with what that was made of. A flag that is raised on the way says that something changed."""
        text = render(condition)
        name = condition[2] if condition[0] == "u" else condition
        var = scope.find(name[1]) if name[0] == "i" else None
        if var is None:
            return text
        made = [render(value) for value, _ in var.values]
        return " ".join([text, *made, *(["changed"] if "true" in made and len(made) > 1 else [])])

    def _for(self, one: list[Any], scope: Scope) -> None:
        inside = Scope(self.func, scope, scope.tparams)
        for part in (one[1], one[3]):
            if part:
                self.statement(part, inside)
        if one[2]:
            self.expression(one[2], inside)
        self.loops += 1
        with self.uses.round(endless=not one[2], counted=True):
            self.inner(one[4], inside)
        self.loops -= 1

    def _range(self, one: list[Any], scope: Scope) -> None:
        inside = Scope(self.func, scope, scope.tparams)
        self.expression(one[2], scope)
        for position, target in enumerate(one[1]):
            if target[0] == "i":
                var = inside.declare(target[1])
                var.values = [(one[2], position)]
                var.ranged, var.origin = True, scope
        over = self.values.types.underlying(self.values.typeof(one[2], scope)) if one[1] else None
        self.event("range", one[4], render(one[2]), detail="map" if over is not None and over[0] == "m" else "")
        over_map = over is not None and over[0] == "m"
        self.loops += 1
        self.map_loops += over_map
        periodic, self.periodic = self.periodic, self.periodic or is_ticker(render(one[2]))
        with self.uses.round():
            self.inner(one[3], inside)
        self.periodic = periodic
        self.map_loops -= over_map
        self.loops -= 1

    def _switch(self, one: list[Any], scope: Scope) -> None:
        inside = Scope(self.func, scope, scope.tparams)
        if one[1]:
            self.statement(one[1], inside)
        if one[2]:
            self.expression(one[2], inside)
        for values, body, types, _ in one[3]:
            for value in values:
                self.expression(value, inside)
            cased = Scope(self.func, inside, scope.tparams)
            if one[5]:
                var = cased.declare(one[5])
                var.values, var.origin = [(one[2], 0)], inside
                if len(types) == 1:
                    var.type = self.values.types.of_syntax(types[0], scope.file, scope.tparams)
            self.inner(body, cased, " ".join(render(value) for value in values))

    def _later(self, one: list[Any], scope: Scope) -> None:
        before = self.deferred
        self.deferred = self.deferred or one[0] == "d"
        self.expression(one[1], scope)
        self.deferred = before

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, expr: list[Any], scope: Scope) -> None:
        """Visits every call, innermost first, and every closure where it stands."""
        match expr[0]:
            case "c":
                self._call(expr, scope)
            case "F":
                self.closure(expr[1], scope)
            case "." | "&" | "*" | "s" | "a" | "...":
                self.expression(expr[1], scope)
            case "u":
                self.expression(expr[2], scope)
            case "L":
                for _, value in expr[2]:
                    self.expression(value, scope)
            case "[":
                self.expression(expr[1], scope)
                self.expression(expr[2], scope)
            case "b":
                self.expression(expr[2], scope)
                self.expression(expr[3], scope)

    def closure(self, func: list[Any], scope: Scope, beside: list[list[Any]] | None = None) -> None:
        """A closure where it stands. What stands beside it in a call is what its parameters may come from."""
        inside = Scope(self.func, scope, scope.tparams)
        for name, kind, _ in func[4]:
            var = inside.declare(name, self.values.types.of_syntax(kind, scope.file, scope.tparams))
            var.given = beside or []
        for name, kind, _ in func[5]:
            if name:
                inside.declare(name, self.values.types.of_syntax(kind, scope.file, scope.tparams))
        asked = self.asked_again
        self.asked_again = asked or [type_name(one[1]) for one in func[5]] == ["bool", "error"]
        # What is deferred answers with the results of the function that it ends.
        before = len(self.found)
        with self.uses.closure(func[5] or (self.uses.results if self.deferred else [])):
            self.inner(func[6], inside)
        if len(self.found) > before:
            self.closures.add(id(func))
        self.asked_again = asked

    def _call(self, call: list[Any], scope: Scope) -> None:
        function = call[1]
        text = render(function)
        before, loops, periodic = self.retry, self.loops, self.periodic
        self.periodic = periodic or "Until" in text or text.endswith(_AGAIN)
        if text.endswith(("RetryOnConflict", "OnError")) and any(argument[0] == "F" for argument in call[2]):
            self.retry = f"{call[3]}-{call[6]}"
        if not _REGISTERS.match(text.rsplit(".", 1)[-1]):
            self.handed.update(id(argument) for argument in call[2] if argument[0] == "c")
        self.expression(function, scope)
        for argument in call[2]:
            if argument[0] == "F":
                self.closure(argument[1], scope, [other for other in call[2] if other[0] != "F"])
            else:
                self.expression(argument, scope)
        self.retry, self.loops, self.periodic = before, loops, periodic
        self._effects(call, text, scope)
        site = self.on_call(self, call, scope)
        if site is not None:
            self._placed(site, call)

    def _placed(self, site: Site, call: list[Any]) -> None:
        site.loop = self.loops > 0
        site.in_retry = self.retry
        site.deferred = self.deferred
        site.error = site.error or self.uses.of(call)
        if site.error in ("logged", "swallowed") and (
            self.periodic or (str(site.target) == "status" and runs_again(self.func, self.values.project))
        ):
            site.error = "used"
        if site.error == "logged" and self.func.name == "main" and not self.func.receiver:
            # Who returns from main has ended the process.
            site.error = "used"
        if self.asked_again and site.error in ("swallowed", "conflict-swallowed"):
            # The next round writes again; `return false, nil` of a condition asks for one.
            site.error = "used"
        site.guarded = any(_is_check(guard) for guard in self.guards) or any(
            self.block[: len(chain)] == chain for chain in self.returns_after_compare
        )
        site.failing = any(speaks_of_failure(guard) for guard in self.guards)
        self.found[id(call)] = site
        self.event("write", call[3], site.subject, str(site.target), str(site.way), site)

    def _effects(self, call: list[Any], text: str, scope: Scope) -> None:
        """What calls do to objects, as far as their names tell."""
        name = text.rsplit(".", 1)[-1]
        arguments, line = call[2], call[3]
        if name in ("Get",) and len(arguments) >= 3 and call[1][0] == ".":
            self.event("get", line, self.path_of(arguments[2], scope))
            # Also into what a struct around the object unwraps: `c.Get(ctx, key, cluster.Unwrap())`.
            root = arguments[2]
            while root and root[0] in ("&", "*", ".", "c"):
                root = root[1]
            var = scope.find(root[1]) if root and root[0] == "i" else None
            if var is not None and (root is arguments[2] or var.parameter < 0):
                var.filled = [arguments[1]]
        elif name in _FILLS or name.startswith("Convert"):
            self._filled(call, name, scope)
        elif name in _META_SETTERS:
            subject = self.path_of(arguments[0], scope) if arguments and not name.startswith("Set") else ""
            if name.startswith("Set") and call[1][0] == ".":
                subject = self.path_of(call[1][1], scope)
                if name.endswith("Reference") and len(arguments) >= 2:
                    subject = self.path_of(arguments[1], scope)
                    self.event("owner", line, subject, detail=self.path_of(arguments[0], scope))
            self.event("mutate", line, subject, "ObjectMeta." + _META_SETTERS[name])
        elif any(word in name for word in _CONDITION_WORDS):
            for argument in arguments[:2]:
                self._condition_effect(argument, call, scope)
            if call[1][0] == "." and not self.values.imported(call[1][1], scope):
                self._condition_effect(call[1][1], call, scope)
        elif call[1][0] == ".":
            owner = self.path_of(call[1][1], scope)
            if owner.endswith(".StatusConditions()") and name.startswith(("Set", "Clear")):
                self.event("mutate", line, owner.removesuffix(".StatusConditions()"), "Status.Conditions", "condition")
            elif (
                ".Status" in owner
                and ".Status()" not in owner
                and not name.startswith(("Get", "Is", "DeepCopy", "Has", "String", "Find"))
                and name[:1].isupper()
            ):
                subject, path = _split(owner)
                self.event("mutate", line, subject, path, "call")
        if name in ("SetGroupVersionKind", "SetKind") and arguments and call[1][0] == "." and call[1][1][0] == "i":
            named = scope.find(call[1][1][1])
            if named is not None:
                named.kinds = [*named.kinds, arguments[0]]
        if name in ("SetUnstructuredContent", "SetName", "SetNamespace") and arguments and call[1][0] == "." and call[1][1][0] == "i":
            made = scope.find(call[1][1][1])
            if made is not None:
                made.filled = [*made.filled, arguments[0]]
        if name == "SetResourceVersion" and call[1][0] == "." and call[1][1][0] == "i":
            self._versioned(call[1][1][1], scope)
        if text.startswith(("annotations.", "labels.", "taints.")) and arguments:
            self.event(
                "mutate", line, self.path_of(arguments[0], scope), "Spec.Taints" if text.startswith("taints.") else "ObjectMeta.Annotations"
            )
        if "IsConflict" in name and arguments:
            self.event("isconflict", line, render(arguments[0]))
        if name.startswith(("Sort", "sort")) or text.startswith(("sort.", "slices.Sort")):
            self.event("sort", line, render(arguments[0]) if arguments else "")
        self._passed_on(call, text, scope)

    def _filled(self, call: list[Any], name: str, scope: Scope) -> None:
        """What is made from something else by a function that is given both."""
        copied = name == "DeepCopyInto" and call[1][0] == "."
        source, into = (call[1][1], call[2][:1]) if copied else (call[2][0] if call[2] else ["?"], call[2][1:2])
        root = into[0][1] if into and into[0][0] == "&" else into[0] if into else ["?"]
        var = scope.find(root[1]) if root[0] == "i" else None
        if var is not None:
            var.filled = [*var.filled, source]

    def _versioned(self, name: str, scope: Scope) -> None:
        var = scope.find(name)
        if var is not None:
            var.filled = [*var.filled, ['"', "resourceVersion"]]

    def _passed_on(self, call: list[Any], text: str, scope: Scope) -> None:
        if text.endswith(("DeepCopy", "MergeFrom", "MergeFromWithOptions", "append", "len")):
            return
        for argument in call[2]:
            if argument[0] == "i" or (argument[0] == "&" and argument[1][0] in ("i", ".")) or argument[0] == ".":
                self.event("passed", call[3], self.path_of(argument, scope), detail=text)

    def _condition_effect(self, argument: list[Any], call: list[Any], scope: Scope) -> None:
        path = self.path_of(argument, scope)
        if not path or path in ("ctx",):
            return
        subject, inner = _split(path)
        if argument[0] in ("i", "&", ".", "*", "c") and (inner or argument[0] in ("i", ".")):
            self.event("mutate", call[3], subject, inner or "Status.Conditions", "condition")

    def _mutation(self, target: list[Any], value: list[Any], scope: Scope, line: int, operator: str) -> None:
        path = self.path_of(target, scope)
        subject, inner = _split(path)
        if path.endswith(".ResourceVersion"):
            self._versioned(path.split(".")[0], scope)
        detail = []
        text = render(value)
        if value and value[0] == "c" and text.startswith("append("):
            detail.append("append" if _appends_itself(value, target) else "list")
        if "Now()" in text or "time.Now" in text or self._holds_now(value, scope):
            detail.append("now")
        if self._in_map_order(value):
            detail.append("maporder")
        if target[0] == "[":
            detail.append("index")
        if value and value[0] == "i" and value[1] == "nil":
            detail.append("nil")
        if inner and not detail and inner.startswith("Status."):
            kind = self.values.types.underlying(self.values.typeof(target, scope))
            if kind is not None and kind[0] == "s" and kind[1] not in _TEXT:
                detail.append("list")
        self.event("mutate", line, subject, inner, " ".join(detail) + ("|" + text if text else ""))

    def _in_map_order(self, value: list[Any]) -> bool:
        """A list that was filled while ranging over a map, and not sorted since."""
        name = value[1] if value and value[0] == "i" else ""
        if not name or name not in self.map_ordered:
            return bool(self.map_loops) and bool(value) and value[0] == "c" and render(value[1]) == "append"
        return not any(event.what == "sort" and event.subject == name for event in self.events)

    def _holds_now(self, value: list[Any], scope: Scope) -> bool:
        """A variable, or the address of one, that holds the current time."""
        while value and value[0] in ("&", "*"):
            value = value[1]
        if not value or value[0] != "i":
            return False
        var = scope.find(value[1])
        return var is not None and any(render(held).endswith(("metav1.Now()", "time.Now()")) for held, _ in var.values)

    def path_of(self, expr: list[Any], scope: Scope, depth: int = 0) -> str:
        """render, with a variable that points into another object replaced by what it points to."""
        text = render(expr)
        root = text.split(".", 1)[0].split("[", 1)[0]
        var = scope.find(root) if depth < 3 else None
        if var is not None and len(var.values) == 1 and not var.ranged:
            value, position = var.values[0]
            if position == 0 and value and value[0] == "&" and value[1][0] == ".":
                return self.path_of(value[1], var.home(scope), depth + 1) + text[len(root) :]
        return text


def _is_check(guard: str) -> bool:
    if not guard:
        return False
    return (
        any(word in guard for word in _COMPARE)
        or ".Status." in guard
        or "changed" in guard.lower()
        or "updated" in guard.lower()
        or "modified" in guard.lower()
        or " != " in guard.replace("!= nil", "").replace('!= ""', "")
    )


def _appends_itself(value: list[Any], target: list[Any]) -> bool:
    return bool(value[2]) and render(value[2][0]) == render(target)


def _split(path: str) -> tuple[str, str]:
    """`r.obj.Status.Phase` -> (`r.obj`, `Status.Phase`); the first part that names a part of an object divides."""
    pieces = path.split(".")
    for position, piece in enumerate(pieces):
        if position and piece.split("[")[0].split("(")[0] in (
            "Status",
            "Spec",
            "ObjectMeta",
            "Labels",
            "Annotations",
            "Finalizers",
            "OwnerReferences",
        ):
            return ".".join(pieces[:position]), ".".join(pieces[position:])
    return path, ""


split_path = _split
