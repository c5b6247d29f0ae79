"""The memory of one session: what it started from, what it wants, and what it looked at.

The views (`view.py`) edit it, the strategies read it. It never talks to anybody: a client that raises on every call proves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.conditions import settled
from ..objects.paths import Key, Path, find
from ..objects.tree import ABSENT, Absent, Json, same
from .intents import Condition, Drop, Intent, Put, Raise, _drop, _put, derive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .shapes import Shapes


class Stage:
    """Base, staged tree, reads. Paths are from the object's root."""

    def __init__(
        self,
        base: Json,
        *,
        shapes: Shapes,
        now: Callable[[], str],
        generation: int | None = None,
        guards: Iterable[Path] = (),
        may_write: Callable[[Path], None] | None = None,
    ) -> None:
        self.base = base
        self.tree = base
        self.shapes = shapes
        self.now = now
        #: The generation that the decision saw: the caller's object, also when a newer status is known.
        self.generation = generation
        self.guards = tuple(guards)
        self._may_write = may_write
        self.reads: dict[Path, None] = {}
        self._own: set[Path] = set()
        self._raises: dict[Path, int] = {}
        self._conditions: dict[Path, Condition] = {}

    # -- what the views do

    def get(self, path: Path) -> Json | Absent:
        """The staged value, not recorded as read."""
        return find(self.tree, path)

    def read(self, path: Path) -> Json | Absent:
        """The staged value; the decision depends on it from now on, unless this session put it there itself."""
        if not self._is_own(path):
            self.reads[path] = None
        return find(self.tree, path)

    def put(self, path: Path, value: Json) -> None:
        """Stage a value. What is there already is no change."""
        self._check(path)
        self._forget(path)
        if not same(find(self.tree, path), value):
            self.tree = _put(self.tree, path, value)
            self._own.add(path)

    def drop(self, path: Path) -> None:
        """Stage a removal."""
        self._check(path)
        self._forget(path)
        if find(self.tree, path) is not ABSENT:
            self.tree = _drop(self.tree, path)
            self._own.add(path)

    def raise_to(self, path: Path, floor: int) -> None:
        """Stage 'at least this'."""
        self._check(path)
        current = find(self.tree, path)
        if isinstance(current, int) and not isinstance(current, bool) and current >= floor:
            return
        self._raises[path] = floor
        self.tree = _put(self.tree, path, floor)
        self._own.add(path)

    def set_condition(self, path: Path, fields: dict[str, Json]) -> None:
        """Stage a condition; `path` ends in its key."""
        self._check(path)
        before = find(self.tree, path)
        if isinstance(before, dict) and _says(before, fields):
            return
        after = settled(before, fields, self.now())
        if after is before:
            return
        self.tree = _put(self.tree, path, after)
        self._conditions[path] = Condition(path, fields, after["lastTransitionTime"])
        self._own.add(path)

    # -- what the strategies ask

    def intents(self) -> list[Intent]:
        """What is wanted, as changes that can be applied to any snapshot."""
        if self.tree is self.base:
            return []
        wanted: list[Intent] = [change for change in derive(self.base, self.tree, self.shapes) if not self._is_special(change)]
        base_entry = {path: find(self.base, path) for path in self._conditions}
        wanted.extend(c for path, c in self._conditions.items() if find(self.tree, path) is not base_entry[path])
        wanted.extend(Raise(path, floor) for path, floor in self._raises.items() if not same(find(self.base, path), floor))
        return wanted

    def rebase(self, base: Json) -> None:
        """Start again from a newer object, with nothing staged and nothing read."""
        self.base = self.tree = base
        self.reads.clear()
        self._own.clear()
        self._raises.clear()
        self._conditions.clear()

    def _is_special(self, change: Put | Drop) -> bool:
        path = change.path
        return path in self._raises or any(path[: len(special)] == special for special in self._conditions)

    def _is_own(self, path: Path) -> bool:
        return bool(self._own) and any(path[:length] in self._own for length in range(1, len(path) + 1))

    def _forget(self, path: Path) -> None:
        """A plain write or removal takes the place of special intents at or below it."""
        for special in [s for s in self._conditions if s[: len(path)] == path]:
            del self._conditions[special]
        self._raises.pop(path, None)

    def _check(self, path: Path) -> None:
        if self._may_write is not None:
            self._may_write(path)


def _says(entry: Json, fields: dict[str, Json]) -> bool:
    """Whether a condition says it already: the usual case, told without making anything."""
    said = all(entry.get(name) == value for name, value in fields.items() if name != "observedGeneration")
    seen = entry.get("observedGeneration")
    newer = fields.get("observedGeneration")
    return said and bool(entry.get("lastTransitionTime")) and (newer is None or (type(seen) is int and seen >= newer))


def condition_path(root: Path, type_: str) -> Path:
    """The path of a condition's entry."""
    return (*root, "conditions", Key((("type", type_),)))
