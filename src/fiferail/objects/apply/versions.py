"""The versions of one kind during one write: their types, and an object at each. Used by `operations` and `prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..fieldset import EMPTY, FieldSet
from .conform import conform
from .types import Type, root_type
from .values import TypedErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.model import Schema
    from ..tree import Json


class Version(msgspec.Struct, frozen=True, eq=False):
    """Another version of the same kind that entries may have been written at: its schema, and what a write resets in it."""

    schema: Schema
    ignored: FieldSet = EMPTY


class World:
    """The version that is written through, the others, and what a write through this version and subresource cannot own."""

    def __init__(self, api_version: str, schema: Schema, ignored: FieldSet, versions: Mapping[str, Version], forgets: bool) -> None:
        self.api_version = api_version
        self.type = root_type(schema)
        self.ignored = ignored
        self.versions = versions
        self.forgets = forgets

    def has(self, api_version: str) -> bool:
        """Whether objects can be had at this version. Of a version that is gone, built-in kinds forget the entries; others fail."""
        if api_version == self.api_version or api_version in self.versions:
            return True
        if self.forgets:
            return False
        raise TypedErrors([("", f"request to convert CR to an invalid group/version: {api_version}")])

    def at(self, tree: Json, api_version: str) -> tuple[Json, Type]:
        """The object at a version, and its type there. Conversion strategy None: only apiVersion changes, but the rest must fit."""
        type_ = self.type if api_version == self.api_version else root_type(self.versions[api_version].schema)
        if not tree or tree.get("apiVersion") == api_version:
            return tree, type_
        tree = {**tree, "apiVersion": api_version}
        conform(tree, type_)
        return tree, type_
