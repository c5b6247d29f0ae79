"""Watches: whatever the server does, the cache comes to the truth again and nothing is missed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from fiferail import Context, Controller
from fiferail.apiserver.aims import Verb
from fiferail.apiserver.faults import Spoilt
from fiferail.controllers.clock import settle

from .conftest import API, World, crd


async def mark(ctx: Context) -> None:
    """Says in the status which spec was seen."""
    ctx.status["count"] = ctx.object["spec"]["size"]


def sizes(world: World) -> dict[str, Any]:
    """What the statuses say."""
    return {obj["metadata"]["name"]: (obj.get("status") or {}).get("count") for obj in world.client.list(API, "Gadget")}


async def test_a_crd_that_is_not_installed_is_waited_for(bare: World, caplog: pytest.LogCaptureFixture) -> None:
    """Told once, and when it appears everything goes on; other controllers are not held up."""
    bare.client.create(crd("Widget"))
    seen = []

    async def other(ctx: Context) -> None:
        seen.append(ctx.name)

    manager = await bare.start(Controller(API, "Gadget", mark), Controller(API, "Widget", other))
    bare.make("w", "Widget")
    await bare.clock.advance(60)
    assert caplog.text.count("Gadget of example.io/v1 is not served yet (is its CRD installed?); waiting for it") == 1
    assert (manager.ready, seen) == (False, ["w"])
    bare.client.create(crd("Gadget"))
    bare.make("a", spec={"size": 3})
    await bare.clock.advance(11)
    assert (manager.ready, sizes(bare)) == (True, {"a": 3})


async def test_a_missing_right_is_told_and_tried_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Once it is granted, everything goes on."""
    world.make("a", spec={"size": 3})
    world.faults.next(verb="list", kind="Gadget", answer=403, times=5)
    await world.start(Controller(API, "Gadget", mark))
    assert "may not list or watch Gadget of example.io/v1; grant it and it goes on" in caplog.text
    await world.clock.advance(60)
    assert sizes(world) == {"a": 3}


@pytest.mark.parametrize("answer", [410, 429, 500, 503, "lost"], ids=str)
@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_server_in_trouble_is_asked_again(world: World, verb: Verb, answer: int | Spoilt) -> None:
    """Three bad answers in a row, then it works again: nothing that happened meanwhile is missed."""
    world.make("a", spec={"size": 1})
    world.faults.next(verb=verb, kind="Gadget", answer=answer, times=3)
    await world.start(Controller(API, "Gadget", mark))
    world.make("b", spec={"size": 2})
    await world.clock.advance(10)
    assert sizes(world) == {"a": 1, "b": 2}


async def test_a_restart_of_the_server_misses_nothing(world: World) -> None:
    """Every stream ends; what changed while nobody watched is seen."""
    obj = world.make("a", spec={"size": 1})
    line = world.line()
    await world.start(Controller(API, "Gadget", mark), line=line)
    line.cut = True
    world.restart()
    await settle()
    world.client.patch(obj, {"spec": {"size": 5}})
    world.make("b", spec={"size": 2})
    await world.clock.advance(30)
    assert sizes(world) == {"a": 1, "b": None}
    line.cut = False
    await world.clock.advance(11)
    assert sizes(world) == {"a": 5, "b": 2}


async def test_a_watch_that_the_server_has_forgotten_is_listed_anew(world: World) -> None:
    """410: what was deleted meanwhile is gone from the cache, what is new is reconciled, what is unchanged is left alone."""
    reconciled: list[str] = []

    async def reconcile(ctx: Context) -> None:
        reconciled.append(ctx.name)

    for name in ("stays", "goes"):
        world.make(name)
    line = world.line()
    manager = await world.start(Controller(API, "Gadget", reconcile), line=line)
    line.cut = True
    world.restart()
    await settle()
    world.client.delete(world.get("goes"))
    world.make("comes")
    world.machine.compact()
    reconciled.clear()
    line.cut = False
    await world.clock.advance(11)
    assert reconciled == ["comes"]
    assert sorted(key[1] for key in manager.caches.of(API, "Gadget").keys()) == ["comes", "stays"]  # noqa: SIM118


async def test_a_server_that_hangs_up_at_once_is_not_called_in_a_loop(world: World) -> None:
    """Pauses grow until the watch holds."""
    line = world.line()
    world.faults.next(verb="watch", kind="Gadget", answer="dropped", times=1000)
    await world.start(Controller(API, "Gadget", mark), line=line)
    await world.clock.advance(60)
    assert len(line.sent) < 25
    world.faults.clear()
    world.make("a", spec={"size": 1})
    await world.clock.advance(11)
    assert sizes(world) == {"a": 1}


