"""What a newcomer ran into: options of the wrong type, claims and tokens that did nothing, and a checker that was silent or cried wolf."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import fiferail
from fiferail.components import Component

from .conftest import ANYTHING, API, STATUS, World, crd, published, serve

KIND = "Probe.adversary.example.io"
NO_STRATEGY = "expected strategy to be fiferail.COMPARE, LOCKED, MERGE or APPLY, got 'compare'"


def change(view: Any) -> None:
    """Edit what is never to be written."""
    view["phase"] = "B"


# -- options


@pytest.mark.parametrize("call", ["writer", "session", "guarded session", "mutate", "edit"])
def test_a_strategy_given_as_text_is_refused(world: World, call: str) -> None:
    """A text is no strategy: it would otherwise be taken for an unlocked patch."""
    old = world.object(phase="A")
    text: Any = "compare"
    calls: dict[str, Callable[[], object]] = {
        "writer": lambda: world.writer(strategy=text),
        "session": lambda: world.writer().session(old, strategy=text),
        "guarded session": lambda: world.writer().session(old, strategy=text, guard=["spec"]),
        "mutate": lambda: world.writer().mutate(old, change, strategy=text),
        "edit": lambda: world.writer().edit(old, change, strategy=text),
    }
    with pytest.raises(TypeError) as caught:
        calls[call]()
    assert str(caught.value) == NO_STRATEGY
    assert world.status() == {"phase": "A"}


async def test_the_async_writer_refuses_a_strategy_given_as_text(world: World) -> None:
    """The async writer, its sessions, `mutate` and `edit` check the strategy as the blocking ones do."""
    old = await asyncio.to_thread(world.object, phase="A")
    text: Any = "compare"
    async with fiferail.connect_async(world.server.kubeconfig) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="me")
        errors = []
        with pytest.raises(TypeError) as caught:
            fiferail.AsyncStatusWriter(client, field_manager="me", strategy=text)
        errors.append(str(caught.value))
        with pytest.raises(TypeError) as caught:
            writer.session(old, strategy=text)
        errors.append(str(caught.value))
        with pytest.raises(TypeError) as caught:
            await writer.mutate(old, change, strategy=text)
        errors.append(str(caught.value))
        with pytest.raises(TypeError) as caught:
            await writer.edit(old, change, strategy=text)
        errors.append(str(caught.value))
    assert errors == [NO_STRATEGY] * 4
    assert await asyncio.to_thread(world.status) == {"phase": "A"}


BELOW = f'expected claims of {KIND} as a list of paths below status, such as ["phase"], got '
NAMES = """expected keys of workloads as a list of names, such as ("kind", "name"), got 'name'"""
OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "claims as a list": ({"claims": ["phase"]}, TypeError, 'expected claims as {"Gadget.example.io": ["phase"]}, got list'),
    "claims as a text": ({"claims": "phase"}, TypeError, 'expected claims as {"Gadget.example.io": ["phase"]}, got str'),
    "claims of a kind as a text": ({"claims": {KIND: "phase"}}, ValueError, f"{BELOW}'phase'"),
    "claims that begin with status": ({"claims": {KIND: ["n", "status.phase"]}}, ValueError, f"{BELOW}['n', 'status.phase']"),
    "a number as the budget": ({"budget": 5}, TypeError, "expected budget as fiferail.Budget(seconds=60), got int"),
    "zero as the budget": ({"budget": 0}, TypeError, "expected budget as fiferail.Budget(seconds=60), got int"),
    "keys as a list": ({"keys": ["name"]}, TypeError, 'expected keys as {"workloads": ("kind", "name")}, got list'),
    "keys as an empty list": ({"keys": []}, TypeError, 'expected keys as {"workloads": ("kind", "name")}, got list'),
    "keys of a list as a text": ({"keys": {"workloads": "name"}}, TypeError, NAMES),
}


@pytest.mark.parametrize(("options", "error", "text"), OPTIONS.values(), ids=list(OPTIONS))
def test_an_option_of_another_shape_is_refused_at_once(world: World, options: dict[str, Any], error: type[Exception], text: str) -> None:
    """Both writers name the option, what they expected and what they got when they are made, not when they first write."""
    with pytest.raises(error) as caught:
        world.writer(**options)
    assert str(caught.value) == text
    with pytest.raises(error) as caught:
        fiferail.AsyncStatusWriter(fiferail.connect_async(world.server.kubeconfig), field_manager="me", **options)
    assert str(caught.value) == text


def test_refused_claims_take_nothing(world: World) -> None:
    """A registry that refused a writer's claims lets another writer claim the same paths."""
    registry = fiferail.Claims()
    with pytest.raises(ValueError, match="as a list of paths below status"):
        world.writer("one", registry=registry, claims={KIND: ["n", "status.phase"]})
    old = world.object(n=1)
    with world.writer("two", registry=registry, claims={KIND: ["n"]}).session(old) as status:
        status["n"] = 2
    assert world.status()["n"] == 2


# -- tokens


@pytest.mark.parametrize(("slot", "value", "name"), [("summary", "text", "str"), ("n", 3, "int"), ("plan", ["a"], "list")])
def test_a_token_needs_a_map(world: World, slot: str, value: Any, name: str) -> None:
    """`token=` names a member of the value: a value without members is an error, and nothing is written."""
    old = world.object(phase="A")
    with pytest.raises(fiferail.FiferailError) as caught:
        world.writer().create_once(old, slot, lambda _: value, token="id")
    assert str(caught.value) == f"token='id' names a member of the value, but build returned a {name}, not a map"
    assert world.status() == {"phase": "A"}


