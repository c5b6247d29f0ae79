"""The fields of one object as a tree of places, each with its last writer. Pure.

A walk over two versions of an object goes down this tree at its side, so that whoever finds a changed leaf holds its place already:
no path is built and none is hashed for a field that has been written before. Places know nothing of what is above them; without
cycles they go as soon as their object goes.
"""

# ruff: noqa: RUF005
from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Key, Path, Step
from ..objects.tree import ABSENT, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY: frozenset[str] = frozenset()
UNKEYED: tuple[tuple[str, ...], list[Place]] = ((), [])


class Place:
    """Where a field stands, and its last change. A plain class: its members are written over very often, and a Struct is slow at that."""

    __slots__ = ("actor", "before", "below", "keyed", "knowing", "listed", "names", "order", "path", "turns", "value", "version")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.below: dict[Step, Place] | None = None
        #: The last change. Everybody who has changed the leaf so far knows it; while that is nobody, the rest has no meaning.
        self.knowing = NOBODY
        self.actor = ""
        self.version = 0
        self.value: Json = ABSENT
        self.before: Json = ABSENT
        #: Which of the object's leaves this was to be written first, second, third.
        self.order = 0
        #: Of a leaf that changes hands: from whom, to whom, and how often in a row between these two.
        self.turns: tuple[str, str, int] | None = None
        #: Of a list: the list as last seen, and then its key, and the places of its entries where they stand.
        self.listed: list[Json] | None = None
        #: Of a list whose key is no conventional one: its key, as managedFields say.
        self.names: tuple[str, ...] | None = None
        self.keyed = UNKEYED

    def child(self, step: Step) -> Place:
        """The place one step below, made when there is none."""
        below = self.below
        if below is None:
            below = self.below = {}
        found = below.get(step)
        if found is None:
            found = below[step] = Place(self.path + (step,))
        return found

    def at(self, path: Path) -> Place | None:
        """The place at a path from here, if there is one."""
        place: Place | None = self
        for step in path:
            if place is None or place.below is None:
                return None
            place = place.below.get(step)
        return place

    def written(self) -> Iterator[Place]:
        """This place and all below it that somebody has written."""
        if self.knowing:
            yield self
        for place in (self.below or {}).values():
            yield from place.written()

    def is_entered(self) -> bool:
        """Whether this is a list that was ever written entry by entry."""
        entries = (place for step, place in (self.below or {}).items() if type(step) is Key)
        return any(True for entry in entries for _ in entry.written())

    def passed_to(self, actor: str, *, knowing: bool = True) -> None:
        """The leaf has another writer now: one that knows it, unless it was overwritten without being looked at."""
        self.actor = actor
        if knowing and actor not in self.knowing:
            self.knowing |= {actor}


class Places:
    """All places of one object."""

    __slots__ = ("_count", "root")

    def __init__(self) -> None:
        self.root = Place(())
        self._count = 0

    def write_first(self, place: Place, actor: str, version: int, now: Json, was: Json, knowing: frozenset[str]) -> None:
        """A leaf that nobody has written before."""
        place.actor, place.version, place.value, place.before, place.knowing = actor, version, now, was, knowing
        self._count += 1
        place.order = self._count

    def last_writer(self, place: Place, value: Json) -> Place | None:
        """Where this leaf was last changed. A list may have been one value then and entries now, or the other way round."""
        if value and place.below and place.is_entered():
            return last_written(place)
        if place.knowing:
            return place
        if all(type(step) is str for step in place.path):
            return None
        above, found = self.root, None
        for step in place.path[:-1]:
            above = above.child(step)
            if above.knowing and above.value and type(above.value) is list:
                found = above
        return found

    def last_writer_within(self, path: Path) -> Place | None:
        """Where anything at or below the path was last changed."""
        try:
            place = self.root.at(path)
        except TypeError:  # a path that no field has: with a step that cannot be looked up
            return None
        return last_written(place) if place is not None else None

    def writer_at(self, path: Path) -> Place | None:
        """The leaf at exactly this path, if somebody has written it."""
        place = self.root.at(path)
        return place if place is not None and place.knowing else None


def last_written(place: Place) -> Place | None:
    """What was changed last at or below a place; of several at once, what was known first."""
    return max(place.written(), key=lambda leaf: (leaf.version, -leaf.order), default=None)
