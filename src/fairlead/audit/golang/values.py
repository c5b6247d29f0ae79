"""What a variable holds: scopes, the types of expressions, and where a patch was built.

Called by `walk` while it follows a function, so a scope knows what was assigned so far, in source order. `typeof` answers what an
expression is; `patches` answers what a patch argument may be, through variables, fields, parameters, closures and functions that return
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairlead.audit.golang import known
from fairlead.audit.golang.types import Type, Types, element, same_type_method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.audit.golang.project import Func, GoFile

_DEPTH = 8


@dataclass(slots=True)
class Var:
    """A variable and what was assigned to it. `parameter` is its position, or -1."""

    name: str
    type: Type = None
    values: list[tuple[list[Any], int]] = field(default_factory=list)
    parameter: int = -1
    depth: int = 0
    ranged: bool = False
    filled: list[list[Any]] = field(default_factory=list)
    scope: Scope | None = None
    first: tuple[list[Any], int] | None = None
    kinds: list[list[Any]] = field(default_factory=list)
    given: list[list[Any]] = field(default_factory=list)
    origin: Scope | None = None

    def home(self, fallback: Scope) -> Scope:
        """Where its values are to be read: outside of its own scope where it hides what it was made from, `x := x.DeepCopy()`."""
        return self.origin or self.scope or fallback


class Scope:
    """Variables in sight. A closure's scope has the enclosing one as parent."""

    __slots__ = ("depth", "file", "func", "parent", "tparams", "variables")

    def __init__(self, func: Func, parent: Scope | None, tparams: dict[str, Type]) -> None:
        self.func = func
        self.file: GoFile = func.file
        self.parent = parent
        self.variables: dict[str, Var] = {}
        self.tparams = tparams
        self.depth: int = 0 if parent is None else parent.depth + 1

    def find(self, name: str) -> Var | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.variables.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def declare(self, name: str, kind: Type = None, parameter: int = -1) -> Var:
        made = Var(name, kind, parameter=parameter, depth=self.depth, scope=self)
        if name and name != "_":
            self.variables[name] = made
        return made


@dataclass(frozen=True, slots=True)
class Patch:
    """One thing a patch argument may be. `parameter` and `field` stand for what only callers or other functions know."""

    verb: str = ""
    base: str = ""
    force: bool = False
    source: str = ""
    parameter: int = -1
    field: str = ""
    line: int = 0
    same: bool = False
    subject: str = ""


