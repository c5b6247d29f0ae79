"""Examples 7 and 8 over HTTP with the machine's own clock: on the embedded server, and on the real one with exactly their rights."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.clients.client import AsyncClient
from fairlead.clients.kubeconfig import connect_async
from fairlead.controllers.manager import Manager
from fairlead.errors import Forbidden
from fairlead.testing.pooled import RealBackend
from fairlead.testing.server import ApiServer, EmbeddedBackend
from fairlead.wire import Answer, Request

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT = 60.0


class Limited:
    """A transport that acts as the example's ServiceAccount: the server decides by its rules."""

    def __init__(self, client: AsyncClient, account: str) -> None:
        self._inner = client.transport
        self._as = {"impersonate-user": f"system:serviceaccount:default:{account}"}

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """As the account."""
        return await self._inner.send(self._by(request), timeout)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """As the account."""
        async for line in self._inner.stream(self._by(request), timeout):
            yield line

    def _by(self, request: Request) -> Request:
        return Request(
            method=request.method, path=request.path, query=request.query, body=request.body, content_type=request.content_type,
            headers={**request.headers, **self._as},
        )  # fmt: skip


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each in turn."""
    real = request.param == "real"
    backend: Any = RealBackend(request.getfixturevalue("_fairlead_real_world"), tmp_path) if real else EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


def load(example: str) -> Any:
    """The example's main.py."""
    spec = importlib.util.spec_from_file_location(f"{example}_on_servers", EXAMPLES / example / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def running(server: ApiServer, example: str, kind: tuple[str, str], replicas: int = 1) -> AsyncIterator[None]:
    """The operator, as its ServiceAccount, with the rules of its folder."""
    await asyncio.to_thread(server.apply, EXAMPLES / example / "crds.yaml", EXAMPLES / example / "rbac.yaml")
    clients = [connect_async(server.kubeconfig, user_agent=f"replica-{number}") for number in range(replicas)]
    limited = [Limited(client, example.replace("_", "-")) for client in clients]
    await _granted(AsyncClient(limited[0]), kind)
    managers = [Manager(*load(example).controllers(), client=AsyncClient(transport)) for transport in limited]
    tasks = [asyncio.ensure_future(manager.serve()) for manager in managers]
    try:
        yield
    finally:
        for manager in managers:
            manager.stop()
        await asyncio.gather(*tasks)
        for client in clients:
            await client.close()


async def _granted(client: AsyncClient, kind: tuple[str, str]) -> None:
    """The server takes a moment to believe in new rules."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            await client.list(*kind)
            return
        except Forbidden:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


async def until(server: ApiServer, kind: tuple[str, str], name: str, holds: Callable[[Any], Any] | None = None) -> Any:
    """The object, once it is so; without a condition: once it is gone."""
    return await asyncio.to_thread(lambda: server.wait_for(*kind, name, holds, gone=holds is None, timeout=WAIT))


def refused(server: ApiServer) -> list[str]:
    """Requests of the operator that its rules did not allow."""
    return [f"{seen.method} {seen.path}" for seen in server.requests if seen.code == 403 and "replica" in seen.agent]


def make(server: ApiServer, api: str, kind: str, name: str, **spec: Any) -> None:
    """A new object."""
    server.apply({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})


async def test_the_reference_owner(server: ApiServer) -> None:
    """The list follows, the deletion waits for the last reference; two replicas at once; no right is missing."""
    api = "auth.example.io/v1"
    config = (api, "AuthConfig")
    async with running(server, "reference_owner", config, replicas=2):
        before = len(refused(server))
        await asyncio.to_thread(make, server, api, "AuthConfig", "sso", issuer="https://sso.example.io")
        for kind, name in (("Server", "b"), ("Server", "a"), ("Proxy", "p"), ("Gateway", "g")):
            await asyncio.to_thread(make, server, api, kind, name, configRef={"name": "sso"})
        wanted = [("Gateway", "g"), ("Proxy", "p"), ("Server", "a"), ("Server", "b")]
        await until(server, config, "sso", lambda obj: _listed(obj) == wanted)
        await until(server, (api, "Proxy"), "p", lambda obj: obj.get("status", {}).get("conditions", [{}])[0].get("reason") == "Found")
        await asyncio.to_thread(lambda: server.client.delete(server.get(*config, "sso")))
        await until(server, config, "sso", lambda obj: any(c["type"] == "DeletionBlocked" for c in obj["status"]["conditions"]))
        for kind, name in reversed(wanted):
            await asyncio.to_thread(server.client.delete, server.get(api, kind, name))
        await until(server, config, "sso")
        assert refused(server)[before:] == []


def _listed(obj: Any) -> list[tuple[str, str]]:
    return [(entry["kind"], entry["name"]) for entry in (obj.get("status") or {}).get("referencingWorkloads", [])]


async def test_the_plan_executor(server: ApiServer) -> None:
    """Provisioned and upgraded by two replicas at once: each step once; no right is missing."""
    kind = ("nodes.example.io/v1", "ChainNode")
    async with running(server, "plan_executor", kind, replicas=2):
        before = len(refused(server))
        node = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "n"}, "spec": {"version": "1"}}
        await asyncio.to_thread(server.apply, node)
        await until(server, kind, "n", lambda obj: (obj.get("status") or {}).get("version") == "1")
        await asyncio.to_thread(server.apply, {**node, "spec": {"version": "2"}})
        last = await until(server, kind, "n", lambda obj: obj["status"].get("version") == "2" and "plan" not in obj["status"])
        assert last["status"]["phase"] == "Running"
        made = await asyncio.to_thread(server.list, "v1", "ConfigMap", "default")
        found = sorted(str(obj["data"]) for obj in made if obj["metadata"]["name"].startswith("n-"))
        assert found == ["{'drained': 'n'}", "{'installed': '1'}", "{'installed': '2'}"]
        assert refused(server)[before:] == []
