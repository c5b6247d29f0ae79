"""Finds lost updates in a stream of records, one pass, linear in the leaves that changed.

The server gives the order of versions, so a lost update needs no search: keep the last writer of every leaf, and when a commit
changes a leaf whose last writer is newer than what the commit was based on, that writer's update is lost. In Adya's terms: a
cycle of one read-write and one write-write dependency on one item.

What a commit was based on: what the process said; else the resourceVersion it named; else the newest version that its actor had
been given before. With the last, a loss is certain: no fresher base is possible.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .asserted import asserted, tested
from .leaves import changed
from .records import Attempt, Commit, Identity, Observation, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LOST, STALE_DECISION, FOREIGN, FIGHT, HOT_LOOP, DOUBLE, TRAVEL = (
    "lost update", "stale decision", "foreign write", "fight", "hot loop", "double creation", "time travel",
)  # fmt: skip
FIGHT_AFTER = 3
HOT_AFTER = 5


class Finding(msgspec.Struct, frozen=True):
    """One thing that went wrong."""

    name: str
    object: Identity
    path: Path
    #: Whose update was lost, or who else is involved; and who did it.
    victim: str
    culprit: str
    #: carried | computed | self | dropped | laundered | abandoned | wrong incarnation, for a lost update.
    kind: str = ""
    base: int = 0
    written: int = 0
    overwritten: int = 0
    was: Json = None
    lost: Json = None
    now: Json = None
    how: str = ""


class _Write(msgspec.Struct, frozen=True):
    actor: str
    version: int
    value: Json
    before: Json


class _Refused(msgspec.Struct, frozen=True):
    attempt: Attempt
    base: int
    values: dict[Path, Json]


class _Object:
    """What is known of one object."""

    def __init__(self) -> None:
        self.writers: dict[Path, _Write] = {}
        self.versions: dict[int, Json] = {}
        self.seen: dict[str, int] = {}
        self.refused: dict[str, list[_Refused]] = {}
        self.asserted: dict[str, set[Path]] = {}
        self.turns: dict[Path, list[str]] = {}
        self.idle: Counter[str] = Counter()
        self.latest: Json = None
        self.version = 0


class Checker:
    """Feed it records; `finish` tells what is still lost at rest."""

    def __init__(self, owner: Callable[[Identity, Path], str | None] | None = None, ignored: Iterable[Path] = ()) -> None:
        self._owner = owner
        self._ignored = set(ignored)
        self._objects: dict[Identity, _Object] = {}
        self._names: dict[tuple[str, str, str], dict[str, str]] = {}
        self.findings: list[Finding] = []

    def feed(self, record: Record) -> list[Finding]:
        """Take one record; gives what it shows at once."""
        start = len(self.findings)
        match record:
            case Observation():
                self._observed(record)
            case Attempt():
                self._attempted(record)
            case Commit():
                self._committed(record)
        return self.findings[start:]

    def finish(self) -> list[Finding]:
        """At rest: refused updates that their actor never made again."""
        start = len(self.findings)
        for identity, known in self._objects.items():
            for actor, refusals in known.refused.items():
                self._abandoned(identity, known, actor, refusals)
        return self.findings[start:]

    def permanent(self, finding: Finding) -> bool:
        """Whether the field still differs from what was lost."""
        known = self._objects.get(finding.object)
        if known is None or known.latest is None:
            return False
        return not same(find(known.latest, finding.path), finding.lost)

    # -- one record

    def _object(self, identity: Identity) -> _Object:
        known = self._objects.get(identity)
        if known is None:
            known = self._objects[identity] = _Object()
        return known

    def _observed(self, record: Observation) -> None:
        known = self._object(record.object)
        before = known.seen.get(record.actor, 0)
        if record.version < before:
            self.findings.append(
                Finding(TRAVEL, record.object, ("metadata", "resourceVersion"), record.actor, record.actor, was=before, now=record.version)
            )
        else:
            known.seen[record.actor] = record.version
        self._names.setdefault(_name(record.object), {})[record.actor] = record.object.uid

    def _attempted(self, record: Attempt) -> None:
        known = self._object(record.object)
        if record.outcome == "unchanged":
            known.idle[record.actor] += 1
            if known.idle[record.actor] == HOT_AFTER:
                how = f"{HOT_AFTER} writes that change nothing"
                self.findings.append(Finding(HOT_LOOP, record.object, (), record.actor, record.actor, how=how))
            return
        base = record.precondition if record.precondition is not None else known.seen.get(record.actor, 0)
        values = asserted(record, known.latest)
        if values:
            known.refused.setdefault(record.actor, []).append(_Refused(record, base, values))

    def _committed(self, record: Commit) -> None:
        known = self._object(record.object)
        known.idle[record.actor] = 0
        base = _base(record, known)
        meant = asserted(record, record.before)
        if record.verb != "delete":
            self._compare(record, known, base, meant)
        known.asserted.setdefault(record.actor, set()).update(meant)
        known.versions[record.version] = record.after
        known.latest, known.version = record.after, record.version
        known.seen[record.actor] = max(record.version, known.seen.get(record.actor, 0))

    # -- one commit

    def _compare(self, record: Commit, known: _Object, base: int, meant: dict[Path, Json]) -> None:
        self._check_reads(record, known, base)
        before = record.before if record.before is not None else ABSENT
        compared = tested(record, before)
        for path, was, now in changed(before, record.after):
            if path in self._ignored or (path and path[0] in ("apiVersion", "kind")):
                continue
            if record.verb != "create" and not _is_below(path, compared):
                self._check_leaf(record, known, base, meant, path, was, now)
            if record.verb != "create":
                self._check_owner(record, path, was, now)
            known.writers[path] = _Write(record.actor, record.version, now, was)
        self._settle_refusals(record, known, meant)

    def _check_leaf(
        self, record: Commit, known: _Object, base: int, meant: dict[Path, Json], path: Path, was: Json, now: Json
    ) -> None:
        writer = known.writers.get(path)
        if writer is None:
            return
        if writer.version > base:
            self._lost(record, known, writer, base, meant, path, now)
        elif self._is_laundered(record, known, writer, path, now):
            self._report(record, writer, path, "laundered", base, now)
        elif now is ABSENT and writer.actor != record.actor and self._is_dropped(record, known, meant, path):
            self._report(record, writer, path, "dropped", base, now)
        else:
            self._check_fight(record, known, writer, path, was, now)

    def _lost(self, record: Commit, known: _Object, writer: _Write, base: int, meant: dict[Path, Json], path: Path, now: Json) -> None:
        at_base = find(known.versions[base], path) if base in known.versions else ABSENT
        if _is_list(writer.value) and _is_list(now) and not _list_lost(writer.before, writer.value, now):
            return
        if record.base_uid and record.base_uid != record.object.uid:
            kind = "wrong incarnation"
        elif writer.actor == record.actor:
            kind = "self"
        elif now is ABSENT and record.verb != "update" and path not in meant and not _covers(meant, path):
            kind = "dropped"
        else:
            kind = "carried" if same(now, at_base) else "computed"
        if writer.before is ABSENT and at_base is ABSENT and kind == "computed" and writer.actor != record.actor:
            self._report(record, writer, path, kind, base, now, DOUBLE)
        else:
            self._report(record, writer, path, kind, base, now)

    def _report(self, record: Commit, writer: _Write, path: Path, kind: str, base: int, now: Json, name: str = LOST) -> None:
        how = f"{record.verb} {record.content}".strip() + (f" on {record.subresource}" if record.subresource else "")
        lost, was = writer.value, writer.before
        outer = _vanished(record, path) if now is ABSENT else path
        if outer != path:  # one finding for a whole entry that vanished, not one for each of its members
            path, lost, was = outer, find(record.before, outer), ABSENT
            if any(f.path == path and f.overwritten == record.version and f.victim == writer.actor for f in self.findings[-64:]):
                return
        self.findings.append(
            Finding(
                name, record.object, path, victim=writer.actor, culprit=record.actor, kind=kind, base=base, written=writer.version,
                overwritten=record.version, was=was, lost=lost, now=now, how=how,
            )
        )  # fmt: skip

    def _check_reads(self, record: Commit, known: _Object, base: int) -> None:
        for path in record.reads or ():
            was, now = find(known.versions.get(base, ABSENT), path), find(record.before, path)
            if base in known.versions and not same(was, now):
                writer = known.writers.get(path)
                victim, written = (writer.actor, writer.version) if writer else ("", 0)
                self.findings.append(
                    Finding(
                        STALE_DECISION, record.object, path, victim=victim, culprit=record.actor, base=base, written=written,
                        overwritten=record.version, was=was, lost=now, now=now,
                    )
                )  # fmt: skip

    def _check_owner(self, record: Commit, path: Path, was: Json, now: Json) -> None:
        owner = self._owner(record.object, path) if self._owner is not None else None
        if owner is not None and owner not in (record.actor, record.manager):
            self.findings.append(
                Finding(FOREIGN, record.object, path, owner, record.actor, overwritten=record.version, was=was, lost=was, now=now)
            )

    def _check_fight(self, record: Commit, known: _Object, writer: _Write, path: Path, was: Json, now: Json) -> None:
        """Each has seen the other, and each puts its own value back."""
        turns = known.turns.setdefault(path, [writer.actor])
        if turns[-1] == record.actor or len({*turns, record.actor}) > 2:
            known.turns[path] = [record.actor]
            return
        turns.append(record.actor)
        if len(turns) == FIGHT_AFTER + 1:
            self.findings.append(
                Finding(FIGHT, record.object, path, writer.actor, record.actor, "", 0, writer.version, record.version, was, was, now)
            )

    def _is_laundered(self, record: Commit, known: _Object, writer: _Write, path: Path, now: Json) -> bool:
        """The value of a refused attempt, put over what made the attempt stale."""
        return writer.actor != record.actor and any(
            writer.version > refused.base and path in refused.values and same(refused.values[path], now)
            for refused in known.refused.get(record.actor, ())
        )

    def _is_dropped(self, record: Commit, known: _Object, meant: dict[Path, Json], path: Path) -> bool:
        """Removed without being named, by an actor that never wrote it: it does not know the field."""
        named = path in meant or _covers(meant, path)
        return not named and path not in known.asserted.get(record.actor, ())

    def _settle_refusals(self, record: Commit, known: _Object, meant: dict[Path, Json]) -> None:
        left = []
        for refused in known.refused.get(record.actor, ()):
            unsaid = {p: value for p, value in refused.values.items() if p not in meant and not same(find(record.after, p), value)}
            if unsaid:
                left.append(msgspec.structs.replace(refused, values=unsaid))
        if record.actor in known.refused:
            known.refused[record.actor] = left

    def _abandoned(self, identity: Identity, known: _Object, actor: str, refusals: list[_Refused]) -> None:
        told: set[Path] = set()
        for refused in reversed(refusals):
            base = known.versions.get(refused.base)
            for path, value in refused.values.items():
                current = find(known.latest, path) if known.latest is not None else ABSENT
                if path in told or same(current, value) or (base is not None and same(find(base, path), value)):
                    continue
                told.add(path)
                writer = known.writers.get(path)
                was = find(base, path) if base is not None else ABSENT
                culprit = writer.actor if writer else ""
                self.findings.append(
                    Finding(
                        LOST, identity, path, victim=actor, culprit=culprit, kind="abandoned", base=refused.base, written=known.version,
                        overwritten=known.version, was=was, lost=value, now=current, how=refused.attempt.verb,
                    )
                )  # fmt: skip


def _base(record: Commit, known: _Object) -> int:
    if record.base is not None:
        return record.base
    if record.precondition is not None:
        return record.precondition
    return known.seen.get(record.actor, 0)


def _name(identity: Identity) -> tuple[str, str, str]:
    return identity.resource, identity.namespace, identity.name


def _covers(meant: dict[Path, Json], path: Path) -> bool:
    """Whether a removal above the path was meant."""
    return any(path[:length] in meant for length in range(1, len(path)))


def _vanished(record: Commit, path: Path) -> Path:
    """The outermost part below the top level that is no longer there."""
    for length in range(2, len(path)):
        if find(record.after, path[:length]) is ABSENT:
            return path[:length]
    return path


def _is_below(path: Path, above: set[Path]) -> bool:
    return bool(above) and any(path[:length] in above for length in range(1, len(path) + 1))


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _list_lost(before: Json, written: Json, now: Json) -> bool:
    """A list without keys is a multiset: lost when something added vanished, or something removed returned."""
    old, new, current = (Counter(map(_text, value)) if _is_list(value) else Counter[str]() for value in (before, written, now))
    added, gone = new - old, old - new
    return any(current[item] < min(count, new[item]) for item, count in added.items()) or any(current[item] > new[item] for item in gone)


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
