"""Several controllers in one process: shared caches, one client, one end.

`run()` blocks until a signal, and ends by itself what does not end (`ending`); `await serve()` runs until `stop()`. No threads and no
globals: the tasks of `serve` are all there is.
Each controller begins when what it watches has been listed: one whose CRD is missing does not hold up the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import random
import socket
from typing import TYPE_CHECKING, Any

from ..clients.client import AsyncClient
from ..errors import FiferailError, missing_extra
from ..status.claims import Claims
from ..status.hooks import Hook
from ..status.outcome import Kind
from ..status.strategies import APPLY
from . import rbac
from .asking import AskedOnce
from .cache import Cache
from .clock import Clock, RealClock, stamp
from .context import Caches, ContextWriter, KnownClient
from .ending import Ending, end_now
from .events import EventRecorder
from .health import HealthServer
from .hooks import ControllerHook, ControllerHooks
from .informer import Informer
from .running import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..objects.tree import Json
    from ..status.outcome import Outcome
    from ..status.targets import Resource
    from .controller import Controller
    from .leases import LeaderElection

log = logging.getLogger("fiferail.controllers")

#: Seconds that cancelled tasks have, after the grace; what ignores its cancellation for longer is left behind.
CUT_OFF = 5.0


class Manager:
    """Runs controllers."""

    def __init__(
        self,
        *controllers: Controller,
        client: Any = None,
        namespaces: Sequence[str] | None = None,
        leader_election: LeaderElection | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.random,
        events: bool = True,
        health: str | None = None,
        metrics: Any = None,
        hooks: Iterable[ControllerHook | Hook] = (),
        grace: float = 30.0,
    ) -> None:
        _check(controllers, namespaces, client)
        self.controllers = controllers
        self._given = client
        self.namespaces = tuple(namespaces) if namespaces is not None else None
        self.leader_election = leader_election
        self.clock: Clock = clock or RealClock()
        self.chance = chance
        self._with_events = events
        try:
            self._metrics = _registry(metrics)
            self._hook, self._writer_hooks = _hooks(hooks, self._metrics)
        except ModuleNotFoundError as missing:
            raise FiferailError("metrics " + missing_extra("metrics", missing.name)) from None
        self._grace = grace
        self.registry = Claims()
        self.caches = Caches()
        self.running: list[Running] = []
        self._informers: dict[tuple[str, str, str | None], Informer] = {}
        #: What discovery has said to any of us.
        self._resources: dict[str, dict[str, Resource]] = {}
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signalled = False
        self._left_behind = 0
        self.health = HealthServer(health, self._pages()) if health is not None else None

    # -- life

    def run(self, *, json_logs: bool = False) -> None:
        """Serve until SIGINT or SIGTERM. What keeps it from running, such as no cluster, ends the program with that sentence.

        The first signal stops gracefully. A second one, or a reconcile that does not end `grace` and a few seconds later, ends the
        process at once with exit code 1. `json_logs` makes each log record one line of JSON.
        """
        from .logs import configure

        configure(as_json=json_logs)
        try:
            with Ending(self._stop_soon, self._grace + 2 * CUT_OFF):
                asyncio.run(self._until_stopped())
        except FiferailError as error:
            raise SystemExit(f"{type(error).__name__}: {error}") from error

    async def _until_stopped(self) -> None:
        await self.serve()
        if self._left_behind:  # the end of the event loop would wait for them
            end_now(f"{self._left_behind} tasks ignored their cancellation")

    def _stop_soon(self) -> None:
        """Stop from a signal handler, or from another thread."""
        self._signalled = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.stop)

    def stop(self) -> None:
        """End gracefully: no new reconcile begins, those that run may finish, for `grace` seconds."""
        if self._stopping is not None and not self._stopping.is_set():
            busy = sum(running.queue.working for running in self.running)
            log.info("stopping: %d reconciles have %g s to finish", busy, self._grace)
            self._stopping.set()

    async def serve(self) -> None:
        """Run until `stop()`. A reconcile that ignores its cancellation, 5 s after the grace, is logged and left behind, still running."""
        if self._stopping is not None:
            raise FiferailError("this manager has been served already: make a new one")
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._signalled:  # between the begin of run() and here
            self._stopping.set()
        async with contextlib.AsyncExitStack() as stack:
            client = await self._client(stack)
            self.prepare(client)
            if self.health is not None:
                await stack.enter_async_context(self.health)
            informing = [asyncio.ensure_future(informer.run()) for informer in self._informers.values()]
            leading = asyncio.ensure_future(self._lead(client))
            stopping = asyncio.ensure_future(self._stopping.wait())
            try:
                await asyncio.wait([leading, stopping, *informing], return_when=asyncio.FIRST_COMPLETED)
                await self._drain(leading)
            finally:
                await self._end([leading, stopping, *informing])

    async def _drain(self, leading: asyncio.Future[None]) -> None:
        """Let what runs finish; what takes longer than the grace is cut off, and its staged status dropped."""
        for running in self.running:
            running.drain()
        if self.leader_election is not None and not self.leader_election.leads:
            return  # nothing runs; the wait for the lease is simply ended
        try:
            async with self.clock.timeout(self._grace):
                await asyncio.shield(leading)
        except TimeoutError:
            busy = sum(running.queue.working for running in self.running)
            log.error("%d reconciles still ran %g s after the stop and were cut off", busy, self._grace)

    async def _end(self, tasks: list[asyncio.Future[Any]]) -> None:
        """Cancel them all, and wait for their end, but not for ever; an error that one of them died of is raised."""
        died = [task for task in tasks if task.done() and not task.cancelled() and task.exception() is not None]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with self.clock.timeout(CUT_OFF):
                await asyncio.wait(tasks)
        self._left_behind = sum(not task.done() for task in tasks)
        if self._left_behind:
            log.error("%d tasks ignored their cancellation for %g s and are left behind", self._left_behind, CUT_OFF)
        for task in died:
            error = task.exception()
            assert error is not None
            raise error

    async def _lead(self, client: AsyncClient) -> None:
        """Reconcile; with leader election, while this process leads."""
        if self.leader_election is None:
            await self._work()
        else:
            await self.leader_election.lead(client, self._work, self.clock, self._hook.leading)

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for running in self.running:
                group.create_task(running.serve())

    # -- how it is

    @property
    def ready(self) -> bool:
        """Whether everything watched has been listed, and nobody asked to stop."""
        return not self._unready()

    def _unready(self) -> list[str]:
        if self._stopping is None or self._stopping.is_set():
            return ["not running"]
        waiting = [informer for informer in self._informers.values() if not informer.synced.is_set()]
        return [f"{informer.kind} of {informer.api_version}: {informer.trouble or 'being listed'}" for informer in waiting]

    def _pages(self) -> dict[str, Callable[[], tuple[int, bytes]]]:
        def ready() -> tuple[int, bytes]:
            waiting = self._unready()
            return (503, "".join(f"waiting for {what}\n" for what in waiting).encode()) if waiting else (200, b"ok\n")

        pages: dict[str, Callable[[], tuple[int, bytes]]] = {"/healthz": lambda: (200, b"ok\n"), "/readyz": ready}
        if self._metrics is not None:
            from .metrics import page

            pages["/metrics"] = lambda: (200, page(self._metrics))
        return pages

    def rbac(self, *, plurals: Mapping[str, str] | None = None) -> list[Json]:
        """What the manager's ServiceAccount needs: the union of its controllers' rules, and the lease's."""
        rules = rbac.merged(controller.rbac(plurals=plurals, events=self._with_events) for controller in self.controllers)
        return [*rules, *(rbac.lease_rules(self.leader_election.name) if self.leader_election is not None else [])]

    # -- wiring

    def prepare(self, client: AsyncClient) -> None:
        """Wire caches, informers and controllers, without starting anything: `serve` does it, and an explorer."""
        client = copy.copy(client)
        client.transport = AskedOnce(client.transport, self._resources)
        for controller in self.controllers:
            self.running.append(self._wired(controller, client))
        for controller in self.controllers:
            for api_version, kind, name, values in controller.indexes:
                self.caches.of(api_version, kind).index(name, values)

    async def _client(self, stack: contextlib.AsyncExitStack) -> AsyncClient:
        if self._given is None:
            from ..clients.kubeconfig import connect_async

            return await stack.enter_async_context(connect_async())
        return self._given if isinstance(self._given, AsyncClient) else AsyncClient(self._given)

    def _wired(self, controller: Controller, client: AsyncClient) -> Running:
        own = self._informers_of(controller.api_version, controller.kind, client)
        writer = ContextWriter(
            client.transport,
            field_manager=controller.field_manager,
            strategy=controller.strategy,
            registry=self.registry,
            claims={controller.kind_name: controller.claims} if controller.claims else None,
            keys=controller.keys,
            hooks=[_Overlay(self.caches), *self._writer_hooks],
            now=lambda: stamp(self.clock.today()),
            chance=self.chance,
            seconds=self.clock.now,
            sleep=self.clock.sleep,
            resources=self._resources,
        )
        events = EventRecorder(client, controller.field_manager, socket.gethostname(), self.clock) if self._with_events else None
        running = Running(
            controller, client=KnownClient(client, self.caches), caches=self.caches,
            cache=self.caches.of(controller.api_version, controller.kind), writer=writer,
            clock=self.clock, chance=self.chance, events=events, hook=self._hook,
        )  # fmt: skip
        for informer in own:
            running.follow(informer)
        for source in controller.sources:
            for informer in self._informers_of(source.api_version, source.kind, client):
                running.follow(informer, source.mapper)
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
                # Server-side apply has to send all that its manager owns, and what that is stands in managedFields.
                applied = any((c.api_version, c.kind, c.strategy) == (api_version, kind, APPLY) for c in self.controllers)
                self._informers[key] = Informer(
                    client, api_version, kind, namespace, cache, clock=self.clock, chance=self.chance, managed_fields=applied
                )
            found.append(self._informers[key])
        return found


