"""A controller at work: from changes to keys, from keys to reconciles, from reconciles to one flush each.

Made by the manager, which brings caches, clock and client. `step` is one reconcile from key to flush, and is all that an explorer
needs to drive; `work` is what the manager's tasks do. A reconcile never ends a worker, whatever it raises.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from ..errors import Conflict, FiferailError
from ..status import flow
from ..status.outcome import Kind
from .cache import key_of, version
from .context import Context
from .departures import Departures
from .echoes import NO_VERSION, Echoes
from .hooks import CONFLICT, DONE, FAILED, GONE, LATER, ControllerHook
from .queue import FRESH, INITIAL, Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from ..status.writer import AsyncSession, AsyncStatusWriter
    from .cache import Cache, ObjectKey
    from .clock import Clock
    from .context import Caches
    from .controller import Controller, Mapper
    from .events import EventRecorder
    from .informer import Informer

log = logging.getLogger("fiferail.controllers")

#: A conflict is the normal way of things; only when it repeats this often is it worth an error in the log.
CONFLICTS_WORTH_AN_ERROR = 5


class Running:
    """A controller with everything it needs to run."""

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
        hook: ControllerHook | None = None,
    ) -> None:
        self.controller = controller
        self.queue: Queue[ObjectKey] = Queue(chance=chance)
        self.informers: list[Informer] = []
        self._client, self._caches, self._cache, self._writer, self._clock = client, caches, cache, writer, clock
        self._events = events
        self._hook = hook or ControllerHook()
        #: Workers with nothing to do; one is woken for each key, not all of them.
        self._idlers: list[asyncio.Future[None]] = []
        self._draining = asyncio.Event()
        self._conflicts: dict[ObjectKey, int] = {}
        self._echoes = Echoes()
        self._departures = Departures()

    # -- from changes to keys

    def follow(self, informer: Informer, mapper: Mapper | None = None) -> None:
        """Queue keys as the informer tells of changes."""
        self.informers.append(informer)
        informed = _with_cache(mapper, self._caches) if mapper is not None else None

        def heard(what: str, before: Json | None, obj: Json) -> None:
            priority = INITIAL if what == "initial" else FRESH
            if informed is None:
                if self._echoes.heard(key_of(obj), version(obj)):
                    self.queue.add(key_of(obj), priority)
            else:
                for key in dict.fromkeys([*self._mapped(informed, before), *self._mapped(informed, obj)]):
                    self.add(self._owner(key), priority)
            self._wake()

        informer.listen(heard)

    def _mapped(self, mapper: Callable[[Json], Iterable[ObjectKey]], obj: Json | None) -> list[ObjectKey]:
        """What the mapper says; one that fails on an object is told of, and that object is left out."""
        try:
            return [(namespace or "", name) for namespace, name in mapper(obj)] if obj is not None else []
        except Exception:
            log.exception("the mapper %r of %s failed on %s", mapper, self.controller.name, key_of(obj))
            return []

    def _owner(self, key: ObjectKey) -> ObjectKey:
        """The key of a cluster-scoped object, where a namespaced one names it as its owner."""
        cluster = ("", key[1])
        return cluster if key[0] and self._cache.get(*key) is None and self._cache.get(*cluster) is not None else key

    def add(self, key: ObjectKey, priority: int = FRESH) -> None:
        """Reconcile the key soon."""
        self._echoes.heard(key, NO_VERSION)
        self.queue.add(key, priority)
        self._wake()

    # -- workers

    def drain(self) -> None:
        """No new reconcile begins; `serve` returns when those that run have ended."""
        self._draining.set()
        while self._idlers:
            self._wake()

    async def serve(self) -> None:
        """Wait until everything that this controller watches has been listed, then work."""
        await _first([self._synced(), self._draining.wait()])
        async with asyncio.TaskGroup() as group:
            for _ in range(self.controller.concurrency):
                group.create_task(self.work())

    async def _synced(self) -> None:
        for informer in self.informers:
            await informer.synced.wait()

    async def work(self) -> None:
        """One worker: reconcile what is due until told to stop."""
        while not self._draining.is_set():
            key = self.queue.take(self._clock.now())
            self._hook.waiting(self.controller.name, len(self.queue), self.queue.working)
            if key is None:
                await self._idle()
                continue
            if len(self.queue):
                self._wake()
            try:
                await self.step(key)
            except asyncio.CancelledError:
                self.queue.add(key)  # cut off, not done: whoever works next begins with it
                raise
            finally:
                self.queue.done(key)
                self._wake()  # for what came meanwhile, or is due earlier now

    async def _idle(self) -> None:
        """Until there may be something to do: a key was added, or one is due."""
        due = self.queue.next_due()
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idlers.append(woken)
        pause = self._clock.timeout(None if due is None else max(0.0, due - self._clock.now()))
        try:
            async with pause:
                await woken
        except TimeoutError:
            pass
        finally:
            if woken in self._idlers:
                self._idlers.remove(woken)

    def _wake(self) -> None:
        """Let one idle worker look at the queue; it wakes the next when there is more than it can take."""
        while self._idlers:
            woken = self._idlers.pop()
            if not woken.done():
                woken.set_result(None)
                return

    # -- one reconcile

    async def step(self, key: ObjectKey) -> None:
        """One reconcile, from the cached object to the flush. Never raises, but for cancellation."""
        obj = self._cache.get(*key)
        if obj is None:
            self._settled(key)
            self._departures.gone(key)
            return
        began = self._clock.now()
        result = await self._judged(key, obj)
        self._hook.reconciled(self.controller.name, result, self._clock.now() - began)

    async def _judged(self, key: ObjectKey, obj: Json) -> str:
        flow.begin()  # what this worker wrote in another reconcile, this one does not know
        session = self._writer.session(obj)
        session.opened.once = False  # refused, it is reconciled again
        self._echoes.begin(key)
        try:
            after = await self._reconcile(session, obj)
        except Exception as error:
            if session.outcome is not None and session.outcome.kind is Kind.GONE:
                return self._gone(key)
            if isinstance(error, Conflict):
                return self._conflicted(key, error)
            if self._echoes.failed(key, version(session.opened.stage.base)):
                self.queue.not_again(key)
            pause = self.queue.retry(key, self._clock.now())
            log.error("%s failed, again in %.1f s: %s", self._named(key), pause, error, exc_info=error, extra=self._fields(key))
            return FAILED
        if session.outcome is not None and session.outcome.kind is Kind.GONE:
            return self._gone(key)
        self._settled(key)
        if after is None:
            return DONE
        self.queue.add_at(key, self._clock.now() + after)
        return LATER

    async def _reconcile(self, session: AsyncSession, obj: Json) -> float | None:
        context: Context | None = None
        try:
            async with session as status:
                context = Context(
                    obj=obj, stage=session.opened.stage, status=status, client=self._client, cache=self._caches, writer=self._writer,
                    clock=self._clock, events=self._events, controller=self.controller.name, departures=self._departures,
                )  # fmt: skip
                result = _seconds(await self._bounded(context))
        except Exception:
            if context is not None:
                await context.over()
            raise
        if session.outcome is None or session.outcome.kind is not Kind.GONE:
            context.settled()
        await context.over()
        return result

    async def _bounded(self, context: Context) -> Any:
        limit = self._clock.timeout(self.controller.timeout)
        try:
            async with limit:
                return await self.controller.reconcile(context)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise FiferailError(f"the reconcile took longer than {self.controller.timeout:g} s and was stopped") from error

    def _conflicted(self, key: ObjectKey, conflict: Conflict) -> str:
        live = getattr(conflict, "live", None)
        if live is not None:
            self._cache.wrote(live)  # the next try begins with what this one ran into
        times = self._conflicts[key] = self._conflicts.get(key, 0) + 1
        fight = times >= CONFLICTS_WORTH_AN_ERROR  # somebody answers each write with one: no longer at the speed of the server
        pause = self.queue.retry(key, self._clock.now(), hold=fight)
        level = logging.ERROR if fight else logging.DEBUG
        text = "%s was decided on what has changed since (%d in a row), again in %.1f s: %s"
        log.log(level, text, self._named(key), times, pause, conflict, extra=self._fields(key))
        return CONFLICT

    def _gone(self, key: ObjectKey) -> str:
        self._settled(key)
        self._departures.gone(key)
        log.debug("%s is gone", self._named(key), extra=self._fields(key))
        return GONE

    def _settled(self, key: ObjectKey) -> None:
        self._conflicts.pop(key, None)
        self._echoes.end(key)
        self.queue.forget(key)

    def _named(self, key: ObjectKey) -> str:
        return f"{self.controller.kind} {'/'.join(part for part in key if part)}"

    def _fields(self, key: ObjectKey) -> dict[str, str]:
        return {"controller": self.controller.name, "kind": self.controller.kind_name, "namespace": key[0], "object": key[1]}


def _with_cache(mapper: Any, caches: Caches) -> Callable[[Json], Iterable[ObjectKey]]:
    """A mapper that takes the caches as a second argument gets them."""
    try:
        two = len([p for p in inspect.signature(mapper).parameters.values() if p.default is p.empty]) == 2
    except (TypeError, ValueError):
        two = False
    return (lambda obj: mapper(obj, caches)) if two else mapper


def _seconds(result: Any) -> float | None:
    if result is None:
        return None
    if isinstance(result, bool) or not isinstance(result, (int, float)) or not 0 <= result < float("inf"):
        raise FiferailError(f"expected a reconcile to return None or the seconds after which to come back, got {result!r}")
    return float(result)


async def _first(waits: list[Any]) -> None:
    """Until one of them is done; the others are dropped."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
