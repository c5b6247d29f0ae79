"""An object as leaves: path -> value, keyed lists entry by entry, other lists as one value.

`changed` walks two versions and gives the leaves that differ. Shared subtrees cost nothing, so the check is linear in what changed;
it is the checker's inner loop, and written for speed (`at + (name,)` is twice as fast as unpacking). An empty object or list is a leaf
only while nothing of its kind stands there on the other side: filling it is a change of what is put in.
"""

# ruff: noqa: RUF005
from __future__ import annotations

from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, TypeAlias

from ..objects.paths import Key, Path
from ..objects.tree import ABSENT, Json, same

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Server-kept members of metadata that no writer means.
BOOKKEEPING = frozenset({"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink", "deletionTimestamp"})
_TYPE = frozenset({"apiVersion", "kind"})
#: Lists that are keyed by convention, whatever the schema: the members that may be the key, the first that fits.
KEYS: tuple[tuple[str, ...], ...] = (("type",), ("name",), ("kind", "name"), ("key",), ("uid",))

Leaf: TypeAlias = "tuple[Path, Json, Json]"


class Keyed:
    """What is known of the lists of one object, as last seen: to find their keys anew for every version would cost more than the rest."""

    __slots__ = ("lists",)

    def __init__(self) -> None:
        #: Path of a list -> the list, its key, and the paths of its entries where they stand.
        self.lists: dict[Path, tuple[list[Json], tuple[str, ...], list[Path]]] = {}


def changed(before: Json, after: Json, at: Path = ()) -> list[Leaf]:
    """(path, before, after) of every leaf that differs; ABSENT where there is none."""
    found: list[Leaf] = []
    if before is not after:
        _walk(before, after, at, found, Keyed())
    return found


def changed_objects(before: Json, after: Json, keyed: Keyed | None = None) -> list[Leaf]:
    """The same for two versions of a whole object, without what the server keeps and what names the type."""
    found: list[Leaf] = []
    known = Keyed() if keyed is None else keyed
    old = {} if before is ABSENT else before
    for name, new in after.items():
        was = old.get(name, ABSENT)
        if was is new or name in _TYPE:
            continue
        if name == "metadata":
            _metadata(was or {}, new, found, known)
        else:
            _walk(was, new, (name,), found, known)
    if old.keys() != after.keys():
        for name in old.keys() - after.keys() - _TYPE:
            _walk(old[name], ABSENT, (name,), found, known)
    return found


def _metadata(old: Json, new: Json, found: list[Leaf], keyed: Keyed) -> None:
    for name, now in new.items():
        was = old.get(name, ABSENT)
        if was is not now and name not in BOOKKEEPING:
            _walk(was, now, ("metadata", name), found, keyed)
    if old.keys() != new.keys():
        for name in old.keys() - new.keys() - BOOKKEEPING:
            _walk(old[name], ABSENT, ("metadata", name), found, keyed)


def _walk(before: Json, after: Json, at: Path, found: list[Leaf], keyed: Keyed) -> None:
    kind = type(after)
    if kind is not type(before):
        _other_kind(before, after, at, found)
    elif kind is dict:
        _members(before, after, at, found, keyed)
    elif kind is list:
        _entries(before, after, at, found, keyed)
    elif before != after:
        found.append((at, before, after))


def _members(before: Json, after: Json, at: Path, found: list[Leaf], keyed: Keyed) -> None:
    added = 0
    for name, new in after.items():
        old = before.get(name, ABSENT)
        if old is new:
            continue
        kind = type(new)
        if kind is str and type(old) is str:  # what most leaves are
            if old != new:
                found.append((at + (name,), old, new))
        elif kind is list and type(old) is list:
            _entries(old, new, at + (name,), found, keyed)
        else:
            added += old is ABSENT
            _walk(old, new, at + (name,), found, keyed)
    if len(after) - added != len(before):  # something went
        for name, old in before.items():
            if name not in after:
                _walk(old, ABSENT, at + (name,), found, keyed)


def _entries(before: list[Json], after: list[Json], at: Path, found: list[Leaf], keyed: Keyed) -> None:
    seen = keyed.lists.get(at)
    if seen is not None and seen[0] is before:
        names, places = seen[1], seen[2]
    else:
        fitting = key_names(after)
        names, places = fitting or (), [at + (key_of(entry, fitting),) for entry in after] if fitting else []
    if names and len(before) == len(after):
        moved = list(compress(range(len(after)), map(is_not, before, after)))
        if _in_place(before, after, moved, names):
            for index in moved:  # every entry stands where it stood: only those that differ need a look
                _members(before[index], after[index], places[index], found, keyed)
            keyed.lists[at] = (after, names, places)
            return
    _paired(before, after, at, found, keyed)


def _paired(before: list[Json], after: list[Json], at: Path, found: list[Leaf], keyed: Keyed) -> None:
    """Entries by their keys, wherever they stand; without keys the list is one value."""
    names = key_names(before, after)
    if names is None:
        if not same(before, after):
            found.append((at, before, after))
        return
    old_entries = {key_of(entry, names): entry for entry in before}
    new_entries = {key_of(entry, names): entry for entry in after}
    for key in {**old_entries, **new_entries}:
        old, new = old_entries.get(key, ABSENT), new_entries.get(key, ABSENT)
        if old is not new:
            _walk(old, new, at + (key,), found, keyed)


def _in_place(before: list[Json], after: list[Json], moved: list[int], names: tuple[str, ...]) -> bool:
    """Whether entries that differ are still entries with the same keys; then the other list has these keys too."""
    for index in moved:
        old, new = before[index], after[index]
        if type(old) is not dict or type(new) is not dict:
            return False
        for name in names:
            if old.get(name) != new.get(name):
                return False
    return True


def _other_kind(before: Json, after: Json, at: Path, found: list[Leaf]) -> None:
    """Something came, went, or became a thing of another kind: both sides by their own leaves."""
    old = dict(_flat(before, at))
    new = dict(_flat(after, at))
    found.extend((path, old.get(path, ABSENT), new.get(path, ABSENT)) for path in {**old, **new})


def _flat(tree: Json, at: Path) -> Iterator[tuple[Path, Json]]:
    if tree is ABSENT:
        return
    if type(tree) is dict and tree:
        for name, member in tree.items():
            yield from _flat(member, (*at, name))
        return
    names = key_names(tree) if type(tree) is list else None
    if names is None:
        yield at, tree
        return
    for entry in tree:
        yield from _flat(entry, (*at, key_of(entry, names)))


def flat(tree: Json, at: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every leaf of a tree."""
    return _flat(tree, at)


def key_names(*lists: Json) -> tuple[str, ...] | None:
    """The key by which every one of the lists has distinct entries, or None. Empty lists and ABSENT have no say."""
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


def key_of(entry: Json, names: tuple[str, ...]) -> Key:
    """The key of an entry."""
    if len(names) == 1:
        name = names[0]
        return Key(((name, entry[name]),))
    return Key(tuple((name, entry[name]) for name in sorted(names)))
