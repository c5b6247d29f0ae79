"""From one snapshot to another as JSON Patch operations, keyed lists entry by entry.

The order matters because indices shift: members set and entries appended first, then members removed, then entries removed
from the highest index down. Tests stand before all of them, so every index means the snapshot's. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..objects.paths import Key, index_of, outermost, pointer
from ..objects.tree import ABSENT, Json, lookup, same
from .shapes import identities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.paths import Path
    from .shapes import Shapes

Location = tuple[str | int, ...]


def changes(
    old: Json, new: Json, shapes: Shapes, paths: Sequence[Path] = (), places: Sequence[Location | None] = (),
) -> list[Json]:  # fmt: skip
    """The operations that turn old into new. `paths`: the two differ nowhere else, and these are their places in old."""
    found = Found([], [], [])
    if not paths or not _walk_paths(old, new, shapes, paths, places, found):
        _walk(old, new, shapes, (), found)
    sets = [{"op": "add", "path": pointer(at), "value": value} for at, value in found.sets]
    if not found.members and not found.entries:
        return sets
    members = [{"op": "remove", "path": pointer(at)} for at in found.members]
    entries = sorted(found.entries, key=_depth_first, reverse=True)
    return [*sets, *members, *({"op": "remove", "path": pointer(at)} for at in entries)]


class Found(NamedTuple):
    """Where the two differ: what is to be set, which members and which entries are to go."""

    sets: list[tuple[Location, Json]]
    members: list[Location]
    entries: list[Location]


def _walk_paths(
    old: Json, new: Json, shapes: Shapes, paths: Sequence[Path], places: Sequence[Location | None], found: Found
) -> bool:  # fmt: skip
    """Straight to where they differ. False, with nothing found, where the way there is not the same in both, or one lies on another's."""
    if len(paths) > 1 and len(outermost(paths)) < len(paths):
        return False
    ends: list[tuple[Location, Json]] = []
    for place, path in zip(places, paths, strict=True):
        end = _at_the_same_place(new, path, place) if place is not None else ABSENT
        if place is None or end is ABSENT:
            return False
        ends.append((place, end))
    for place, end in ends:
        _walk(lookup(old, place), end, shapes, place, found)
    return True


def _at_the_same_place(tree: Json, path: Path, place: Location) -> Json:
    """What the path leads to, if it leads through the same members and indices; else ABSENT."""
    for step, at in zip(path, place, strict=True):
        if type(at) is str:
            if type(tree) is not dict or at not in tree:
                return ABSENT
        elif type(step) is not Key or index_of(tree, step) != at:
            return ABSENT
        tree = tree[at]
    return tree


def _depth_first(at: Location) -> list[tuple[bool, str | int]]:
    return [(isinstance(step, int), step) for step in at]


def _walk(old: Json, new: Json, shapes: Shapes, at: Location, found: Found) -> None:
    if type(old) is dict and type(new) is dict:
        kept = 0
        for name, member in new.items():
            stood = old.get(name, ABSENT)
            kept += stood is not ABSENT
            if stood is ABSENT:
                found.sets.append(((*at, name), member))
            elif stood is not member:
                _walk(stood, member, shapes, (*at, name), found)
        if kept < len(old):
            found.members.extend((*at, name) for name in old if name not in new)
    elif not (type(old) is list and type(new) is list and _walk_entries(old, new, shapes, at, found)) and not same(old, new):
        found.sets.append((at, new))


def _walk_entries(old: Json, new: Json, shapes: Shapes, at: Location, found: Found) -> bool:
    """Entry by entry, where entries can be told apart."""
    names = shapes.names(at)
    before = identities(old, names) if names is not None else None
    if before is not None and names is not None and len(old) == len(new) and _in_place(old, new, names):
        for place, entry in enumerate(new):
            if old[place] is not entry:
                _walk(old[place], entry, shapes, (*at, place), found)
        return True
    after = identities(new, names) if before is not None and names is not None else None
    if before is None or after is None:
        if not (shapes.is_set(at, old) and shapes.is_set(at, new)):
            return False
        before, after = old, new
    stand = {identity: index for index, identity in enumerate(before)}
    for identity, entry in zip(after, new, strict=True):
        index = stand.pop(identity, None)
        if index is None:
            found.sets.append(((*at, "-"), entry))
        elif old[index] is not entry:
            _walk(old[index], entry, shapes, (*at, index), found)
    if stand:
        found.entries.extend((*at, index) for index in stand.values())
    return True


def _in_place(old: list[Json], new: list[Json], names: tuple[str, ...]) -> bool:
    """Whether every entry stands where it stood: the usual case, recognised without sorting anything."""
    for stood, entry in zip(old, new, strict=True):
        if stood is not entry and (type(entry) is not dict or any(not same(stood[name], entry.get(name, ABSENT)) for name in names)):
            return False
    return True
