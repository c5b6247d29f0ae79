"""All Python files of an audit together: which module a dotted name is, what stands behind an import, and how a kind is spelled.

Called by `frontend`, `values` and `walk`. A name is looked for where the import says; the directory above a package (src/, lib/) may be
part of the path and not of the name, so the end of a path is enough where it is the only one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import AnyFunction, literal
from fiferail.audit.python.kinds import KNOWN, in_words
from fiferail.audit.python.module import Class, Module, dotted_name

if TYPE_CHECKING:
    from collections.abc import Iterable

Found = Class | Module | tuple[Module, AnyFunction] | tuple[Module, ast.expr]


class Project:
    """Modules by every ending of their dotted names."""

    def __init__(self) -> None:
        self.modules: list[Module] = []
        self._by_name: dict[str, Module | None] = {}
        self._constants: dict[str, dict[str, ast.expr]] = {}
        self.methods: set[str] = set()
        self._spelling: dict[str, str] = {kind.lower(): kind for kind in KNOWN}

    def add(self, modules: Iterable[Module]) -> None:
        for module in modules:
            self.modules.append(module)
            self.methods |= {name for made in module.classes.values() for name in made.methods}
            for name in endings(module.path):
                self._by_name[name] = module if name == module.dotted or name not in self._by_name else None
            self._spell(module)

    def _spell(self, module: Module) -> None:
        for value in module.kinds:
            self._learn(literal(value, module.names))
        for name in module.classes:
            self._learn(name)

    def _learn(self, kind: str) -> None:
        if kind[:1].isupper() and kind.isalnum():
            self._spelling.setdefault(kind.lower(), kind)

    def spelled(self, kind: str) -> str:
        """Gadgetgroup, from a plural, as GadgetGroup, when some source writes it so."""
        return self._spelling.get(kind.lower()) or in_words(kind) if kind else kind

    def constants(self, module: Module) -> dict[str, ast.expr]:
        """Texts that a module knows by name: its own, those it imports, those of modules and classes it imports (`consts.PLURAL`)."""
        if module.dotted in self._constants:
            return self._constants[module.dotted]
        out: dict[str, ast.expr] = {}
        self._constants[module.dotted] = out
        for name, dotted in module.imported.items():
            found = self.find(dotted)
            if isinstance(found, tuple) and isinstance(found[1], (ast.Constant, ast.JoinedStr)):
                out[name] = found[1]
            elif isinstance(found, Module):
                out |= {f"{name}.{one}": value for one, value in found.names.items() if isinstance(value, ast.Constant)}
            elif isinstance(found, Class):
                out |= _texts(name, found)
        for name, made in module.classes.items():
            out |= _texts(name, made)
        return out

    def module(self, dotted: str) -> Module | None:
        return self._by_name.get(dotted)

    def find(self, dotted: str, depth: int = 0) -> Found | None:
        """What a dotted name of the project is; re-exports are followed."""
        if depth > 6 or not dotted:
            return None
        module = self.module(dotted)
        if module is not None:
            return module
        head, _, last = dotted.rpartition(".")
        module = self.module(head) if head else None
        if module is None:
            outer = self.find(head, depth + 1) if head else None
            if isinstance(outer, Class) and last in outer.methods:
                return outer.module, outer.methods[last]
            return None
        return self.inside(module, last, depth)

    def inside(self, module: Module, name: str, depth: int = 0) -> Found | None:
        if name in module.classes:
            return module.classes[name]
        if name in module.functions:
            return module, module.functions[name]
        if name in module.names:
            return module, module.names[name]
        dotted = module.imported.get(name, "")
        return self.find(dotted, depth + 1) if dotted else None


def endings(path: str) -> set[str]:
    """Every name that a file can be imported by."""
    parts = dotted_name(path).split(".")
    return {".".join(parts[start:]) for start in range(len(parts))}


def _texts(name: str, made: Class) -> dict[str, ast.expr]:
    """Class attributes that are texts, enum members among them."""
    out: dict[str, ast.expr] = {}
    for one, values in made.attributes.items():
        if len(values) == 1 and isinstance(values[0][0], ast.Constant) and values[0][1] is None:
            out[f"{name}.{one}"] = out[f"{name}.{one}.value"] = values[0][0]
    return out
