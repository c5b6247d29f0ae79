"""Events on the object that is reconciled, recorded as events.k8s.io/v1 and aggregated as the server expects.

The same event again within a series bumps its count instead of making a new object. Recording never fails a reconcile: an event
that cannot be written is logged and dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import NotFound
from .clock import micro

if TYPE_CHECKING:
    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from .clock import Clock

log = logging.getLogger("fiferail.controllers")

NORMAL, WARNING = "Normal", "Warning"
SERIES_SECONDS = 360.0
_NOTE_BYTES = 1024
_LIMIT = 4096


class _Known(msgspec.Struct):
    obj: Json
    count: int
    last: float


class EventRecorder:
    """Records for one controller."""

    def __init__(self, client: AsyncClient, controller: str, instance: str, clock: Clock) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance
        self._clock = clock
        self._made = 0
        self._known: dict[tuple[str, ...], _Known] = {}

    async def record(self, obj: Json, reason: str, note: str, *, type: str = NORMAL, action: str = "Reconcile") -> None:
        """One event about the object."""
        key = (obj["metadata"].get("uid", ""), type, reason, note, action)
        now = self._clock.today()
        known = self._known.get(key)
        try:
            if known is None or now - known.last >= SERIES_SECONDS or not await self._again(known, now):
                self._remember(key, await self._new(obj, type, reason, note, action, now), now)
        except Exception as error:  # a reconcile does not fail because nobody could be told of it
            log.warning("the event %s on %s could not be recorded: %s", reason, obj["metadata"].get("name"), error)

    async def _new(self, obj: Json, type: str, reason: str, note: str, action: str, now: float) -> Json:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        regarding: dict[str, Any] = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"], "uid": metadata["uid"]}
        if metadata.get("namespace"):
            regarding["namespace"] = metadata["namespace"]
        if metadata.get("resourceVersion"):
            regarding["resourceVersion"] = metadata["resourceVersion"]
        name = f"{metadata['name'][:230]}.{int(now * 1e9) + self._made:x}"
        self._made += 1
        event = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro(now), "reportingController": self._controller, "reportingInstance": self._instance[:128],
            "action": action, "reason": reason, "regarding": regarding, "note": _cut(note), "type": type,
        }  # fmt: skip
        return await self._client.create(event)

    async def _again(self, known: _Known, now: float) -> bool:
        """One more of the series; False when the event has expired meanwhile."""
        known.count += 1
        known.last = now
        series = {"count": known.count, "lastObservedTime": micro(now)}
        try:
            await self._client.patch(known.obj, {"series": series})
        except NotFound:
            return False
        return True

    def _remember(self, key: tuple[str, ...], obj: Json, now: float) -> None:
        if len(self._known) >= _LIMIT:
            self._known.pop(next(iter(self._known)))
        self._known[key] = _Known(obj, 1, now)


def _cut(note: str) -> str:
    data = note.encode()
    return note if len(data) <= _NOTE_BYTES else data[:_NOTE_BYTES].decode("utf-8", "ignore")
