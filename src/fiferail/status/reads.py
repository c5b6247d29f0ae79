"""What a caller looked at, how closely, and whether a newer object still looks the same. Pure.

A read is a path and a `Look`. Looking at a scalar reads its value, and so does looking at the entries of a list or at all members of a
map. Looking at a map or a list only to see that it is there reads its presence, which nobody disturbs by changing a member or an
entry. `stage` records reads, `preconditions` turns them into tests of a JSON patch,
`decide` compares them with a live object.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from ..objects.paths import Path, find, meet
from ..objects.tree import Json, same

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Reads: TypeAlias = "dict[Path, Look]"

#: The server changes these with every write: that they were looked at says nothing about the decision.
_NEVER = (("metadata", "resourceVersion"), ("metadata", "managedFields"))
#: What stands for the metadata as a whole.
_METADATA: tuple[Path, ...] = tuple(
    ("metadata", name) for name in ("generation", "labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
)


class Look(IntEnum):
    """How closely a path was looked at; each includes the ones before it."""

    #: That a map or a list is there, and which of the two it is.
    THERE = 1
    #: That a map or a list is not empty.
    FILLED = 2
    #: The whole value.
    VALUE = 3


def note(reads: Reads, path: Path, look: Look) -> bool:
    """Record a look at the path, and say whether it was closer than any before: the closest one counts."""
    if len(path) < 2 and path in ((), ("metadata",)):
        below = _METADATA if path else (*_METADATA, ("spec",), ("status",))
        closer = [note(reads, one, look) for one in below if look is Look.VALUE]
        return any(closer)
    if path[:2] in _NEVER or reads.get(path, 0) >= look:
        return False
    reads[path] = look
    return True


def merged(several: Collection[Reads]) -> Reads:
    """All of them; the closest look at a path counts."""
    if len(several) == 1:
        return next(iter(several))
    found: Reads = {}
    for reads in several:
        for path, look in reads.items():
            found[path] = max(look, found.get(path, look))
    return found


def differs(look: Look, was: Json, now: Json) -> bool:
    """Whether somebody who looked at `was` this closely would see something else in `now`."""
    if look is Look.VALUE or not isinstance(was, (dict, list)):
        return not same(was, now)
    return not isinstance(now, dict if isinstance(was, dict) else list) or (look is Look.FILLED and not now)


def changed(reads: Mapping[Path, Look], was: Json, now: Json) -> list[Path]:
    """The paths that would look different in the newer object."""
    return [path for path, look in reads.items() if differs(look, find(was, path), find(now, path))]


def covers(reads: Mapping[Path, Look], path: Path) -> bool:
    """Whether the value at the path was looked at, or something above or below it."""
    return any(look is Look.VALUE and meet(read, path) for read, look in reads.items())
