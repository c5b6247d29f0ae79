"""A transition is told once the server has it, and once: not when it is staged, not for what was refused. And what is gone is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from fiferail import ApiError, Conflict, Controller, Manager
from fiferail.components import Component, ConfigMap, Health, PrometheusRecorder, Reason
from fiferail.components.staging import say
from fiferail.controllers.clock import VirtualClock, settle

HEALTHY = ("Healthy", "WebReady went from Unknown to Healthy: all resources are ready")


def web(name: str = "web", **options: Any) -> Component:
    return Component("web", condition="WebReady", resources=[ConfigMap({"metadata": {"name": name}, "data": {"a": "b"}})], **options)


def transitions(stand: Any) -> list[tuple[str, str]]:
    """The events that tell of a condition."""
    return [event for event in stand.events if " went from " in event[1]]


async def meddle(stand: Any, status: Any) -> None:
    """Another writer's status write."""
    stand.clock.seconds += 1
    await stand.outside.patch(await stand.owner(), {"status": status}, subresource="status")


async def test_a_conflict_tells_nothing_and_the_next_try_tells_once(stand: Any) -> None:
    """What was staged on a status that had moved on never was."""

    async def raced(ctx: Any) -> None:
        assert ctx.status.get("phase") is None
        await meddle(stand, {"phase": "Late"})

    with pytest.raises(Conflict):
        await stand.reconcile(web().reconcile, raced)
    assert transitions(stand) == []
    await stand.reconcile(web().reconcile)
    await stand.reconcile(web().reconcile)
    assert transitions(stand) == [HEALTHY]


async def test_a_write_that_was_refused_tells_nothing(stand: Any) -> None:
    """Nor does any later look at it."""
    stand.machine.faults.next(verb="patch", kind="WebApp", answer=403)
    with pytest.raises(ApiError):
        await stand.reconcile(web().reconcile)
    assert transitions(stand) == []


async def test_a_reconcile_that_raises_tells_what_it_could_write(stand: Any) -> None:
    """A failure is worth an event, and so is what was said before it."""
    broken = Component("db", condition="DbReady", resources=[ConfigMap({"metadata": {"name": "No"}})])
    with pytest.raises(Exception, match="No"):
        await stand.reconcile(web().reconcile, broken.reconcile)
    assert [reason for reason, _ in transitions(stand)] == ["Healthy", "Error"]


async def test_a_condition_that_is_staged_twice_went_one_way(stand: Any) -> None:
    """From what the server had to what it has; what was only staged in between nobody ever saw."""

    async def twice(ctx: Any) -> None:
        await say(ctx, "WebReady", Health(Reason.CREATING, "first"))
        await say(ctx, "WebReady", Health(Reason.FAILING, "then"))

    await stand.reconcile(twice)
    assert transitions(stand) == [("Failing", "WebReady went from Unknown to Failing: then")]


async def test_what_was_flushed_early_is_told_though_the_rest_is_refused(stand: Any) -> None:
    """The server has it, and the next reconcile would see no transition any more."""

    async def early(ctx: Any) -> None:
        await ctx.status.flush()
        assert ctx.status.get("phase") is None
        await meddle(stand, {"phase": "Late"})
        ctx.status["count"] = 1

    with pytest.raises(Conflict):
        await stand.reconcile(web().reconcile, early)
    assert transitions(stand) == [HEALTHY]


# -- with a manager


class Running:
    """A manager of one component on the stand's server."""

    def __init__(self, stand: Any) -> None:
        self.registry = CollectorRegistry()
        recorder = PrometheusRecorder(self.registry)
        self.before: Any = None

        async def reconcile(ctx: Any) -> None:
            await web(ctx.name, metrics=recorder).reconcile(ctx)
            if self.before is not None:
                action, self.before = self.before, None
                await action(ctx)

        controller = Controller("example.io/v1", "WebApp", reconcile).owns("v1", "ConfigMap")
        self.manager = Manager(controller, client=stand.client, clock=VirtualClock(today=stand.clock.today()), chance=lambda: 0.0)
        self.task: Any = None

    async def start(self) -> None:
        self.task = asyncio.ensure_future(self.manager.serve())
        await settle()

    def shown(self) -> list[tuple[str, str]]:
        """Whose condition the gauge shows, and its reason."""
        [gauge] = [metric for metric in self.registry.collect() if metric.name == "fiferail_component_condition"]
        return [(sample.labels["name"], sample.labels["reason"]) for sample in gauge.samples]


@pytest.fixture
async def running(stand: Any) -> AsyncIterator[Running]:
    """Not started yet."""
    made = Running(stand)
    yield made
    made.manager.stop()
    await settle()
    await made.task


async def test_a_conflict_records_no_second_event_on_the_server(stand: Any, running: Running) -> None:
    """One Event object that stands for one transition, without a series."""

    async def race(ctx: Any) -> None:
        assert ctx.status.get("phase") is None
        await meddle(stand, {"phase": "Late"})

    running.before = race
    await running.start()
    assert await stand.says("WebReady") == ("True", "Healthy")
    events = await stand.outside.list("events.k8s.io/v1", "Event", "default")
    told = [(event["note"], event.get("series")) for event in events if event["reason"] == "Healthy"]
    assert told == [(HEALTHY[1], None)]


async def test_what_is_gone_is_no_longer_shown(stand: Any, running: Running) -> None:
    """Nobody has to say so: the watch shows that the object is gone, and the recorder forgets it, and only it."""
    await stand.outside.create({"apiVersion": "example.io/v1", "kind": "WebApp", "metadata": {"name": "other", "namespace": "default"}})
    await running.start()
    assert running.shown() == [("app", "Healthy"), ("other", "Healthy")]
    await stand.outside.delete(await stand.owner())
    await settle()
    assert running.shown() == [("other", "Healthy")]


async def test_what_goes_while_it_is_reconciled_is_not_shown_either(stand: Any, running: Running) -> None:
    """The write finds nobody: what it said is not counted, and what was counted before is forgotten."""
    await running.start()

    async def vanish(ctx: Any) -> None:
        ctx.status["phase"] = "Going"
        await stand.outside.delete(await stand.owner())

    running.before = vanish
    await stand.respec({"size": 2})
    await settle()
    assert (await stand.outside.list("example.io/v1", "WebApp"), running.shown()) == ([], [])


async def test_a_successor_of_the_same_name_is_shown_as_it_is(stand: Any, running: Running) -> None:
    """What its predecessor said is not mixed in."""
    await running.start()
    first = await stand.owner()
    await stand.outside.delete(first)
    await stand.outside.create({"apiVersion": "example.io/v1", "kind": "WebApp", "metadata": {"name": "app", "namespace": "default"}})
    await settle()
    assert (await stand.owner())["metadata"]["uid"] != first["metadata"]["uid"]
    assert running.shown() == [("app", "Healthy")]
