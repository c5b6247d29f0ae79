"""The memory of one session: what its caller knows, what it wants, and what it looked at.

The views (`view`) edit it, `core` takes what was staged and sends it. It never talks to anybody: a client that raises on every call
proves it. Three trees, equal at first:

    seen    what the caller's decisions stand on, path by path: the object it passed; where the session has written or has looked
            since, what the server answered
    base    what the staged tree grew from: the object, then the server's answer to the last flush
    tree    base with everything staged on it

While a flush is on its way there is a fourth: `_from`, the tree that it took, which is what later staging is compared with.

What is staged while a flush is on its way stays staged for the next one: `take` freezes, `stored` and `put_back` say how it ended.
Threads and tasks may share a stage.
"""

from __future__ import annotations

from _thread import RLock
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..errors import FiferailError
from ..objects.conditions import settled
from ..objects.paths import Key, Path, find, is_within, meet, render
from ..objects.tree import ABSENT, Absent, Json, same
from .flow import Known, current
from .intents import Condition, Drop, Intent, Put, Raise, applied, derive, drop, holds, is_number, placed, put, put_below, says
from .lossy import regrown
from .reads import Look, Reads, merged, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .outcome import Outcome
    from .shapes import Shapes

Name = TypeVar("Name")
#: The scope of whoever does not ask for one; what is read in it concerns every scope.
SHARED = ""


class Log:
    """What was staged, beside the tree: how it was said, and by whom."""

    __slots__ = ("conditions", "confirmed", "depends", "known", "own", "plain", "raises", "said", "scopes")

    def __init__(self) -> None:
        #: What this session put there itself, completely: reading it back is no read.
        self.own: set[Path] = set()
        #: What was simply put or dropped.
        self.plain: set[Path] = set()
        self.raises: dict[Path, int] = {}
        self.conditions: dict[Path, Condition] = {}
        #: What was assigned and found to be there already: no change, as long as it is still so in the newest version known.
        self.confirmed: list[Intent] = []
        #: Conditions of that sort, not yet as intents: nearly always nobody asks.
        self.said: list[tuple[Path, str, dict[str, Json], str]] = []
        #: Which scopes staged a path; only of scopes that have a name.
        self.scopes: dict[Path, frozenset[str]] = {}
        #: Which scope looked at what which other scopes had staged.
        self.depends: dict[str, frozenset[str]] = {}
        #: What the flows of control that staged something knew of own writes by then.
        self.known: list[Known] = []

    def __bool__(self) -> bool:
        return bool(self.plain or self.raises or self.conditions or self.confirmed or self.said)

    def then(self, later: Log) -> Log:
        """Both, as if everything had been staged one after the other."""
        both = Log()
        both.own, both.plain = self.own | later.own, self.plain | later.plain
        both.raises, both.conditions = dict(self.raises), dict(self.conditions)
        for path in later.plain:
            both.overwritten(path)
        both.raises.update(later.raises)
        both.conditions.update(later.conditions)
        both.confirmed, both.said = [*self.confirmed, *later.confirmed], [*self.said, *later.said]
        both.scopes, both.depends = _union(self.scopes, later.scopes), _union(self.depends, later.depends)
        both.known = [*self.known, *(one for one in later.known if not any(one is other for other in self.known))]
        return both

    def overwritten(self, path: Path) -> None:
        """A plain write or removal takes the place of special intents at or below it."""
        for specials in (self.conditions, self.raises):
            for special in [one for one in specials if one[: len(path)] == path] if specials else ():
                del specials[special]


def _union(one: Mapping[Name, frozenset[str]], other: Mapping[Name, frozenset[str]]) -> dict[Name, frozenset[str]]:
    return {name: one.get(name, frozenset()) | other.get(name, frozenset()) for name in {**one, **other}}