class Values:
    """Types and values of expressions over one project."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.project = types.project
        self._fields: dict[str, list[tuple[list[Any], Func]]] | None = None
        self._returning: set[int] = set()

    # -- types ---------------------------------------------------------------------------------------------------

    def typeof(self, expr: list[Any], scope: Scope, depth: int = 0) -> Type:
        if depth > _DEPTH * 2 or not expr:
            return None
        match expr[0]:
            case "i":
                return self._identifier(expr[1], scope, depth)
            case ".":
                return self._selector(expr, scope, depth)
            case "c":
                found = self.results(expr, scope, depth + 1)
                return found[0] if found else None
            case "&" | "*" | "s" | "...":
                return self.typeof(expr[1], scope, depth + 1)
            case "L":
                return self.types.of_syntax(expr[1], scope.file, scope.tparams)
            case "[":
                return self._indexed(expr, scope, depth)
            case "a":
                return self.types.of_syntax(expr[2], scope.file, scope.tparams)
            case "F":
                func = expr[1]
                bound = scope.tparams
                return (
                    "f",
                    [self.types.of_syntax(p[1], scope.file, bound) for p in func[4]],
                    [self.types.of_syntax(p[1], scope.file, bound) for p in func[5]],
                )
            case "T":
                return self.types.of_syntax(expr[1], scope.file, scope.tparams)
            case '"':
                return ("b", "string")
            case "u":
                # What comes out of a channel; its type is kept as a list's.
                return element(self.types.underlying(self.typeof(expr[2], scope, depth + 1))) if expr[1] == "<-" else None
        return None

    def _identifier(self, name: str, scope: Scope, depth: int) -> Type:
        var = scope.find(name)
        if var is not None:
            if var.type is None and var.values:
                # The first value decides: an assignment, `x = x.DeepCopy()` too, does not change a variable's type.
                value, position = var.first or var.values[-1]
                var.type = self._assigned(value, position, var.home(scope), var.ranged, depth + 1)
            return var.type
        found = self.project.value(scope.file.package, name)
        if found is not None:
            return self._package_value(found, depth)
        func = self.project.function(scope.file.package, name)
        return None if func is None else self._function_type(func)

    def _assigned(self, value: list[Any], position: int, scope: Scope, ranged: bool, depth: int) -> Type:
        if ranged:
            kind = self.types.underlying(self.typeof(value, scope, depth))
            if kind is not None and kind[0] == "m":
                return kind[1] if position == 0 else kind[2]  # type: ignore[no-any-return]
            return None if position == 0 else element(kind)
        if value and value[0] == "c":
            found = self.results(value, scope, depth)
            return found[position] if position < len(found) else None
        return self.typeof(value, scope, depth) if position == 0 else None

    def _package_value(self, found: tuple[GoFile, list[Any], int], depth: int) -> Type:
        file, declaration, position = found
        if declaration[2] is not None:
            return self.types.of_syntax(declaration[2], file)
        if position < len(declaration[3]):
            from fairlead.audit.golang.project import Func

            holder = Func(file, ["", "", None, [], [], [], [], declaration[4], declaration[4]])
            return self.typeof(declaration[3][position], Scope(holder, None, {}), depth + 1)
        return None

    def _function_type(self, func: Func) -> Type:
        bound = self.types.type_parameters(func)
        return (
            "f",
            [self.types.of_syntax(p[1], func.file, bound) for p in func.ir[4]],
            [self.types.of_syntax(p[1], func.file, bound) for p in func.ir[5]],
        )

    def _selector(self, expr: list[Any], scope: Scope, depth: int) -> Type:
        path = self.imported(expr[1], scope)
        if path:
            found = self.project.value(path, expr[2])
            if found is not None:
                return self._package_value(found, depth)
            func = self.project.function(path, expr[2])
            return None if func is None else self._function_type(func)
        owner = self.typeof(expr[1], scope, depth + 1)
        member = self.types.member(owner, expr[2])
        if member is None:
            return None
        what, value = member
        if what == "field":
            return value  # type: ignore[no-any-return]
        if what == "method":
            return self._function_type(value)
        if what == "abstract":
            return ("f", value[0], value[1])
        return known.outside_field(value, expr[2])

    def _indexed(self, expr: list[Any], scope: Scope, depth: int) -> Type:
        base = self.types.underlying(self.typeof(expr[1], scope, depth + 1))
        return base if base is not None and base[0] == "f" else element(base)

    def imported(self, expr: list[Any], scope: Scope) -> str:
        """The import path when the expression is the name of an import that no variable hides."""
        if expr[0] != "i" or scope.find(expr[1]) is not None:
            return ""
        return self.project.imports(scope.file).get(expr[1], "")

    def results(self, call: list[Any], scope: Scope, depth: int = 0) -> list[Type]:
        """The result types of a call."""
        if depth > _DEPTH * 2:
            return []
        function = call[1]
        if function[0] == "T":
            return [self.types.of_syntax(function[1], scope.file, scope.tparams)]
        if function[0] == "i":
            plain = self._builtin(function[1], call, scope, depth)
            if plain is not None:
                return plain
        if function[0] == ".":
            chained = self._method_results(function, call, scope, depth)
            if chained is not None:
                return chained
        callee = self.callee(call, scope, depth)
        if callee is not None:
            given = self.bind(callee, call, scope, depth)
            return self.types.results_of(("method", callee), given)
        kind = self.types.underlying(self.typeof(function, scope, depth + 1))
        if kind is not None and kind[0] == "f":
            return list(kind[2])
        if function[0] in ("i", "."):
            conversion = self._conversion(function, scope)
            if conversion is not None:
                return [conversion]
        return []

    def _builtin(self, name: str, call: list[Any], scope: Scope, depth: int) -> list[Type] | None:
        arguments = call[2]
        if name == "new" and arguments:
            return [self._as_type(arguments[0], scope)]
        if name == "make" and arguments:
            return [self._as_type(arguments[0], scope)]
        if name == "append" and arguments:
            return [self.typeof(arguments[0], scope, depth + 1)]
        return None

    def _as_type(self, expr: list[Any], scope: Scope) -> Type:
        if expr[0] == "i":
            return self.types.of_syntax(["n", "", expr[1], []], scope.file, scope.tparams)
        if expr[0] == "." and expr[1][0] == "i":
            return self.types.of_syntax(["n", expr[1][1], expr[2], []], scope.file, scope.tparams)
        return self.typeof(expr, scope)

    def _conversion(self, function: list[Any], scope: Scope) -> Type:
        """T(x) where T is a named type."""
        if function[0] == "i" and scope.find(function[1]) is None:
            if self.project.type_declaration(scope.file.package, function[1]):
                return self._as_type(function, scope)
        elif function[0] == "." and self.imported(function[1], scope):
            path = self.imported(function[1], scope)
            if self.project.type_declaration(path, function[2]):
                return self._as_type(function, scope)
        return None

    def _method_results(self, function: list[Any], call: list[Any], scope: Scope, depth: int) -> list[Type] | None:
        path = self.imported(function[1], scope)
        if path:
            return known.function_results(path, function[2]) or self._handed_on(path, function[2], call, scope, depth)
        if same_type_method(function[2]):
            return [self.typeof(function[1], scope, depth + 1)]
        owner = self.typeof(function[1], scope, depth + 1)
        if owner is None:
            return None
        if (
            known.role(owner) in ("typed", "lister", "group")
            and function[2] in known.WRITES | {"Get", "List"}
            and not self.project.package_of(owner[1])
        ):
            return known.results(owner, function[2])
        member = self.types.member(owner, function[2])
        if member is None:
            return None
        if member[0] == "outside":
            return known.results(member[1], function[2])
        return self.types.results_of(member, self._received(member, owner))

    def _handed_on(self, path: str, name: str, call: list[Any], scope: Scope, depth: int) -> list[Type] | None:
        """Small functions of other modules whose result is their argument, an element of it, or a pointer to it."""
        how = known.HANDS_ON.get(name) if call[2] and self.project.package_of(path) is None else None
        if how is None:
            return None
        first = call[2][0]
        if how == "result":
            found = self.results(first, scope, depth + 1) if first[0] == "c" else []
            return found[:1] or None
        kind = self.typeof(first, scope, depth + 1)
        made = element(self.types.underlying(kind)) if how == "element" else ("s", element(kind)) if how == "values" else kind
        return [made] if made is not None else None

    def _received(self, member: tuple[str, Any], owner: Type) -> dict[str, Type]:
        """Type parameters of a generic receiver, as its own type gives them: `Store[*Gadget]`."""
        if member[0] != "method" or owner is None or owner[0] != "n" or not owner[3]:
            return {}
        shape = member[1].ir[2]
        while shape and shape[0] == "p":
            shape = shape[1]
        if not shape or shape[0] != "n" or shape[2] != owner[2]:
            return {}
        return {named[2]: given for named, given in zip(shape[3], owner[3], strict=False) if named[0] == "n"}

    def bind(self, callee: Func, call: list[Any], scope: Scope, depth: int = 0) -> dict[str, Type]:
        """Type parameters of a generic callee, from its type arguments or from its value arguments."""
        names = [name for name, _ in callee.ir[3]]
        if not names:
            return {}
        given: dict[str, Type] = {}
        for name, argument in zip(names, call[4], strict=False):
            given[name] = self.types.of_syntax(argument, scope.file, scope.tparams)
        function = call[1]
        if function[0] == "[" and function[2][0] in ("T", "i", "."):
            given[names[0]] = self._as_type(function[2], scope)
        for parameter, argument in zip(callee.ir[4], call[2], strict=False):
            shape = parameter[1]
            while shape and shape[0] == "p":
                shape = shape[1]
            if shape and shape[0] == "n" and not shape[1] and shape[2] in names and shape[2] not in given:
                given[shape[2]] = self.typeof(argument, scope, depth + 1)
        return given

    # -- callees -------------------------------------------------------------------------------------------------

    def callee(self, call: list[Any], scope: Scope, depth: int = 0) -> Func | None:
        """The project's function or method that a call runs, when that is one."""
        function = call[1]
        while function[0] in ("[",):
            function = function[1]
        if function[0] == "i":
            if scope.find(function[1]) is not None:
                return self._held(function[1], scope, depth)
            return self.project.function(scope.file.package, function[1])
        if function[0] == ".":
            path = self.imported(function[1], scope)
            if path:
                return self.project.function(path, function[2])
            owner = self.typeof(function[1], scope, depth + 1)
            member = self.types.member(owner, function[2])
            if member is not None and member[0] == "method":
                return member[1]  # type: ignore[no-any-return]
        return None

    def _held(self, name: str, scope: Scope, depth: int) -> Func | None:
        """A closure or a method value kept in a variable."""
        var = scope.find(name)
        if var is None or not var.values or depth > _DEPTH:
            return None
        value, position = var.values[-1]
        if position == 0 and value and value[0] == ".":
            return self.callee(["c", value, [], 0, [], 0, 0], var.home(scope), depth + 1)
        return None

    # -- patches -------------------------------------------------------------------------------------------------

    def patches(self, expr: list[Any], scope: Scope, depth: int = 0, position: int = 0) -> list[Patch]:
        """Everything a patch argument may be. `position` is the patch's place among the results of a call."""
        if depth > _DEPTH or not expr:
            return []
        match expr[0]:
            case "i":
                return self._held_patches(expr[1], scope, depth)
            case ".":
                return self._member_patches(expr, scope, depth)
            case "c":
                return self._made_patches(expr, scope, depth, position)
            case "&" | "*" | "a":
                return self.patches(expr[1], scope, depth + 1)
            case "L":
                return self._literal_patch(expr, scope)
        return []

    def _held_patches(self, name: str, scope: Scope, depth: int) -> list[Patch]:
        var = scope.find(name)
        if var is None:
            found = self.project.value(scope.file.package, name)
            return [] if found is None else self._package_patches(found, depth)
        out: list[Patch] = []
        for value, position in var.values:
            if position == 0 or (value and value[0] == "c"):
                out.extend(self.patches(value, var.home(scope), depth + 1, position))
        if not out and var.parameter >= 0:
            return [Patch(parameter=var.parameter)]
        return out

    def _package_patches(self, found: tuple[GoFile, list[Any], int], depth: int) -> list[Patch]:
        from fairlead.audit.golang.project import Func

        file, declaration, position = found
        if position >= len(declaration[3]):
            return []
        holder = Func(file, ["", "", None, [], [], [], [], declaration[4], declaration[4]])
        return self.patches(declaration[3][position], Scope(holder, None, {}), depth + 1)

    def _member_patches(self, expr: list[Any], scope: Scope, depth: int) -> list[Patch]:
        path = self.imported(expr[1], scope)
        if path:
            if known.is_client_package(path):
                if expr[2] == "Apply":
                    return [Patch("ssa", source="client.Apply", line=expr[3])]
                if expr[2] in ("Merge", "StrategicMerge"):
                    return [Patch("merge-patch", source="client." + expr[2], line=expr[3])]
            if path.endswith("apimachinery/pkg/types") and expr[2].endswith("PatchType"):
                return [Patch(self.verb_of_type(expr[2], ["?"], scope), source="types." + expr[2], line=expr[3])]
            found = self.project.value(path, expr[2])
            return [] if found is None else self._package_patches(found, depth)
        return [Patch(field=expr[2])]

    def field_patches(self, name: str, depth: int = 0) -> list[Patch]:
        """What is assigned to a struct field of that name, anywhere in the functions that were lowered."""
        if depth > 3:
            return []
        if self._fields is None:
            self._fields = _assigned_fields(self.project.lowered())
        out: list[Patch] = []
        for value, func in self._fields.get(name, ()):
            scope = self.quick_scope(func)
            for patch in self.patches(value, scope, depth + 1):
                if patch.field and patch.field != name:
                    out.extend(self.field_patches(patch.field, depth + 1))
                elif not patch.field:
                    out.append(patch)
        return out

    def quick_scope(self, func: Func) -> Scope:
        """A scope with the parameters of a function and every assignment in it, whatever the order."""
        scope = self.entry_scope(func)
        for statement in _flat(func.body):
            if statement[0] == "=" and len(statement[1]) == len(statement[2]):
                for left, right in zip(statement[1], statement[2], strict=True):
                    if left[0] == "i":
                        var = scope.find(left[1]) or scope.declare(left[1])
                        var.values.append((right, 0))
            elif statement[0] == "=" and len(statement[2]) == 1:
                for position, left in enumerate(statement[1]):
                    if left[0] == "i":
                        (scope.find(left[1]) or scope.declare(left[1])).values.append((statement[2][0], position))
        return scope

    def entry_scope(self, func: Func, parent: Scope | None = None) -> Scope:
        bound = self.types.type_parameters(func) if parent is None else parent.tparams
        scope = Scope(func, parent, bound)
        if func.ir[1]:
            scope.declare(func.ir[1], self.types.of_syntax(func.ir[2], func.file, bound))
        for position, (name, kind, _) in enumerate(func.ir[4]):
            scope.declare(name, self.types.of_syntax(kind, func.file, bound), position if parent is None else -1)
        for name, kind, _ in func.ir[5]:
            if name:
                scope.declare(name, self.types.of_syntax(kind, func.file, bound))
        return scope

    def _made_patches(self, call: list[Any], scope: Scope, depth: int, position: int = 0) -> list[Patch]:
        function = call[1]
        name = function[2] if function[0] == "." else function[1] if function[0] == "i" else ""
        path = self.imported(function[1], scope) if function[0] == "." else ""
        if path and known.is_client_package(path):
            return self._client_patch(name, call, scope)
        if name in ("MergeFrom", "MergeFromWithOptions", "RawPatch", "StrategicMergeFrom") and function[0] == "i" and self._dotted(scope):
            return self._client_patch(name, call, scope)
        callee = self.callee(call, scope)
        if callee is None:
            return []
        return self._returned_patches(callee, call, scope, depth, position)

    def _dotted(self, scope: Scope) -> bool:
        return any(alias == "." and known.is_client_package(path) for alias, path in self.project.imports(scope.file).items())

    def _client_patch(self, name: str, call: list[Any], scope: Scope) -> list[Patch]:
        place = f"{scope.file.path}:{call[3]}"
        arguments = call[2]
        if name in ("MergeFrom", "StrategicMergeFrom", "MergeFromWithOptions"):
            locked = any(self.mentions(argument, "MergeFromWithOptimisticLock", scope) for argument in arguments[1:])
            same, subject = self._base_object(arguments[0], scope) if arguments else (False, "")
            return [
                Patch(
                    "merge-patch-locked" if locked else "merge-patch",
                    place,
                    source="client." + name,
                    line=call[3],
                    same=same,
                    subject=subject,
                )
            ]
        if name in ("RawPatch", "ConstantPatch") and arguments:
            kind = render(arguments[0])
            data = arguments[1] if len(arguments) > 1 else ["?"]
            return [Patch(self.verb_of_type(kind, data, scope), place, source="client." + name, line=call[3])]
        return []

    def _base_object(self, expr: list[Any], scope: Scope) -> tuple[bool, str]:
        """Whether the base is the object itself and no copy of it, and the name of what was copied."""
        while expr and expr[0] in ("&", "*", "a"):
            expr = expr[1]
        if expr and expr[0] == "c" and expr[1][0] == "." and same_type_method(expr[1][2]):
            return False, render(expr[1][1])
        if expr and expr[0] == "i":
            var = scope.find(expr[1])
            if var is not None and var.values:
                value, position = var.values[-1]
                while value and value[0] in ("a", "&", "*"):
                    value = value[1]
                if value and value[0] == "c":
                    function = value[1]
                    if function[0] == "." and same_type_method(function[2]) and position == 0:
                        return False, render(function[1])
                    return True, expr[1]
                if value and value[0] == "L" and position == 0:
                    return True, expr[1]
        return True, render(expr)

    def verb_of_type(self, kind: str, data: list[Any], scope: Scope) -> str:
        if "JSONPatch" in kind:
            return "json-patch"
        if "Apply" in kind:
            return "ssa"
        versioned = any("resourceVersion" in text for text in self.strings(data, scope))
        return "merge-patch-locked" if versioned else "merge-patch"

    def _literal_patch(self, expr: list[Any], scope: Scope) -> list[Patch]:
        """A value of the project's own patch type: its `Type` method says what it is."""
        kind = self.types.of_syntax(expr[1], scope.file, scope.tparams)
        said = self.types.member(kind, "Type")
        if said is None or said[0] != "method":
            return []
        full = self.with_body(said[1])
        for statement in _flat(full.body):
            if statement[0] == "r" and statement[1] and "Type" in render(statement[1][0]):
                place = f"{scope.file.path}:{expr[3]}"
                verb = self.verb_of_type(render(statement[1][0]), expr, scope)
                return [Patch(verb, place, source="own patch type", line=expr[3])]
        return []

    def with_body(self, func: Func) -> Func:
        """The same function with its body lowered."""
        self.project.facts(func.file, True)
        return next((one for one in func.file.funcs if one.key == func.key), func)

    def _returned_patches(self, callee: Func, call: list[Any], scope: Scope, depth: int, position: int = 0) -> list[Patch]:
        """What a function of the project that returns a patch returns. Its parameters are looked up at this call."""
        if id(callee) in self._returning or depth > 4:
            return []
        self._returning.add(id(callee))
        try:
            full = self.with_body(callee)
            inner = self.quick_scope(full)
            out: list[Patch] = []
            for statement in _flat(full.body):
                if statement[0] == "r" and statement[1]:
                    for patch in self.patches(statement[1][min(position, len(statement[1]) - 1)], inner, depth + 1):
                        if patch.parameter >= 0 and patch.parameter < len(call[2]):
                            out.extend(self.patches(call[2][patch.parameter], scope, depth + 1))
                        else:
                            out.append(patch)
            return out
        finally:
            self._returning.discard(id(callee))

    # -- small questions -----------------------------------------------------------------------------------------

    def mentions(self, expr: list[Any], name: str, scope: Scope, depth: int = 0) -> bool:
        """Whether a name occurs in an expression, or in what its variables hold."""
        if depth > _DEPTH or not expr:
            return False
        for part in _parts(expr):
            if part[0] == "L" and _type_name(part[1]) == name:
                return True
            if part[0] == "." and part[2] == name:
                return True
            if part[0] == "i":
                if part[1] == name:
                    return True
                var = scope.find(part[1])
                if var is not None and any(
                    self.mentions(value, name, var.home(scope), depth + 1) for value, _ in var.values if value is not expr
                ):
                    return True
                if var is None and depth < 3:
                    found = self.project.value(scope.file.package, part[1])
                    if found is not None and found[2] < len(found[1][3]) and self.mentions(found[1][3][found[2]], name, scope, depth + 3):
                        return True
        return False

    def strings(self, expr: list[Any], scope: Scope, depth: int = 0) -> list[str]:
        """Every text that an expression, or what its variables hold, is made of."""
        if depth > 4 or not expr:
            return []
        out: list[str] = []
        for part in _parts(expr):
            if part[0] == '"':
                out.append(part[1])
            elif part[0] == "L":
                out.extend(key.strip('"') for key, _ in part[2] if key)
            elif part[0] == "." and part[2] in ("ResourceVersion", "GetResourceVersion"):
                out.append("resourceVersion")
            elif part[0] == "i":
                var = scope.find(part[1])
                if var is not None:
                    for value in [*(value for value, _ in var.values), *var.filled]:
                        if value is not expr:
                            out.extend(self.strings(value, var.home(scope), depth + 1))
                elif depth < 2:
                    found = self.project.value(scope.file.package, part[1])
                    if found is not None and found[2] < len(found[1][3]):
                        out.extend(self.strings(found[1][3][found[2]], scope, depth + 2))
            elif part[0] == "c":
                callee = self.callee(part, scope) if depth < 2 else None
                if callee is not None:
                    full = self.with_body(callee)
                    inner = self.entry_scope(full)
                    for statement in _flat(full.body):
                        for value in statement[2] if statement[0] == "=" else statement[1] if statement[0] == "r" else ():
                            out.extend(self.strings(value, inner, depth + 2))
        return out


