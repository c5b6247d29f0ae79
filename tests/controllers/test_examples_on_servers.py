"""Examples 7 and 8 over HTTP with the machine's own clock: on the embedded server, and on the real one with exactly their rights."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fiferail.clients.client import AsyncClient
from fiferail.clients.kubeconfig import connect_async
from fiferail.controllers.manager import Manager
from fiferail.errors import ApiError, Forbidden
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend
from fiferail.wire import Answer, Request

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT = 60.0


class Limited:
    """A transport that acts as the example's ServiceAccount: the server decides by its rules."""

    def __init__(self, client: AsyncClient, server: ApiServer, account: str) -> None:
        self._inner = client.transport
        real = isinstance(server._backend, RealBackend)  # the embedded server has no rules to decide by, and refuses impersonation
        self._as = {"impersonate-user": f"system:serviceaccount:default:{account}"} if real else {}

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
    backend: Any = RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path) if real else EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


def load(example: str, module_name: str = "main") -> Any:
    """A module of the example."""
    spec = importlib.util.spec_from_file_location(f"{example}_{module_name}_on_servers", EXAMPLES / example / f"{module_name}.py")
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
    limited = [Limited(client, server, example.replace("_", "-")) for client in clients]
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


# -- the history, on both servers


def test_the_first_version_loses_a_write_that_was_answered(server: ApiServer) -> None:
    """The owner's unlocked patch over an acknowledged PUT: 200, 200, and the entry is gone."""
    before = load("reference_owner", "before")
    server.apply(EXAMPLES / "reference_owner" / "crds.yaml")
    make(server, "auth.example.io/v1", "AuthConfig", "sso", issuer="https://sso.example.io")
    workload, owner = before.Workload(server.client, "Server", "a", "sso"), before.Owner(server.client, "sso")
    owner.read()
    workload.read()
    assert workload.append()
    assert _listed(server.get("auth.example.io/v1", "AuthConfig", "sso")) == [("Server", "a")]
    owner.patch([])
    assert _listed(server.get("auth.example.io/v1", "AuthConfig", "sso")) == []


# -- a crash, or a foreign write, at each request


class Meddled:
    """A way to the server that does something before the n-th request that is no watch: hang for ever, or let somebody else write."""

    def __init__(self, client: AsyncClient, number: int, meddle: Callable[[], Any] | None) -> None:
        self._inner = client.transport
        self._left = number
        self._meddle = meddle
        self.struck = asyncio.Event()

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """As ever, but for one."""
        self._left -= 1
        if self._left == -1:
            self.struck.set()
            if self._meddle is None:
                await self._inner.send(request, timeout)  # done, and never heard of again
                await asyncio.Event().wait()
            else:
                await asyncio.to_thread(self._meddle)
        return await self._inner.send(request, timeout)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """As ever."""
        async for line in self._inner.stream(request, timeout):
            yield line


NODE = ("nodes.example.io/v1", "ChainNode")


async def provisioned(server: ApiServer, name: str, transport: Any, replace_with: AsyncClient | None) -> Any:
    """One node brought up by an operator that is meddled with; with a second client, by the process that follows the first."""
    manager = Manager(*load("plan_executor").controllers(), client=AsyncClient(transport), events=False)
    task = asyncio.ensure_future(manager.serve())
    await asyncio.to_thread(server.apply, {"apiVersion": NODE[0], "kind": NODE[1], "metadata": {"name": name}, "spec": {"version": "1"}})
    if replace_with is not None:
        await asyncio.wait_for(transport.struck.wait(), WAIT)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        manager = Manager(*load("plan_executor").controllers(), client=replace_with, events=False)
        task = asyncio.ensure_future(manager.serve())
    await until(server, NODE, name, lambda obj: (obj.get("status") or {}).get("phase") == "Running")
    return await _ended(server, NODE, name, transport, manager, task)


async def _ended(server: ApiServer, kind: tuple[str, str], name: str, transport: Any, manager: Manager, task: asyncio.Future[None]) -> Any:
    """The object when nobody writes any more: the wanted state may be there before the meddled request, which may be another object's."""
    await asyncio.wait_for(transport.struck.wait(), WAIT)
    manager.stop()
    await task
    return await asyncio.to_thread(server.get, *kind, name)


