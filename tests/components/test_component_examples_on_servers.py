"""The examples of components over HTTP with the machine's own clock: on the embedded server, and on the real one with exactly their
rights. The kinds' own controllers do not run there, so the test writes what they would."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from fiferail import AsyncClient, Forbidden, Manager
from fiferail.clients.kubeconfig import connect_async
from fiferail.controllers.hooks import ControllerHook
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend
from fiferail.wire import Answer, Request

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT = 60.0


class Account:
    """A transport that acts as the example's ServiceAccount: the server decides by its rules."""

    def __init__(self, client: AsyncClient, server: ApiServer, account: str) -> None:
        self._inner = client.transport
        real = isinstance(server._backend, RealBackend)  # the embedded server has no rules to decide by, and refuses impersonation
        self._as = {"impersonate-user": f"system:serviceaccount:default:{account}"} if real else {}

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        return await self._inner.send(self._by(request), timeout)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        async for line in self._inner.stream(self._by(request), timeout):
            yield line

    def _by(self, request: Request) -> Request:
        headers = {**request.headers, **self._as}
        query, content_type = request.query, request.content_type
        return Request(method=request.method, path=request.path, query=query, body=request.body, content_type=content_type, headers=headers)


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiServer]:
    """Each in turn."""
    real = request.param == "real"
    backend: Any = RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path) if real else EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


def controllers(example: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{example}_over_http", EXAMPLES / example / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.controllers()


#: Folder, group, kind, spec, condition, and the workloads whose pods come up.
CASES = [
    (
        "mutations_and_gating",
        "mutations.example.io/v1",
        "WebApp",
        {"version": "1.9.0", "tracing": True},
        "WebReady",
        [("Deployment", "one", 2)],
    ),
    ("grace_inconsistency", "grace.example.io/v1", "Model", {"image": "example.io/m:1"}, "ModelReady", [("Deployment", "one", 1)]),
    ("extraction_and_guards", "extraction.example.io/v1", "Backend", {"databaseHost": "pg"}, "DatabaseReady", []),
    ("custom_resource", "sites.example.io/v1", "Site", {"domain": "example.org", "team": "web"}, "CertificateReady", []),
    (
        "component_prerequisites",
        "platform.example.io/v1",
        "Platform",
        {"version": "1.0.0"},
        "Ready",
        [("Deployment", "one-database", 1), ("Deployment", "one-app", 1)],
    ),
    (
        "version_matrix",
        "matrix.example.io/v1",
        "BrokerCluster",
        {"version": "8.8.0", "size": 1},
        "BrokerReady",
        [("StatefulSet", "one", 1)],
    ),
]


@pytest.mark.parametrize(("example", "api", "kind", "spec", "condition", "workloads"), CASES, ids=[case[0] for case in CASES])
async def test_an_example_runs_with_exactly_its_rights(
    server: ApiServer, example: str, api: str, kind: str, spec: Any, condition: str, workloads: Any
) -> None:
    """It becomes ready, no right is missing, nothing of another writer is lost, and a pass without news applies nothing."""
    await asyncio.to_thread(server.apply, EXAMPLES / example / "crds.yaml", EXAMPLES / example / "rbac.yaml")
    client = connect_async(server.kubeconfig, user_agent="operator")
    account = AsyncClient(Account(client, server, example.replace("_", "-")))
    await granted(account, api, kind)
    passes = Passes()
    manager = Manager(*controllers(example), client=account, hooks=[passes])
    task = asyncio.ensure_future(manager.serve())
    try:
        await asyncio.to_thread(server.apply, {"apiVersion": api, "kind": kind, "metadata": {"name": "one"}, "spec": spec})
        for workload, name, replicas in workloads:
            await up(server, workload, name, replicas)
        owner = await asyncio.to_thread(server.wait_for, api, kind, "one", condition, timeout=WAIT)
        before, passed = applies(server), passes.count
        await asyncio.to_thread(server.client.patch, owner, {"metadata": {"labels": {"look": "again"}}})
        await passes.reach(passed + 1)
        assert applies(server) == before
    finally:
        manager.stop()
        await task
        await client.close()
    assert [f"{seen.method} {seen.path}" for seen in server.requests if seen.code == 403 and "operator" in seen.agent] == []


class Passes(ControllerHook):
    """Counts reconciles."""

    def __init__(self) -> None:
        self.count = 0
        self._more = asyncio.Event()

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self.count += 1
        self._more.set()

    async def reach(self, count: int) -> None:
        """Wait for the reconcile of that number."""
        async with asyncio.timeout(WAIT):
            while self.count < count:
                self._more.clear()
                await self._more.wait()


async def granted(client: AsyncClient, api: str, kind: str) -> None:
    """The server takes a moment to believe in new rules."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            await client.list(api, kind)
            return
        except Forbidden:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


async def up(server: ApiServer, kind: str, name: str, replicas: int) -> None:
    """The workload's pods come up."""
    obj = await asyncio.to_thread(server.wait_for, "apps/v1", kind, name, timeout=WAIT)
    status = {"observedGeneration": obj["metadata"]["generation"], "replicas": replicas, "readyReplicas": replicas}
    await asyncio.to_thread(server.client.patch, obj, {"status": status}, subresource="status")


def applies(server: ApiServer) -> list[str]:
    """What the operator has written of its resources so far."""
    written = (f"{seen.method} {seen.path}" for seen in server.requests if seen.method != "GET" and "operator" in seen.agent)
    return [text for text in written if not text.endswith("/status") and "/events" not in text]
