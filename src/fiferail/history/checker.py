"""Finds lost updates in a stream of records, one pass, linear in the leaves that changed.

The server gives the order of versions, so a lost update needs no search: keep the last writer of every leaf, and when a commit
changes a leaf whose last writer is newer than what the commit was based on, that writer's update is lost. In Adya's terms: a
cycle of one read-write and one write-write dependency on one item.

What a commit was based on: what the process said; else the resourceVersion it named; else the newest version that its actor had
received before. With the last, a loss is certain: no fresher base is possible. Where that version tells nothing, because the actor
watches the kind or shares its user agent with others, `witnesses` looks for old values in what was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Path, find, is_within
from ..objects.tree import ABSENT, Json, same
from . import loops, refusals
from .asserted import asserted
from .findings import CARRIED, DOUBLE, FIGHT, FOREIGN, HOT_LOOP, INCARNATION, LOST, STALE_DECISION, TRAVEL, WASTE, Finding
from .keys import Learned
from .leaves import changed_objects, entries_of, same_elements
from .losses import Losses
from .memory import ObjectMemory
from .records import Attempt, Commit, Identity, Observation, Record, how, writer_of
from .witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .leaves import Leaf
    from .places import Place, Places

NONE: list[Finding] = []
_NOTHING: frozenset[Path] = frozenset()
__all__ = ["DOUBLE", "FIGHT", "FOREIGN", "HOT_LOOP", "LOST", "STALE_DECISION", "TRAVEL", "WASTE", "Checker", "Finding"]


class Checker:
    """Feed it records; `finish` reports what is still lost at rest.

    `owner` says who claims a path: a foreign write is one by another, and whoever claims a list may drop its entries. `ignored` are
    paths where the last writer may win: times of a heartbeat.
    """

    def __init__(self, owner: Callable[[Identity, Path], str | None] | None = None, ignored: Iterable[Path] = ()) -> None:
        self._owner = owner
        self._ignored = frozenset(ignored)
        self._objects: dict[Identity, ObjectMemory] = {}
        #: The keys of the lists of each resource.
        self._learned: dict[str, Learned] = {}
        #: Which actors watch which resources.
        self._watching: set[tuple[str, str]] = set()
        #: Which incarnation of a name an actor last received.
        self._shown: dict[tuple[str, str, str, str], str] = {}
        #: What watches brought to an actor since its last commit: nothing, one version, or (None) more.
        self._woken: dict[str, tuple[Identity, int] | None] = {}
        #: What this record has shown, and what all have.
        self._shows: list[Finding] = []
        self.findings: list[Finding] = []

    def feed(self, record: Record) -> list[Finding]:
        """Take one record; returns what it shows at once."""
        kind = type(record)
        if kind is Commit:
            self._committed(record)  # type: ignore[arg-type]
        elif kind is Observation:
            self._observed(record)  # type: ignore[arg-type]
        else:
            self._attempted(record)  # type: ignore[arg-type]
        return self._reported() if self._shows else NONE

    def finish(self) -> list[Finding]:
        """At rest: refused updates that their actor never made again, and chains that still go on. Each is reported once."""
        for identity, known in self._objects.items():
            self._shows += refusals.abandoned(identity, known)
            self._append(loops.still_going(identity, known, known.changer in self._woken))
        return self._reported()

    def permanent(self, finding: Finding) -> bool:
        """Whether the field still differs from what was lost."""
        known = self._objects.get(finding.object)
        return known is not None and not same(find(known.latest, finding.path), finding.lost)

    def _reported(self) -> list[Finding]:
        shown, self._shows = self._shows, []
        self.findings += shown
        return shown

    # -- one record

    def _object(self, identity: Identity) -> ObjectMemory:
        learned = self._learned.get(identity.resource)
        if learned is None:
            learned = self._learned[identity.resource] = Learned()
        known = self._objects[identity] = ObjectMemory(learned)
        return known

    def _observed(self, record: Observation) -> None:
        identity, actor, version = record.object, record.actor, record.version
        known = self._objects.get(identity) or self._object(identity)
        seen = known.seen.get(actor, 0)
        if version >= seen:
            known.seen[actor] = version
            if not seen:
                self._show(identity, actor)
        elif record.via != "watch":
            self._shows.append(Finding(TRAVEL, identity, ("metadata", "resourceVersion"), actor, actor, was=seen, now=version))
        if record.via == "watch":
            self._watching.add((actor, identity.resource))
            self._woken[actor] = (identity, version) if self._woken.get(actor, "") == "" else None
            for refused in known.refused.get(actor, ()):
                refused.watching = True
        elif known.refused and actor in known.refused:
            refusals.read_again(known, actor)

    def _attempted(self, record: Attempt) -> None:
        known = self._objects.get(record.object) or self._object(record.object)
        writer = writer_of(record)
        if record.outcome == "unchanged":
            self._append(loops.idle(record, known))
            if record.reads and record.base is not None:
                self._check_reads(record, known, record.base, known.latest, known.version)
            if record.actor in known.refused:
                meant = asserted(record, known.latest, known.learned)
                refusals.settle(known, record.actor, writer, (known.latest, known.latest), meant, _NOTHING)
        else:
            refusals.note(record, known, writer, record.watching or (record.actor, record.object.resource) in self._watching)

    def _committed(self, record: Commit) -> None:
        if record.after is None:
            self._deleted(record)
            return
        actor, version = record.actor, record.version
        known = self._objects.get(record.object) or self._object(record.object)
        seen = known.seen.get(actor)
        writer = actor if record.manager == actor else writer_of(record)
        if known.writers.setdefault(actor, writer) != writer:
            known.shared.add(actor)
        if record.before is None:
            self._created(record, known, writer)
        else:
            if not known.version:
                known.keep_first(record.before)
            self._changed(record, known, seen, writer)
            known.changer = actor
        known.keep(record)
        known.last[writer] = version
        if seen is None:
            self._show(record.object, actor)
        if seen is None or version > seen:
            known.seen[actor] = version
        if known.idle:
            known.idle.pop(actor, None)
        if record.verb == "update":
            known.puts[actor] = record.body

    def _created(self, record: Commit, known: ObjectMemory, writer: str) -> None:
        known.creator, known.born = writer, record.version
        made_by = frozenset((writer,))
        for place, was, now in changed_objects(ABSENT, record.after, known.places.root):
            known.places.write_first(place, writer, record.version, now, was, made_by)

    def _show(self, identity: Identity, actor: str) -> None:
        self._shown[identity.resource, identity.namespace, identity.name, actor] = identity.uid

    def _deleted(self, record: Commit) -> None:
        """Nothing can be lost of what is not there; what an actor saw of it stays known."""
        self._objects.pop(record.object, None)

    # -- one commit

    def _changed(self, record: Commit, known: ObjectMemory, seen: int | None, writer: str) -> None:
        actor, version = record.actor, record.version
        base = record.base if record.base is not None else record.precondition
        hidden = base is None and self._is_hidden(record, known)
        if base is None:
            base = record.newest if record.newest is not None else seen or 0
        losses: Losses | None = None  # made on suspicion only: most commits destroy nothing
        misplaced = False
        leaves = changed_objects(record.before, record.after, known.places.root)
        if (seen is None or record.base_uid) and leaves:
            losses = self._losses(record, known, writer, base)
            misplaced = self._is_misplaced(record, known, leaves[0], losses)
        if record.reads and not misplaced:
            self._check_reads(record, known, base, record.before, version)
        carried = self._check_witnesses(record, known, writer, base, leaves) if hidden else _NOTHING
        calm = not misplaced and not carried and actor not in known.refused
        for leaf in leaves:
            place, was, now = leaf
            if 0 < place.version <= base and type(was) is str and type(now) is str:  # as nearly always: text that the actor has seen
                if place.actor == writer:
                    place.version, place.value, place.before = version, now, was
                    place.turns = None
                    continue
                if calm:
                    self._taken_over(record, writer, leaf)
                    continue
            if losses is None:
                losses = self._losses(record, known, writer, base)
            for part in entries_of(leaf, known.learned, record.after) if type(was) is list or type(now) is list else (leaf,):
                self._written(record, known.places, losses, part, misplaced or (bool(carried) and is_within(part[0].path, carried)))
        if self._owner is not None:
            for leaf in leaves:
                self._check_owner(record, leaf)
        if losses is not None and losses.found:
            self._shows += losses.findings()
        if self._woken:
            self._append(loops.chain(record, known, self._woken.pop(actor, None)))
        if known.refused and known.refused.get(actor):
            self._settle(record, known, losses or self._losses(record, known, writer, base))

    def _is_hidden(self, record: Commit, known: ObjectMemory) -> bool:
        """Whether what the actor received says nothing about this write: it watches, or several writers share its user agent."""
        actor = record.actor
        if record.watching or (known.shared and actor in known.shared):
            return True
        return bool(self._watching) and (actor, record.object.resource) in self._watching

    def _settle(self, record: Commit, known: ObjectMemory, losses: Losses) -> None:
        """What the commit makes of its author's refused attempts."""
        compared = {path for refused in known.refused[record.actor] for path in refused.wanted if losses.was_tested(path)}
        refusals.settle(known, record.actor, losses.writer, (record.before, record.after), losses.meant, compared)

    def _losses(self, record: Commit, known: ObjectMemory, writer: str, base: int) -> Losses:
        if record.base is not None:
            because = f"{writer} says that it decided on resourceVersion {{base}}"
        elif record.precondition is not None or not base:
            because = ""
        else:
            because = f"{writer} had received nothing newer than resourceVersion {{base}}"
        return Losses(record, known, writer, base, because)

    def _check_witnesses(self, record: Commit, known: ObjectMemory, writer: str, newest: int, leaves: list[Leaf]) -> frozenset[Path]:
        """Old values that a writer with an unknown base carried along; returns where they are."""
        others = [leaf for leaf in leaves if leaf[0].actor != writer and leaf[0].path not in self._ignored]
        if not others:
            return _NOTHING
        found = [f for f in Witnesses(record, known, writer, newest).losses(others) if not self._claims(record, f.path)]
        known.carried.update((finding.overwritten, finding.path) for finding in found)
        self._shows += found
        return frozenset(finding.path for finding in found)

    def _claims(self, record: Commit, path: Path) -> bool:
        """Whether the author of a commit claims the path or something above it."""
        if self._owner is None:
            return False
        owners = (self._owner(record.object, path[:length]) for length in range(1, len(path) + 1))
        return any(owner in (record.actor, record.manager) for owner in owners if owner)

    def _taken_over(self, record: Commit, writer: str, leaf: Leaf) -> None:
        """Another's text, overwritten knowingly: nothing is lost, but it may be a fight."""
        place, was, now = leaf
        if not self._ignored or place.path not in self._ignored:
            self._append(loops.fight(record, writer, place, leaf))
        place.version, place.value, place.before = record.version, now, was
        place.passed_to(writer)

    def _written(self, record: Commit, places: Places, losses: Losses, leaf: Leaf, judged: bool) -> None:
        """Judge any leaf by its last writer, and give it a new last writer then."""
        place, was, now = leaf
        actor, version = losses.writer, record.version
        last: Place | None = place
        if not place.knowing or (type(was) is list and was) or (type(now) is list and now):
            last = places.last_writer(place, was or now)
        lost = judged
        if last is None or judged or (last.actor == actor and last.version <= losses.base):
            place.turns = None
        elif last.version != version:  # it is when this commit took the entries of a list away that becomes one value
            lost = self._judge(record, losses, leaf, last)
        if not place.knowing:
            places.write_first(place, actor, version, now, was, frozenset((actor,)))
            return
        place.version, place.value, place.before = version, now, was
        if place.actor != actor:
            place.passed_to(actor, knowing=not lost)

    def _judge(self, record: Commit, losses: Losses, leaf: Leaf, writer: Place) -> bool:
        """A leaf that another wrote last, or that the actor wrote itself after what this commit stands on; True when it was carried."""
        if leaf[0].path in self._ignored:
            return False
        if losses.judge(leaf, writer):
            return losses.found[-1].kind == CARRIED
        if writer.actor != losses.writer:
            self._append(loops.fight(record, losses.writer, writer, leaf))
        return False

    def _is_misplaced(self, record: Commit, known: ObjectMemory, leaf: Leaf, losses: Losses) -> bool:
        """Report a write that was decided on another object of the same name, which the server could not tell from this one."""
        uid = record.base_uid
        stands_on_this = record.precondition is not None or (record.base is not None and 0 < known.born <= record.base)
        if not uid and (record.watching or record.newest):
            return False  # it may have received this one
        if not uid and not stands_on_this:
            identity = record.object
            uid = self._shown.get((identity.resource, identity.namespace, identity.name, record.actor), "")
        if not uid or uid == record.object.uid or losses.was_tested(("metadata", "uid")):
            return False
        place, was, now = leaf
        path = place.path
        last = known.places.last_writer(place, was)
        victim = last.actor if last is not None else known.creator
        self._shows.append(
            Finding(
                LOST, record.object, path, victim=victim, culprit=losses.writer, kind=INCARNATION,
                overwritten=record.version, was=was, lost=was, now=now, how=how(record),
            )
        )  # fmt: skip
        return True

    def _check_reads(self, record: Commit | Attempt, known: ObjectMemory, base: int, current: Json, version: int) -> None:
        """A write that changed nothing may be stale too: two increments that end in the same value."""
        tree = known.at(base)
        for path in record.reads or ():
            was, now = find(tree, path), find(current, path)
            if tree is ABSENT or same_elements(was, now):
                continue
            writer = known.places.last_writer_within(path)
            victim, written = (writer.actor, writer.version) if writer else ("", 0)
            self._shows.append(
                Finding(
                    STALE_DECISION, record.object, path, victim=victim, culprit=writer_of(record), base=base,
                    written=written, overwritten=version, was=was, lost=now, now=now, how=how(record),
                )
            )  # fmt: skip

    def _check_owner(self, record: Commit, leaf: Leaf) -> None:
        place, was, now = leaf
        path = place.path
        owner = self._owner(record.object, path) if self._owner is not None else None
        if owner is not None and owner not in (record.actor, record.manager):
            self._shows.append(
                Finding(FOREIGN, record.object, path, owner, record.actor, overwritten=record.version, was=was, lost=was, now=now)
            )

    def _append(self, finding: Finding | None) -> None:
        if finding is not None:
            self._shows.append(finding)
