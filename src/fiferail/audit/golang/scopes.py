"""Scopes: which variables are in sight at a place of a function, and what each was assigned so far.

Filled by `walk` in source order and read by `values`, which answers what an expression is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func, GoFile
    from fiferail.audit.golang.types import Type


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

    def copy(self) -> Scope:
        """The same variables as of now: what `helper := helper.New()` was made from is not the variable."""
        made = Scope(self.func, self.parent, self.tparams)
        made.variables.update(self.variables)
        return made

    def declare(self, name: str, kind: Type = None, parameter: int = -1) -> Var:
        made = Var(name, kind, parameter=parameter, depth=self.depth, scope=self)
        if name and name != "_":
            self.variables[name] = made
        return made
