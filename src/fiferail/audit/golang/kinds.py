"""Which kind an object is: from its type, from what is set on it, from the client that writes it.

Called by `writes`, `controllers` and `queues`. A type that stands for many kinds (an interface, an unstructured object, a type
parameter) says none; names are asked last, by `naming`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.naming import KindsNamed
from fiferail.audit.golang.trees import flat, parts, render

if TYPE_CHECKING:
    from fiferail.audit.golang.raw import Raw
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.values import Values

_API_PATH = re.compile(r"(?:^|/)v\d+(?:(?:alpha|beta)\d+)?$")
_POLYMORPHIC = {"Object", "Unstructured", "PartialObjectMetadata", "ObjectList", "UnstructuredList", "ApplyConfiguration"}
_PARTS = ("Condition", "Status", "Spec", "Reference")
_CONVERTS = re.compile(r"(?i)unstructured|destruct|^convert|^to(?:object|runtime)")
_KIND_NAME = re.compile(r"^([A-Z]\w+?)(?:GVK|GroupVersionKind|Kind)$")


class Kinds:
    """Kinds of objects over one project."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.types = values.types
        self.spoken = KindsNamed(values)
        self._interfaces: dict[tuple[str, str, str], bool] = {}

    def is_object(self, kind: Type) -> bool:
        if kind is None or kind[0] != "n":
            return False
        path, name = kind[1], kind[2]
        if known.is_client_package(path) or name in _POLYMORPHIC:
            return True
        if path.endswith("apis/meta/v1") or name.endswith(_PARTS):
            return False
        made_of = self.types.underlying(kind)
        if made_of is not None and made_of[0] == "S":
            return self._has_metadata(made_of)
        return path.startswith(known.API_GROUPS_BUILT_IN) or bool(_API_PATH.search(path))

    def _has_metadata(self, made_of: Type, depth: int = 0) -> bool:
        """A struct with the API's metadata, its own or an embedded struct's."""
        if made_of is None or made_of[0] != "S" or depth > 2:
            return False
        if any(name == "ObjectMeta" for name, _ in made_of[2].ir[1]):
            return True
        file = self.types.project.files[made_of[1]]
        for embedded in made_of[2].ir[2]:
            while embedded and embedded[0] == "p":
                embedded = embedded[1]
            if embedded and embedded[0] == "n" and embedded[2] in ("ObjectMeta", "ListMeta", "TypeMeta"):
                return True
            if self._has_metadata(self.types.underlying(self.types.of_syntax(embedded, file)), depth + 1):
                return True
        return False

    def is_kind(self, kind: Type) -> bool:
        """A concrete API type: not an interface of the client package, not an unstructured object."""
        return self.is_object(kind) and bool(self.kind_of(kind)[0])

    def kind_of(self, kind: Type) -> tuple[str, str, bool]:
        """Kind, package of its Go type, and whether the type stands for many kinds."""
        if kind is None:
            return "", "", False
        if kind[0] == "tp":
            bound = kind[2]
            inner = self.kind_of(bound) if bound is not None and bound[0] == "n" else ("", "", True)
            return inner if inner[0] and not inner[2] else ("", "", True)
        if kind[0] == "I":
            return "", "", True
        if kind[0] != "n":
            return "", "", False
        path, name = kind[1], kind[2]
        if name in _POLYMORPHIC or known.is_client_package(path) or path.endswith("apimachinery/pkg/runtime"):
            return "", "", True
        if path.endswith("apis/meta/v1"):
            # The metadata of an object, not the object.
            return "", "", False
        made_of = self.types.underlying(kind)
        if made_of is not None and made_of[0] == "I":
            return "", "", True
        if made_of == kind and self.types.project.package_of(path):
            # A name of the project that nothing declares: a type parameter of a generic interface.
            return "", "", True
        if not self.types.project.package_of(path) and (
            name.startswith("Generic") or name.endswith("Like") or not known.API_PACKAGE.search(path)
        ):
            # A type of another module outside any API package: most likely an interface, so it says no kind.
            return "", "", True
        if name.endswith("ApplyConfiguration"):
            return name.removesuffix("ApplyConfiguration"), path, False
        if made_of is not None and made_of[0] == "S" and not self._has_metadata(made_of):
            return "", "", True
        if kind[3]:
            return _of_parts(kind[3])
        return name, path, False

    def is_interface_elsewhere(self, kind: Type, expr: list[Any], scope: Scope) -> bool:
        """A type of another module that this file never points to nor makes, handed to a client as it is: an interface, as clients take
        kinds by pointer."""
        if kind is None or kind[0] != "n" or expr[0] == "&" or kind[1].startswith(known.API_GROUPS_BUILT_IN):
            return False
        if self.types.project.package_of(kind[1]) is not None:
            return False
        key = (scope.file.path, kind[1], kind[2])
        if key not in self._interfaces:
            aliases = [alias for alias, path in self.types.project.imports(scope.file).items() if path == kind[1]]
            self._interfaces[key] = bool(aliases) and _only_by_name(scope.file.source, aliases[0], str(kind[2]))
        return self._interfaces[key]

    def named_kind(self, expr: list[Any], scope: Scope) -> str:
        """The kind that is set on an unstructured object, where the text of it can be seen."""
        root = expr
        while root and root[0] in ("&", "*"):
            root = root[1]
        if not root or root[0] != "i":
            return ""
        var = scope.find(root[1])
        if var is None:
            return ""
        for value in [*var.kinds, *(value for value, _ in var.values)]:
            found = _kind_in(value) or self._told_kind(value, scope, value in var.kinds)
            if found:
                return found
            assertion = value if value and value[0] == "a" else None
            if assertion:
                kind = self.types.of_syntax(assertion[2], scope.file, scope.tparams)
                if self.kind_of(kind)[0]:
                    return self.kind_of(kind)[0]
        # A variable of an interface type holds what was assigned to it, when that is always one kind.
        held = {self._held_kind(value, var.home(scope)) if at == 0 else "" for value, at in var.values}
        return held.pop() if len(held) == 1 and var.parameter < 0 and not var.ranged else ""

    def _held_kind(self, value: list[Any], scope: Scope) -> str:
        kind = self.values.typeof(value, scope)
        named = "" if self.is_interface_elsewhere(kind, value, scope) else self.kind_of(kind)[0]
        return named or self._returned_kind(value, scope)

    def _returned_kind(self, call: list[Any], scope: Scope) -> str:
        """The kind that a function of the project returns as an interface, when that is always one."""
        callee = self.values.callee(call, scope) if call and call[0] == "c" else None
        if callee is None:
            return ""
        full = self.values.with_body(callee)
        inside = self.values.quick_scope(full)
        returned = {self.kind_of(self.values.typeof(one[1][0], inside))[0] for one in flat(full.body) if one[0] == "r" and one[1]}
        return returned.pop() if len(returned) == 1 else ""

    def _told_kind(self, expr: list[Any], scope: Scope, sure: bool, depth: int = 0) -> str:
        """The kind that a GroupVersionKind, or the text of one, says: through variables, constants, and names such as `GadgetGVK`."""
        if depth > 3 or not expr:
            return ""
        if expr[0] == '"':
            return str(expr[1]) if sure else ""
        if expr[0] == "c" and render(expr[1]).endswith(("WithKind", "SetKind")) and expr[2]:
            return self._told_kind(expr[2][0], scope, True, depth + 1)
        if expr[0] == "L":
            for key, value in expr[2]:
                if key == "Kind":
                    return self._told_kind(value, scope, True, depth + 1)
            return ""
        if expr[0] not in ("i", "."):
            return ""
        for value in [*self.held(expr, scope), *self._package_values(expr, scope)]:
            found = _kind_in(value) or self._told_kind(value, scope, sure, depth + 1)
            if found:
                return found
        named = _KIND_NAME.match(str(expr[-2] if expr[0] == "." else expr[1])) if sure else None
        return named.group(1) if named else ""

    def kind_of_client(self, owner: Type, raw: Raw) -> bool:
        """A generic client says its kind by its type argument: `Writer[*Gadget]`."""
        if owner is None or owner[0] != "n" or not owner[3] or not self.is_kind(owner[3][0]):
            return False
        raw.kind, raw.api, raw.polymorphic = self.kind_of(owner[3][0])
        return True

    def converted(self, expr: list[Any], scope: Scope, depth: int = 0) -> Type:
        """The type of what an unstructured object was made from: `toUnstructured(gadget)`, through variables."""
        for value in [expr, *self.held(expr, scope)] if depth < 3 else ():
            name = value[1][2] if value[0] == "c" and value[1][0] == "." else value[1][1] if value[0] == "c" and value[1][0] == "i" else ""
            if not _CONVERTS.search(str(name)):
                continue
            for argument in value[2]:
                kind = self.values.typeof(argument, scope)
                if self.is_kind(kind):
                    return kind
        return None

    def wrapped(self, owner: Type) -> tuple[str, str, bool]:
        """The kind inside a struct of the project that stands for an object: its method `Gadget()` returns a `*Gadget`."""
        if owner is None or owner[0] != "n":
            return "", "", True
        package = self.types.project.scanned(owner[1])
        for name in package.methods.get(owner[2], {}) if package is not None else ():
            func = self.types.project.method(owner[1], owner[2], name)
            results = func.ir[5] if func is not None and not func.ir[4] else []
            kind = self.types.of_syntax(results[0][1], func.file) if func is not None and len(results) == 1 else None
            if kind is not None and kind[0] == "n" and kind[2] == name and self.is_kind(kind):
                return self.kind_of(kind)
        return "", "", True

    def resource_kind(self, expr: list[Any], scope: Scope) -> str:
        """The kind behind a GroupVersionResource whose resource can be read."""
        for value in [expr, *self.held(expr, scope), *self._package_values(expr, scope)]:
            for part in parts(value):
                if part[0] == "L":
                    for key, inner in part[2]:
                        if key == "Resource" and inner[0] == '"':
                            return self.spoken.proper(known.singular(inner[1].capitalize()), scope)
                if part[0] == "c" and render(part[1]).endswith("WithResource") and part[2] and part[2][0][0] == '"':
                    return self.spoken.proper(known.singular(part[2][0][1].capitalize()), scope)
        return ""

    def _package_values(self, expr: list[Any], scope: Scope) -> list[list[Any]]:
        name = expr[1] if expr[0] == "i" else expr[2] if expr[0] == "." else ""
        package = scope.file.package if expr[0] == "i" else self.values.imported(expr[1], scope) if expr[0] == "." else ""
        found = self.values.project.value(package, name) if name and package else None
        return [found[1][3][found[2]]] if found and found[2] < len(found[1][3]) else []

    def held(self, expr: list[Any], scope: Scope) -> list[list[Any]]:
        if expr[0] != "i":
            return []
        var = scope.find(expr[1])
        return [] if var is None else [value for value, _ in var.values]


def _only_by_name(source: bytes, alias: str, name: str) -> bool:
    """Whether a type is named in a file, and neither pointed to, made, declared as a variable's nor put in a list there."""
    text = f"{alias}.{name}".encode()
    if any(before + text in source for before in (b"*", b"&", b"]", b"new(")) or text + b"{" in source:
        return False
    return text in source and re.search(rb"\bvar \w+ " + re.escape(text), source) is None


def _of_parts(arguments: tuple[Type, ...]) -> tuple[str, str, bool]:
    """The kind that a generic object is made of: `Resource[*v1.GadgetSpec, *v1.GadgetStatus]`."""
    for part in arguments:
        if part is not None and part[0] == "n" and part[2].endswith(("Status", "Spec")):
            return part[2].removesuffix("Status").removesuffix("Spec"), part[1], False
    return "", "", True


def _kind_in(expr: list[Any]) -> str:
    for part in parts(expr):
        if part[0] == "L":
            for key, value in part[2]:
                if key in ("Kind", '"kind"') and value[0] == '"':
                    return str(value[1])
        if part[0] == "c" and render(part[1]).endswith(("WithKind", "SetKind")) and part[2] and part[2][0][0] == '"':
            return str(part[2][0][1])
    return ""
