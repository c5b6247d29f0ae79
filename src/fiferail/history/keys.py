"""By which members the entries of a list are told apart.

The schema is not in a history. Most lists follow a convention (`type`, `name`); for the others the server itself writes the key into
managedFields, as `k:{"id":"a"}`, once somebody owns an entry. `leaves` asks here for every list that it compares; `Learned` keeps what
managedFields said, for each resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Key, Path
from ..objects.tree import Json, lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Lists that are keyed by convention, whatever the schema: the members that may be the key, the first that fits.
KEYS: tuple[tuple[str, ...], ...] = (("type",), ("name",), ("kind", "name"), ("key",), ("uid",))
#: How often the managedFields of a resource are searched for the key of one list before it counts as a list without keys.
SEARCHES = 16


def key_names(*lists: Json) -> tuple[str, ...] | None:
    """The conventional key by which every one of the lists has distinct entries, or None. Empty lists and ABSENT have no say."""
    found = False
    for names in KEYS:
        for entries in lists:
            if entries:
                if type(entries) is not list or not _distinct(entries, names):
                    break
                found = True
        else:
            return names if found else None
    return None


def fits(names: tuple[str, ...], *lists: Json) -> bool:
    """Whether these members, of any scalar type, tell the entries of every list apart."""
    return all(not entries or (type(entries) is list and _distinct_values(entries, names)) for entries in lists)


def key_of(entry: Json, names: tuple[str, ...]) -> Key:
    """The key of an entry."""
    if len(names) == 1:
        name = names[0]
        return Key(((name, entry[name]),))
    return Key(tuple((name, entry[name]) for name in sorted(names)))


def general(path: Path) -> Path:
    """A path that stands for all entries of the lists in it."""
    return tuple(step if type(step) is str else "[]" for step in path)


class Learned:
    """The keys of one resource's lists, as managedFields spell them."""

    def __init__(self) -> None:
        self._names: dict[Path, tuple[str, ...]] = {}
        self._searched: dict[Path, int] = {}

    def names(self, path: Path) -> tuple[str, ...] | None:
        """The key of the list at a path, where it has been learned."""
        return self._names.get(general(path)) if self._names else None

    def search(self, path: Path, obj: Json) -> tuple[str, ...] | None:
        """The key of the list at a path, from the managedFields of an object if need be."""
        place = general(path)
        if place in self._names:
            return self._names[place]
        if self._searched.get(place, 0) >= SEARCHES:
            return None
        self._searched[place] = self._searched.get(place, 0) + 1
        managed: Json = lookup(obj, ["metadata", "managedFields"]) or ()
        for entry in managed:
            for found, names in _spelled(entry.get("fieldsV1") or {}, ()):
                self._names.setdefault(found, names)
        return self._names.get(place)


def _spelled(fields: Json, at: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Every list in a FieldsV1 document whose entries have a key, with the names of its members."""
    for step, below in fields.items():
        if step.startswith("k:"):
            try:
                key = msgspec.json.decode(step[2:])
            except msgspec.DecodeError:
                continue
            yield at, tuple(sorted(key))
            yield from _spelled(below, (*at, "[]"))
        elif step.startswith("f:") and below:
            yield from _spelled(below, (*at, step[2:]))


def _distinct(entries: list[Json], names: tuple[str, ...]) -> bool:
    try:
        if len(names) == 1:
            name = names[0]
            texts = [entry[name] for entry in entries]
            "".join(texts)
        else:
            texts = ["\0".join([entry[name] for name in names]) for entry in entries]
    except (KeyError, TypeError):  # no such member; or an entry that is no object, or a member that is no text
        return False
    return len(set(texts)) == len(texts)


def _distinct_values(entries: list[Json], names: tuple[str, ...]) -> bool:
    try:
        keys = [tuple((type(entry[name]), entry[name]) for name in names) for entry in entries]
        return len(set(keys)) == len(keys)
    except (KeyError, TypeError):
        return False
