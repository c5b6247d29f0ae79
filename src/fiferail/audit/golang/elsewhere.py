"""Calls that leave the project and write a status there.

Called by `writes` for calls that have the name of a write and no body here. What the callee does cannot be read, so the call itself has to
say it: by "status" among its arguments, by a client that it is given together with a name that speaks of it, or by being the method of
another module's object. `outside` knows the names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known, outside
from fiferail.audit.golang.raw import CONTEXT, Raw
from fiferail.audit.golang.trees import render

if TYPE_CHECKING:
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.writes import Writes


_STAND_INS = (b"test", b"fake", b"mock", b"stub")


class Elsewhere:
    """Writes of other modules' functions, over one project."""

    def __init__(self, writes: Writes) -> None:
        self.writes = writes
        self.values = writes.values
        self.types = writes.types
        self.kinds = writes.kinds
        self._methods: dict[str, bool] = {}

    def classify(self, call: list[Any], scope: Scope) -> Raw | None:
        """A call that leaves the project, or runs a function value, and writes a status there."""
        name, arguments = call[1][2], call[2]
        typed = outside.patch_type(arguments)
        status = outside.says_status(arguments)
        given = [call[1][1], *arguments] if not self.values.imported(call[1][1], scope) else arguments
        types = [self.values.typeof(one, scope) for one in given]
        # A method with the name of a client's may be a database's; a function that is given a client is not.
        by_name = name not in known.WRITES or len(given) == len(arguments)
        handed = len(given) == len(arguments) and any(self.writes.is_status_writer(one) for one in arguments)
        by_name = by_name or (name.endswith("Status") and any(self.kinds.is_object(kind) for kind in types[1:]))
        told = status or handed or (by_name and outside.writes_status(name, given, types)) or self._status_function(call, types)
        told = told or self._promised(call, types)
        if not told and not self._foreign_updater(call, types):
            return self._foreign_object(call, types, scope)
        if self._in_project(call, scope):
            return None
        raw = Raw("status", "helper", helper=render(call[1]), through=outside.ELSEWHERE)
        if typed >= 0:
            raw.way = self.writes.patches.verb_of_type(render(arguments[typed]), arguments[-2], scope)
        # What it is about comes last: `EnsurePausedCondition(ctx, client, cluster, gadget)`.
        for argument in reversed(arguments):
            root = argument
            while root and root[0] in (".", "c", "&", "*"):
                root = root[1]
            direct = self._given_kind(argument, scope)
            if direct or (root and root[0] == "i" and self._given_kind(root, scope)):
                self.writes.describe(argument if direct else root, scope, raw)
                return raw
        raw.subject, raw.polymorphic = render(call[1]) + "()", True
        named = outside.core_kind(name)
        if named:
            raw.kind, raw.api, raw.polymorphic = named, "k8s.io/api/core/v1", False
        return raw

    def _status_function(self, call: list[Any], types: list[Type]) -> bool:
        """A function in a field, named after the writing of a status, that is given a context."""
        name, arguments = call[1][2], call[2]
        if not outside.is_status_function(name) or len(arguments) < 2 or not CONTEXT.search(render(arguments[0])):
            return False
        member = self.types.member(types[0], name) if len(types) > len(arguments) else None
        held = self.types.underlying(member[1]) if member is not None and member[0] == "field" else None
        return held is not None and held[0] == "f"

    def _promised(self, call: list[Any], types: list[Type]) -> bool:
        """A method of an interface of the project, named after the writing of a status, that others are to implement: nobody here does."""
        name, arguments = call[1][2], call[2]
        if not outside.is_status_writer(name) or not arguments or len(types) == len(arguments):
            return False
        member = self.types.member(types[0], name)
        return member is not None and member[0] == "abstract" and not self._implemented(name)

    def _foreign_updater(self, call: list[Any], types: list[Type]) -> bool:
        """A method of another module's type, named after the writing of a status, that is given a context and an object."""
        name, arguments = call[1][2], call[2]
        if not outside.is_status_writer(name) or len(arguments) < 2 or not CONTEXT.search(render(arguments[0])):
            return False
        member = self.types.member(types[0], name) if len(types) > len(arguments) else None
        return member is not None and member[0] == "outside" and any(self.kinds.is_kind(kind) for kind in types[2:])

    def _foreign_object(self, call: list[Any], types: list[Type], scope: Scope) -> Raw | None:
        """An object of another module that writes itself: `entry.UpdateStatus()`, `entry.ModifyStatus(func(data) (bool, error) {...})`,
        where `entry` is that module's `resources.Object`, or a struct of the project around one."""
        name, arguments = call[1][2], call[2]
        if not outside.is_status_writer(name) or len(types) == len(arguments) or (arguments and arguments[0][0] not in ("F", "i")):
            return None
        member = self.types.member(types[0], name)
        if member is None or member[0] != "outside" or not outside.is_object(member[1]):
            return None
        raw = Raw("status", "helper", helper=render(call[1]), through=outside.ELSEWHERE)
        self.writes.describe(call[1][1], scope, raw)
        raw.kind, raw.api, raw.polymorphic = self.kinds.wrapped(types[0])
        return raw

    def _given_kind(self, argument: list[Any], scope: Scope) -> bool:
        kind = self.values.typeof(argument, scope)
        return not known.role(kind) and self.kinds.is_kind(kind)

    def _in_project(self, call: list[Any], scope: Scope) -> bool:
        """Whether the called function's body is in the project: then it is followed, not guessed."""
        if self.values.imported(call[1][1], scope):
            return False
        owner = self.values.typeof(call[1][1], scope)
        member = self.types.member(owner, call[1][2])
        if owner is None and outside.is_status_writer(call[1][2]):
            # Made by a function of another module.
            return self._implemented(call[1][2])
        return member is None or member[0] == "method" or (member[0] == "abstract" and self._implemented(call[1][2]))

    def _implemented(self, name: str) -> bool:
        """Whether any type of the project has the method. Text tells: only names that speak of writing a status are asked for."""
        known_one = self._methods.get(name)
        if known_one is None:
            text = name.encode() + b"("
            method = re.compile(rb"^func \((?:\w+ )?\*?(\w+)[^)\n]*\) " + re.escape(text), re.M)
            # A stand-in for tests implements nothing, nor does a generated client.
            everywhere = self.values.project.files.values()
            files = [file for file in everywhere if text in file.source and not file.generated and not file.path.endswith("_test.go")]
            known_one = self._methods[name] = any(
                not receiver.lower().startswith(_STAND_INS) for file in files for receiver in method.findall(file.source)
            )
        return known_one
