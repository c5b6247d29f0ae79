"""What one commit destroyed: leaf by leaf, then told once for each thing that a person would name. Pure.

A leaf is lost when its last writer is newer than what the commit was based on and the commit changed it, or when the commit stood
on a fresh version but carried the values of a refused attempt, or removed what its author does not know.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .asserted import applied_before, asserted, tested
from .findings import CARRIED, COMPUTED, DOUBLE, DROPPED, LAUNDERED, LOST, SELF, Finding

if TYPE_CHECKING:
    from .leaves import Leaf
    from .memory import ObjectMemory, Refused
    from .places import Place
    from .records import Commit


class Losses:
    """The leaves that one commit destroyed. What the request meant is worked out only when somebody asks."""

    __slots__ = ("_known", "_meant", "_record", "_tested", "base", "found")

    def __init__(self, record: Commit, known: ObjectMemory, base: int) -> None:
        self._record, self._known, self.base = record, known, base
        self._tested: set[Path] | None = None
        self._meant: dict[Path, Json] | None = None
        self.found: list[Finding] = []

    def judge(self, leaf: Leaf, writer: Place) -> bool:
        """Note the leaf if it was lost; True then."""
        place, _, now = leaf
        path = place.path
        record = self._record
        kind = self._stale_kind(leaf, writer) if writer.version > self.base else self._fresh_kind(leaf, writer)
        if not kind or self.was_tested(path):
            return False
        name = LOST
        knows_base = not self.base or self._known.at(self.base) is not ABSENT
        if kind == COMPUTED and writer.before is ABSENT and knows_base and self._at_base(path) is ABSENT:
            name = DOUBLE
        how = " ".join(word for word in (record.verb, record.content) if word) + (f" on {record.subresource}" if record.subresource else "")
        self.found.append(
            Finding(
                name, record.object, path, victim=writer.actor, culprit=record.actor, kind=kind, base=self.base,
                written=writer.version, overwritten=record.version, was=writer.before, lost=writer.value, now=now, how=how,
            )
        )  # fmt: skip
        return True

    def told(self) -> list[Finding]:
        """What was found, one finding for a whole entry that vanished or a slot that was made twice, not one for each member."""
        told: dict[tuple[str, str, Path], Finding] = {}
        slots: list[Path] = []
        for finding in sorted(self.found, key=lambda f: f.name != DOUBLE):
            if any(finding.path[: len(slot)] == slot for slot in slots):
                continue
            outer = self._slot(finding.path) if finding.name == DOUBLE else self._vanished(finding)
            if finding.name == DOUBLE:
                slots.append(outer)
            if outer != finding.path:
                lost, now = find(self._record.before, outer), find(self._record.after, outer)
                finding = msgspec.structs.replace(finding, path=outer, lost=lost, was=self._at_base(outer), now=now)
            told.setdefault((finding.victim, finding.kind, outer), finding)
        return list(told.values())

    def was_tested(self, path: Path) -> bool:
        """Whether the request itself compared the leaf first: then it stood on the current value, whatever had been read."""
        if self._tested is None:
            self._tested = tested(self._record, self._before)
        return bool(self._tested) and any(path[:length] in self._tested for length in range(1, len(path) + 1))

    @property
    def meant(self) -> dict[Path, Json]:
        """What the request asserts."""
        if self._meant is None:
            self._meant = asserted(self._record, self._before)
        return self._meant

    @property
    def _before(self) -> Json:
        return ABSENT if self._record.before is None else self._record.before

    def _at_base(self, path: Path) -> Json:
        return find(self._known.at(self.base), path)

    def _stale_kind(self, leaf: Leaf, writer: Place) -> str:
        place, _, now = leaf
        path = place.path
        record = self._record
        if type(writer.value) is list and type(now) is list and not _list_lost(writer.before, writer.value, now):
            return ""
        if writer.actor == record.actor:
            return SELF
        if now is ABSENT and record.verb != "update" and self._is_unnamed(path) and not applied_before(record, path):
            return DROPPED
        return CARRIED if same(now, self._at_base(path)) else COMPUTED

    def _fresh_kind(self, leaf: Leaf, writer: Place) -> str:
        place, _, now = leaf
        path = place.path
        record, known = self._record, self._known
        if writer.actor == record.actor:
            return ""
        for refused in known.refused.get(record.actor, ()):
            if writer.version > refused.base and same(refused.values.get(path, ABSENT), now) and _asserts(refused, path):
                return LAUNDERED
        if now is ABSENT and record.actor not in writer.knowing and self._is_unnamed(path) and not self._sent(path):
            return DROPPED
        return ""

    def _is_unnamed(self, path: Path) -> bool:
        """Whether the leaf is gone, and the request names neither it nor something above it."""
        return find(self._record.after, path) is ABSENT and not any(path[:length] in self.meant for length in range(len(path), 0, -1))

    def _sent(self, path: Path) -> bool:
        """Whether the actor has shown that it knows the field, by sending it in its last PUT."""
        return find(self._known.puts.get(self._record.actor), path) is not ABSENT

    def _vanished(self, finding: Finding) -> Path:
        """The outermost part below the top level that is no longer there."""
        path = finding.path
        if finding.now is ABSENT:
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


def _asserts(refused: Refused, path: Path) -> bool:
    """Whether a refused attempt named the leaf, or left it out of something that it replaced as a whole: a list, or all by PUT."""
    if path in refused.values or any(path[:length] in refused.values for length in range(len(path) - 1, 0, -1)):
        return True
    return refused.attempt.verb == "update" and (path[0] == "status") == (refused.attempt.subresource == "status")


def _list_lost(before: Json, written: Json, now: Json) -> bool:
    """A list without keys is a multiset: lost when something added vanished, or something removed returned."""
    old, new, current = (Counter(map(_text, value)) if type(value) is list else Counter[str]() for value in (before, written, now))
    return any(current[item] < new[item] for item in new - old) or any(current[item] > new[item] for item in old - new)


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
