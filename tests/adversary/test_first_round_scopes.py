"""Scopes: a part of a reconcile whose reads have changed is withheld with everything that was decided on it, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import fiferail
from fiferail.components import Aggregate, Component

from .conftest import World, serve


async def first_pass(world: World, monkeypatch: pytest.MonkeyPatch, decide: Callable[[fiferail.Context], Awaitable[None]]) -> Any:
    """Reconcile once with `decide`; the status as the next reconcile finds it, when the first has been written."""
    runs: list[int] = []
    found: list[Any] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        if len(runs) == 1:
            await decide(ctx)
        else:
            found.append(await asyncio.to_thread(world.status))

    await serve(world, monkeypatch, reconcile, lambda: bool(found))
    return found[0]


def said(status: Any) -> dict[str, str]:
    """The conditions, with what they say."""
    return {entry["type"]: entry["status"] for entry in status.get("conditions", [])}


async def test_a_member_below_another_scopes_map_is_withheld(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One scope assigns a map, another adds a member that stands on a changed read: only the map is written."""
    await asyncio.to_thread(world.object, n=1, net={"ip": "0"})

    async def decide(ctx: fiferail.Context) -> None:
        one, two = ctx.scope("one"), ctx.scope("two")
        one.status["net"] = {"ip": "1.1.1.1"}
        two.status["net"]["mask"] = f"n was {two.status['n']}"
        await asyncio.to_thread(world.other, n=2)

    assert "mask" not in (await first_pass(world, monkeypatch, decide))["net"]


async def test_a_member_of_another_scopes_entry_is_withheld(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two scopes write one entry of a keyed list, and one of them stands on a changed read: its member is not written."""
    await asyncio.to_thread(world.object, n=1, workloads=[])

    async def decide(ctx: fiferail.Context) -> None:
        one, two = ctx.scope("one"), ctx.scope("two")
        one.status.entry("workloads", kind="a", name="x")["count"] = 1
        two.status.entry("workloads", kind="a", name="x")["note"] = f"n was {two.status['n']}"
        await asyncio.to_thread(world.other, n=2)

    found = await first_pass(world, monkeypatch, decide)
    assert all("note" not in entry for entry in found["workloads"])


async def test_what_the_reconcile_decided_on_a_withheld_condition_is_withheld(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready is True because of WebReady, and WebReady is withheld: Ready is not written either."""
    await asyncio.to_thread(world.object, n=1)

    async def decide(ctx: fiferail.Context) -> None:
        web = ctx.scope("web")
        web.status.conditions.set("WebReady", web.status["n"] == 1, reason="Counted")
        ctx.status.conditions.set("Ready", ctx.status.conditions.is_true("WebReady"), reason="All")
        await asyncio.to_thread(world.other, n=2)

    assert said(await first_pass(world, monkeypatch, decide)) == {}


async def test_an_aggregate_of_a_withheld_component_is_withheld(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer says the component's condition first: the aggregate does not say that all is well."""
    await asyncio.to_thread(world.object, n=1)
    time = "2020-01-01T00:00:00Z"
    foreign = {"type": "WebReady", "status": "False", "reason": "Foreign", "message": "", "lastTransitionTime": time}

    async def decide(ctx: fiferail.Context) -> None:
        web = Component("web", condition="WebReady")
        await web.reconcile(ctx)
        await Aggregate("Ready", [web]).stage(ctx)
        staged: Any = ctx.status.peek("conditions")
        assert said({"conditions": staged}) == {"WebReady": "True", "Ready": "True"}
        await asyncio.to_thread(world.other, conditions=[foreign])

    assert said(await first_pass(world, monkeypatch, decide)) == {"WebReady": "False"}


async def test_a_scope_that_read_another_scopes_value_falls_with_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary of a staged phase is not written without that phase."""
    await asyncio.to_thread(world.object, n=1, phase="Start")

    async def decide(ctx: fiferail.Context) -> None:
        one, two = ctx.scope("one"), ctx.scope("two")
        one.status["phase"] = "Done" if one.status["n"] == 1 else "NotDone"
        two.status["summary"] = "phase is " + two.status["phase"]
        await asyncio.to_thread(world.other, n=2)

    assert await first_pass(world, monkeypatch, decide) == {"n": 2, "phase": "Start"}


async def test_a_plan_of_one_scope_does_not_wait_for_anothers_reads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope reads a field that always changes before the write: the other scope's plan is made on the first reconcile."""
    await asyncio.to_thread(world.object, n=0)
    made: list[Any] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        one, two = ctx.scope("one"), ctx.scope("two")
        seen = one.status["n"]
        one.status["summary"] = f"n is {seen}"
        await asyncio.to_thread(world.other, n=seen + 1)
        made.append(await two.status.create_once("plan", lambda _: {"id": "p"}, fence="lastPlan"))

    await serve(world, monkeypatch, reconcile, lambda: bool(made))
    assert (made[0].created, made[0].value) == (True, {"id": "p"})
    assert (await asyncio.to_thread(world.status))["plan"] == {"id": "p"}
