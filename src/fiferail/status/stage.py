"""The memory of one session: what it started from, what it wants, and what it looked at.

The views (`view.py`) edit it, the strategies read it. It never talks to anybody: a client that raises on every call proves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FiferailError
from ..objects.conditions import settled
from ..objects.paths import Key, Path, find, render
from ..objects.tree import ABSENT, Absent, Json, same
from .intents import Condition, Drop, Intent, Put, Raise, applied, derive, drop, holds, is_number, put, put_below, says
from .lossy import regrown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .outcome import Outcome
    from .shapes import Shapes


class Stage:
    """Base, staged tree, reads. Paths are from the object's root."""

    __slots__ = (
        "_base", "_by_type", "_conditions", "_confirmed", "_may_write", "_next", "_own", "_plain", "_raises", "_said", "generation",
        "guards", "now", "reads", "shapes", "tree",
    )  # fmt: skip

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
        self._base = base
        self._next: Outcome | None = None
        self.tree = base
        self.shapes = shapes
        self.now = now
        #: The generation that the decision saw: the caller's object, also when a newer status is known.
        self.generation = generation
        self.guards = tuple(guards)
        self._may_write = may_write
        self.reads: dict[Path, None] = {}
        #: All that this session changed, and of that what it simply put or dropped.
        self._own: set[Path] = set()
        self._plain: set[Path] = set()
        self._raises: dict[Path, int] = {}
        self._conditions: dict[Path, Condition] = {}
        #: What was assigned and found to be there already: no change, as long as it is still so in the newest version known.
        self._confirmed: list[Intent] = []
        #: Conditions of that sort, not yet as intents: nearly always nobody asks.
        self._said: list[tuple[Path, str, dict[str, Json], str]] = []
        #: The conditions by type, and of which tree, path and list.
        self._by_type: tuple[Json, Path, Json, dict[str, Json]] = ABSENT, (), ABSENT, {}

    @property
    def base(self) -> Json:
        """What the staging started from: the object as it was read, or what the server has since the last flush."""
        if self._next is not None:
            self.rebase(self._next.object)
        return self._base

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
        self._about_to_write(path)
        there = find(self.tree, path)
        if there is value or same(there, value):
            self._confirmed.append(Put(path, value))
            return
        self.tree = put(self.tree, path, value)
        self._own.add(path)
        self._plain.add(path)

    def drop(self, path: Path) -> None:
        """Stage a removal."""
        self._about_to_write(path)
        if find(self.tree, path) is ABSENT:
            self._confirmed.append(Drop(path))
            return
        self.tree = drop(self.tree, path)
        self._own.add(path)
        self._plain.add(path)

    def raise_to(self, path: Path, floor: int) -> None:
        """Stage 'at least this'."""
        if self._may_write is not None:
            self._may_write(path)
        current: Json = find(self.tree, path)
        if is_number(current) and current >= floor:
            return
        if self._plain and any(path[:length] in self._plain for length in range(1, len(path) + 1)):
            self.put(path, floor)  # this session decided already what stands there: that is raised, not what the server has
            return
        self._raises[path] = floor
        self.tree = put(self.tree, path, floor)
        self._own.add(path)

    def set_condition(self, root: Path, type_: str, fields: dict[str, Json]) -> None:
        """Stage a condition of the list at `root`."""
        if self._may_write is not None:
            self._may_write((*root, Key((("type", type_),))))
        before = self._condition(root, type_)
        if before is not None and says(before, fields):
            self._said.append((root, type_, fields, before["lastTransitionTime"]))
            return
        path = (*root, Key((("type", type_),)))
        after = settled(before, fields, self.now())
        says_it_already = False
        if path in self._conditions:
            after, says_it_already = self._since_the_base(path, after, fields)
        if before is None:
            self.tree = put(self.tree, path, after)
        else:
            _, _, entries, found = self._by_type
            entries = [after if entry is before else entry for entry in entries]
            self.tree = put_below(self.tree, root, entries)
            self._by_type = self.tree, root, entries, {**found, type_: after}
        if says_it_already:
            del self._conditions[path]
            self._said.append((root, type_, fields, after["lastTransitionTime"]))
            return
        self._conditions[path] = Condition(path, fields, after["lastTransitionTime"])
        self._own.add(path)

    def _since_the_base(self, path: Path, after: dict[str, Json], fields: dict[str, Json]) -> tuple[dict[str, Json], bool]:
        """A condition that is said twice in one session (False while at work, True at the end) has flipped only if the server has it
        otherwise: what came in between nobody saw. And whether the server has all of it already."""
        stood = find(self.base, path)
        if not isinstance(stood, dict) or stood.get("status") != after["status"] or "lastTransitionTime" in fields:
            return after, False
        after = {**after, "lastTransitionTime": stood.get("lastTransitionTime") or after["lastTransitionTime"]}
        return (stood, True) if same(stood, after) else (after, False)

    def _condition(self, root: Path, type_: str) -> Json:
        """The staged condition, or None. A reconcile sets them all: they are sorted by type once, not searched each time."""
        tree, at, entries, found = self._by_type
        if tree is not self.tree or at != root:
            current = find(self.tree, root)
            if current is not entries:
                listed = reversed(current) if isinstance(current, list) else ()
                found = {entry["type"]: entry for entry in listed if type(entry) is dict and type(entry.get("type")) is str}
            self._by_type = self.tree, root, current, found
        return found.get(type_)

    # -- what the strategies ask

    def intents(self) -> list[Intent]:
        """What is wanted, as changes that can be applied to any snapshot."""
        if self.tree is self.base:
            return []
        base, conditions = self.base, list(self._conditions.values())
        wanted: list[Intent] = [*conditions]
        if self._plain:  # else nothing but conditions and raised numbers was staged
            conditions = [condition for condition in conditions if not self._overwrites(condition)]
            special = {*(condition.path for condition in conditions), *self._raises}
            wanted = [*derive(base, self.tree, self.shapes, special), *conditions, *self._beside(conditions)]
        if self._raises:
            wanted.extend(Raise(path, floor) for path, floor in self._raises.items() if not same(find(base, path), floor))
        return wanted

    def _overwrites(self, condition: Condition) -> bool:
        """Whether the session then wrote by hand over what the condition says: so its members are wanted as they stand."""
        if not self._touches(condition):
            return False
        entry: Json = find(self.tree, condition.path)
        said = ((name, value) for name, value in condition.fields.items() if name != "observedGeneration")
        return any(not same(entry.get(name, ABSENT), value) for name, value in said)

    def _touches(self, condition: Condition) -> bool:
        """Whether something was simply put or dropped at, above or below the entry of a condition."""
        return any(path[: len(condition.path)] == condition.path[: len(path)] for path in self._plain)

    def _beside(self, conditions: list[Condition]) -> list[Put | Drop]:
        """What else was staged in the entries of these conditions, or removed with them: what the conditions do not say themselves."""
        found: list[Put | Drop] = []
        for condition in conditions:
            if not self._touches(condition):
                continue
            entry: Json = find(self.tree, condition.path)
            said: Json = find(applied([condition], self.base), condition.path)
            for name in {**entry, **said}:
                value = entry.get(name, ABSENT)
                if not same(value, said.get(name, ABSENT)):
                    path = (*condition.path, name)
                    found.append(Drop(path) if value is ABSENT else Put(path, value))
        return found

    def contradicted(self, newest: Json) -> list[Intent]:
        """What the session took for there already, and the newest version known has otherwise."""
        said = [Condition((*root, Key((("type", type_),))), fields, since) for root, type_, fields, since in self._said]
        return [intent for intent in (*self._confirmed, *said) if self._still_says(intent) and not holds([intent], newest)]

    def _still_says(self, intent: Intent) -> bool:
        """Whether the session left it at that: nothing else was staged there afterwards."""
        return same(find(self.tree, intent.path), find(self.base, intent.path)) and holds([intent], self.tree)

    def close(self) -> None:
        """Refuse to stage anything more."""
        self._may_write = _too_late

    def rebase_later(self, written: Outcome) -> None:
        """Start again from what was written, when somebody goes on: the answer is not read before."""
        self._next = written

    def rebase(self, base: Json) -> None:
        """Start again from a newer object, with nothing staged and nothing read."""
        self._base = self.tree = base
        self._next = None
        self.reads.clear()
        self._own.clear()
        self._plain.clear()
        self._raises.clear()
        self._conditions.clear()
        self._confirmed.clear()
        self._said.clear()

    def reground(self, live: Json) -> None:
        """Put the same stage on the object as the server has it; the base was a lossy reading of that very version."""
        self.tree = regrown(self.base, self.tree, live, self.shapes)
        self._base = live

    def _is_own(self, path: Path) -> bool:
        return bool(self._own) and any(path[:length] in self._own for length in range(1, len(path) + 1))

    def _about_to_write(self, path: Path) -> None:
        """Ask whether that is allowed. A plain write or removal takes the place of special intents at or below it."""
        if self._may_write is not None:
            self._may_write(path)
        if self._conditions:
            for special in [s for s in self._conditions if s[: len(path)] == path]:
                del self._conditions[special]
        if self._raises:
            for special in [s for s in self._raises if s[: len(path)] == path]:
                del self._raises[special]


def _too_late(path: Path) -> None:
    raise FiferailError(f"{render(path)} is staged after its session has ended, so nobody would write it: open another session")