def test_a_token_that_the_schema_lacks_is_an_error_before_anything_acts(world: World) -> None:
    """The server would drop the token without a word, and a lost answer could not be told from another creation."""
    plan = {"type": "object", "properties": {"name": {"type": "string"}}}
    properties = {"phase": STATUS["properties"]["phase"], "lastPlan": ANYTHING, "plan": plan}
    world.server.apply(crd({"type": "object", "properties": properties}, plural="slips"))
    published(world, "lastPlan", "Slip")
    metadata = {"generateName": "s-", "namespace": "default"}
    old = world.client.create({"apiVersion": API, "kind": "Slip", "metadata": metadata, "spec": {}})
    built: list[int] = []

    def build(_: Any) -> Any:
        built.append(1)
        return {"name": "a"}

    missing = rf"the schema of Slip\.adversary\.example\.io in {API} has no status\.plan\.id, so the server would drop it"
    with pytest.raises(fiferail.FiferailError, match=missing):
        world.writer().create_once(old, "plan", build, fence="lastPlan", token="id")
    assert (built, "status" in world.client.get(API, "Slip", old["metadata"]["name"], namespace="default")) == ([], False)
    made = world.writer().create_once(old, "plan", build, fence="lastPlan", token="name")
    assert (made.created, made.value) == (True, {"name": "a"})


# -- the checker


async def test_what_a_withheld_scope_read_is_not_announced(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The request carries only the other scopes' changes, so the checker judges it by what those read."""
    await asyncio.to_thread(world.object, n=1)
    runs: list[int] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        reader, steady = ctx.scope("reader"), ctx.scope("steady")
        reader.status["summary"] = f"n is {reader.status['n']}"
        steady.status.conditions.set("Steady", True, reason="Up")
        if len(runs) == 1:
            await asyncio.to_thread(world.other, n=2)

    await serve(world, monkeypatch, reconcile, lambda: (world.status() or {}).get("summary") == "n is 2")
    assert first_patch(world, b"Steady").count(b"n is") == 0
    world.server.assert_nothing_lost(possible="fail")
    assert capsys.readouterr().out == ""


async def test_what_a_withheld_component_read_is_not_announced(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prerequisite's read belongs to its component: the checker is silent about the other component's condition."""
    await asyncio.to_thread(world.object, n=1)
    runs: list[int] = []

    def settled(ctx: Any) -> str:
        return f"waiting, n is {ctx.status['n']}"

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        await Component("waiting", condition="WaitingReady", requires=[settled]).reconcile(ctx)
        await Component("steady", condition="SteadyReady").reconcile(ctx)
        if len(runs) == 1:
            await asyncio.to_thread(world.other, n=2)

    await serve(world, monkeypatch, reconcile, lambda: "WaitingReady" in str(world.status()))
    assert first_patch(world, b"SteadyReady").count(b"WaitingReady") == 0
    world.server.assert_nothing_lost(possible="fail")
    assert capsys.readouterr().out == ""


def first_patch(world: World, text: bytes) -> bytes:
    """The first acknowledged patch that contains the text."""
    return next(seen.body for seen in world.server.requests if seen.verb == "patch" and text in seen.body and seen.code == 200)


def test_fights_are_printed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Two writers that overwrite each other knowingly lose nothing; the test's output says who fights over what."""
    world.object(phase="A")
    clients = {name: world.server.client_as(name) for name in ("left", "right")}
    for _ in range(3):
        for name, client in clients.items():
            live = client.get(API, "Probe", world.name, namespace="default")
            client.patch(live, {"status": {"phase": name}}, subresource="status", field_manager=name)
    world.server.assert_nothing_lost()
    printed = capsys.readouterr().out
    assert f"FIGHT status.phase of probes default/{world.name}: right and left overwrite each other, each having seen the other" in printed
    assert "Let one of them own the field." in printed


def test_waste_is_printed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Writes that change nothing lose nothing; the test's output says who sends them."""
    old = world.object(phase="A")
    client = world.server.client_as("idle")
    for _ in range(5):
        client.patch(old, {"status": {"phase": "A"}}, subresource="status", field_manager="idle")
    world.server.assert_nothing_lost()
    assert capsys.readouterr().out == (
        f"WASTE probes default/{world.name}: idle sent 5 writes in a row that changed nothing. They wake nobody, but each costs a request: "
        "compare with what is stored before writing.\n"
    )


# -- built-in kinds


def test_an_empty_message_on_a_built_in_kind_is_not_dropped(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The server leaves an empty message out of a Deployment's condition: that is the same condition, and no warning."""
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    metadata = {"generateName": "newcomer-", "namespace": "default"}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    deployment = world.client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    outcome = world.writer().mutate(deployment, lambda status: status.conditions.set("Available", True, reason="Up", message=""))
    stored = outcome.object["status"]["conditions"][0]
    assert (stored["type"], stored["status"], "message" in stored) == ("Available", "True", False)
    assert [path for path in outcome.altered if "message" in path] == []
    assert "status.conditions.message" not in caplog.text
