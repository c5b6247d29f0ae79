"""Where a patch was built and what it carries: followed from a patch argument back through variables, fields, functions and parameters.

Called by `writes` for every Patch call, and by `frontend` when only callers know. It answers with everything the argument may be; which of
them counts is decided by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.project import Func
from fiferail.audit.golang.scopes import Scope
from fiferail.audit.golang.trees import flat, parts, render
from fiferail.audit.golang.types import same_type_method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fiferail.audit.golang.project import GoFile
    from fiferail.audit.golang.values import Values

_DEPTH = 8


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


class Patches:
    """Follows patch arguments over one project."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._fields: dict[str, list[tuple[list[Any], Func]]] | None = None
        self._returning: set[int] = set()

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
            found = self.values.project.value(scope.file.package, name)
            return [] if found is None else self._package_patches(found, depth)
        out: list[Patch] = []
        for value, position in var.values:
            if position == 0 or (value and value[0] == "c"):
                out.extend(self.patches(value, var.home(scope), depth + 1, position))
        if not out and var.parameter >= 0:
            return [Patch(parameter=var.parameter)]
        return out

    def _package_patches(self, found: tuple[GoFile, list[Any], int], depth: int) -> list[Patch]:
        file, declaration, position = found
        if position >= len(declaration[3]):
            return []
        holder = Func(file, ["", "", None, [], [], [], [], declaration[4], declaration[4]])
        return self.patches(declaration[3][position], Scope(holder, None, {}), depth + 1)

    def _member_patches(self, expr: list[Any], scope: Scope, depth: int) -> list[Patch]:
        path = self.values.imported(expr[1], scope)
        if path:
            if known.is_client_package(path):
                if expr[2] == "Apply":
                    return [Patch("ssa", source="client.Apply", line=expr[3])]
                if expr[2] in ("Merge", "StrategicMerge"):
                    return [Patch("merge-patch", source="client." + expr[2], line=expr[3])]
            if path.endswith("apimachinery/pkg/types") and expr[2].endswith("PatchType"):
                return [Patch(self.verb_of_type(expr[2], ["?"], scope), source="types." + expr[2], line=expr[3])]
            found = self.values.project.value(path, expr[2])
            return [] if found is None else self._package_patches(found, depth)
        return [Patch(field=expr[2])]

    def field_patches(self, name: str, depth: int = 0) -> list[Patch]:
        """What is assigned to a struct field of that name, anywhere in the functions that were lowered."""
        if depth > 3:
            return []
        if self._fields is None:
            self._fields = _assigned_fields(self.values.project.lowered())
        out: list[Patch] = []
        for value, func in self._fields.get(name, ()):
            scope = self.values.quick_scope(func)
            for patch in self.patches(value, scope, depth + 1):
                if patch.field and patch.field != name:
                    out.extend(self.field_patches(patch.field, depth + 1))
                elif not patch.field:
                    out.append(patch)
        return out

    def _made_patches(self, call: list[Any], scope: Scope, depth: int, position: int = 0) -> list[Patch]:
        function = call[1]
        name = function[2] if function[0] == "." else function[1] if function[0] == "i" else ""
        path = self.values.imported(function[1], scope) if function[0] == "." else ""
        if path and known.is_client_package(path):
            return self._client_patch(name, call, scope)
        if name in ("MergeFrom", "MergeFromWithOptions", "RawPatch", "StrategicMergeFrom") and function[0] == "i" and self._dotted(scope):
            return self._client_patch(name, call, scope)
        callee = self.values.callee(call, scope)
        if callee is None:
            return self._from_closure(name, scope, depth) if function[0] == "i" else []
        return self._returned_patches(callee, call, scope, depth, position)

    def _from_closure(self, name: str, scope: Scope, depth: int) -> list[Patch]:
        """What a closure that is kept in a variable returns."""
        var = scope.find(name)
        out: list[Patch] = []
        for value, _ in var.values if var is not None and depth < 4 else ():
            if value and value[0] == "F":
                for statement in flat(value[1][6]):
                    if statement[0] == "r" and statement[1]:
                        out.extend(self.patches(statement[1][0], var.home(scope) if var is not None else scope, depth + 1))
        return out

    def _dotted(self, scope: Scope) -> bool:
        return any(alias == "." and known.is_client_package(path) for alias, path in self.values.project.imports(scope.file).items())

    def _client_patch(self, name: str, call: list[Any], scope: Scope) -> list[Patch]:
        place = f"{scope.file.path}:{call[3]}"
        arguments = call[2]
        if name in ("MergeFrom", "StrategicMergeFrom", "MergeFromWithOptions"):
            locked = any(self.values.mentions(argument, "MergeFromWithOptimisticLock", scope) for argument in arguments[1:])
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
        versioned = any("resourceVersion" in text for text in self.values.strings(data, scope))
        return "merge-patch-locked" if versioned else "merge-patch"

    def _literal_patch(self, expr: list[Any], scope: Scope) -> list[Patch]:
        """A value of the project's own patch type: its `Type` method says what it is."""
        kind = self.values.types.of_syntax(expr[1], scope.file, scope.tparams)
        said = self.values.types.member(kind, "Type")
        if said is None or said[0] != "method":
            return []
        full = self.values.with_body(said[1])
        for statement in flat(full.body):
            if statement[0] == "r" and statement[1] and "Type" in render(statement[1][0]):
                place = f"{scope.file.path}:{expr[3]}"
                verb = self.verb_of_type(render(statement[1][0]), expr, scope)
                return [Patch(verb, place, source="own patch type", line=expr[3])]
        return []

    def _returned_patches(self, callee: Func, call: list[Any], scope: Scope, depth: int, position: int = 0) -> list[Patch]:
        """What a function of the project that returns a patch returns. Its parameters are looked up at this call."""
        if id(callee) in self._returning or depth > 4:
            return []
        self._returning.add(id(callee))
        try:
            full = self.values.with_body(callee)
            inner = self.values.quick_scope(full)
            out: list[Patch] = []
            for statement in flat(full.body):
                if statement[0] == "r" and statement[1]:
                    for patch in self.patches(statement[1][min(position, len(statement[1]) - 1)], inner, depth + 1):
                        if patch.parameter >= 0 and patch.parameter < len(call[2]):
                            out.extend(self.patches(call[2][patch.parameter], scope, depth + 1))
                        else:
                            out.append(patch)
            return out
        finally:
            self._returning.discard(id(callee))


def _assigned_fields(files: Iterator[GoFile]) -> dict[str, list[tuple[list[Any], Func]]]:
    out: dict[str, list[tuple[list[Any], Func]]] = {}
    for file in files:
        for func in file.funcs:
            for statement in flat(func.body):
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
        for part in parts(expression):
            if part[0] == "L":
                for key, value in part[2]:
                    if key:
                        out.setdefault(key, []).append((value, func))
