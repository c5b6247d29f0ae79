"""The manager: its end, its probes, its rights, and what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
from typing import Any

import pytest

from fiferail import AsyncClient, Context, Controller, Manager
from fiferail.clients.http1 import AsyncHttpTransport
from fiferail.controllers.clock import VirtualClock, settle
from fiferail.controllers.hooks import ControllerHook
from fiferail.controllers.leases import LeaderElection
from fiferail.controllers.logs import JsonFormatter
from fiferail.errors import FiferailError
from fiferail.status.hooks import Hook

from .conftest import API, World


async def ready(ctx: Context) -> None:
    """The simplest reconcile."""
    ctx.status.conditions.set("Ready", True, reason="AllUp")


def sleeper(clock: VirtualClock, seconds: float) -> Controller:
    """A controller whose reconcile takes that long."""

    async def reconcile(ctx: Context) -> None:
        ctx.status["phase"] = "Begun"
        await clock.sleep(seconds)
        ctx.status["phase"] = "Ended"

    return Controller(API, "Gadget", reconcile, concurrency=1)


async def test_a_stop_lets_the_running_reconcile_finish_and_begins_no_other(world: World) -> None:
    """What it staged is written."""
    world.make("a")
    world.make("b")
    manager = world.manager(sleeper(world.clock, 20))
    serving = asyncio.ensure_future(manager.serve())
    await settle()
    manager.stop()
    await world.clock.advance(19)
    assert not serving.done()
    await world.clock.advance(2)
    assert serving.done()
    assert (world.get("a")["status"], world.get("b").get("status")) == ({"phase": "Ended"}, None)


async def test_a_stop_does_not_wait_for_ever(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """After the grace what still runs is cut off, and writes nothing."""
    world.make("a")
    manager = world.manager(sleeper(world.clock, 1000), grace=30)
    serving = asyncio.ensure_future(manager.serve())
    await settle()
    manager.stop()
    await world.clock.advance(31)
    assert serving.done()
    assert "1 reconciles still ran 30 s after the stop and were cut off" in caplog.text
    assert "status" not in world.get("a")


async def test_an_idle_manager_stops_at_once(world: World) -> None:
    """Nothing runs, so nothing is waited for."""
    manager = world.manager(Controller(API, "Gadget", ready))
    serving = asyncio.ensure_future(manager.serve())
    await settle()
    manager.stop()
    await settle()
    assert serving.done()
    with pytest.raises(FiferailError, match="has been served already: make a new one"):
        await manager.serve()


@pytest.mark.parametrize(
    ("arguments", "settings", "text"),
    [
        ((), {}, "expected at least one controller, got none"),
        ((Controller(API, "Gadget", ready),) * 2, {}, "two controllers are named 'gadget': give one of them name="),
        ((Controller(API, "Gadget", ready),), {"namespaces": "default"}, "expected a list of namespaces, or None for all, got 'default'"),
        ((Controller(API, "Gadget", ready),), {"namespaces": []}, "expected a list of namespaces, or None for all, got []"),
        ((Controller(API, "Gadget", ready),), {"health": "8081"}, "expected health to be host:port, such as 0.0.0.0:8081, got '8081'"),
        ((Controller(API, "Gadget", ready),), {"health": "a:70000"}, "expected health to be host:port, such as 0.0.0.0:8081, got 'a:70000"),
        ((Controller(API, "Gadget", ready),), {"health": "a:²"}, "expected health to be host:port, such as 0.0.0.0:8081, got 'a:²'"),
        ((Controller(API, "Gadget", ready),), {"client": object()}, "expected a Kubernetes client"),
    ],
    ids=["none", "same name", "a text for namespaces", "no namespaces", "no host", "no port", "no digit", "no client"],
)  # fmt: skip
def test_a_manager_that_cannot_run_is_refused_when_it_is_made(arguments: Any, settings: Any, text: str) -> None:
    """Not when it runs."""
    with pytest.raises(FiferailError) as refused:
        Manager(*arguments, **settings)
    assert str(refused.value).startswith(text)


async def ask(manager: Manager, path: str, method: str = "GET") -> tuple[int, str]:
    """A page of the health server."""
    assert manager.health is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", manager.health.port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return int(answer.split(" ")[1]), answer.partition("\r\n\r\n")[2]


async def test_probes_and_metrics(world: World) -> None:
    """Alive at once, ready when everything is listed, and what was done in Prometheus' words."""
    from prometheus_client import CollectorRegistry

    world.make("a")
    world.faults.next(verb="list", kind="Gadget", answer=403)
    manager = world.manager(Controller(API, "Gadget", ready), health="127.0.0.1:0", metrics=CollectorRegistry())
    serving = asyncio.ensure_future(manager.serve())
    for _ in range(50):
        await asyncio.sleep(0)
    assert await ask(manager, "/healthz") == (200, "ok\n")
    code, text = await ask(manager, "/readyz")
    assert (code, text.splitlines()[0]) == (503, "waiting for Gadget of example.io/v1: Forbidden: 403: injected by a fault: 403")
    await world.clock.advance(1)
    assert await ask(manager, "/readyz?verbose") == (200, "ok\n")
    metrics = (await ask(manager, "/metrics"))[1]
    assert 'fiferail_reconciles_total{controller="gadget",result="done"} 2.0' in metrics
    assert 'fiferail_status_outcomes_total{kind="Gadget.example.io",manager="gadget-controller",outcome="applied"} 1.0' in metrics
    assert await ask(manager, "/nothing") == (404, "not here\n")
    assert await ask(manager, "/healthz", "POST") == (405, "only GET\n")
    manager.stop()
    await serving


