"""An object as leaves: place -> value, keyed lists entry by entry, other lists as one value, in any order.

`changed_objects` walks two versions and gives the leaves that differ. Shared subtrees cost nothing, so the check is linear in what
changed; it is the checker's inner loop, and written for speed: `d[name]` and an index that counts along are what the interpreter does
fastest, faster than `items`, `get`, `enumerate` and `zip`. The walk goes down the tree of `places` at its side and remembers there
how the lists were keyed. An empty object or list is a leaf only while nothing of its kind stands there on the other side: filling it is a
change of what is put in.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..objects.tree import ABSENT, Json, same
from .keys import Learned, fits, key_names, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.paths import Path
    from .places import Place

#: Server-kept members of metadata that no writer means.
BOOKKEEPING = frozenset({"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink", "deletionTimestamp"})
_TYPE = frozenset({"apiVersion", "kind"})

Leaf: TypeAlias = "tuple[Place, Json, Json]"


def changed_objects(before: Json, after: Json, root: Place) -> list[Leaf]:
    """(place, before, after) of every leaf that differs, ABSENT where there is none; not what the server keeps, nor what names the type."""
    found: list[Leaf] = []
    old = {} if before is ABSENT else before
    added = 0
    for name in after:
        new = after[name]
        try:
            was = old[name]
        except KeyError:
            was = ABSENT
            added += 1
        if was is new:
            continue
        if name == "metadata":
            _metadata(was or {}, new, root, found)
        elif name not in _TYPE:
            _walk(was, new, root.child(name), found)
    if len(after) - added != len(old):  # something went
        for name, was in old.items():
            if name not in after and name not in _TYPE:
                _walk(was, ABSENT, root.child(name), found)
    return found


def _metadata(old: Json, new: Json, root: Place, found: list[Leaf]) -> None:
    added = 0
    for name in new:
        now = new[name]
        try:
            was = old[name]
        except KeyError:
            was = ABSENT
            added += 1
        if was is not now and name not in BOOKKEEPING:
            _walk(was, now, root.child("metadata").child(name), found)
    if len(new) - added != len(old):
        for name, was in old.items():
            if name not in new and name not in BOOKKEEPING:
                _walk(was, ABSENT, root.child("metadata").child(name), found)


def _walk(before: Json, after: Json, place: Place, found: list[Leaf]) -> None:
    kind = type(after)
    if kind is not type(before):
        _other_kind(before, after, place, found)
    elif kind is dict:
        _members(before, after, place, found)
    elif kind is list:
        _entries(before, after, place, found)
    elif before != after:
        found.append((place, before, after))


def _members(before: Json, after: Json, place: Place, found: list[Leaf]) -> None:
    below = place.below
    if below is None:
        below = place.below = {}
    added = 0
    for name in after:
        new = after[name]
        try:
            old = before[name]
        except KeyError:
            old = ABSENT
            added += 1
        if old is new:
            continue
        kind = type(new)
        if kind is str and type(old) is str:  # what most leaves are
            if old != new:
                found.append((below[name] if name in below else place.child(name), old, new))
        elif kind is list and type(old) is list:
            _entries(old, new, below[name] if name in below else place.child(name), found)
        else:
            _walk(old, new, place.child(name), found)
    if len(after) - added != len(before):  # something went
        for name, old in before.items():
            if name not in after:
                _walk(old, ABSENT, place.child(name), found)


def _entries(before: list[Json], after: list[Json], place: Place, found: list[Leaf]) -> None:
    if place.listed is before:
        keys, entries = place.keyed
    else:
        keys = key_names(after) or ()
        entries = [place.child(key_of(entry, keys)) for entry in after] if keys else []
    if keys and len(before) == len(after) and _in_place(before, after, keys, entries, found):
        if place.listed is not before:
            place.keyed = (keys, entries)
        place.listed = after
    else:
        _paired(before, after, place, found)


def _in_place(before: list[Json], after: list[Json], keys: tuple[str, ...], entries: list[Place], found: list[Leaf]) -> bool:
    """Walks only the entries that differ, while every entry stands where it stood; False, and nothing found, where one does not.

    Entries that differ and have the same keys are enough: then the other list has these keys too.
    """
    start = len(found)
    index = -1
    for new in after:
        index += 1
        old = before[index]
        if old is new:
            continue
        if type(old) is dict and type(new) is dict:
            for name in keys:
                if old.get(name) != new.get(name):
                    break
            else:
                _members(old, new, entries[index], found)
                continue
        del found[start:]
        return False
    return True


def _paired(before: list[Json], after: list[Json], place: Place, found: list[Leaf]) -> None:
    """Entries by their keys, wherever they stand; without keys the list is one value."""
    names = key_names(before, after) or _learned(place, before, after)
    if names is None:
        if not same_elements(before, after):
            found.append((place, before, after))
        return
    old_entries = {key_of(entry, names): entry for entry in before}
    new_entries = {key_of(entry, names): entry for entry in after}
    for key in {**old_entries, **new_entries}:
        old, new = old_entries.get(key, ABSENT), new_entries.get(key, ABSENT)
        if old is not new:
            _walk(old, new, place.child(key), found)


def _learned(place: Place, before: Json, after: Json) -> tuple[str, ...] | None:
    names = place.names
    return names if names is not None and fits(names, before, after) else None


def entries_of(leaf: Leaf, learned: Learned, obj: Json) -> list[Leaf]:
    """A list that was found as one value, entry by entry where managedFields of the object say what its key is."""
    place, before, after = leaf
    if place.names is None:
        place.names = learned.search(place.path, obj)
    if place.names is None or not fits(place.names, before, after):
        return [leaf]
    found: list[Leaf] = []
    _walk(before if type(before) is list else ABSENT, after if type(after) is list else ABSENT, place, found)
    return found


def same_elements(one: Json, other: Json) -> bool:
    """Whether two values are the same, lists in any order."""
    if same(one, other):
        return True
    return type(one) is list and type(other) is list and len(one) == len(other) and elements(one) == elements(other)


def elements(entries: Json) -> Counter[str]:
    """The elements of a list without keys, each as text, and how often it stands there."""
    return Counter(map(_text, entries)) if type(entries) is list else Counter()


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _other_kind(before: Json, after: Json, place: Place, found: list[Leaf]) -> None:
    """Something came, went, or became a thing of another kind: both sides by their own leaves."""
    came: list[tuple[Place, Json]] = []
    _flatten(after, place, came)
    if before is ABSENT:
        found += [(leaf, ABSENT, value) for leaf, value in came]
        return
    went: list[tuple[Place, Json]] = []
    _flatten(before, place, went)
    old, new = dict(went), dict(came)
    found += [(leaf, old.get(leaf, ABSENT), new.get(leaf, ABSENT)) for leaf in {**old, **new}]


def _flatten(tree: Json, place: Place, leaves: list[tuple[Place, Json]]) -> None:
    """Every leaf of a tree, by its place."""
    kind = type(tree)
    if kind is dict and tree:
        for name, member in tree.items():
            _flatten(member, place.child(name), leaves)
    elif kind is list and (names := key_names(tree) or _learned(place, tree, ABSENT)) is not None:
        for entry in tree:
            _flatten(entry, place.child(key_of(entry, names)), leaves)
    elif tree is not ABSENT:
        leaves.append((place, tree))


def flat(tree: Json, at: Path = (), learned: Learned | None = None) -> Iterator[tuple[Path, Json]]:
    """Every leaf of a tree, by its path."""
    if tree is ABSENT:
        return
    if type(tree) is dict and tree:
        for name, member in tree.items():
            yield from flat(member, (*at, name), learned)
        return
    names = list_key(tree, at, learned) if type(tree) is list else None
    if names is None:
        yield at, tree
        return
    for entry in tree:
        yield from flat(entry, (*at, key_of(entry, names)), learned)


def list_key(entries: Json, at: Path, learned: Learned | None) -> tuple[str, ...] | None:
    """The key of a list at a path: by convention, or as learned."""
    names = key_names(entries)
    if names is not None or learned is None:
        return names
    names = learned.names(at)
    return names if entries and names is not None and fits(names, entries) else None
