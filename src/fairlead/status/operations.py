"""From one snapshot to another as JSON Patch operations, keyed lists entry by entry.

The order matters because indices shift: members set and entries appended first, then members removed, then entries removed
from the highest index down. Tests stand before all of them, so every index means the snapshot's. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Path, pointer
from ..objects.tree import Json, same
from .shapes import Shapes, identities

if TYPE_CHECKING:
    from collections.abc import Iterator

Location = tuple[str | int, ...]


def changes(old: Json, new: Json, shapes: Shapes) -> list[Json]:
    """The operations that turn old into new."""
    found = list(_walk(old, new, shapes, ()))
    sets = [{"op": "add", "path": pointer(at), "value": value} for kind, at, value in found if kind == "set"]
    members = [{"op": "remove", "path": pointer(at)} for kind, at, _ in found if kind == "member"]
    entries = sorted((at for kind, at, _ in found if kind == "entry"), key=_depth_first, reverse=True)
    return [*sets, *members, *({"op": "remove", "path": pointer(at)} for at in entries)]


def _depth_first(at: Location) -> list[tuple[bool, str | int]]:
    return [(isinstance(step, int), step) for step in at]


def _walk(old: Json, new: Json, shapes: Shapes, at: Location) -> Iterator[tuple[str, Location, Json]]:
    if old is new:
        return
    if type(old) is dict and type(new) is dict:
        for name, member in new.items():
            if name in old:
                yield from _walk(old[name], member, shapes, (*at, name))
            else:
                yield "set", (*at, name), member
        yield from (("member", (*at, name), None) for name in old if name not in new)
    elif type(old) is list and type(new) is list and _entrywise(old, new, shapes, at):
        yield from _walk_entries(old, new, shapes, at)
    elif not same(old, new):
        yield "set", at, new


def _entrywise(old: Json, new: Json, shapes: Shapes, at: Location) -> bool:
    place: Path = at
    keyed = shapes.keys(place, old) is not None and shapes.keys(place, new) is not None
    return keyed or (shapes.is_set(place, old) and shapes.is_set(place, new))


def _walk_entries(old: Json, new: Json, shapes: Shapes, at: Location) -> Iterator[tuple[str, Location, Json]]:
    names = shapes.keys(at, old)
    before = old if names is None else identities(old, names) or []
    after = new if names is None else identities(new, names) or []
    stand = {identity: index for index, identity in enumerate(before)}
    for identity, entry in zip(after, new, strict=True):
        index = stand.pop(identity, None)
        if index is None:
            yield "set", (*at, "-"), entry
        elif old[index] is not entry:
            yield from _walk(old[index], entry, shapes, (*at, index))
    yield from (("entry", (*at, index), None) for index in stand.values())