def _type_name(kind: list[Any]) -> str:
    while kind and kind[0] in ("p", "["):
        kind = kind[1]
    return str(kind[2]) if kind and kind[0] == "n" else ""


render_type = _type_name


def render(expr: list[Any] | None) -> str:
    """The expression as a path: `r.scope.Cluster`, without & and *. Not Go text; a name to compare by."""
    if not expr:
        return ""
    match expr[0]:
        case "i":
            return str(expr[1])
        case ".":
            return f"{render(expr[1])}.{expr[2]}"
        case "&" | "*" | "s" | "...":
            return render(expr[1])
        case "a":
            return render(expr[1])
        case "[":
            return f"{render(expr[1])}[{render(expr[2])}]"
        case "c":
            return f"{render(expr[1])}({','.join(render(argument) for argument in expr[2])})"
        case '"':
            return f'"{expr[1]}"'
        case "n":
            return str(expr[1])
        case "L":
            return _type_name(expr[1]) + "{}"
        case "T":
            return _type_name(expr[1])
        case "b":
            return f"{render(expr[2])} {expr[1]} {render(expr[3])}"
        case "u":
            return f"{expr[1]}{render(expr[2])}"
    return "?"


def _parts(expr: list[Any]) -> Iterator[list[Any]]:
    """An expression and everything in it, closures left out."""
    stack = [expr]
    while stack:
        one = stack.pop()
        if not one:
            continue
        yield one
        match one[0]:
            case "." | "&" | "*" | "s" | "a" | "...":
                stack.append(one[1])
            case "c":
                stack.append(one[1])
                stack.extend(one[2])
            case "L":
                stack.extend(value for _, value in one[2])
            case "[":
                stack.extend((one[1], one[2]))
            case "b":
                stack.extend((one[2], one[3]))
            case "u":
                stack.append(one[2])


