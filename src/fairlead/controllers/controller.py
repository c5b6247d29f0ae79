"""A controller: which kind it reconciles, what else makes it look again, and what it does with one key.

Declarative: `Controller(...).owns(...).watches(...)` says what; the manager brings caches, clock and client and runs it. `step` is one
reconcile from key to flush, and is all that an explorer needs to drive.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from ..errors import Conflict, FairleadError
from ..status.outcome import Kind as OutcomeKind
from .cache import key_of
from .context import Context
from .queue import FRESH, INITIAL, Queue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from ..status.writer import AsyncStatusWriter
    from .cache import Cache, ObjectKey
    from .clock import Clock
    from .context import Caches
    from .events import EventRecorder
    from .informer import Informer

log = logging.getLogger("fairlead.controllers")

#: From an object of a watched kind to the keys (namespace, name) of the objects to reconcile.
Mapper = "Callable[[Json], Iterable[ObjectKey]]"
#: A conflict is the normal way of things; only when it repeats this often is it worth an error in the log.
CONFLICTS_WORTH_AN_ERROR = 5


class Controller:
    """What to reconcile, and how."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        reconcile: Callable[[Context], Awaitable[float | None]],
        *,
        name: str | None = None,
        field_manager: str | None = None,
        concurrency: int = 4,
        timeout: float | None = 600.0,
        claims: Sequence[str] = (),
        keys: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if not api_version or not kind:
            raise FairleadError(f"expected an apiVersion and a kind, got {api_version!r} and {kind!r}")
        if not asyncio.iscoroutinefunction(reconcile) and not asyncio.iscoroutinefunction(getattr(reconcile, "__call__", None)):  # noqa: B004
            raise FairleadError(f"expected reconcile to be an `async def`, got {reconcile!r}")
        if concurrency < 1:
            raise FairleadError(f"expected a concurrency of at least 1, got {concurrency}")
        self.api_version, self.kind = api_version, kind
        self.reconcile = reconcile
        self.name = name or kind.lower()
        self.field_manager = field_manager or f"{self.name}-controller"
        self.concurrency = concurrency
        self.timeout = timeout
        self.claims = tuple(claims)
        self.keys = dict(keys or {})
        #: (apiVersion, kind) -> what its objects mean for ours.
        self.sources: dict[tuple[str, str], Callable[[Json], Iterable[ObjectKey]]] = {}
        self.owned: list[tuple[str, str]] = []

    def owns(self, api_version: str, kind: str) -> Controller:
        """Look again when an object of that kind that ours controls changes."""
        self.owned.append((api_version, kind))
        self.sources[api_version, kind] = self._owner_of
        return self

    def watches(self, api_version: str, kind: str, mapper: Callable[[Json], Iterable[ObjectKey]]) -> Controller:
        """Look again when the mapper says so of a changed object."""
        self.sources[api_version, kind] = mapper
        return self

    def _owner_of(self, obj: Json) -> Iterable[ObjectKey]:
        group = self.api_version.rpartition("/")[0]
        for reference in obj["metadata"].get("ownerReferences") or []:
            same_group = reference.get("apiVersion", "").rpartition("/")[0] == group
            if reference.get("controller") and same_group and reference.get("kind") == self.kind:
                yield obj["metadata"].get("namespace") or "", reference["name"]


class Running:
    """A controller with everything it needs to run. Made by the manager."""

    def __init__(
        self,
        controller: Controller,
        *,
        client: AsyncClient,
        caches: Caches,
        cache: Cache,
        writer: AsyncStatusWriter,
        clock: Clock,
        chance: Callable[[], float],
        events: EventRecorder | None = None,
    ) -> None:
        self.controller = controller
        self.queue: Queue[ObjectKey] = Queue(chance=chance)
        self._client, self._caches, self._cache, self._writer, self._clock = client, caches, cache, writer, clock
        self._events = events
        self._wake = asyncio.Event()
        self._conflicts: dict[ObjectKey, int] = {}

    def follow(self, informer: Informer, mapper: Callable[[Json], Iterable[ObjectKey]] | None = None) -> None:
        """Queue keys as the informer tells of changes."""

        def heard(what: str, before: Json | None, obj: Json) -> None:
            priority = INITIAL if what == "initial" else FRESH
            keys = {key_of(obj)} if mapper is None else set(mapper(obj)) | set(mapper(before) if before is not None else ())
            for key in keys:
                self.add(key, priority)

        informer.listen(heard)

    def add(self, key: ObjectKey, priority: int = FRESH) -> None:
        """Reconcile the key soon."""
        self.queue.add(key, priority)
        self._wake.set()

    async def work(self) -> None:
        """One worker: reconcile what is due until cancelled."""
        while True:
            key = self.queue.take(self._clock.now())
            if key is None:
                await self._idle()
                continue
            try:
                await self.step(key)
            finally:
                self.queue.done(key)
                self._wake.set()

    async def _idle(self) -> None:
        self._wake.clear()
        due = self.queue.next_due()
        if due is None:
            await self._wake.wait()
            return
        waiting = [asyncio.ensure_future(self._wake.wait()), asyncio.ensure_future(self._clock.sleep(max(0.0, due - self._clock.now())))]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def step(self, key: ObjectKey) -> None:
        """One reconcile, from the cached object to the flush. Never raises, but for cancellation."""
        obj = self._cache.get(*key)
        if obj is None:
            self._settled(key)
            return
        try:
            after = await self._reconcile(obj)
        except Conflict as conflict:
            self._conflicted(key, conflict)
        except Exception as error:
            pause = self.queue.retry(key, self._clock.now())
            log.error("%s %s failed, again in %.1f s: %s", self.controller.kind, "/".join(key), pause, error, exc_info=error)
        else:
            self._settled(key)
            if after is not None:
                self.queue.add_at(key, self._clock.now() + after)

    async def _reconcile(self, obj: Json) -> float | None:
        session = self._writer.session(obj)
        context: Context | None = None
        result: Any = None
        try:
            async with session as status:
                context = Context(
                    obj=obj, stage=session.opened.stage, status=status, client=self._client, cache=self._caches, writer=self._writer,
                    clock=self._clock, events=self._events, controller=self.controller.name,
                )  # fmt: skip
                async with asyncio.timeout(self.controller.timeout):
                    result = await self.controller.reconcile(context)
        except TimeoutError as error:
            raise FairleadError(f"the reconcile took longer than {self.controller.timeout} s and was stopped") from error
        finally:
            outcome = session.outcome
            if outcome is not None and outcome.object is not None and outcome.kind is not OutcomeKind.UNCHANGED:
                self._cache.wrote(outcome.object)
        return _seconds(result)

    def _conflicted(self, key: ObjectKey, conflict: Conflict) -> None:
        times = self._conflicts[key] = self._conflicts.get(key, 0) + 1
        pause = self.queue.retry(key, self._clock.now())
        level = logging.ERROR if times >= CONFLICTS_WORTH_AN_ERROR else logging.DEBUG
        log.log(level, "%s %s was decided on what has changed since (%d in a row), again in %.1f s: %s", self.controller.kind, "/".join(key), times, pause, conflict)  # noqa: E501

    def _settled(self, key: ObjectKey) -> None:
        self._conflicts.pop(key, None)
        self.queue.forget(key)


def _seconds(result: Any) -> float | None:
    if result is None:
        return None
    if isinstance(result, bool) or not isinstance(result, (int, float)) or result < 0:
        raise FairleadError(f"expected a reconcile to return None or the seconds after which to come back, got {result!r}")
    return float(result)