class _Overlay(Hook):
    """Own writes of the status writer are seen in the caches at once."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches

    def finished(self, kind: str, manager: str, outcome: Outcome, seconds: float) -> None:
        """A write came to an outcome."""
        if outcome.object is not None and outcome.kind is not Kind.UNCHANGED:
            self._caches.wrote(outcome.object)


def _check(controllers: Sequence[Controller], namespaces: Sequence[str] | None, client: Any) -> None:
    if not controllers:
        raise FiferailError("expected at least one controller, got none")
    names = [controller.name for controller in controllers]
    for name in names:
        if names.count(name) > 1:
            raise FiferailError(f"two controllers are named {name!r}: give one of them name=")
    if isinstance(namespaces, str) or (namespaces is not None and not namespaces):
        raise FiferailError(f"expected a list of namespaces, or None for all, got {namespaces!r}")
    if client is not None and not isinstance(client, AsyncClient):
        AsyncClient(client)  # says at once what is wrong with it


def _registry(metrics: Any) -> Any:
    if metrics is None or metrics is False:
        return None
    if metrics is not True:
        return metrics
    from prometheus_client import REGISTRY

    return REGISTRY


def _hooks(given: Iterable[ControllerHook | Hook], registry: Any) -> tuple[ControllerHook, list[Hook]]:
    """Those that hear of reconciles, and those that hear of status writes."""
    hooks = list(given)
    if registry is not None:
        from ..status.prometheus import PrometheusHook
        from .metrics import PrometheusControllerHook

        hooks += [PrometheusControllerHook(registry), PrometheusHook(registry)]
    return ControllerHooks(hook for hook in hooks if isinstance(hook, ControllerHook)), [hook for hook in hooks if isinstance(hook, Hook)]
