"""Which old value a new value descends from, for ratcheting and transition rules.

An object's member descends from the member of that name, an entry of a map list from the entry with its keys; entries of other
lists from nothing. Used by validation and by CEL rules, for one update at a time. Mirrors CorrelatedObject of apiserver's
cel/common, its blind spot included: members that the schema does not name have no ancestor, so an object that holds some is
never equal to its old self.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tree import Json, same

if TYPE_CHECKING:
    from .model import Schema


class Correlated:
    """A new value beside the old one it descends from. `old` is None for a missing or null ancestor."""

    __slots__ = ("_children", "_entries", "_equal", "new", "old", "schema")

    def __init__(self, new: Json, old: Json, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlated | None] = {}
        self._entries: dict[Json, Json] | None = None
        self._equal: bool | None = None

    def member(self, name: str) -> Correlated | None:
        """The pair for a member, or None when either side lacks it or the schema does not name it."""
        if name not in self._children:
            self._children[name] = self._member(name)
        return self._children[name]

    def entry(self, index: int) -> Correlated | None:
        """The pair for an entry of a map list; None for entries of other lists."""
        if index not in self._children:
            self._children[index] = self._entry(index)
        return self._children[index]

    def equal(self) -> bool:
        """Whether nothing has changed. A map list may have been reordered."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _member(self, name: str) -> Correlated | None:
        new, old = self.new, self.old
        if type(new) is not dict or type(old) is not dict or name not in new or name not in old:
            return None
        child = self.schema.properties.get(name)
        if child is None and not self.schema.additional_any:
            child = self.schema.additional
        return None if child is None else Correlated(new[name], old[name], child)

    def _entry(self, index: int) -> Correlated | None:
        new, old, schema = self.new, self.old, self.schema
        if type(new) is not list or type(old) is not list or index >= len(new) or schema.list_type != "map" or schema.items is None:
            return None
        if self._entries is None:
            self._entries = keyed(old, schema.list_map_keys)
        key = entry_key(new[index], schema.list_map_keys)
        ancestor = None if key is None else self._entries.get(key)
        return None if ancestor is None else Correlated(new[index], ancestor, schema.items)

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if new is None or old is None:
            return new is old
        if type(new) is list and type(old) is list:
            return self._same_entries(new, old)
        if type(new) is dict and type(old) is dict:
            return len(new) == len(old) and all((child := self.member(name)) is not None and child.equal() for name in new)
        return same(new, old)

    def _same_entries(self, new: list[Json], old: list[Json]) -> bool:
        if len(new) != len(old):
            return False
        for index in range(len(new)):
            child = self.entry(index)
            if child is None:
                return self._entries is None and same(new, old)
            if not child.equal():
                return False
        return True


def entry_key(entry: Json, keys: tuple[str, ...]) -> Json:
    """What identifies an entry of a map list; None when a key is missing or not a scalar."""
    if type(entry) is not dict or not keys:
        return None
    values = tuple((type(entry.get(key)), entry.get(key)) for key in keys)
    return values if all(kind in (bool, int, float, str) for kind, _ in values) else None


def keyed(entries: list[Json], keys: tuple[str, ...]) -> dict[Json, Json]:
    """The entries of a map list by their keys; the first of equals counts."""
    found: dict[Json, Json] = {}
    for entry in entries:
        key = entry_key(entry, keys)
        if key is not None:
            found.setdefault(key, entry)
    return found
