"""What a writer remembers between writes: its own last answer per object, what the server altered, and what kinds look like.

Bounded, so that a controller of many objects does not grow. What is remembered never replaces what the caller passed: it is judged
as a live object would be, and it tells that a write which looks unnecessary on an old copy is needed.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .intents import Condition, Drop, Intent, Put, Raise
from .patience import Tempo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .schemas import Declared
    from .shapes import Shapes
    from .targets import Resource, Target


#: Seconds after which it is tried again whether the server still alters a field, or still has no schema to show: CRDs are upgraded.
ASK_AGAIN = 60.0
ASK_SOON = 10.0
#: So many altered paths of one object are remembered.
ALTERED = 128
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
        self.tempo = Tempo()
        #: What discovery says, by apiVersion; shared where writers of one process are given the same.
        self.resources: dict[str, dict[str, Resource]] = resources if resources is not None else {}
        self._shapes: dict[str, tuple[Shapes, float]] = {}
        #: The parts of a schema that say which fields there are, by kind.
        self.declared: dict[str, Declared] = {}
        self.warned: set[tuple[str, str]] = set()

    # -- objects

    def newest(self, obj: Json) -> Json:
        """The object, or this writer's own last answer for it when that is newer."""
        known = self._answers.get(obj["metadata"]["uid"])
        return msgspec.json.decode(known[1]) if known is not None and known[0] > version(obj) else obj

    def has_newer(self, obj: Json) -> bool:
        """Whether this writer's own last answer for the object is newer."""
        known = self._answers.get(obj["metadata"]["uid"])
        return known is not None and known[0] > version(obj)

    def exact(self, obj: Json) -> Json | None:
        """The very version that the object is a reading of, as the server sent it; None where that is not what is remembered."""
        known = self._answers.get(obj["metadata"]["uid"])
        return msgspec.json.decode(known[1]) if known is not None and known[0] == version(obj) else None

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

    def forget_kind(self, target: Target) -> None:
        """What was believed of the kind is wrong: ask again."""
        self._shapes.pop(target.kind_id, None)
        self.declared.pop(target.kind_id, None)
        self.resources.pop(target.api_version, None)

    # -- what the server stores otherwise than sent

    def learn(
        self, uid: str, intents: Sequence[Intent], target: Json, stored: Json, now: float, *, removals: bool = True
    ) -> list[tuple[Path, bool]]:  # fmt: skip
        """Compare what was sent with what was stored; gives the paths that differ, and whether they were dropped altogether."""
        found: list[tuple[Path, bool]] = []
        for intent in intents:
            sent, there = find(target, intent.path), find(stored, intent.path)
            if sent is not there:
                found += _altered(intent.path, sent, there)
        if found:
            known = self._altered.setdefault(uid, {})
            for path, _ in found:
                sent = find(target, path)
                if removals or sent is not ABSENT:
                    known.pop(path, None)
                    known[path] = Learned(sent, find(stored, path), now + ASK_AGAIN)
            while len(known) > ALTERED:
                del known[next(iter(known))]
        return [(path, dropped) for path, dropped in found if not _is_left_out(find(target, path), find(stored, path))]

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


def _is_left_out(sent: Json, stored: Json) -> bool:
    """Whether the server only leaves an empty value out, as it does in built-in kinds."""
    return stored is ABSENT and sent is not ABSENT and not sent


def version(obj: Json) -> int:
    """The resourceVersion as a number; -1 when there is none."""
    return _number(obj["metadata"].get("resourceVersion") or "")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1


class Versioned(msgspec.Struct):
    """Of the metadata, the version and the uid."""

    version: str = msgspec.field(name="resourceVersion", default="")
    uid: str = ""


class Glance(msgspec.Struct):
    """Of an answer, what a status write needs to know; the rest is skipped, not built."""

    metadata: Versioned
    status: Any = ABSENT

    def object(self) -> Json:
        """An object of which nothing but the status is there."""
        return {} if self.status is ABSENT else {"status": self.status}


#: From the bytes of an answer.
glance = msgspec.json.Decoder(Glance).decode
