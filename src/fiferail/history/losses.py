"""What one commit destroyed: leaf by leaf, then one finding for each thing that a person would name. Pure.

A leaf is lost when its last writer is newer than what the commit was based on and the commit changed it, or when the commit stood
on a fresh version but carried the values of a refused attempt, or removed what its author does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..objects.paths import Key, Path, find, is_within
from ..objects.tree import ABSENT, Json
from .asserted import applied_before, asserted, names_directives, operations, tested
from .findings import CARRIED, CERTAIN, COMPUTED, DOUBLE, DROPPED, INFERRED, LAUNDERED, LOST, POSSIBLE, SELF, Finding
from .leaves import elements, same_elements
from .records import how
from .refusals import laundered

if TYPE_CHECKING:
    from .leaves import Leaf
    from .memory import ObjectMemory
    from .places import Place
    from .records import Commit


#: How a leaf was lost, how sure that is, and what it rests on.
Verdict: TypeAlias = tuple[str, str, str]
KEPT: Verdict = ("", "", "")
_LAUNDERED = {
    INFERRED: "the value is one that the refused request had only repeated from its older version",
    POSSIBLE: "its author may have read the newer value and decided the same again",
}


class Losses:
    """The leaves that one commit destroyed. What the request meant is worked out only when somebody asks."""

    __slots__ = ("_because", "_known", "_meant", "_record", "_tested", "base", "found", "writer")

    def __init__(self, record: Commit, known: ObjectMemory, writer: str, base: int, because: str = "") -> None:
        self._record, self._known, self.writer, self.base, self._because = record, known, writer, base, because
        self._tested: set[Path] | None = None
        self._meant: dict[Path, Json] | None = None
        self.found: list[Finding] = []

    def judge(self, leaf: Leaf, writer: Place) -> bool:
        """Note the leaf if it was lost; True then."""
        place, _, now = leaf
        path = place.path
        record = self._record
        stale = writer.version > self.base
        kind, certainty, because = self._stale_kind(leaf, writer) if stale else self._fresh_kind(leaf, writer)
        if not kind or writer.version in record.seen or self.was_tested(path) or self._was_carried(writer.version, path):
            return False
        name = LOST
        knows_base = bool(self.base) and self._known.at(self.base) is not ABSENT  # who has read nothing did not see an empty slot
        if kind == COMPUTED and writer.before is ABSENT and knows_base and self._at_base(path) is ABSENT:
            name = DOUBLE
        self.found.append(
            Finding(
                name, record.object, path, victim=writer.actor, culprit=self.writer, kind=kind, base=self.base, written=writer.version,
                overwritten=record.version, was=writer.before, lost=writer.value, now=now, how=how(record), certainty=certainty,
                because=because,
            )
        )  # fmt: skip
        return True

    def _was_carried(self, version: int, path: Path) -> bool:
        """Whether the overwritten value was itself only carried back by a stale write: restoring one's own loses nothing."""
        carried = self._known.carried
        return bool(carried) and any((version, path[:length]) in carried for length in range(1, len(path) + 1))

    def findings(self) -> list[Finding]:
        """What was found, one finding for a whole entry that vanished or a slot that was made twice, not one for each member."""
        merged: dict[tuple[str, str, Path], Finding] = {}
        slots: list[Path] = []
        for finding in sorted(self.found, key=lambda f: f.name != DOUBLE):
            if any(finding.path[: len(slot)] == slot for slot in slots):
                continue
            outer = self._slot(finding.path) if finding.name == DOUBLE else self._entry(finding)
            if finding.name == DOUBLE:
                slots.append(outer)
            if outer != finding.path:
                lost, now = find(self._record.before, outer), find(self._record.after, outer)
                was = self._at_base(outer) if finding.written > self.base else find(self._known.before(finding.written), outer)
                finding = msgspec.structs.replace(finding, path=outer, lost=lost, was=was, now=now)
            merged.setdefault((finding.victim, finding.kind, outer), finding)
        return list(merged.values())

    def was_tested(self, path: Path) -> bool:
        """Whether the request itself compared the leaf first: then it stood on the current value, whatever had been read."""
        if self._tested is None:
            self._tested = tested(self._record, self._before, self._known.learned)
        if not self._tested:
            return False
        return is_within(path, self._tested) or self._each_was_tested(path)

    @property
    def meant(self) -> dict[Path, Json]:
        """What the request asserts."""
        if self._meant is None:
            self._meant = asserted(self._record, self._before, self._known.learned)
        return self._meant

    @property
    def _before(self) -> Json:
        return ABSENT if self._record.before is None else self._record.before

    def _at_base(self, path: Path) -> Json:
        return find(self._known.at(self.base), path)

    def _each_was_tested(self, path: Path) -> bool:
        """Of a list without keys: whether the patch changed only entries, or members of entries, that it had compared."""
        below = [at for at in self.meant if len(at) > len(path) and at[: len(path)] == path]
        whole = any(op["op"] != "test" and op["path"].endswith("/-") for op in operations(self._record.body))
        return bool(below) and not whole and path not in self.meant and all(is_within(at, self._tested or set()) for at in below)

    def _stale_kind(self, leaf: Leaf, writer: Place) -> Verdict:
        place, _, now = leaf
        path = place.path
        record = self._record
        if type(writer.value) is list and type(now) is list and not _list_lost(writer.before, writer.value, now):
            return KEPT
        if writer.actor == self.writer:
            return SELF, CERTAIN, self._because
        own = now is ABSENT and applied_before(record, path)
        if own and not self.base:
            return KEPT  # a field of this field manager, and its author read nothing older: a new release of it leaves the field out
        if now is ABSENT and record.verb != "update" and not own and self._is_unnamed(path):
            return (DROPPED, *self._drop_certainty())
        return CARRIED if same_elements(now, self._at_base(path)) else COMPUTED, CERTAIN, self._because

    def _fresh_kind(self, leaf: Leaf, writer: Place) -> Verdict:
        place, _, now = leaf
        path = place.path
        record, known = self._record, self._known
        if writer.actor == self.writer:
            return KEPT
        if record.base is None and known.refused.get(record.actor):
            certainty = laundered(record, known, self.writer, path, now, writer.version)
            if certainty:
                return LAUNDERED, certainty, _LAUNDERED[certainty]
        if now is ABSENT and self._is_dropped(path, writer):
            return (DROPPED, *self._drop_certainty())
        return KEPT

    def _is_dropped(self, path: Path, writer: Place) -> bool:
        """Whether a member of an object went that the author has never shown to know. Entries, labels and the like are known to all."""
        actor = self._record.actor
        gone = self._outermost(path)
        if path[0] == "metadata" or type(gone[-1]) is not str or not self._is_unnamed(path):
            return False
        if self._version_gap():
            return True
        if applied_before(self._record, path):
            return False  # a field of this field manager, which it now leaves out
        return not any(knows == actor or knows.startswith(f"{actor} (") for knows in writer.knowing) and not self._sent(path)

    def _drop_certainty(self) -> tuple[str, str]:
        """A request through another version of the API removes what that version lacks; else it may be meant."""
        gap = self._version_gap()
        if gap:
            return INFERRED, gap
        if self._record.verb == "update" or self._record.api_version:
            return POSSIBLE, f"{self.writer} may have removed it on purpose"
        return CERTAIN, ""

    def _version_gap(self) -> str:
        """A request that used another version of the API than the object is kept in, in words; "" where it did not."""
        record = self._record
        stored = record.before.get("apiVersion", "") if isinstance(record.before, dict) else ""
        used = record.api_version or (record.body.get("apiVersion", "") if isinstance(record.body, dict) else "")
        return f"the request used {used}, the object is kept as {stored}" if used and stored and used != stored else ""

    def _is_unnamed(self, path: Path) -> bool:
        """Whether the leaf is gone, and the request names neither it nor something above it."""
        if find(self._record.after, path) is not ABSENT or any(path[:length] in self.meant for length in range(len(path), 0, -1)):
            return False
        return self._record.content != "strategic" or not names_directives(self._record.body)

    def _sent(self, path: Path) -> bool:
        """Whether the actor has shown that it knows the field, by sending it in its last PUT."""
        return find(self._known.puts.get(self._record.actor), path) is not ABSENT

    def _entry(self, finding: Finding) -> Path:
        """What to report: the outermost thing that vanished or came back, else the leaf."""
        if finding.now is ABSENT:
            return self._outermost(finding.path)
        if finding.lost is ABSENT:
            path = finding.path
            for length in range(2, len(path)):
                if isinstance(path[length - 1], Key) and find(self._record.before, path[:length]) is ABSENT:
                    return path[:length]
        return finding.path

    def _outermost(self, path: Path) -> Path:
        """The outermost part below the top level that is no longer there."""
        for length in range(2, len(path)):
            if find(self._record.after, path[:length]) is ABSENT:
                return path[:length]
        return path

    def _slot(self, path: Path) -> Path:
        """The outermost thing that was not there at the base; in a keyed list that is the entry."""
        for length in range(2, len(path)):
            if self._at_base(path[:length]) is ABSENT and isinstance(path[length], str):
                return path[:length]
        return path


def _list_lost(before: Json, written: Json, now: Json) -> bool:
    """A list without keys is a multiset: lost when something added vanished, or something removed returned."""
    old, new, current = (elements(value) for value in (before, written, now))
    return any(current[item] < new[item] for item in new - old) or any(current[item] > new[item] for item in old - new)
