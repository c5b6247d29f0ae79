"""What a writer remembers between writes: its own last answer per object, what the server altered, and what kinds look like.

Bounded, so that a controller of many objects does not grow. A cache that lags behind the writer's own last write would make a
needed write look unnecessary, or an old decision look fresh: so a session starts from the newest version the writer knows.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .intents import Condition, Drop, Intent, Put, Raise
from .pacing import Pace, Tempo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shapes import Shapes
    from .targets import Resource, Target


#: Seconds after which it is tried again whether the server still alters a field, or still has no schema to show: CRDs are upgraded.
ASK_AGAIN = 600.0
ASK_SOON = 30.0
_NOTHING: dict[str, Resource] = {}


class Learned(msgspec.Struct, frozen=True):
    """What was sent to a place, what the server stored there, and until when that is believed."""

    sent: Json
    stored: Json
    until: float


class Memory:
    """One per writer; threads may share it."""

    def __init__(self, limit: int = 4096, resources: dict[str, dict[str, Resource]] | None = None) -> None:
        self._limit = limit
        self._lock = allocate_lock()
        #: Version and bytes: the object itself belongs to the caller, who may do with it what he likes.
        self._answers: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._altered: dict[str, dict[Path, Learned]] = {}
        self._paces: OrderedDict[str, Pace] = OrderedDict()
        self.tempo = Tempo()
        #: What discovery says, by apiVersion; shared where writers of one process are given the same.
        self.resources: dict[str, dict[str, Resource]] = resources if resources is not None else {}
        self._shapes: dict[str, tuple[Shapes, float]] = {}
        self.warned: set[tuple[str, str]] = set()

    # -- objects

    def newest(self, obj: Json, *, lossy: bool = False) -> Json:
        """The object, or this writer's own last answer for it when that is newer (or as new, and the object has lost something)."""
        known = self._answers.get(obj["metadata"]["uid"])
        if known is None:
            return obj
        mine = version(obj)
        return msgspec.json.decode(known[1]) if known[0] > mine or (lossy and known[0] == mine) else obj

    def remember(self, obj: Json) -> None:
        """Keep an answer of the server, unless a newer one is known."""
        uid, current = obj["metadata"]["uid"], version(obj)
        known = self._answers.get(uid)
        self._keep(uid, current, msgspec.json.encode(obj) if known is None or current > known[0] else b"")

    def remember_raw(self, uid: str, raw: bytes, seen: Glance) -> None:
        """The same for an answer that was glanced at only."""
        self._keep(uid, _number(seen.metadata.version), raw)

    def _keep(self, uid: str, current: int, raw: bytes) -> None:
        with self._lock:
            known = self._answers.get(uid)
            if known is None or current > known[0]:
                self._answers[uid] = (current, raw)
            self._answers.move_to_end(uid)
            while len(self._answers) > self._limit:
                forgotten, _ = self._answers.popitem(last=False)
                self._altered.pop(forgotten, None)

    def forget(self, uid: str) -> None:
        """The object is gone."""
        with self._lock:
            self._answers.pop(uid, None)
            self._altered.pop(uid, None)
            self._paces.pop(uid, None)

    def pace(self, uid: str) -> Pace:
        """How hard the object is fought over, as far as this writer has seen."""
        with self._lock:
            pace = self._paces.get(uid)
            if pace is None:
                pace = self._paces[uid] = Pace(self.tempo)
                if len(self._paces) > self._limit:
                    self._paces.popitem(last=False)
            return pace

    # -- kinds

    def resource(self, target: Target) -> Resource | None:
        """What discovery said of the kind, if it was asked."""
        return self.resources.get(target.api_version, _NOTHING).get(target.kind)

    def shapes(self, kind: str, now: float) -> Shapes | None:
        """What is known of the kind's lists; None when it is time to ask."""
        found = self._shapes.get(kind)
        return found[0] if found is not None and now < found[1] else None

    def keep_shapes(self, kind: str, found: Shapes, now: float) -> None:
        """Believe it for a while; that nothing is enforced only briefly: a new CRD's schema appears some seconds after it."""
        self._shapes[kind] = (found, now + (ASK_AGAIN if found.enforced else ASK_SOON))

    # -- what the server stores otherwise than sent

    def learn(self, uid: str, intents: Sequence[Intent], target: Json, stored: Json, now: float) -> list[tuple[Path, bool]]:
        """Compare what was sent with what was stored; gives the paths that differ, and whether they were dropped altogether."""
        found: list[tuple[Path, bool]] = []
        for intent in intents:
            sent, there = find(target, intent.path), find(stored, intent.path)
            if sent is not there:
                found += _altered(intent.path, sent, there)
        if found:
            known = self._altered.setdefault(uid, {})
            known.update({path: Learned(find(target, path), find(stored, path), now + ASK_AGAIN) for path, _ in found})
        return found

    def settled(self, uid: str, intents: Sequence[Intent], snapshot: Json, now: float) -> Sequence[Intent]:
        """The intents without those that the server is known to store otherwise: sending them again would change nothing."""
        known = self._altered.get(uid)
        if not known:
            return intents
        return [intent for intent in intents if not _is_settled(known, intent, snapshot, now)]


def _is_settled(known: dict[Path, Learned], intent: Intent, snapshot: Json, now: float) -> bool:
    match intent:
        case Put(path, value):
            return _as_before(known, path, value, snapshot, now)
        case Drop(path):
            return _as_before(known, path, ABSENT, snapshot, now)
        case Raise(path, floor):
            return _as_before(known, path, floor, snapshot, now)
        case Condition(path, fields, _):
            entry = find(snapshot, path)
            return isinstance(entry, dict) and all(
                same(entry.get(name, ABSENT), value) or _as_before(known, (*path, name), value, snapshot, now)
                for name, value in fields.items()
            )


def _as_before(known: dict[Path, Learned], path: Path, wanted: Json, snapshot: Json, now: float) -> bool:
    learned = known.get(path)
    return learned is not None and now < learned.until and same(learned.sent, wanted) and same(find(snapshot, path), learned.stored)


def _altered(path: Path, sent: Json, stored: Json) -> list[tuple[Path, bool]]:
    """The outermost places below the path where what was sent is not what is there; extras are ignored."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        found: list[tuple[Path, bool]] = []
        for name, member in sent.items():
            there = stored.get(name, ABSENT)
            if member != there if type(member) is str else not same(member, there):
                found += _altered((*path, name), member, there)
        return found
    return [] if same(sent, stored) else [(path, not isinstance(stored, type(sent)) and not stored)]


def version(obj: Json) -> int:
    """The resourceVersion as a number; -1 when there is none."""
    return _number(obj["metadata"].get("resourceVersion") or "")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1


class Versioned(msgspec.Struct):
    """Of the metadata, the version."""

    version: str = msgspec.field(name="resourceVersion", default="")


class Glance(msgspec.Struct):
    """Of an answer, what a status write needs to know; the rest is skipped, not built."""

    metadata: Versioned
    status: Any = ABSENT

    def object(self) -> Json:
        """An object of which nothing but the status is there."""
        return {} if self.status is ABSENT else {"status": self.status}


#: From the bytes of an answer.
glance = msgspec.json.Decoder(Glance).decode