async def test_a_port_that_is_taken_is_named(world: World) -> None:
    """The manager does not start."""
    first = await world.start(Controller(API, "Gadget", ready), health="127.0.0.1:0")
    for _ in range(50):
        await asyncio.sleep(0)
    assert first.health is not None
    second = world.manager(Controller(API, "Gadget", ready), health=f"127.0.0.1:{first.health.port}")
    with pytest.raises(FiferailError, match=rf"^health could not listen on 127.0.0.1:{first.health.port}: .*address already in use"):
        await second.serve()


async def test_hooks_hear_how_reconciles_end_and_cannot_disturb_them(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A hook that raises is logged."""
    heard: list[str] = []

    class Writes(Hook):
        def finished(self, kind: str, manager: str, outcome: Any, seconds: float) -> None:
            heard.append(f"wrote {kind}")

    class Listening(ControllerHook):
        def reconciled(self, controller: str, result: str, seconds: float) -> None:
            heard.append(result)
            raise RuntimeError("no")

    async def reconcile(ctx: Context) -> float | None:
        heard.append(ctx.name)
        ctx.status.raise_to("count", 1)
        if ctx.name == "b":
            raise ValueError("bad")
        return 5 if ctx.name == "c" else None

    for name in "abc":
        world.make(name)
    await world.start(Controller(API, "Gadget", reconcile, concurrency=1), hooks=[Listening(), Writes()])
    wrote = "wrote Gadget.example.io"
    told = [heard[index : index + 3] for index, said in enumerate(heard) if heard[index + 1 : index + 2] == [wrote]]
    assert told == [["a", wrote, "done"], ["b", wrote, "failed"], ["c", wrote, "later"]]
    assert "failed on reconciled" in caplog.text


def test_the_least_rights_are_rendered() -> None:
    """Status only for the own kind, metadata only with a finalizer, objects of owned kinds, events, and the lease by its name."""
    controller = (
        Controller(API, "Policy", ready, finalizer="example.io/f")
        .owns("apps/v1", "Deployment")
        .watches("v1", "Secret", lambda obj: [])
        .watches("networking.k8s.io/v1", "Ingress", lambda obj: [])
    )
    manager = Manager(controller, leader_election=LeaderElection("policies"))
    assert manager.rbac() == [
        {"apiGroups": ["example.io"], "resources": ["policies"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": ["example.io"], "resources": ["policies/status"], "verbs": ["patch"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["policies"], "verbs": ["get", "update"]},
    ]
    assert controller.rbac(plurals={"Policy": "policys"}, events=False)[1]["resources"] == ["policys/status"]


async def test_events_are_recorded_and_aggregated(world: World) -> None:
    """The same event again is counted in the first one; another one is another object; none of it fails the reconcile."""

    async def reconcile(ctx: Context) -> float:
        await ctx.event("Waiting", "for the moon")
        await ctx.event("Tried", f"at {ctx.clock.now():.0f}", type="Warning")
        return 60

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile), events=True)
    await world.clock.advance(60)
    world.faults.next(verb="patch", kind="Event", answer=500)
    world.faults.next(verb="create", kind="Event", answer=403)
    await world.clock.advance(60)
    found = world.client.list("events.k8s.io/v1", "Event", "default")
    told = sorted((event["reason"], event["note"], (event.get("series") or {}).get("count")) for event in found)
    assert told == [("Tried", "at 0", None), ("Tried", "at 60", None), ("Waiting", "for the moon", 2)]
    assert {event["regarding"]["name"] for event in found} == {"a"}


def test_a_log_line_is_one_line_of_json() -> None:
    """With the object's fields, and the traceback where there is one."""
    record = logging.LogRecord("fiferail.controllers", logging.ERROR, "", 0, "%s failed", ("it",), None)
    record.__dict__.update(controller="c", kind="Gadget.example.io", namespace="n", object="a", created=0.5)
    assert json.loads(JsonFormatter().format(record)) == {
        "time": "1970-01-01T00:00:00.500000Z", "level": "error", "logger": "fiferail.controllers", "message": "it failed",
        "controller": "c", "kind": "Gadget.example.io", "namespace": "n", "object": "a",
    }  # fmt: skip


def ignoring() -> tuple[asyncio.Event, Controller]:
    """A controller whose reconcile ignores its cancellation until the event is set."""
    released = asyncio.Event()

    async def reconcile(ctx: Context) -> None:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    return released, Controller(API, "Gadget", reconcile)


async def test_a_reconcile_that_ignores_its_cancellation_is_left_behind(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """serve() returns a few seconds after the grace, and says so."""
    released, stubborn = ignoring()
    world.make("a")
    manager = world.manager(stubborn, grace=30)
    serving = asyncio.ensure_future(manager.serve())
    await settle()
    manager.stop()
    await world.clock.advance(34)
    assert not serving.done()
    await world.clock.advance(2)
    assert serving.done()
    assert serving.exception() is None
    assert "1 tasks ignored their cancellation for 5 s and are left behind" in caplog.text
    released.set()
    await settle()


async def test_the_same_while_it_leads(world: World) -> None:
    """Leader election waits for the reconcile, and the manager does not wait for leader election."""
    released, stubborn = ignoring()
    world.make("a")
    manager = world.manager(stubborn, grace=30, leader_election=LeaderElection("x"))
    serving = asyncio.ensure_future(manager.serve())
    await settle()
    manager.stop()
    await world.clock.advance(36)
    assert serving.done()
    released.set()
    await settle()


async def test_idle_health_connections_do_not_delay_the_end(world: World) -> None:
    """A connection that has asked nothing, or half of it, is closed at once; before, it was kept for 5 s (Python 3.12 waits for it)."""
    manager = world.manager(Controller(API, "Gadget", ready), health="127.0.0.1:0")
    serving = asyncio.ensure_future(manager.serve())
    for _ in range(50):
        await asyncio.sleep(0)
    assert manager.health is not None
    idle = [await asyncio.open_connection("127.0.0.1", manager.health.port) for _ in range(3)]
    idle[0][1].write(b"GET /healthz HTTP/1.1\r\n")
    assert await ask(manager, "/healthz") == (200, "ok\n")  # it came last, so the others have been accepted
    manager.stop()
    await serving
    async with asyncio.timeout(1):
        for reader, _ in idle:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
    for _, writer in idle:
        writer.close()


@pytest.mark.parametrize("metrics", [True, object()], ids=["True", "a registry"])
def test_metrics_without_their_extra_say_so(metrics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the manager is made, in one line."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    for module in ("fiferail.controllers.metrics", "fiferail.status.prometheus"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(FiferailError) as refused:
        Manager(Controller(API, "Gadget", ready), metrics=metrics)
    text = "metrics needs the extra `metrics` (prometheus_client is not installed); in a checkout of fiferail: pip install '.[metrics]'"
    assert str(refused.value) == text


def test_run_says_that_it_needs_the_main_thread() -> None:
    """Signals are handled there."""
    said: list[object] = []

    def run() -> None:
        try:
            Manager(Controller(API, "Gadget", ready), client=AsyncClient(AsyncHttpTransport("http://127.0.0.1:9"))).run()
        except SystemExit as ended:
            said.append(ended.code)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert said == ["FiferailError: run() handles signals, which needs the main thread: in another one, await serve()"]
