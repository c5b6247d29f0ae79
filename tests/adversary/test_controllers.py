"""Controllers: a part that lost does not take the others down, and everything takes what `ctx` hands out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fiferail
from fiferail.components import Component

from .conftest import World, serve


def types(world: World) -> dict[str, str]:
    """The conditions, with their messages."""
    return {entry["type"]: entry.get("message", "") for entry in (world.status() or {}).get("conditions", [])}


async def test_a_part_that_reads_a_busy_field_keeps_no_other_from_landing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that read it is withheld and tried again; the other part's condition is written each time."""
    await asyncio.to_thread(world.object, n=1)
    runs: list[int] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        reader, steady = ctx.scope("reader"), ctx.scope("steady")
        seen = reader.status["n"]
        reader.status["summary"] = f"n is {seen}"
        steady.status.conditions.set("Steady", True, reason="Up", message=f"run {len(runs)}")
        if len(runs) <= 3:
            await asyncio.to_thread(world.other, n=seen + 1)  # it moves while this reconcile decides

    await serve(world, monkeypatch, reconcile, lambda: len(runs) > 3 and "summary" in (world.status() or {}))
    assert world.status()["summary"] == f"n is {world.status()['n']}"
    patches = [seen for seen in world.server.requests if seen.verb == "patch" and b"Steady" in seen.body and seen.code == 200]
    assert len(patches) >= 3, "the steady part was written although the reader's was withheld"


async def test_components_are_scopes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A component whose prerequisite reads a field that moves does not hold up another component's condition."""
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
            assert "SteadyReady" not in await asyncio.to_thread(types, world)

    await serve(world, monkeypatch, reconcile, lambda: {"SteadyReady", "WaitingReady"} <= set(types(world)))
    assert types(world)["WaitingReady"] == "waiting, n is 2"
    first = next(seen for seen in world.server.requests if seen.verb == "patch" and b"SteadyReady" in seen.body and seen.code == 200)
    assert b"WaitingReady" not in first.body


async def test_what_the_reconcile_itself_read_concerns_every_part(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read outside any scope may have decided anything: when it has changed, nothing of that reconcile lands."""
    await asyncio.to_thread(world.object, n=1)
    runs: list[int] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        seen = ctx.status["n"]
        ctx.scope("part").status.conditions.set("Part", True, reason="Up", message=f"n is {seen}")
        if len(runs) == 1:
            await asyncio.to_thread(world.other, n=2)

    await serve(world, monkeypatch, reconcile, lambda: "Part" in types(world))
    assert types(world)["Part"] == "n is 2"


async def test_reconciles_of_one_worker_do_not_know_each_others_writes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reconcile is a flow of control of its own."""
    from fiferail.status import flow

    await asyncio.to_thread(world.object, n=1)
    known: list[Any] = []

    async def reconcile(ctx: fiferail.Context) -> float | None:
        known.append(flow.current())
        ctx.status["phase"] = f"run {len(known)}"
        return 0.0 if len(known) < 3 else None

    await serve(world, monkeypatch, reconcile, lambda: len(known) >= 3)
    assert known[:3] == [{}, {}, {}]


async def test_a_conflict_of_a_part_says_which(world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The log names the part that was withheld, and says that the rest was written."""
    caplog.set_level("DEBUG", logger="fiferail.controllers")
    await asyncio.to_thread(world.object, n=1)
    runs: list[int] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        reader = ctx.scope("reader")
        reader.status["summary"] = f"n is {reader.status['n']}"
        ctx.scope("steady").status["phase"] = "steady"
        if len(runs) == 1:
            await asyncio.to_thread(world.other, n=2)

    await serve(world, monkeypatch, reconcile, lambda: "summary" in (world.status() or {}))
    assert "only what reader staged was withheld, the rest was written" in caplog.text


async def test_the_planning_pass_writes_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reconcile that stages a condition and makes a plan sends one status write for both."""
    await asyncio.to_thread(world.object, n=1)
    ran: list[int] = []

    async def step(ctx: Any, identity: str) -> None:
        writes = [seen for seen in world.server.requests if seen.verb == "patch" and seen.path.endswith("/status")]
        ran.append(len([seen for seen in writes if seen.agent != "other"]))

    plans = fiferail.Plans({"do": step}, build=lambda obj: fiferail.Plan("test", ["do"]))

    async def reconcile(ctx: fiferail.Context) -> float | None:
        ctx.status.conditions.set("Planned", True, reason="Decided")
        return await plans.reconcile(ctx)

    await serve(world, monkeypatch, reconcile, lambda: bool(ran) and "lastPlan" in (world.status() or {}))
    assert ran == [1]
    assert (world.status()["lastPlan"]["n"], types(world)) == (1, {"Planned": ""})
