"""A stand for components: the embedded server in process, a clock that tests move, one session per reconcile, as a controller does it."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fiferail import AsyncClient, AsyncStatusWriter, Client, Manager
from fiferail.apiserver.embedded import equip
from fiferail.apiserver.inprocess import AsyncTransport, Transport
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import load_crds
from fiferail.controllers.clock import VirtualClock, settle, stamp
from fiferail.controllers.context import Caches, Context

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
    },
}


def crd(kind: str, plural: str, scope: str) -> Any:
    """A kind whose status holds conditions and anything else."""
    status = {**_ANYTHING, "properties": {"conditions": _CONDITIONS}}
    schema = {"type": "object", "properties": {"spec": _ANYTHING, "status": status}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.io"},
        "spec": {
            "group": "example.io",
            "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
            ],
        },
    }


class StandClock:
    """Time that only tests move; it begins at a half second, because the server keeps whole ones."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.5

    def now(self) -> float:
        return self.seconds

    def today(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Gone(AssertionError):
    """Something was asked of the server that must not be."""


class Watched:
    """A transport that lists requests, and refuses those that a test forbids."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.requests: list[str] = []
        self.forbidden: Callable[[Any], bool] = lambda request: False

    async def send(self, request: Any, /, timeout: float | None = None) -> Any:
        if self.forbidden(request):
            raise Gone(f"{request.method} {request.path} must not be sent here")
        self.requests.append(f"{request.method} {request.path}")
        return await self._transport.send(request, timeout=timeout)

    def stream(self, request: Any, /, timeout: float | None = None) -> Any:
        return self._transport.stream(request, timeout=timeout)


class Stand:
    """The server, and one owner that is reconciled on it."""

    def __init__(self, kind: str = "WebApp") -> None:
        self.clock = StandClock()
        self.machine = equip(Machine(clock=self.clock.today))
        transport = AsyncTransport(Transport(self.machine, agent="operator"))
        self.wire, self.writes = Watched(transport), Watched(transport)
        self.client = AsyncClient(self.wire)
        self.sync = Client(Transport(self.machine, agent="outside"))
        self.outside = AsyncClient(AsyncTransport(Transport(self.machine, agent="outside")))
        self.kind = kind
        self.events: list[tuple[str, str]] = []
        self.caches = Caches()
        self.claims: list[str] = []
        self.registry: Any = None
        self.writer: Any = None
        self.metrics_told: list[Any] = []

    async def begin(self, spec: Any = None, name: str = "app") -> Any:
        """Install the kinds and create the owner."""
        await self.outside.create(crd("WebApp", "webapps", "Namespaced"))
        await self.outside.create(crd("ClusterApp", "clusterapps", "Cluster"))
        metadata = {"name": name, "namespace": "default"} if self.kind == "WebApp" else {"name": name}
        return await self.outside.create({"apiVersion": "example.io/v1", "kind": self.kind, "metadata": metadata, "spec": spec or {}})

    async def owner(self) -> Any:
        """The owner as the server has it."""
        return await self.outside.get("example.io/v1", self.kind, "app", "default" if self.kind == "WebApp" else None)

    async def respec(self, spec: Any) -> None:
        """Change the owner's spec, as a user does."""
        await self.outside.patch(await self.owner(), {"spec": spec})

    async def reconcile(self, *steps: Callable[[Context], Awaitable[Any]], obj: Any = None) -> Any:
        """One reconcile: the steps in order, then one flush. Gives what the last step gave."""
        if self.writer is None:
            claims = {f"{self.kind}.example.io": self.claims} if self.claims else None
            now = lambda: stamp(self.clock.today())  # noqa: E731
            self.writer = AsyncStatusWriter(
                self.writes, field_manager="operator", claims=claims, registry=self.registry, now=now, sleep=self.clock.sleep
            )
        obj = obj or await self.owner()
        session = self.writer.session(obj)
        result = None
        try:
            async with session as status:
                ctx = Recorded(
                    self.events,
                    obj=obj,
                    stage=session.opened.stage,
                    status=status,
                    client=self.client,
                    cache=self.caches,
                    writer=self.writer,
                    clock=self.clock,
                    events=None,
                    controller="webapp",
                )
                for step in steps:
                    result = await step(ctx)
            ctx.settled()
        finally:
            await ctx.over()
        return result

    async def condition(self, type: str) -> Any:
        """One condition as the server has it; None when it is not there."""
        found = (await self.owner()).get("status", {}).get("conditions", [])
        return next((entry for entry in found if entry["type"] == type), None)

    async def says(self, type: str) -> tuple[str, str]:
        """Its status and reason."""
        found = await self.condition(type)
        return found["status"], found["reason"]

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = "default") -> Any:
        """An object, or None."""
        from fiferail import NotFound

        try:
            return await self.outside.get(api_version, kind, name, namespace)
        except NotFound:
            return None

    async def set_status(self, api_version: str, kind: str, name: str, status: Any) -> None:
        """What the kind's own controller would write."""
        obj = await self.outside.get(api_version, kind, name, "default")
        if api_version == "apps/v1":
            status = {"observedGeneration": obj["metadata"]["generation"], **status}
        await self.outside.patch(obj, {"status": status}, subresource="status")


