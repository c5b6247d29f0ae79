"""An object as leaves: path -> value, keyed lists entry by entry, other lists as one value.

`changed` walks two versions and gives the leaves that differ; shared subtrees cost nothing, so the check is linear in what changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Key, Path
from ..objects.tree import ABSENT, Json, same

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Server-kept members that no writer means.
BOOKKEEPING = frozenset({"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid", "selfLink", "deletionTimestamp"})
#: Lists that are keyed by convention, whatever the schema: the members that may be the key, the first that fits.
KEYS: tuple[tuple[str, ...], ...] = (("type",), ("name",), ("kind", "name"), ("key",), ("uid",))


def changed(before: Json, after: Json, at: Path = ()) -> Iterator[tuple[Path, Json, Json]]:
    """(path, before, after) of every leaf that differs; ABSENT where there is none."""
    if before is after:
        return
    if isinstance(before, dict) or isinstance(after, dict):
        yield from _members(before, after, at)
    elif isinstance(before, list) or isinstance(after, list):
        yield from _entries(before, after, at)
    elif not same(before, after):
        yield at, before, after


def _members(before: Json, after: Json, at: Path) -> Iterator[tuple[Path, Json, Json]]:
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    if (not old and not new) or not _comparable(before) or not _comparable(after):
        if not same(before, after):
            yield at, before, after
        return
    for name in {**old, **new}:
        if len(at) == 1 and at[0] == "metadata" and name in BOOKKEEPING:
            continue
        yield from changed(old.get(name, ABSENT), new.get(name, ABSENT), (*at, name))


def _comparable(side: Json) -> bool:
    return isinstance(side, dict) or side is ABSENT


def _entries(before: Json, after: Json, at: Path) -> Iterator[tuple[Path, Json, Json]]:
    names = key_names(before, after)
    if names is None:
        if not same(before, after):
            yield at, before, after
        return
    old = {key_of(entry, names): entry for entry in before} if isinstance(before, list) else {}
    new = {key_of(entry, names): entry for entry in after} if isinstance(after, list) else {}
    for key in {**old, **new}:
        yield from changed(old.get(key, ABSENT), new.get(key, ABSENT), (*at, key))


def key_names(*lists: Json) -> tuple[str, ...] | None:
    """The key by which every one of the lists has distinct entries, or None."""
    present = [entries for entries in lists if isinstance(entries, list) and entries]
    if not present or any(not isinstance(entries, (list,)) and entries is not ABSENT for entries in lists):
        return None
    return next((names for names in KEYS if all(_distinct(entries, names) for entries in present)), None)


def _distinct(entries: list[Json], names: tuple[str, ...]) -> bool:
    seen = set()
    for entry in entries:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
            return False
        seen.add(key_of(entry, names))
    return len(seen) == len(entries)


def key_of(entry: Json, names: tuple[str, ...]) -> Key:
    """The key of an entry."""
    return Key(tuple((name, entry[name]) for name in sorted(names)))


def flat(tree: Json, at: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every leaf of a tree."""
    for path, _, value in changed(ABSENT, tree, at):
        yield path, value
