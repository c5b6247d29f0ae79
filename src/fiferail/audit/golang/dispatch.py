"""Which wrappers a method of an interface may run.

Called by `frontend` for calls through an interface of the project. What implements it is told by the names of its methods and by what the
called one takes; an interface is an updater when most of that writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.golang.trees import type_name

if TYPE_CHECKING:
    from fiferail.audit.golang.types import Type, Types
    from fiferail.audit.golang.wrapper import Wrapper

_STAND_IN_NAME = re.compile(r"(?i)^(?:fake|mock|stub|noo?p|dummy|null|disabled)|(?:fake|mock|stub|noo?p|dummy|disabled)$")


class Dispatch:
    """Calls through interfaces of one project."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self.project = types.project

    def writing(self, wrappers: list[Wrapper], name: str, owner: Type, parameters: list[Type]) -> list[Wrapper]:
        """Of the wrappers with a method's name, those that the interface may run; none, where most that implement it do not write, in the
        packages of those that do; or not all of them, where no name says so."""
        wanted = self.types.interface_methods(owner)
        fitting = [
            wrapper
            for wrapper in wrappers
            if (at := wrapper.func).receiver and self._implements(at.file.package, at.receiver, name, wanted, parameters)
        ]
        overridden = {base for wrapper in fitting for base in self._embedded(wrapper)}
        others = [
            receiver
            for receiver in self._implementing({wrapper.func.file.package for wrapper in fitting}, name, wanted, parameters)
            if receiver not in overridden
        ]
        called = str(owner[2]).lower() if owner is not None and owner[0] == "n" else ""
        if called and any(called in receiver.lower() for receiver in others):
            # `GadgetUpdaterImpl` is what a `GadgetUpdater` runs, though others would fit.
            fitting = [wrapper for wrapper in fitting if called in wrapper.func.receiver.lower()]
            others = [receiver for receiver in others if called in receiver.lower()]
        enough = len(fitting) * (2 if all(wrapper.speaks for wrapper in fitting) else 1) >= len(others)
        return fitting if enough else []

    def _embedded(self, wrapper: Wrapper) -> set[str]:
        """What the writing type embeds: its own method stands before the one it would have from there."""
        made_of = self.types.underlying(("n", wrapper.func.file.package, wrapper.func.receiver, ()))
        return {type_name(one) for one in made_of[2].ir[2]} if made_of is not None and made_of[0] == "S" else set()

    def _implementing(self, paths: set[str], name: str, wanted: set[str], parameters: list[Type]) -> list[str]:
        """Types of these packages, stand-ins for tests aside, that the interface may stand for."""
        packages = {path: self.project.scanned(path) for path in paths}
        return [
            receiver
            for path, package in packages.items()
            for receiver, methods in (package.methods.items() if package is not None else ())
            if name in methods
            and not _STAND_IN_NAME.search(receiver)
            and self._implements(path, receiver, name, wanted, parameters)
            and not self._hands_on(path, receiver, name)
        ]

    def _hands_on(self, path: str, receiver: str, name: str) -> bool:
        """A method that calls the same method of what it wraps says nothing about what that does."""
        func = self.project.method(path, receiver, name, bodies=True)
        return func is not None and name in func.ir[9]

    def _implements(self, path: str, receiver: str, name: str, wanted: set[str], parameters: list[Type]) -> bool:
        return self.types.implements(path, receiver, wanted) and self._takes(path, receiver, name, parameters)

    def _takes(self, path: str, receiver: str, name: str, parameters: list[Type]) -> bool:
        """Whether a method takes what an interface asks for: a name alone, such as Update, is anybody's."""
        func = self.project.method(path, receiver, name)
        if func is None or len(func.ir[4]) != len(parameters):
            return False
        given = [self.types.of_syntax(parameter[1], func.file) for parameter in func.ir[4]]
        return not any(
            one is not None and other is not None and one[0] == other[0] == "n" and one[1:3] != other[1:3]
            for one, other in zip(given, parameters, strict=True)
        )

