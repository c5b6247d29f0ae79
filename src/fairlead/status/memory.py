"""What a writer remembers between writes: its own last answer per object, what the server altered, and what kinds look like.

Bounded, so that a controller of many objects does not grow. A cache that lags behind the writer's own last write would make a
needed write look unnecessary, or an old decision look fresh: so a session starts from the newest version the writer knows.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ..objects.paths import Path, find
from ..objects.tree import Json, same
from .intents import Condition, Intent, Put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shapes import Shapes
    from .targets import Resource


class Memory:
    """One per writer."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._answers: OrderedDict[str, Json] = OrderedDict()
        self._altered: dict[str, dict[Path, tuple[Json, Json]]] = {}
        self.resources: dict[str, dict[str, Resource]] = {}
        self.shapes: dict[str, Shapes] = {}
        self.warned: set[tuple[str, str]] = set()

    def newest(self, obj: Json) -> Json:
        """The object, or this writer's own last answer for it when that is newer."""
        known = self._answers.get(obj["metadata"]["uid"])
        return known if known is not None and version(known) > version(obj) else obj

    def remember(self, obj: Json) -> None:
        """Keep an answer of the server, unless a newer one is known."""
        uid = obj["metadata"]["uid"]
        known = self._answers.get(uid)
        if known is None or version(obj) >= version(known):
            self._answers[uid] = obj
        self._answers.move_to_end(uid)
        while len(self._answers) > self._limit:
            forgotten, _ = self._answers.popitem(last=False)
            self._altered.pop(forgotten, None)

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._answers.pop(uid, None)
        self._altered.pop(uid, None)

    def learn(self, intents: Sequence[Intent], target: Json, stored: Json) -> list[tuple[Path, bool]]:
        """Compare what was sent with what was stored; gives the paths that differ, and whether they were dropped altogether."""
        found: list[tuple[Path, bool]] = []
        for intent in intents:
            if isinstance(intent, (Put, Condition)):
                found += _altered(intent.path, find(target, intent.path), find(stored, intent.path))
        if found:
            known = self._altered.setdefault(stored["metadata"]["uid"], {})
            known.update({path: (find(target, path), find(stored, path)) for path, _ in found})
        return found

    def settled(self, uid: str, intents: Sequence[Intent], snapshot: Json) -> Sequence[Intent]:
        """The intents without those that the server is known to store otherwise: sending them again would change nothing."""
        known = self._altered.get(uid)
        if not known:
            return intents
        return [intent for intent in intents if not self._is_settled(known, intent, snapshot)]

    def _is_settled(self, known: dict[Path, tuple[Json, Json]], intent: Intent, snapshot: Json) -> bool:
        if isinstance(intent, Put):
            sent = known.get(intent.path)
            return sent is not None and same(sent[0], intent.value) and same(find(snapshot, intent.path), sent[1])
        if not isinstance(intent, Condition):
            return False
        entry = find(snapshot, intent.path)
        if not isinstance(entry, dict):
            return False
        for name, value in intent.fields.items():
            if not same(entry.get(name), value):
                sent = known.get((*intent.path, name))
                if sent is None or not same(sent[0], value) or not same(find(snapshot, (*intent.path, name)), sent[1]):
                    return False
        return True


def _altered(path: Path, sent: Json, stored: Json) -> list[tuple[Path, bool]]:
    """The outermost places below the path where what was sent is not what is there; extras are ignored."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [found for name, member in sent.items() for found in _altered((*path, name), member, find(stored, (name,)))]
    return [] if same(sent, stored) else [(path, not isinstance(stored, type(sent)) and not stored)]


def version(obj: Json) -> int:
    """The resourceVersion as a number; -1 when there is none."""
    text = obj["metadata"].get("resourceVersion") or ""
    return int(text) if text.isdigit() else -1
