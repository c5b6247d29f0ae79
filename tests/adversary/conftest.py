"""What an adversary has: both servers, a kind with everything a status may hold, and clients under names of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fiferail
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend
from fiferail.wire import Request

ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {**ANYTHING, "properties": {"type": {"type": "string"}}, "required": ["type"]},
}
WORKLOADS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["kind", "name"],
    "items": {**ANYTHING, "properties": {"kind": {"type": "string"}, "name": {"type": "string"}}, "required": ["kind", "name"]},
}
PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port"],
    "items": {**ANYTHING, "properties": {"port": {"type": "integer"}}, "required": ["port"]},
}
MARKS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
MEMBERS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {**ANYTHING, "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
GROUPS = {**MEMBERS, "items": {**ANYTHING, "properties": {"name": {"type": "string"}, "members": MEMBERS}, "required": ["name"]}}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "summary": {"type": "string"},
        "n": {"type": "integer"},
        "count": {"type": "integer"},
        "observedGeneration": {"type": "integer"},
        "net": ANYTHING,
        "extra": ANYTHING,
        "plan": ANYTHING,
        "lastPlan": ANYTHING,
        "items": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": ANYTHING},
        "conditions": CONDITIONS,
        "workloads": WORKLOADS,
        "ports": PORTS,
        "marks": MARKS,
        "groups": GROUPS,
    },
}


def crd(status: dict[str, Any] = STATUS, *, plural: str = "probes", group: str = "adversary.example.io") -> dict[str, Any]:
    """A namespaced kind with a status subresource and this status."""
    kind = plural[:-1].capitalize()
    schema = {"type": "object", "properties": {"spec": ANYTHING, "status": status}}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


API = "adversary.example.io/v1"


class World:
    """One object on one server, and who writes it."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        server.apply(crd())
        self.client = server.client
        self.name = ""

    def object(self, spec: dict[str, Any] | None = None, **status: Any) -> Any:
        """A fresh object with this status."""
        metadata = {"generateName": "p-", "namespace": "default"}
        made = self.client.create({"apiVersion": API, "kind": "Probe", "metadata": metadata, "spec": spec or {}})
        self.name = made["metadata"]["name"]
        return self.other(**status) if status else made

    def get(self) -> Any:
        """The object as it is now."""
        return self.client.get(API, "Probe", self.name, namespace="default")

    def status(self) -> Any:
        """Its status."""
        return self.get().get("status")

    def other(self, **status: Any) -> Any:
        """Another writer sets these fields."""
        named = {"apiVersion": API, "kind": "Probe", "metadata": {"name": self.name, "namespace": "default"}}
        return self.server.client_as("other").patch(named, {"status": status}, subresource="status", field_manager="other")

    def respec(self, **spec: Any) -> Any:
        """A user edits the spec."""
        named = {"apiVersion": API, "kind": "Probe", "metadata": {"name": self.name, "namespace": "default"}}
        return self.server.client_as("user").patch(named, {"spec": spec}, field_manager="user")

    def writer(self, manager: str = "me", **settings: Any) -> fiferail.StatusWriter:
        """A writer of its own."""
        return fiferail.StatusWriter(self.server.client_as(manager), field_manager=manager, **settings)


async def serve(world: World, monkeypatch: pytest.MonkeyPatch, reconcile: Any, until: Callable[[], bool]) -> None:
    """Run a controller with that reconcile until something holds."""
    monkeypatch.setenv("KUBECONFIG", str(world.server.kubeconfig))
    manager = fiferail.Manager(fiferail.Controller(API, "Probe", reconcile), client=fiferail.connect_async(), events=False)
    task = asyncio.ensure_future(manager.serve())
    try:
        async with asyncio.timeout(30):
            while not until():
                await asyncio.sleep(0.01)
    finally:
        manager.stop()
        await asyncio.gather(task, return_exceptions=True)


def published(world: World, field: str, kind: str = "Probe") -> None:
    """Wait until the OpenAPI document has that field of the kind: the real server publishes it a moment after it serves the CRD."""
    request = Request(method="GET", path=f"/openapi/v3/apis/{API}", headers={"accept": "application/json"})
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = world.client.transport.send(request)
        schemas = answer.json()["components"]["schemas"] if answer.status == 200 else {}
        if any(name.endswith(f".{kind}") and f"'{field}'" in str(schema) for name, schema in schemas.items()):
            return
    raise AssertionError(f"the OpenAPI document has no {field} of {kind}")


@pytest.fixture
def embedded() -> Iterator[ApiServer]:
    """The embedded server."""
    backend = EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


@pytest.fixture
def real(_fiferail_real_world: Any, tmp_path: Any) -> Iterator[ApiServer]:
    """The real one."""
    backend = RealBackend(_fiferail_real_world, tmp_path)
    yield ApiServer(backend)
    backend.close()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def world(request: pytest.FixtureRequest) -> World:
    """Each server in turn."""
    return World(request.getfixturevalue(request.param))


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, Callable[[], object]], None]:
    """Let something happen just before a writer's next request of that method."""

    def before(writer: Any, method: str, action: Callable[[], object]) -> None:
        transport = writer._transport
        send = transport.send
        left = [action]

        def sending(request: Any, /, timeout: float | None = None) -> Any:
            if request.method == method and left:
                left.pop()()
            return send(request, timeout=timeout)

        monkeypatch.setattr(transport, "send", sending)

    return before
