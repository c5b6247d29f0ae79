"""What an expression is: the part of Go's type system that following a write needs.

A type is a tuple: ("n", import path, name, arguments) | ("s", element) | ("s", element, "channel") | ("m", key, value)
| ("f", parameters, results, variadic) | ("S", file, struct) | ("I", file, interface) | ("tp", name, bound) | ("b", builtin) | None for
unknown. Pointers are erased: no rule needs them.
Called by `walk` and `writes`. It never raises on odd code; it answers None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func, GoFile, Project

Type = tuple[Any, ...] | None

_BUILTIN = {
    "string",
    "bool",
    "error",
    "int",
    "int32",
    "int64",
    "uint",
    "uint32",
    "uint64",
    "float64",
    "float32",
    "byte",
    "rune",
    "any",
    "int8",
    "int16",
    "uint8",
    "uint16",
}
_SAME = {"DeepCopy", "DeepCopyObject", "deepCopy"}
_OF_CLIENTS = {"Get", "List", "Create", "Update", "Patch", "Delete", "DeleteAllOf", "Status", "SubResource", "Scheme", "RESTMapper"}
CLIENT_PACKAGE = "sigs.k8s.io/controller-runtime/pkg/client"


class Types:
    """Resolves types over one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._members: dict[tuple[Any, str], Any] = {}

    # -- from syntax ---------------------------------------------------------------------------------------------

    def of_syntax(self, ir: list[Any] | None, file: GoFile, bound: dict[str, Type] | None = None) -> Type:
        if not ir:
            return None
        match ir[0]:
            case "p":
                return self.of_syntax(ir[1], file, bound)
            case "n":
                return self._named(ir, file, bound)
            case "[":
                made = self.of_syntax(ir[1], file, bound)
                return ("s", made, "channel") if len(ir) > 2 else ("s", made)
            case "m":
                return ("m", self.of_syntax(ir[1], file, bound), self.of_syntax(ir[2], file, bound))
            case "f":
                return ("f", [self.of_syntax(p[1], file, bound) for p in ir[1]], [self.of_syntax(p[1], file, bound) for p in ir[2]])
            case "S":
                return ("S", file.path, _Hidden(ir))
            case "I":
                return ("I", file.path, _Hidden(ir))
        return None

    def _named(self, ir: list[Any], file: GoFile, bound: dict[str, Type] | None) -> Type:
        package, name = ir[1], ir[2]
        if not package:
            if bound and name in bound:
                return bound[name]
            if name in _BUILTIN:
                return ("b", name)
            path = file.package
        else:
            path = self.project.imports(file).get(package, "")
            if not path:
                return None
        arguments = tuple(self.of_syntax(argument, file, bound) for argument in ir[3])
        declared = self.project.type_declaration(path, name) if self.project.package_of(path) else None
        if declared is None:
            if not package and self.project.package_of(path):
                dotted = self._dot_import(name, file)
                if dotted:
                    return ("n", dotted, name, arguments)
            return ("n", path, name, arguments)
        where, declaration = declared
        if declaration[3] and not declaration[0]:
            return self.of_syntax(declaration[1], where)
        return ("n", where.package, name, arguments)

    def _dot_import(self, name: str, file: GoFile) -> str:
        for alias, path in self.project.imports(file).items():
            if alias == "." and self.project.type_declaration(path, name):
                return path
        return ""

    def type_parameters(self, func: Func) -> dict[str, Type]:
        """Type parameters of a function, and of its generic receiver, as bound types."""
        out: dict[str, Type] = {}
        for name, bound in func.ir[3]:
            out[name] = ("tp", name, self.of_syntax(bound, func.file, out))
        receiver = func.ir[2]
        while receiver and receiver[0] == "p":
            receiver = receiver[1]
        if receiver and receiver[0] == "n":
            for argument in receiver[3]:
                if argument[0] == "n" and not argument[1]:
                    out[argument[2]] = ("tp", argument[2], None)
        return out

    # -- members -------------------------------------------------------------------------------------------------

    def underlying(self, kind: Type) -> Type:
        """Follows local named types to what they are made of."""
        for _ in range(8):
            if kind is None or kind[0] != "n":
                return kind
            declared = self.project.type_declaration(kind[1], kind[2]) if self.project.package_of(kind[1]) else None
            if declared is None:
                return kind
            file, declaration = declared
            bound = {name: argument for (name, _), argument in zip(declaration[0], kind[3], strict=False)}
            kind = self.of_syntax(declaration[1], file, bound)
        return kind

    def member(self, kind: Type, name: str) -> tuple[str, Any] | None:
        """("field", type) | ("method", Func) | ("abstract", (parameters, results, owner)) | ("outside", type that has it)."""
        if kind is None:
            return None
        key = (kind, name)
        try:
            return self._members[key]  # type: ignore[no-any-return]
        except KeyError:
            pass
        except TypeError:
            return self._find_member(kind, name)
        found = self._find_member(kind, name)
        self._members[key] = found
        return found

    def _find_member(self, kind: Type, name: str) -> tuple[str, Any] | None:
        level: list[Type] = [kind]
        outside: Type = None
        for _ in range(6):
            deeper: list[Type] = []
            for one in level:
                found, below, is_outside = self._direct(one, name)
                if found is not None:
                    return found
                deeper.extend(below)
                if is_outside and outside is None:
                    outside = one
            if outside is not None and not any(self._is_local(one) for one in deeper):
                return ("outside", outside)
            if not deeper:
                break
            level = deeper
        return None if outside is None else ("outside", outside)

    def _is_local(self, kind: Type) -> bool:
        return kind is not None and kind[0] == "n" and self.project.package_of(kind[1]) is not None

    def _direct(self, kind: Type, name: str) -> tuple[tuple[str, Any] | None, list[Type], bool]:
        if kind is None:
            return None, [], False
        if kind[0] == "tp":
            return None, [kind[2]], False
        if kind[0] == "n":
            if self.project.package_of(kind[1]) is None:
                return None, [], True
            method = self.project.method(kind[1], kind[2], name)
            if method is not None:
                return ("method", method), [], False
            made_of = self.underlying(kind)
            if made_of is not None and made_of[0] == "n":
                return None, ([] if made_of == kind else [made_of]), False
            if made_of is not None and made_of[0] == "S" and kind[3]:
                return self._in_struct(made_of, name, self._arguments(kind))
            return self._direct(made_of, name)
        if kind[0] == "S":
            return self._in_struct(kind, name)
        if kind[0] == "I":
            return self._in_interface(kind, name)
        return None, [], False

    def _arguments(self, kind: Type) -> dict[str, Type]:
        """The type parameters of a generic type by name, with what this use of it puts in."""
        assert kind is not None
        declared = self.project.type_declaration(kind[1], kind[2])
        return {} if declared is None else {name: given for (name, _), given in zip(declared[1][0], kind[3], strict=False)}

    def _in_struct(self, kind: Type, name: str, bound: dict[str, Type] | None = None) -> tuple[tuple[str, Any] | None, list[Type], bool]:
        assert kind is not None
        file, ir = self.project.files[kind[1]], kind[2].ir
        for field_name, field_type in ir[1]:
            if field_name == name:
                return ("field", self.of_syntax(field_type, file, bound)), [], False
        embedded = [self.of_syntax(one, file, bound) for one in ir[2]]
        for one in embedded:
            if one is not None and one[0] == "n" and one[2] == name:
                return ("field", one), [], False
        return None, embedded, False

    def _in_interface(self, kind: Type, name: str) -> tuple[tuple[str, Any] | None, list[Type], bool]:
        assert kind is not None
        file, ir = self.project.files[kind[1]], kind[2].ir
        for method, parameters, results in ir[1]:
            if method == name:
                shape = ([self.of_syntax(p[1], file) for p in parameters], [self.of_syntax(p[1], file) for p in results], kind)
                return ("abstract", shape), [], False
        return None, [self.of_syntax(one, file) for one in ir[2]], False

    def interface_methods(self, kind: Type, depth: int = 0) -> set[str]:
        made_of = self.underlying(kind)
        if made_of is None or made_of[0] != "I" or depth > 4:
            return set()
        file, ir = self.project.files[made_of[1]], made_of[2].ir
        names = {method[0] for method in ir[1]}
        for one in ir[2]:
            names |= self.interface_methods(self.of_syntax(one, file), depth + 1)
        return names

    def implements(self, path: str, receiver: str, wanted: set[str]) -> bool:
        """Whether a named type has all these methods, its own or those of what it embeds."""
        package = self.project.scanned(path)
        if package is None:
            return False
        missing = wanted - set(package.methods.get(receiver, {}))
        for name in missing:
            found = self.member(("n", path, receiver, ()), name)
            # What a type of another module has is not seen: an embedded client is believed to have a client's methods, and no others.
            if found is None or (found[0] == "outside" and name not in _OF_CLIENTS):
                return False
        return True

    def results_of(self, found: tuple[str, Any] | None, given: dict[str, Type] | None = None) -> list[Type]:
        """The result types of a member that was looked up and is being called."""
        if found is None:
            return []
        what, value = found
        if what == "method":
            bound = self.type_parameters(value)
            if given:
                bound.update(given)
            return [self.of_syntax(result[1], value.file, bound) for result in value.ir[5]]
        if what == "abstract":
            return list(value[1])
        if what == "field":
            return list(value[2]) if value is not None and value[0] == "f" else []
        return []


class _Hidden:
    """Keeps a list inside a hashable type tuple: identity stands for equality."""

    __slots__ = ("ir",)
    ir: list[Any]
    _made: ClassVar[dict[int, _Hidden]] = {}

    def __new__(cls, ir: list[Any]) -> _Hidden:
        found = cls._made.get(id(ir))
        if found is not None and found.ir is ir:
            return found
        made = object.__new__(cls)
        made.ir = ir
        cls._made[id(ir)] = made
        return made


def element(kind: Type) -> Type:
    if kind is None:
        return None
    if kind[0] == "s":
        return kind[1]  # type: ignore[no-any-return]
    if kind[0] == "m":
        return kind[2]  # type: ignore[no-any-return]
    return None


def is_channel(kind: Type) -> bool:
    """What comes out of a channel is what one variable of a loop over it holds; that of a list holds a number."""
    return kind is not None and kind[0] == "s" and len(kind) > 2


def same_type_method(name: str) -> bool:
    return name in _SAME
