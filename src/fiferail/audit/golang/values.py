"""What an expression is: its type, the function it calls, the texts it is made of.

Called by `walk` while it follows a function, so a scope knows what was assigned so far, in source order. Where a patch was built is asked
of `patches`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.project import Func
from fiferail.audit.golang.scopes import Scope
from fiferail.audit.golang.trees import flat, parts, type_name
from fiferail.audit.golang.types import Type, Types, element, is_channel, same_type_method

if TYPE_CHECKING:
    from fiferail.audit.golang.project import GoFile

_DEPTH = 8


class Values:
    """Types and values of expressions over one project."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.project = types.project
        self.broken: dict[str, str] = {}

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
            return None if position == 0 and not is_channel(kind) else element(kind)
        if value and value[0] == "c":
            found = self.results(value, scope, depth)
            return found[position] if position < len(found) else None
        return self.typeof(value, scope, depth) if position == 0 else None

    def _package_value(self, found: tuple[GoFile, list[Any], int], depth: int) -> Type:
        file, declaration, position = found
        if declaration[2] is not None:
            return self.types.of_syntax(declaration[2], file)
        if position < len(declaration[3]):
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
        if function[0] == "*":
            # A conversion to a pointer: `(*batchv1.Job)(j)`.
            return [self._as_type(function[1], scope)]
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
        if call[4] and function[0] == ".":
            # What a generic function of another module makes of these types is called after it: `NewPatcher[*Gadget](client)`.
            made = tuple(self.types.of_syntax(argument, scope.file, scope.tparams) for argument in call[4])
            return [("n", self.imported(function[1], scope), function[2].removeprefix("New"), made)]
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
        if function[0] == "[":
            # One type argument reads as an index: `NewBox[*v1.Gadget](client)`.
            argument = function[2][1] if function[2][0] == "*" else function[2]
            if argument[0] in ("T", "i", "."):
                given[names[0]] = self._as_type(argument, scope)
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
            found = self.project.function(scope.file.package, function[1])
            dotted = self.project.imports(scope.file).get(".", "") if found is None else ""
            return self.project.function(dotted, function[1]) if dotted else found
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
        """A function or a method value kept in a variable."""
        var = scope.find(name)
        if var is None or not var.values or depth > _DEPTH:
            return None
        value, position = var.values[-1]
        if position == 0 and value and (value[0] == "." or (value[0] == "i" and value[1] != name)):
            return self.callee(["c", value, [], 0, [], 0, 0], var.home(scope), depth + 1)
        return None

    # -- scopes of whole functions ---------------------------------------------------------------------------------

    def quick_scope(self, func: Func) -> Scope:
        """A scope with the parameters of a function and every assignment in it, whatever the order."""
        scope = self.entry_scope(func)
        for statement in flat(func.body):
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
        """The receiver, the parameters and the named results; what a closure is in stands around it."""
        bound = self.types.type_parameters(func) if parent is None else parent.tparams
        scope = Scope(func, parent, bound)
        if func.ir[1]:
            scope.declare(func.ir[1], self.types.of_syntax(func.ir[2], func.file, bound))
        for position, (name, kind, _) in enumerate(func.ir[4]):
            scope.declare(name, self.types.of_syntax(kind, func.file, bound), position)
        for name, kind, _ in func.ir[5]:
            if name:
                scope.declare(name, self.types.of_syntax(kind, func.file, bound))
        return scope

    def with_body(self, func: Func) -> Func:
        """The same function with its body lowered."""
        self.project.facts(func.file, True)
        return next((one for one in func.file.funcs if one.key == func.key), func)

    # -- small questions -----------------------------------------------------------------------------------------

    def mentions(self, expr: list[Any], name: str, scope: Scope, depth: int = 0) -> bool:
        """Whether a name occurs in an expression, or in what its variables hold."""
        if depth > _DEPTH or not expr:
            return False
        for part in parts(expr):
            if part[0] == "L" and type_name(part[1]) == name:
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
        for part in parts(expr):
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
                    for statement in flat(full.body):
                        for value in statement[2] if statement[0] == "=" else statement[1] if statement[0] == "r" else ():
                            out.extend(self.strings(value, inner, depth + 2))
        return out
