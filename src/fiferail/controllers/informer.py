"""Keeps a cache true: list, then watch from there, and begin again when the server says that it has forgotten.

Tells listeners of every change. Never gives up: a kind that is not there yet, a right that is missing, a server that restarts
are logged once each time they begin, and tried again with growing, jittered pauses. A watch that ends early without having said
anything counts as a failure too: a server that hangs up at once must not be called in a loop.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

from ..errors import ApiError, Forbidden, NotFound
from ..wire import StreamRefused
from .cache import key_of, version
from .queue import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from .cache import Cache
    from .clock import Clock

    #: What happened, the version that the watch had shown before (None when new), and the object: the last version when it is gone.
    Listener = Callable[[str, Json | None, Json], None]

log = logging.getLogger("fiferail.controllers")

INITIAL, CHANGED, GONE = "initial", "changed", "gone"
PAUSE = Backoff(first=0.1, factor=2.0, longest=10.0)
#: How long a watch is asked to last, times 1 to 2; a connection that died without a word is noticed some time after that.
WATCH_SECONDS = 300.0
SILENCE_SECONDS = 30.0
#: A watch that ended sooner than this, and said nothing, failed.
EARLY = 1.0


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
        managed_fields: bool = False,
    ) -> None:
        self._client = client
        self.api_version, self.kind, self.namespace = api_version, kind, namespace
        self.cache = cache
        self._clock = clock
        self._chance = chance
        self._kept = _interned if managed_fields else _slim
        self._listeners: list[Listener] = []
        self._trouble = ""
        #: Where the next watch goes on; empty when a list is needed.
        self._version = ""
        self._fruitful = False
        self.synced = asyncio.Event()

    @property
    def trouble(self) -> str:
        """What keeps it from watching now; empty when nothing does."""
        return self._trouble

    def listen(self, listener: Listener) -> None:
        """Hear of every change from now on."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """List and watch until cancelled."""
        failures = 0
        while True:
            failures = 0 if await self._round() else failures + 1
            if failures:
                await self._clock.sleep(PAUSE.pause(failures - 1, self._chance()))

    async def _round(self) -> bool:
        """One list, if needed, and one watch, to its end. Whether that came to something."""
        began, self._fruitful = self._clock.now(), False
        try:
            if not self._version:
                await self._list()
            await self._watch()
        except (ApiError, StreamRefused) as error:
            code = error.code if isinstance(error, ApiError) else error.answer.status
            if code in (403, 404, 410):
                self._version = ""
            if code != 410:
                self._log(_refusal(error))
                return False
        except Exception as error:
            # Every client has its own exceptions for a broken connection; none of them may end the loop.
            self._log(error)
            return self._fruitful
        return self._fruitful or self._clock.now() - began >= EARLY

    async def _list(self) -> None:
        objects, listed = await self._client.snapshot(self.api_version, self.kind, self.namespace, each=self._kept)
        known = {key: self.cache.witnessed(key) for key in map(key_of, objects)}
        first = not self.synced.is_set()
        gone = self.cache.replace_all(objects, self.namespace, int(listed) if listed.isdigit() else -1)
        for obj in gone:
            self._tell(GONE, obj, obj)
        for obj in objects:
            before = known[key_of(obj)]
            if before is None or before["metadata"].get("resourceVersion") != obj["metadata"].get("resourceVersion"):
                self._tell(INITIAL if first else CHANGED, before, obj)
        self._version = listed
        self.synced.set()
        self._settled()

    async def _watch(self) -> None:
        seconds = WATCH_SECONDS * (1 + self._chance())
        stream = self._client.watch(self.api_version, self.kind, self.namespace, self._version, timeout_seconds=int(seconds))
        try:
            async with self._clock.timeout(seconds + SILENCE_SECONDS), aclosing(stream) as events:  # type: ignore[type-var]
                async for what, obj in events:
                    self._happened(what, obj)
        except TimeoutError:
            self._fruitful = True  # it lasted as long as it was asked to

    def _happened(self, what: str, obj: Json) -> None:
        self._settled()
        self._fruitful = True
        if what == "DELETED":
            self._tell(GONE, self.cache.saw_gone(obj), obj)
        elif what != "BOOKMARK":
            self._tell(CHANGED, self.cache.saw(self._kept(obj)), obj)
        self._version = obj["metadata"]["resourceVersion"]
        self.cache.reached(version(obj), self.namespace)

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


def _slim(obj: Json) -> Json:
    """Without managedFields, often the larger half: nobody decides on them, and the writer reads them live when it must name somebody."""
    obj["metadata"].pop("managedFields", None)  # fresh from the wire, nobody else's yet
    return _interned(obj)


def _interned(obj: Json) -> Json:
    """What is the same in all of them is kept once."""
    metadata = obj["metadata"]
    for place, name in ((obj, "apiVersion"), (obj, "kind"), (metadata, "namespace")):
        if name in place:
            place[name] = sys.intern(place[name])
    return obj


def _refusal(error: ApiError | StreamRefused) -> Exception:
    """A watch that was refused says the same as a list that was."""
    if isinstance(error, ApiError):
        return error
    kind = {403: Forbidden, 404: NotFound}.get(error.answer.status)
    return kind(error.answer.status, "", error.answer.body.decode("utf-8", "replace")[:300]) if kind else error