parts = _parts


def _flat(statements: list[Any]) -> Iterator[list[Any]]:
    """Every statement, nested ones too, closures left out."""
    for one in statements:
        if not one:
            continue
        yield one
        match one[0]:
            case "if":
                if one[1]:
                    yield from _flat([one[1]])
                yield from _flat(one[3])
                yield from _flat(one[4] or [])
            case "for":
                if one[1]:
                    yield from _flat([one[1]])
                yield from _flat(one[4])
            case "rng":
                yield from _flat(one[3])
            case "sw":
                if one[1]:
                    yield from _flat([one[1]])
                for case in one[3]:
                    yield from _flat(case[1])
            case "{":
                yield from _flat(one[1])


flat = _flat


def _assigned_fields(files: Iterator[GoFile]) -> dict[str, list[tuple[list[Any], Func]]]:
    out: dict[str, list[tuple[list[Any], Func]]] = {}
    for file in files:
        for func in file.funcs:
            for statement in _flat(func.body):
                _fields_of(statement, func, out)
    return out


def _fields_of(statement: list[Any], func: Func, out: dict[str, list[tuple[list[Any], Func]]]) -> None:
    expressions: list[list[Any]] = []
    if statement[0] == "=":
        for left, right in zip(statement[1], statement[2], strict=False):
            if left[0] == ".":
                out.setdefault(left[2], []).append((right, func))
        expressions = statement[2]
    elif statement[0] == "r":
        expressions = statement[1]
    elif statement[0] in ("e", "d", "g"):
        expressions = [statement[1]]
    elif statement[0] == "v":
        expressions = statement[3]
    for expression in expressions:
        for part in _parts(expression):
            if part[0] == "L":
                for key, value in part[2]:
                    if key:
                        out.setdefault(key, []).append((value, func))