async def test_a_slow_server_slows_nothing_but_its_answers(world: World) -> None:
    """Each status write takes ten seconds: four workers write four at a time, and no write is repeated."""
    for number in range(8):
        world.make(f"a{number}", spec={"size": number})
    line = world.line()
    line.delay = lambda request: 10.0 if request.method == "PATCH" else 0.0
    await world.start(Controller(API, "Gadget", mark, concurrency=4), line=line)
    await world.clock.advance(10)
    assert len([size for size in sizes(world).values() if size is not None]) == 4
    await world.clock.advance(10)
    assert sizes(world) == {f"a{number}": number for number in range(8)}
    assert len(line.writes) == 8


async def test_an_answer_that_never_comes_is_given_up_and_asked_for_again(world: World) -> None:
    """The write had landed although its answer was lost: it is not written twice."""
    obj = world.make("a", spec={"size": 7})
    world.faults.next(verb="patch", kind="Gadget", answer="lost")
    await world.start(Controller(API, "Gadget", mark))
    await world.clock.advance(5)
    assert sizes(world) == {"a": 7}
    assert int(world.get("a")["metadata"]["resourceVersion"]) == int(obj["metadata"]["resourceVersion"]) + 1


@pytest.mark.parametrize("answer", [409, 429, 500, 503, "lost"], ids=str)
@pytest.mark.parametrize(("times", "told"), [(3, False), (40, True)], ids=["for a moment", "for long"])
async def test_a_write_that_fails_is_tried_again(
    world: World, answer: int | Spoilt, times: int, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A moment's trouble nobody hears of; a long one is logged, the reconcile comes back, and in the end it is written."""
    world.make("a", spec={"size": 4})
    world.faults.next(verb="patch", kind="Gadget", answer=answer, times=times)
    await world.start(Controller(API, "Gadget", mark))
    await world.clock.advance(600)
    assert sizes(world) == {"a": 4}
    landed = answer == "lost"  # and the next look shows it
    assert any(record.levelname == "ERROR" for record in caplog.records) is (told and not landed)


async def test_only_the_named_namespaces_are_watched(world: World) -> None:
    """And a list of one says nothing of the other."""
    for namespace in ("one", "two", "three"):
        world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        world.make("a", metadata={"namespace": namespace}, spec={"size": 1})
    manager = await world.start(Controller(API, "Gadget", mark), namespaces=["one", "two"])
    world.restart()
    world.machine.compact()
    await world.clock.advance(11)
    assert sorted(manager.caches.of(API, "Gadget").keys()) == [("one", "a"), ("two", "a")]
    assert sorted(obj["metadata"]["namespace"] for obj in world.client.list(API, "Gadget") if obj.get("status")) == ["one", "two"]


async def test_two_managers_without_leader_election_lose_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Both write the same field of the same objects, each from its own cache."""

    async def count(ctx: Context) -> None:
        if ctx.status.get("count", 0) < ctx.object["spec"]["size"]:
            ctx.status["count"] = ctx.status.get("count", 0) + 1

    objects = [world.make(f"a{number}", spec={"size": 3}) for number in range(4)]
    for agent in ("one", "two"):
        await world.start(Controller(API, "Gadget", count), line=world.line(agent))
    await world.clock.advance(5)
    for obj in objects:
        world.client.patch(obj, {"spec": {"size": 6}})
    await world.clock.advance(5)
    assert set(sizes(world).values()) == {6}
    assert world.watchman.lost() == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("request_number", range(6))
async def test_a_process_killed_at_any_request_is_followed_by_one_that_recovers(world: World, request_number: int) -> None:
    """The n-th request of the first process never comes back to it; the second process brings everything to its end."""
    for number in range(3):
        world.make(f"a{number}", spec={"size": number})
    line = world.line("first")
    line.delay = lambda request: 1e9 if len(line.sent) == request_number else 0.0
    manager = await world.start(Controller(API, "Gadget", mark, concurrency=1), line=line)
    await world.crash(manager)
    await world.start(Controller(API, "Gadget", mark), line=world.line("second"))
    await world.clock.advance(1)
    assert sizes(world) == {"a0": 0, "a1": 1, "a2": 2}
    assert world.watchman.lost() == []


async def test_managed_fields_are_not_kept_in_the_cache(world: World) -> None:
    """They are often the larger half of an object, and nobody decides on them."""
    world.make("a", spec={"size": 1})
    manager = await world.start(Controller(API, "Gadget", mark))
    await world.clock.advance(1)
    assert "managedFields" not in next(iter(manager.caches.of(API, "Gadget")))["metadata"]
