"""A world without sockets and without real time: the embedded server in process, a clock that tests move, and managers in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fiferail.apiserver.embedded import equip
from fiferail.apiserver.faults import Faults
from fiferail.apiserver.inprocess import AsyncTransport, Transport
from fiferail.apiserver.machine import Machine
from fiferail.clients.client import AsyncClient, Client
from fiferail.controllers.clock import VirtualClock, settle
from fiferail.controllers.manager import Manager
from fiferail.errors import NotFound
from fiferail.testing.checking import Watchman
from fiferail.wire import Answer, Request

API = "example.io/v1"


class Line(AsyncTransport):
    """The way of one process to the server: it notes what is sent, and can be slow, or cut."""

    def __init__(self, world: World, agent: str) -> None:
        super().__init__(Transport(world.machine, agent=agent))
        self._world = world
        self._agent = agent
        self.sent: list[Request] = []
        self.cut = False
        #: Seconds that the answer to a request takes.
        self.delay: Callable[[Request], float] = lambda request: 0.0
        #: The same, when the server has done it already.
        self.after: Callable[[Request], float] = lambda request: 0.0

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carries, notes, delays."""
        request = Request(
            method=request.method, path=request.path, query=request.query, body=request.body, content_type=request.content_type,
            headers={**request.headers, "user-agent": self._agent},
        )  # fmt: skip
        seconds = self.delay(request)
        if timeout is not None and seconds > timeout:
            await self._world.clock.sleep(timeout)
            raise TimeoutError("no answer")
        if seconds:
            await self._world.clock.sleep(seconds)
        if self.cut:
            raise ConnectionError("the network is down")
        self.sent.append(request)
        answer = await super().send(request, timeout)
        if lateness := self.after(request):
            await self._world.clock.sleep(lateness)
        return answer

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Watches are noted too."""
        if self.cut:
            raise ConnectionError("the network is down")
        self.sent.append(request)
        async for line in super().stream(request, timeout):
            yield line

    @property
    def writes(self) -> list[str]:
        """Method and path of everything that was not a read."""
        return [f"{request.method} {request.path}" for request in self.sent if request.method != "GET"]


class World:
    """One server, one clock, any number of managers."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.watchman = Watchman()
        self.machine = equip(Machine(clock=self.clock.today, recorder=self.watchman))
        self.client = Client(Transport(self.machine, agent="user"), user_agent="user")
        self._tasks: list[tuple[Manager, asyncio.Task[None]]] = []

    @property
    def faults(self) -> Faults:
        """Trouble on request."""
        return self.machine.faults

    def line(self, agent: str = "operator") -> Line:
        """A way to the server."""
        return Line(self, agent)

    def async_client(self, line: Line | None = None) -> AsyncClient:
        """An awaited client."""
        return AsyncClient(line or self.line())

    def manager(self, *controllers: Any, line: Line | None = None, **settings: Any) -> Manager:
        """A manager of this world, not yet running."""
        settings = {"clock": self.clock, "chance": lambda: 0.0, "events": False, **settings}
        return Manager(*controllers, client=AsyncClient(line or self.line()), **settings)

    async def start(self, *controllers: Any, **settings: Any) -> Manager:
        """A manager that runs, and has done all there was to do."""
        manager = self.manager(*controllers, **settings)
        self._tasks.append((manager, asyncio.ensure_future(manager.serve())))
        await settle()
        return manager

    async def crash(self, manager: Manager) -> None:
        """The process is killed: nothing is finished, nothing given up."""
        for one, task in self._tasks:
            if one is manager:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._tasks = [entry for entry in self._tasks if entry[0] is not manager]

    async def end(self) -> None:
        """Stop everything; what a manager died of is raised."""
        for manager, task in self._tasks:
            manager.stop()
            await settle()
            if not task.done():
                task.cancel()
            done = (await asyncio.gather(task, return_exceptions=True))[0]
            if isinstance(done, Exception):
                raise done

    def restart(self) -> None:
        """What watchers see of a server that restarts: every stream ends."""
        for table in self.machine.store.tables.values():
            for stream in list(table.streams):
                stream.close()

    def make(self, name: str, kind: str = "Gadget", **members: Any) -> Any:
        """A new object."""
        metadata = {"name": name, "namespace": "default", **members.pop("metadata", {})}
        return self.client.create({"apiVersion": API, "kind": kind, "metadata": metadata, **members})

    def get(self, name: str, kind: str = "Gadget") -> Any:
        """The object as it is on the server."""
        return self.client.get(API, kind, name, "default")

    def gone(self, name: str, kind: str = "Gadget") -> bool:
        """Whether it is not on the server."""
        try:
            self.get(name, kind)
        except NotFound:
            return True
        return False


def crd(kind: str, status: dict[str, Any] | None = None) -> dict[str, Any]:
    """A CRD with conditions and whatever else is given in the status."""
    text = {"type": "string"}
    condition = {
        "type": "object",
        "required": ["type", "status"],
        "properties": {
            **dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), text),
            "observedGeneration": {"type": "integer"},
        },
    }
    conditions = {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    properties = {"conditions": conditions, "phase": text, "count": {"type": "integer"}, **(status or {})}
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": loose, "status": {"type": "object", "properties": properties}}}
    plural = kind.lower() + "s"
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.example.io"},
        "spec": {"group": "example.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


@pytest.fixture
async def bare() -> AsyncIterator[World]:
    """A world without any CRD."""
    world = World()
    yield world
    await world.end()


@pytest.fixture
async def world(bare: World) -> World:
    """A world with Gadgets."""
    bare.client.create(crd("Gadget"))
    return bare
