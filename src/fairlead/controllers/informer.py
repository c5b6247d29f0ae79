"""Keeps a cache true: list, then watch from there, and begin again when the server says that it has forgotten.

Tells a listener of every change. Never gives up: a kind that is not there yet, a right that is missing, a server that restarts
are logged once each time they begin, and tried again with growing, jittered pauses.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from ..errors import ApiError, Forbidden, NotFound
from ..wire import StreamRefused
from .queue import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from .cache import Cache
    from .clock import Clock

log = logging.getLogger("fairlead.controllers")

#: What happened, the version known before (None when new), and the object: the last version known when it is gone.
Listener = "Callable[[str, Json | None, Json], None]"
INITIAL, CHANGED, GONE = "initial", "changed", "gone"
PAUSE = Backoff(first=0.1, factor=2.0, longest=30.0)


class Informer:
    """One kind, in one namespace or all."""

    def __init__(
        self,
        client: AsyncClient,
        api_version: str,
        kind: str,
        namespace: str | None,
        cache: Cache,
        *,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._client = client
        self.api_version, self.kind, self.namespace = api_version, kind, namespace
        self.cache = cache
        self._clock = clock
        self._chance = chance
        self._listeners: list[Callable[[str, Json | None, Json], None]] = []
        self._trouble = ""
        self.synced = asyncio.Event()

    def listen(self, listener: Callable[[str, Json | None, Json], None]) -> None:
        """Hear of every change from now on."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """List and watch until cancelled."""
        version, failures = "", 0
        while True:
            try:
                if not version:
                    version = await self._list()
                version = await self._watch(version)
                failures = 0
            except (ApiError, StreamRefused) as error:
                if _expired(error):
                    version = ""
                    continue
                self._log(error)
                failures += 1
                version = version if not isinstance(error, (NotFound, Forbidden)) else ""
            except (OSError, EOFError, TimeoutError) as error:
                self._log(error)
                failures += 1
            except Exception as error:
                # Every client has its own exceptions for a broken connection; none of them may end the loop.
                self._log(error)
                failures += 1
            if failures:
                await self._clock.sleep(PAUSE.pause(failures - 1, self._chance()))

    async def _list(self) -> str:
        objects, version = await self._client.snapshot(self.api_version, self.kind, self.namespace)
        known = {key: self.cache.get(*key) for key in self.cache.keys()}  # noqa: SIM118
        first = not self.cache.synced
        gone = self.cache.replace_all(objects)
        for key in gone:
            self._tell(GONE, known[key], known[key])
        for obj in objects:
            before = known.get((obj["metadata"].get("namespace") or "", obj["metadata"]["name"]))
            if before is None or before["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._tell(INITIAL if first else CHANGED, before, obj)
        self.synced.set()
        self._settled()
        return version

    async def _watch(self, version: str) -> str:
        stream = self._client.watch(self.api_version, self.kind, self.namespace, version)
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for kind, obj in events:
                self._settled()
                version = obj["metadata"]["resourceVersion"]
                if kind == "BOOKMARK":
                    continue
                key = (obj["metadata"].get("namespace") or "", obj["metadata"]["name"])
                before = self.cache.get(*key)
                if kind == "DELETED":
                    self.cache.saw_gone(obj)
                    self._tell(GONE, before, obj)
                else:
                    self.cache.saw(obj)
                    self._tell(CHANGED, before, obj)
        return version

    def _tell(self, what: str, before: Json | None, obj: Json) -> None:
        for listener in self._listeners:
            listener(what, before, obj)

    def _log(self, error: Exception) -> None:
        """Say once what is wrong, until it is something else."""
        what = f"{type(error).__name__}: {error}"
        if what == self._trouble:
            return
        self._trouble = what
        if isinstance(error, NotFound):
            log.warning("%s of %s is not served yet (is its CRD installed?); waiting for it", self.kind, self.api_version)
        elif isinstance(error, Forbidden):
            log.error("may not list or watch %s of %s; grant it and it goes on: %s", self.kind, self.api_version, error.message)
        else:
            log.warning("the watch of %s broke, going on from where it was: %s", self.kind, what)

    def _settled(self) -> None:
        if self._trouble:
            log.info("watching %s of %s again", self.kind, self.api_version)
            self._trouble = ""


def _expired(error: Exception) -> bool:
    """410: the version is too old to go on from. As an answer, or as an event in the stream."""
    code = error.code if isinstance(error, ApiError) else error.answer.status if isinstance(error, StreamRefused) else 0
    return code == 410