class Recorded(Context):
    """A context that keeps its events in a list."""

    def __init__(self, kept: list[tuple[str, str]], **given: Any) -> None:
        super().__init__(**given)
        self._kept = kept

    async def event(self, reason: str, note: str, *, type: str = "Normal", action: str = "Reconcile") -> None:
        self._kept.append((reason, note))


@pytest.fixture
async def stand() -> Stand:
    """A namespaced owner `app`."""
    made = Stand()
    await made.begin()
    return made


@pytest.fixture
async def cluster_stand() -> Stand:
    """A cluster-scoped owner `app`."""
    made = Stand("ClusterApp")
    await made.begin()
    return made


EXAMPLES = Path(__file__).parents[2] / "examples"


class Operator:
    """An example as it runs on a cluster: its own CRDs and its Manager, on the embedded server and a clock that tests move."""

    def __init__(self, example: str) -> None:
        self.folder = EXAMPLES / example
        spec = importlib.util.spec_from_file_location(f"example_{example}", self.folder / "main.py")
        assert spec is not None
        assert spec.loader is not None
        self.main: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.main)
        self.clock = VirtualClock()
        self.machine = equip(Machine(clock=self.clock.today))
        load_crds(self.machine, [self.folder / "crds.yaml"])
        self.wire = Watched(AsyncTransport(Transport(self.machine)))
        self.client = AsyncClient(AsyncTransport(Transport(self.machine, agent="user")))
        self.manager = Manager(*self.main.controllers(), client=AsyncClient(self.wire), clock=self.clock, chance=lambda: 0.0)
        self._task: Any = None

    async def start(self) -> None:
        """Run it until it has nothing to do."""
        self._task = asyncio.ensure_future(self.manager.serve())
        await settle()

    async def stop(self) -> None:
        """End it; what it died of is raised."""
        if self._task is not None:
            self.manager.stop()
            await settle()
            await self._task

    async def create(self, kind: str, spec: Any, *, name: str = "one", namespace: str | None = "default") -> None:
        """A user's object, and the operator's answer to it."""
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        await self.client.create({"apiVersion": self.main.API, "kind": kind, "metadata": metadata, "spec": spec})
        await settle()

    async def respec(self, kind: str, spec: Any, *, name: str = "one", namespace: str | None = "default") -> None:
        """A user's change, and the operator's answer to it."""
        await self.client.patch(await self.client.get(self.main.API, kind, name, namespace), {"spec": spec})
        await settle()

    async def set_status(self, api_version: str, kind: str, name: str, status: Any) -> None:
        """What the kind's own controller writes, and the operator's answer to it."""
        obj = await self.client.get(api_version, kind, name, "default")
        seen = {"observedGeneration": obj["metadata"]["generation"]} if api_version == "apps/v1" else {}
        await self.client.patch(obj, {"status": {**seen, **status}}, subresource="status")
        await settle()

    async def ready(self, name: str, replicas: int, kind: str = "Deployment") -> None:
        """All replicas of a workload are up."""
        await self.set_status("apps/v1", kind, name, {"replicas": replicas, "readyReplicas": replicas})

    async def status(self, kind: str, *, name: str = "one", namespace: str | None = "default") -> Any:
        """The object's status."""
        return (await self.client.get(self.main.API, kind, name, namespace)).get("status", {})

    async def says(self, kind: str, type: str, **where: Any) -> tuple[str, str, str]:
        """A condition: its status, reason and message."""
        found = (await self.status(kind, **where)).get("conditions", [])
        return next((entry["status"], entry["reason"], entry["message"]) for entry in found if entry["type"] == type)

    def status_writes(self) -> int:
        """How often the operator wrote a status so far."""
        return sum(request.startswith("PATCH") and request.endswith("/status") for request in self.wire.requests)


@pytest.fixture
async def run() -> AsyncIterator[Callable[[str], Awaitable[Operator]]]:
    """Runs an example by the name of its folder."""
    started: list[Operator] = []

    async def start(example: str) -> Operator:
        operator = Operator(example)
        started.append(operator)
        await operator.start()
        return operator

    yield start
    for operator in started:
        await operator.stop()


@pytest.fixture
def fresh() -> Callable[[], Awaitable[Stand]]:
    """Makes any number of stands, each with a namespaced owner `app`."""

    async def make() -> Stand:
        made = Stand()
        await made.begin()
        return made

    return make