async def test_a_plan_survives_a_crash_at_each_request(server: ApiServer) -> None:
    """Requests of one node from its discovery to its end; each time the next process ends the same plan."""
    await asyncio.to_thread(server.apply, EXAMPLES / "plan_executor" / "crds.yaml")
    async with connect_async(server.kubeconfig) as client:
        for number in range(4, 9):
            last = await provisioned(server, f"n{number}", Meddled(client, number, None), client)
            assert "plan" not in last["status"], number
        made = [obj["metadata"]["name"] for obj in await client.list("v1", "ConfigMap", "default")]
    assert [sum(name.startswith(f"n{number}-") for name in made) for number in range(4, 9)] == [1] * 5


async def test_a_plan_survives_a_foreign_writer_at_each_request(server: ApiServer) -> None:
    """A reporter's condition is there at the end, whenever it was written."""
    await asyncio.to_thread(server.apply, EXAMPLES / "plan_executor" / "crds.yaml")

    def report(name: str) -> None:
        probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        metadata = {"name": name, "namespace": "default"}
        part = {"apiVersion": NODE[0], "kind": NODE[1], "metadata": metadata, "status": {"conditions": [probed]}}
        server.client.patch(part, part, type="apply", subresource="status", field_manager="reporter")

    async with connect_async(server.kubeconfig) as client:
        for number in range(4, 9):
            last = await provisioned(server, f"m{number}", Meddled(client, number, partial(report, f"m{number}")), None)
            assert {condition["type"] for condition in last["status"]["conditions"]} == {"Ready", "Probed"}, number


CONFIG = ("auth.example.io/v1", "AuthConfig")


async def owned(server: ApiServer, name: str, transport: Any, replace_with: AsyncClient | None) -> Any:
    """One config with two referrers, looked after by an operator that is meddled with, or by the process that follows it."""
    await asyncio.to_thread(make, server, CONFIG[0], CONFIG[1], name, issuer="https://sso.example.io")
    for kind in ("Server", "Proxy"):
        await asyncio.to_thread(make, server, CONFIG[0], kind, name, configRef={"name": name})
    manager = Manager(*load("reference_owner").controllers(), client=AsyncClient(transport), events=False)
    task = asyncio.ensure_future(manager.serve())
    if replace_with is not None:
        await asyncio.wait_for(transport.struck.wait(), WAIT)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        manager = Manager(*load("reference_owner").controllers(), client=replace_with, events=False)
        task = asyncio.ensure_future(manager.serve())
    wanted = [("Proxy", name), ("Server", name)]
    await until(server, CONFIG, name, lambda obj: _listed(obj) == wanted and obj["metadata"].get("finalizers"))
    return await _ended(server, CONFIG, name, transport, manager, task)


async def test_the_list_survives_a_crash_at_each_request(server: ApiServer) -> None:
    """Whatever the first process has done of it, the second ends it."""
    await asyncio.to_thread(server.apply, EXAMPLES / "reference_owner" / "crds.yaml")
    async with connect_async(server.kubeconfig) as client:
        for number in range(3, 10):  # it sends ten at least: where the kinds are, four lists, a schema, a finalizer, three statuses
            last = await owned(server, f"c{number}", Meddled(client, number, None), client)
            assert [condition["type"] for condition in last["status"]["conditions"]] == ["Valid"], number


async def test_the_list_survives_a_foreign_writer_at_each_request(server: ApiServer) -> None:
    """A foreign condition, written with the whole status, is there at the end, and so is the list."""
    await asyncio.to_thread(server.apply, EXAMPLES / "reference_owner" / "crds.yaml")

    def report(name: str) -> None:
        """With its own retry: another request of the operator may come between this read and this write."""
        probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        while True:
            obj = server.get(*CONFIG, name)
            status = obj.get("status") or {}
            told = {**status, "conditions": [*status.get("conditions", []), probed]}
            try:
                server.client.replace({**obj, "status": told}, subresource="status")
            except ApiError as error:
                if error.code != 409:
                    raise
                continue
            return

    async with connect_async(server.kubeconfig) as client:
        for number in range(5, 9):
            last = await owned(server, f"f{number}", Meddled(client, number, partial(report, f"f{number}")), None)
            assert {condition["type"] for condition in last["status"]["conditions"]} == {"Valid", "Probed"}, number
