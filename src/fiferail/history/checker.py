"""Finds lost updates in a stream of records, one pass, linear in the leaves that changed.

The server gives the order of versions, so a lost update needs no search: keep the last writer of every leaf, and when a commit
changes a leaf whose last writer is newer than what the commit was based on, that writer's update is lost. In Adya's terms: a
cycle of one read-write and one write-write dependency on one item.

What a commit was based on: what the process said; else the resourceVersion it named; else the newest version that its actor had
been given before. With the last, a loss is certain: no fresher base is possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, lookup, same
from . import loops
from .asserted import asserted
from .findings import ABANDONED, DOUBLE, FIGHT, FOREIGN, HOT_LOOP, INCARNATION, LOST, STALE_DECISION, TRAVEL, Finding
from .leaves import changed_objects
from .losses import Losses
from .memory import ObjectMemory, Refused
from .records import Attempt, Commit, Identity, Observation, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .leaves import Leaf
    from .places import Place, Places

NONE: list[Finding] = []
__all__ = ["DOUBLE", "FIGHT", "FOREIGN", "HOT_LOOP", "LOST", "STALE_DECISION", "TRAVEL", "Checker", "Finding"]


class Checker:
    """Feed it records; `finish` tells what is still lost at rest.

    `owner` says who claims a path, for foreign writes. `ignored` are paths where the last writer may win: times of a heartbeat.
    """

    def __init__(self, owner: Callable[[Identity, Path], str | None] | None = None, ignored: Iterable[Path] = ()) -> None:
        self._owner = owner
        self._ignored = frozenset(ignored)
        self._objects: dict[Identity, ObjectMemory] = {}
        #: Which incarnation of a name an actor was last shown.
        self._shown: dict[tuple[str, str, str, str], str] = {}
        #: What watches brought to an actor since its last commit: nothing, one version, or (None) more.
        self._woken: dict[str, tuple[Identity, int] | None] = {}
        #: What this record has shown, and what all have.
        self._shows: list[Finding] = []
        self.findings: list[Finding] = []

    def feed(self, record: Record) -> list[Finding]:
        """Take one record; gives what it shows at once."""
        kind = type(record)
        if kind is Commit:
            self._committed(record)  # type: ignore[arg-type]
        elif kind is Observation:
            self._observed(record)  # type: ignore[arg-type]
        else:
            self._attempted(record)  # type: ignore[arg-type]
        return self._told() if self._shows else NONE

    def finish(self) -> list[Finding]:
        """At rest: refused updates that their actor never made again. Each is told once."""
        for identity, known in self._objects.items():
            for refusals in known.refused.values():
                told: set[Path] = set()
                for refused in reversed(refusals):
                    if refused.owed or not refused.reconsidered:
                        self._abandon(identity, known, refused, {p: v for p, v in refused.wanted.items() if p not in told})
                        told.update(refused.wanted)
                refusals.clear()
        return self._told()

    def permanent(self, finding: Finding) -> bool:
        """Whether the field still differs from what was lost."""
        known = self._objects.get(finding.object)
        return known is not None and not same(find(known.latest, finding.path), finding.lost)

    def _told(self) -> list[Finding]:
        told, self._shows = self._shows, []
        self.findings += told
        return told

    # -- one record

    def _object(self, identity: Identity) -> ObjectMemory:
        known = self._objects[identity] = ObjectMemory()
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
            self._woken[actor] = (identity, version) if self._woken.get(actor, "") == "" else None
        elif known.refused and actor in known.refused:
            for refused in known.refused[actor]:
                refused.reconsidered = refused.attempt.verb != "update"

    def _attempted(self, record: Attempt) -> None:
        known = self._objects.get(record.object) or self._object(record.object)
        if record.outcome == "unchanged":
            self._append(loops.idle(record, known))
            if record.reads and record.base is not None:
                self._check_reads(record, known, record.base, known.latest, known.version)
            if record.actor in known.refused:
                meant = asserted(record, known.latest)
                self._settle(record.object, known, record.actor, known.latest, known.latest, meant, set())
        else:
            base = record.precondition if record.precondition is not None else known.seen.get(record.actor, 0)
            known.refuse(record, base)

    def _committed(self, record: Commit) -> None:
        if record.after is None:
            self._deleted(record)
            return
        actor, version, after = record.actor, record.version, record.after
        known = self._objects.get(record.object) or self._object(record.object)
        seen = known.seen.get(actor)
        if record.before is None:
            self._created(record, known)
        else:
            if not known.version:
                known.versions[_version(record.before)] = record.before
            self._changed(record, known, seen)
            known.changer = actor
        known.keep(version, after)
        if seen is None:
            self._show(record.object, actor)
        if seen is None or version > seen:
            known.seen[actor] = version
        if known.idle:
            known.idle.pop(actor, None)
        if record.verb == "update":
            known.puts[actor] = record.body

    def _created(self, record: Commit, known: ObjectMemory) -> None:
        known.creator, known.born = record.actor, record.version
        made_by = frozenset((record.actor,))
        for place, was, now in changed_objects(ABSENT, record.after, known.places.root):
            known.places.write_first(place, record.actor, record.version, now, was, made_by)

    def _show(self, identity: Identity, actor: str) -> None:
        self._shown[identity.resource, identity.namespace, identity.name, actor] = identity.uid

    def _deleted(self, record: Commit) -> None:
        """Nothing can be lost of what is not there; what an actor saw of it stays known."""
        self._objects.pop(record.object, None)

    # -- one commit

    def _changed(self, record: Commit, known: ObjectMemory, seen: int | None) -> None:
        actor, version = record.actor, record.version
        base = record.base if record.base is not None else record.precondition
        if base is None:
            base = seen or 0
        losses: Losses | None = None  # made on suspicion only: most commits destroy nothing
        misplaced = False
        leaves = changed_objects(record.before, record.after, known.places.root)
        if (seen is None or record.base_uid) and leaves:
            losses = Losses(record, known, base)
            misplaced = self._is_misplaced(record, known, leaves[0], losses)
        if record.reads and not misplaced:
            self._check_reads(record, known, base, record.before, version)
        calm = not misplaced and actor not in known.refused
        for leaf in leaves:
            place, was, now = leaf
            if 0 < place.version <= base and type(was) is str and type(now) is str:  # as nearly always: text that the actor has seen
                if place.actor == actor:
                    place.version, place.value, place.before = version, now, was
                    place.turns = None
                    continue
                if calm:
                    self._taken_over(record, leaf)
                    continue
            if losses is None:
                losses = Losses(record, known, base)
            self._written(record, known.places, losses, leaf, misplaced)
        if self._owner is not None:
            for leaf in leaves:
                self._check_owner(record, leaf)
        if losses is not None and losses.found:
            self._shows += losses.told()
        if self._woken:
            self._append(loops.chain(record, known, self._woken.pop(actor, None)))
        if known.refused and actor in known.refused:
            losses = losses or Losses(record, known, base)
            compared = {path for refused in known.refused[actor] for path in refused.wanted if losses.was_tested(path)}
            self._settle(record.object, known, actor, record.before, record.after, losses.meant, compared)

    def _taken_over(self, record: Commit, leaf: Leaf) -> None:
        """Another's text, overwritten knowingly: nothing is lost, but it may be a fight."""
        place, was, now = leaf
        if not self._ignored or place.path not in self._ignored:
            self._append(loops.fight(record, place, leaf))
        place.version, place.value, place.before = record.version, now, was
        place.passed_to(record.actor)

    def _written(self, record: Commit, places: Places, losses: Losses, leaf: Leaf, misplaced: bool) -> None:
        """Judges any leaf by its last writer, and has a new last writer then."""
        place, was, now = leaf
        actor, version = record.actor, record.version
        writer: Place | None = place
        if not place.knowing or (type(was) is list and was) or (type(now) is list and now):
            writer = places.last_writer(place, was or now)
        if writer is None or misplaced or (writer.actor == actor and writer.version <= losses.base):
            place.turns = None
        elif writer.version != version:  # it is when this commit took the entries of a list away that becomes one value
            self._judge(record, losses, leaf, writer)
        if not place.knowing:
            places.write_first(place, actor, version, now, was, frozenset((actor,)))
            return
        place.version, place.value, place.before = version, now, was
        if place.actor != actor:
            place.passed_to(actor)

    def _judge(self, record: Commit, losses: Losses, leaf: Leaf, writer: Place) -> None:
        """A leaf that another wrote last, or that the actor wrote itself after what this commit stands on."""
        if leaf[0].path not in self._ignored and not losses.judge(leaf, writer) and writer.actor != record.actor:
            self._append(loops.fight(record, writer, leaf))

    def _is_misplaced(self, record: Commit, known: ObjectMemory, leaf: Leaf, losses: Losses) -> bool:
        """Tells of a write that was decided on another object of the same name, which the server could not tell from this one."""
        told = record.base_uid
        stands_on_this = record.precondition is not None or (record.base is not None and 0 < known.born <= record.base)
        if not told and not stands_on_this:
            identity = record.object
            told = self._shown.get((identity.resource, identity.namespace, identity.name, record.actor), "")
        if not told or told == record.object.uid or losses.was_tested(("metadata", "uid")):
            return False
        place, was, now = leaf
        path = place.path
        writer = known.places.last_writer(place, was)
        victim = writer.actor if writer is not None else known.creator
        how = " ".join(word for word in (record.verb, record.content) if word)
        self._shows.append(
            Finding(
                LOST, record.object, path, victim=victim, culprit=record.actor, kind=INCARNATION,
                overwritten=record.version, was=was, lost=was, now=now, how=how,
            )
        )  # fmt: skip
        return True

    def _check_reads(self, record: Commit | Attempt, known: ObjectMemory, base: int, current: Json, version: int) -> None:
        """A write that changed nothing may be stale too: two increments that end in the same value."""
        tree = known.at(base)
        for path in record.reads or ():
            was, now = find(tree, path), find(current, path)
            if tree is ABSENT or same(was, now):
                continue
            writer = known.places.last_writer_within(path)
            victim, written = (writer.actor, writer.version) if writer else ("", 0)
            self._shows.append(
                Finding(
                    STALE_DECISION, record.object, path, victim=victim, culprit=record.actor, base=base, written=written,
                    overwritten=version, was=was, lost=now, now=now,
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

    # -- refused attempts

    def _settle(
        self, identity: Identity, known: ObjectMemory, actor: str, before: Json, after: Json, meant: dict[Path, Json], compared: set[Path]
    ) -> None:
        """What this write makes of the actor's refused attempts: made good, decided anew, or given up in part."""
        left = []
        for refused in known.refused.get(actor, ()):
            missing = {
                path: value for path, value in refused.wanted.items()
                if not same(find(after, path), value) and path not in compared and same(find(before, path), find(after, path))
            }  # fmt: skip
            if not missing:
                continue
            if not (refused.owed or refused.reconsidered):
                left.append(refused)
            elif refused.owed or any(path in meant and same(meant[path], value) for path, value in refused.wanted.items()):
                # Tried again, but not with all of it. The rest may come with the next write: threads of one actor retry one by one.
                refused.wanted, refused.owed = missing, True
                left.append(refused)
        known.refused[actor] = left

    def _abandon(self, identity: Identity, known: ObjectMemory, refused: Refused, values: dict[Path, Json]) -> None:
        base, attempt = known.at(refused.base), refused.attempt
        for path, value in values.items():
            current = find(known.latest, path)
            if same(current, value):
                continue
            writer = known.places.writer_at(path)
            self._shows.append(
                Finding(
                    LOST, identity, path, victim=attempt.actor, culprit=writer.actor if writer else "", kind=ABANDONED, base=refused.base,
                    written=known.version, overwritten=known.version, was=find(base, path), lost=value, now=current, how=attempt.verb,
                )
            )  # fmt: skip

    def _append(self, finding: Finding | None) -> None:
        if finding is not None:
            self._shows.append(finding)


def _version(obj: Json) -> int:
    text = lookup(obj, ["metadata", "resourceVersion"])
    return int(text) if isinstance(text, str) and text.isdigit() else 0
