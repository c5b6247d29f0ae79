"""Several controllers in one process: shared caches, one client, one end.

`run()` blocks until a signal; `await serve()` runs until `stop()`. No threads and no globals: the tasks of `serve` are all there is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import socket
from typing import TYPE_CHECKING, Any

from ..clients.client import AsyncClient
from ..errors import FairleadError
from ..status.claims import Claims
from ..status.writer import AsyncStatusWriter
from .cache import Cache
from .clock import Clock, RealClock, stamp
from .context import Caches
from .controller import Controller, Running
from .events import EventRecorder
from .informer import Informer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

log = logging.getLogger("fairlead.controllers")


class Manager:
    """Runs controllers."""

    def __init__(
        self,
        *controllers: Controller,
        client: Any = None,
        namespaces: Sequence[str] | None = None,
        leader_election: Any = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
        events: bool = True,
    ) -> None:
        if not controllers:
            raise FairleadError("expected at least one controller, got none")
        names = [controller.name for controller in controllers]
        for name in names:
            if names.count(name) > 1:
                raise FairleadError(f"two controllers are named {name!r}: give one of them name=")
        self.controllers = controllers
        self._given = client
        self.namespaces = tuple(namespaces) if namespaces is not None else None
        self.leader_election = leader_election
        self.clock: Clock = clock or RealClock()
        self.chance = chance
        self._with_events = events
        self.registry = Claims()
        self.caches = Caches()
        self.running: list[Running] = []
        self._informers: dict[tuple[str, str, str | None], Informer] = {}
        self._stopping: asyncio.Event | None = None
        self.ready = False

    def run(self) -> None:
        """Until SIGINT or SIGTERM."""
        asyncio.run(self._until_signal())

    async def _until_signal(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        await self.serve()

    def stop(self) -> None:
        """End gracefully: no new reconcile begins, those that run may finish."""
        if self._stopping is not None:
            self._stopping.set()

    async def serve(self) -> None:
        """Run until `stop()`."""
        self._stopping = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            client = await self._client(stack)
            self.prepare(client)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(informer.run()) for informer in self._informers.values()]
                tasks.append(group.create_task(self._lead(client)))
                await self._stopping.wait()
                for task in reversed(tasks):
                    task.cancel()
        self.ready = False

    def prepare(self, client: AsyncClient) -> None:
        """Wire caches, informers and controllers, without starting anything."""
        for controller in self.controllers:
            self.running.append(self._wired(controller, client))

    async def _client(self, stack: contextlib.AsyncExitStack) -> AsyncClient:
        if self._given is None:
            from ..clients.kubeconfig import connect_async

            return await stack.enter_async_context(connect_async())
        return self._given if isinstance(self._given, AsyncClient) else AsyncClient(self._given)

    def _wired(self, controller: Controller, client: AsyncClient) -> Running:
        own = self._informers_of(controller.api_version, controller.kind, client)
        kind = f"{controller.kind}.{group}" if (group := controller.api_version.rpartition("/")[0]) else controller.kind
        writer = AsyncStatusWriter(
            client.transport,
            field_manager=controller.field_manager,
            registry=self.registry,
            claims={kind: controller.claims} if controller.claims else None,
            keys=controller.keys,
            now=lambda: stamp(self.clock.today()),
            chance=self.chance,
            sleep=self.clock.sleep,
        )
        events = EventRecorder(client, controller.field_manager, socket.gethostname(), self.clock) if self._with_events else None
        running = Running(
            controller, client=client, caches=self.caches, cache=self.caches.of(controller.api_version, controller.kind), writer=writer,
            clock=self.clock, chance=self.chance, events=events,
        )  # fmt: skip
        for informer in own:
            running.follow(informer)
        for (api_version, kind_), mapper in controller.sources.items():
            for informer in self._informers_of(api_version, kind_, client):
                running.follow(informer, mapper)
        return running

    def _informers_of(self, api_version: str, kind: str, client: AsyncClient) -> list[Informer]:
        found = []
        for namespace in self.namespaces or (None,):
            key = (api_version, kind, namespace)
            if key not in self._informers:
                try:
                    cache = self.caches.of(api_version, kind)
                except LookupError:
                    cache = Cache()
                    self.caches.add(api_version, kind, cache)
                self._informers[key] = Informer(client, api_version, kind, namespace, cache, clock=self.clock, chance=self.chance)
            found.append(self._informers[key])
        return found

    async def _lead(self, client: AsyncClient) -> None:
        """Reconcile, once the caches are there and, with leader election, while this process leads."""
        for informer in self._informers.values():
            await informer.synced.wait()
        self.ready = True
        if self.leader_election is None:
            await self._work()
        else:
            await self.leader_election.lead(client, self._work, self.clock)

    async def _work(self) -> None:
        workers: list[Coroutine[Any, Any, None]] = [
            running.work() for running in self.running for _ in range(running.controller.concurrency)
        ]
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