class Staged(msgspec.Struct, frozen=True):
    """What one flush takes with it."""

    base: Json
    seen: Json
    tree: Json
    log: Log
    reads: dict[str, Reads]
    #: All that the tree wants of the base. What was assigned and found there already is in the log.
    intents: list[Intent]


class Stage:
    """One session. Paths are from the object's root."""

    __slots__ = (
        "_base", "_by_type", "_ended", "_from", "_lock", "_log", "_may_write", "_next", "_order", "_reads", "_seen", "_sent",
        "generation", "guards", "now", "owned", "shapes", "shifted", "shifts", "tree",
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
        self._base = self._seen = self._from = self.tree = base
        #: A flush on its way; what is staged meanwhile grows from the tree that it took.
        self._sent: Log | None = None
        #: A flush that was stored and that nobody has gone on from yet: the arguments of `stored`.
        self._next: tuple[list[Path], Outcome, Json | None] | None = None
        self.shapes = shapes
        self.now = now
        #: The generation that the decision saw: the caller's object, also when a newer status is known.
        self.generation = generation
        self.guards = tuple(guards)
        self._may_write = may_write
        self._ended = False
        #: By scope.
        self._reads: dict[str, Reads] = {SHARED: dict.fromkeys(self.guards, Look.VALUE)}
        self._log = Log()
        #: Values that were looked at, and paths that were staged (True), one after the other.
        self._order: list[tuple[Path, bool]] = []
        #: What was put as a whole, by who decides all of it.
        self.owned: set[Path] = set()
        #: How often entries of lists have come, gone or changed places, and at which count those of a list last did.
        self.shifts = 0
        self.shifted: dict[Path, int] = {}
        #: The conditions by type, and of which tree, path and list.
        self._by_type: tuple[Json, Path, Json, dict[str, Json]] = ABSENT, (), ABSENT, {}
        self._lock = RLock()

    @property
    def base(self) -> Json:
        """What the staged tree grew from: the object as it was passed, or what the server answered to the last flush."""
        self._catch_up()
        return self._base

    @property
    def seen(self) -> Json:
        """What the caller's decisions stand on."""
        self._catch_up()
        return self._seen

    @property
    def reads(self) -> Reads:
        """What was looked at, in whichever scope; guards included."""
        return merged(self._reads.values())

    def was_looked_at(self, path: Path) -> bool:
        """Whether the value at the path was looked at, itself or with what is above it, before anything was staged there."""
        for other, staged in self._order:
            if staged and meet(other, path):
                return False
            if not staged and path[: len(other)] == other:
                return True
        return False

    # -- what the views do

    def get(self, path: Path, scope: str = SHARED) -> Json | Absent:
        """The staged value, not recorded as read."""
        if self._next is not None:
            self._catch_up()
        if self._log.scopes or self._sent is not None:
            self._depend(path, scope)
        return find(self.tree, path)

    def read(self, path: Path, look: Look = Look.VALUE, scope: str = SHARED) -> Json | Absent:
        """The staged value; the decision depends on it from now on, unless this session put it there itself."""
        with self._lock:
            self._catch_up()
            if self._log.scopes or self._sent is not None:
                self._depend(path, scope)
            own = self._is_own(path) or (look is not Look.VALUE and path in self._log.plain)
            if not own:
                if note(self._reads.setdefault(scope, {}), path, look) and look is Look.VALUE:
                    self._order.append((path, False))
                if self._seen is not self._base:
                    self._learn(path, look)
            return find(self.tree, path)

    def put(self, path: Path, value: Json, scope: str = SHARED) -> None:
        """Stage a value. What is there already is no change."""
        with self._lock:
            self._about_to_write(path, scope)
            there = find(self.tree, path)
            if (there is value or same(there, value)) and path not in self._log.raises:
                self._log.confirmed.append(Put(path, value))
                return
            self._log.overwritten(path)
            self._log.own = {own for own in self._log.own if own[: len(path)] != path}  # a removal owned more than what comes now
            self.tree = put(self.tree, path, value)
            self._owns(path, value)
            self._log.plain.add(path)

    def change(self, path: Path, edit: Callable[[Json], Json], scope: str = SHARED) -> None:
        """Stage what the function makes of a staged list, with nobody in between."""
        with self._lock:
            self.put(path, edit(self.get(path, scope)), scope)
            self.shifts += 1
            self.shifted[path] = self.shifts

    def drop(self, path: Path, scope: str = SHARED) -> None:
        """Stage a removal."""
        with self._lock:
            self._about_to_write(path, scope)
            if find(self.tree, path) is ABSENT:
                self._log.confirmed.append(Drop(path))
                return
            self._log.overwritten(path)
            self.tree = drop(self.tree, path)
            self._log.own.add(path)
            self._log.plain.add(path)

    def raise_to(self, path: Path, floor: int, scope: str = SHARED) -> None:
        """Stage 'at least this'."""
        with self._lock:
            self._about_to_write(path, scope)
            current: Json = find(self.tree, path)
            if is_number(current) and current >= floor:
                self._log.confirmed.append(Raise(path, floor))
                return
            if is_within(path, self._log.plain):
                self.put(path, floor, scope)  # this session decided already what stands there: that is raised, not what the server has
                return
            self._log.raises[path] = floor
            self.tree = put(self.tree, path, floor)

    def set_condition(self, root: Path, type_: str, fields: dict[str, Json], scope: str = SHARED) -> None:
        """Stage a condition of the list at `root`."""
        with self._lock:
            if self._next is not None:
                self._catch_up()
            before = self._condition(root, type_)
            already = before is not None and says(before, fields)
            known = self._log.known and self._log.known[-1] is current()
            if already and known and not self._ended and self._may_write is None and not scope:
                self._log.said.append((root, type_, fields, before["lastTransitionTime"]))
                return  # the usual case: nothing to ask, nothing to make
            path = (*root, Key((("type", type_),)))
            self._about_to_write(path, scope)
            if already:
                self._log.said.append((root, type_, fields, before["lastTransitionTime"]))
                return
            after = settled(before, fields, self.now())
            says_it_already = False
            if path in self._log.conditions:
                after, says_it_already = self._since_the_base(path, after, fields)
            if before is None:
                self.tree = put(self.tree, path, after)
            else:
                _, _, entries, found = self._by_type
                entries = [after if entry is before else entry for entry in entries]
                self.tree = put_below(self.tree, root, entries)
                self._by_type = self.tree, root, entries, {**found, type_: after}
            if says_it_already:
                del self._log.conditions[path]
                self._log.said.append((root, type_, fields, after["lastTransitionTime"]))
                return
            self._log.conditions[path] = Condition(path, fields, after["lastTransitionTime"])
            self._log.own.update([(*path, "type"), (*path, "status"), (*path, "reason"), (*path, "message")])

    def _since_the_base(self, path: Path, after: dict[str, Json], fields: dict[str, Json]) -> tuple[dict[str, Json], bool]:
        """A condition that is said twice in one session (False while at work, True at the end) has flipped only if the server has it
        otherwise: what came in between nobody saw. And whether the server has all of it already."""
        stood = find(self._base, path)
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

    # -- flushing

    @property
    def is_idle(self) -> bool:
        """Whether nothing is staged that would change the object as it was passed, and no flush is on its way."""
        return self.tree is self._base and self._next is None and self._sent is None

    def take(self) -> Staged:
        """Freeze what is staged, to be sent. Until `stored` or `put_back` is called, staging goes on beside it."""
        with self._lock:
            self._catch_up()
            reads = {scope: dict(reads) for scope, reads in self._reads.items()}
            staged = Staged(self._base, self._seen, self.tree, self._log, reads, self._intents())
            self._sent, self._log, self._from = self._log, Log(), self.tree
            return staged

    def put_back(self, staged: Staged) -> None:
        """It was not sent, or not stored: it stays staged."""
        with self._lock:
            self._log, self._sent = staged.log.then(self._log) if self._log else staged.log, None
            self._from = self._base

    def stored(self, paths: list[Path], outcome: Outcome, asserted: Json | None = None) -> None:
        """These paths are on the server as the caller wants them. The answer is not read before somebody goes on. `asserted`: they
        were there already, and this is as much as the caller knows of them."""
        with self._lock:
            self._sent = None
            self._next = paths, outcome, asserted

    def _catch_up(self) -> None:
        """Go on from what the server answered. What the session wrote is known to the caller; of the rest, only what it looks at."""
        if self._next is None:
            return
        with self._lock:
            if self._next is None:
                return
            (paths, outcome, asserted), self._next = self._next, None
            later, answer = self._intents(), outcome.shared
            for path in paths:
                self._seen = placed(self._seen, path, find(answer if asserted is None else asserted, path))
            self._base = self._from = answer
            self.tree = applied(later, answer) if later else answer

    def run_again(self, live: Json) -> None:
        """Start again from a newer object, which the caller's function is about to be shown: nothing staged, nothing read."""
        with self._lock:
            self._base = self._seen = self._from = self.tree = live
            self._next = self._sent = None
            self.generation = live["metadata"].get("generation")
            self._reads = {SHARED: dict.fromkeys(self.guards, Look.VALUE)}
            self._log = Log()
            self._order.clear()
            self.owned.clear()
            self.shapes = self.shapes.without_wholes()

    def reground(self, live: Json) -> None:
        """Put the same stage on the object as the server has it; the base was a lossy reading of that very version."""
        self.tree = regrown(self._base, self.tree, live, self.shapes)
        self._base = self._seen = self._from = live

    def end(self) -> None:
        """Refuse to stage anything more."""
        self._ended = True

    # -- intents

    def intents(self) -> list[Intent]:
        """What is wanted, as changes that can be applied to any snapshot."""
        with self._lock:
            self._catch_up()
            return self._intents()

    def _intents(self) -> list[Intent]:
        if self.tree is self._from:
            return []
        log, base, conditions = self._log, self._from, list(self._log.conditions.values())
        wanted: list[Intent] = [*conditions]
        if log.plain:  # else nothing but conditions and raised numbers was staged
            conditions = [condition for condition in conditions if not self._overwrites(condition)]
            special = {*(condition.path for condition in conditions), *log.raises}
            wanted = [*derive(base, self.tree, self.shapes, special), *conditions, *self._beside(conditions)]
        if log.raises:
            wanted.extend(Raise(path, floor) for path, floor in log.raises.items() if not same(find(base, path), floor))
        return wanted

    def _overwrites(self, condition: Condition) -> bool:
        """Whether later edits by hand override what the condition says: then its members are wanted as they stand."""
        if not self._touches(condition):
            return False
        entry: Json = find(self.tree, condition.path)
        said = ((name, value) for name, value in condition.fields.items() if name != "observedGeneration")
        return any(not same(entry.get(name, ABSENT), value) for name, value in said)

    def _touches(self, condition: Condition) -> bool:
        """Whether something was simply put or dropped at, above or below the entry of a condition."""
        return any(meet(path, condition.path) for path in self._log.plain)

    def _beside(self, conditions: list[Condition]) -> list[Put | Drop]:
        """What else was staged in the entries of these conditions, or removed with them: what the conditions do not say themselves."""
        found: list[Put | Drop] = []
        for condition in conditions:
            if not self._touches(condition):
                continue
            entry: Json = find(self.tree, condition.path)
            said: Json = find(applied([condition], self._from), condition.path)
            for name in {**entry, **said}:
                value = entry.get(name, ABSENT)
                if not same(value, said.get(name, ABSENT)):
                    path = (*condition.path, name)
                    found.append(Drop(path) if value is ABSENT else Put(path, value))
        return found

    # -- rules

    def _depend(self, path: Path, scope: str) -> None:
        """What another scope staged there is looked at: whoever looks stands or falls with it."""
        sent = self._sent.scopes if self._sent is not None else {}
        others = [scopes for staged, scopes in (*self._log.scopes.items(), *sent.items()) if meet(staged, path)]
        looked_at = frozenset().union(*others) - {scope}
        if looked_at:
            self._log.depends[scope] = self._log.depends.get(scope, frozenset()) | looked_at

    def _is_own(self, path: Path) -> bool:
        return is_within(path, self._log.own) or (self._sent is not None and is_within(path, self._sent.own))

    def _owns(self, path: Path, value: Json) -> None:
        """Record what a value replaces completely. Members of a map, and entries of a keyed list, are written one by one: what others have
        beside them stays, so it is not this session's own."""
        if type(value) is dict:
            for name, member in value.items():
                self._owns((*path, name), member)
        elif type(value) is not list or self._is_one_value(path):
            self._log.own.add(path)

    def _is_one_value(self, path: Path) -> bool:
        """Whether the schema was read and says so: until then any list may be keyed."""
        return self.shapes.enforced is not None and self.shapes.is_one_value(path)

    def _learn(self, path: Path, look: Look) -> None:
        """The caller looks at what the server answered: that is what it knows from now on, but for what it has staged over."""
        value = find(self._base, path)
        if look is Look.VALUE:
            before, self._seen = self._seen, placed(self._seen, path, value)
            for hidden in derive(self._base, self.tree, self.shapes, self._log.raises) if self.tree is not self._base else ():
                if hidden.path[: len(path)] == path:
                    self._seen = placed(self._seen, hidden.path, find(before, hidden.path))
        elif type(find(self._seen, path)) is not type(value):
            self._seen = placed(self._seen, path, {} if isinstance(value, dict) else [])

    def _about_to_write(self, path: Path, scope: str) -> None:
        """Refuse what may not be staged; note which scope stages it, and on which own writes the caller stands."""
        self._catch_up()
        if self._ended:
            raise FiferailError(f"{render(path)} is staged after its session has ended, so nobody would write it: open another session")
        if self._may_write is not None:
            self._may_write(path)
        if scope:
            self._log.scopes[path] = self._log.scopes.get(path, frozenset()) | {scope}
        known = current()
        if not self._log.known or all(known is not other for other in self._log.known):
            self._log.known.append(known)
        self._order.append((path, True))


def contradicted(staged: Staged, newest: Json) -> list[Intent]:
    """What the session took for there already, and the newest version known has otherwise."""
    log = staged.log
    back = [path for path in log.plain if same(find(staged.tree, path), find(staged.base, path))]  # changed, and changed back
    confirmed = [*log.confirmed, *(_as_staged(staged, path) for path in back)] if back else log.confirmed
    found: list[Intent] = [intent for intent in confirmed if not holds([intent], newest)]
    roots = {root: find(newest, root) for root, _, _, _ in log.said}
    for root, entries in roots.items():
        if entries == find(staged.tree, root):
            continue  # the usual case, recognised at once: the server has exactly what was staged
        by_type = {entry["type"]: entry for entry in entries if "type" in entry} if isinstance(entries, list) else {}
        for at, type_, fields, since in log.said:
            if at == root and (type_ not in by_type or not says(by_type[type_], fields)):
                found.append(Condition((*at, Key((("type", type_),))), fields, since))
    return [intent for intent in found if _still_says(staged, intent)] if found else found


def _as_staged(staged: Staged, path: Path) -> Intent:
    value = find(staged.tree, path)
    return Drop(path) if value is ABSENT else Put(path, value)


def _still_says(staged: Staged, intent: Intent) -> bool:
    """Whether the session left it at that: nothing else was staged there afterwards."""
    return same(find(staged.tree, intent.path), find(staged.base, intent.path)) and holds([intent], staged.tree)
