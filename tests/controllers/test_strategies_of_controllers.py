"""`Controller(strategy=...)`: how its status is sent. The default compares; the others are passed through to its writer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fiferail import APPLY, COMPARE, LOCKED, MERGE, Context, Controller
from fiferail.controllers.clock import settle
from fiferail.errors import FiferailError
from fiferail.wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH

from .conftest import API, Line, World


async def reconcile(ctx: Context) -> None:
    """Says two things, each from another part of the spec."""
    ctx.status["count"] = ctx.object["spec"]["size"]
    ctx.status["phase"] = ctx.object["spec"]["phase"]


def patches(line: Line) -> list[str]:
    """The content types of the status writes."""
    return [request.content_type for request in line.sent if request.path.endswith("/status")]


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, JSON_PATCH),
        ({"strategy": COMPARE}, JSON_PATCH),
        ({"strategy": LOCKED}, MERGE_PATCH),
        ({"strategy": MERGE}, MERGE_PATCH),
        ({"strategy": APPLY}, APPLY_PATCH),
    ],
    ids=["default", "compare", "locked", "merge", "apply"],
)
async def test_the_status_is_sent_as_the_controller_says(world: World, settings: Any, sent: str) -> None:
    """One patch of that type per reconcile that says something new, also when the watch has shown the last one."""
    obj = world.make("a", spec={"size": 1, "phase": "On"})
    line = world.line()
    await world.start(Controller(API, "Gadget", reconcile, **settings), line=line)
    world.client.patch(obj, {"spec": {"size": 2}})
    await settle()
    assert world.get("a")["status"] == {"count": 2, "phase": "On"}
    assert patches(line) == [sent, sent]


async def test_what_was_applied_before_stays_when_a_successor_applies_less(world: World) -> None:
    """A new process knows from managedFields what it owns, though the cache of other controllers leaves them out."""
    obj = world.make("a", spec={"size": 1, "phase": "On"})
    first = await world.start(Controller(API, "Gadget", reconcile, strategy=APPLY))
    await world.crash(first)
    world.client.patch(obj, {"spec": {"size": 2}})
    line = world.line("successor")
    await world.start(Controller(API, "Gadget", reconcile, strategy=APPLY), line=line)
    assert patches(line) == [APPLY_PATCH]
    assert world.get("a")["status"] == {"count": 2, "phase": "On"}


@pytest.mark.parametrize(("strategy", "lost"), [(COMPARE, False), (LOCKED, False), (MERGE, True)], ids=["compare", "locked", "merge"])
async def test_what_a_strategy_can_lose_it_loses_here_too(world: World, strategy: Any, lost: bool) -> None:
    """Somebody adds a condition while the reconcile decides: only the plain merge patch takes it away, and the checker says so."""
    world.make("a", spec={})
    probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    told: list[str] = []

    async def deciding(ctx: Context) -> None:
        ctx.status.conditions.set("Ready", True, reason="AllUp")
        if not told:
            told.append(ctx.name)
            world.client.patch(world.get("a"), {"status": {"conditions": [probed]}}, subresource="status")

    await world.start(Controller(API, "Gadget", deciding, strategy=strategy))
    await world.clock.advance(1)
    types = [condition["type"] for condition in world.get("a")["status"]["conditions"]]
    assert sorted(types) == (["Ready"] if lost else ["Probed", "Ready"])
    assert bool(world.watchman.lost()) is lost


@pytest.mark.parametrize("strategy", [MERGE, None], ids=["the writer, which says its base", "the plain client, which says nothing"])
async def test_a_condition_that_a_watch_delivered_before_the_stale_write_is_reported(world: World, strategy: Any) -> None:
    """A reconcile reads, waits while another's condition arrives by the watch, and patches its old list: the condition is gone."""
    world.make("a", spec={})
    condition = {"status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    passes: list[str] = []

    async def deciding(ctx: Context) -> None:
        passes.append(ctx.name)
        if len(passes) > 1:
            return
        if strategy is not None:
            ctx.status.conditions.set("Ready", True, reason="AllUp")
        world.client.patch(world.get("a"), {"status": {"conditions": [{"type": "Probed", **condition}]}}, subresource="status")
        for _ in range(50):
            await asyncio.sleep(0)  # the watch delivers
        if strategy is None:
            await ctx.client.patch(ctx.object, {"status": {"conditions": [{"type": "Ready", **condition}]}}, subresource="status")

    await world.start(Controller(API, "Gadget", deciding, strategy=strategy or COMPARE))
    assert [entry["type"] for entry in world.get("a")["status"]["conditions"]] == ["Ready"]
    [sentence] = world.watchman.lost()
    assert " status.conditions[Probed] of gadgets default/a: user wrote " in sentence


def test_a_strategy_that_there_is_not_is_refused_where_it_is_said() -> None:
    """The name alone will not do."""
    with pytest.raises(FiferailError, match=r"expected a strategy \(COMPARE, LOCKED, MERGE or APPLY\), got 'apply'"):
        Controller(API, "Gadget", reconcile, strategy="apply")  # type: ignore[arg-type]
