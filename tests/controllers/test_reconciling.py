"""Reconciles: one flush each, whatever happens in them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from fiferail import Context, Controller
from fiferail.controllers.clock import settle
from fiferail.errors import FiferailError

from .conftest import API, World, crd


async def ready(ctx: Context) -> None:
    """The simplest reconcile."""
    ctx.status.conditions.set("Ready", True, reason="AllUp")


def condition(obj: Any, type: str = "Ready") -> Any:
    """A condition of an object, or None."""
    found = [entry for entry in (obj.get("status") or {}).get("conditions", []) if entry["type"] == type]
    return found[0] if found else None


async def test_every_object_gets_one_write_and_then_none(world: World) -> None:
    """What is there and what comes later is reconciled; a reconcile that changes nothing sends no request at all."""
    world.make("a")
    line = world.line()
    manager = await world.start(Controller(API, "Gadget", ready), line=line)
    world.make("b")
    await settle()
    assert [condition(world.get(name))["status"] for name in "ab"] == ["True", "True"]
    assert len(line.writes) == 2
    before = len(line.sent)
    for name in "ab":
        manager.running[0].add(("default", name))
    await settle()
    assert len(line.sent) == before


async def test_a_reconcile_that_raises_still_says_so_and_comes_back(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """What was staged is flushed, the error is logged, and the next try comes after the backoff."""
    tries = []

    async def reconcile(ctx: Context) -> None:
        tries.append(world.clock.now())
        ctx.status.conditions.set("Ready", False, reason="Error", message=f"try {len(tries)}")
        if len(tries) < 3:
            raise RuntimeError("the disk is full")
        ctx.status.conditions.set("Ready", True, reason="AllUp")

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert condition(world.get("a"))["message"] == "try 1"
    await world.clock.advance(1)
    assert condition(world.get("a"))["status"] == "True"
    assert "Gadget default/a failed, again in 0.0 s: the disk is full" in caplog.text


async def test_neither_error_masks_the_other(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """When the reconcile and its flush both fail, both are told."""

    async def reconcile(ctx: Context) -> None:
        ctx.status["count"] = "no number"
        raise RuntimeError("the disk is full")

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    record = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert record.exc_info is not None
    error = record.exc_info[1]
    assert isinstance(error, RuntimeError)
    assert "status could not be written" in error.__notes__[0]
    assert "status.count" in error.__notes__[0]


async def test_a_flush_that_fails_is_an_error_of_the_reconcile(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """And what was to be done after the flush is not done."""
    counted = []

    async def reconcile(ctx: Context) -> None:
        ctx.after_flush(lambda: counted.append(1))
        ctx.status["count"] = 1

    world.make("a")
    world.faults.next(verb="patch", kind="Gadget", answer=403)
    await world.start(Controller(API, "Gadget", reconcile))
    assert "Gadget default/a failed" in caplog.text
    assert counted == []
    await world.clock.advance(0.01)
    assert (world.get("a")["status"], set(counted)) == ({"count": 1}, {1})


async def test_a_reconcile_that_hangs_is_stopped_and_does_not_hold_up_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Each has its time."""

    async def reconcile(ctx: Context) -> None:
        ctx.status["phase"] = "Trying"
        if ctx.name == "hangs":
            await asyncio.Event().wait()
        ctx.status["phase"] = "Done"

    world.make("hangs")
    world.make("runs")
    await world.start(Controller(API, "Gadget", reconcile, timeout=20, concurrency=2))
    assert world.get("runs")["status"] == {"phase": "Done"}
    await world.clock.advance(20)
    assert world.get("hangs")["status"] == {"phase": "Trying"}
    assert "the reconcile took longer than 20 s and was stopped" in caplog.text


async def test_a_timeout_of_the_reconciles_own_is_not_ours(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A TimeoutError that the reconcile raises is told as it is."""

    async def reconcile(ctx: Context) -> None:
        raise TimeoutError("the database did not answer")

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert "the database did not answer" in caplog.text
    assert "took longer" not in caplog.text


@pytest.mark.parametrize("nonsense", ["soon", True, -1, float("nan"), float("inf"), {"requeue": 5}], ids=str)
async def test_a_reconcile_that_returns_nonsense_is_told_what_was_expected(
    world: World, caplog: pytest.LogCaptureFixture, nonsense: Any
) -> None:
    """Only None and seconds mean something."""

    async def reconcile(ctx: Context) -> Any:
        return nonsense

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert f"expected a reconcile to return None or the seconds after which to come back, got {nonsense!r}" in caplog.text


async def test_a_reconcile_comes_back_after_the_seconds_that_it_returns(world: World) -> None:
    """Not before, and not when it returns None."""
    times = []

    async def reconcile(ctx: Context) -> float | None:
        times.append(world.clock.now())
        return 60 if len(times) < 3 else None

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    await world.clock.advance(1000)
    assert times == [0, 60, 120]


async def test_a_conflict_is_quiet_and_the_next_try_begins_with_the_live_object(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A foreign writer changes what was read: the reconcile runs again, on what is there now."""
    seen = []

    async def reconcile(ctx: Context) -> None:
        seen.append(ctx.object["status"].get("phase"))
        if len(seen) == 1:
            world.client.patch(world.get("a"), {"status": {"phase": "Foreign"}}, subresource="status")
        ctx.status["count"] = len(seen[-1] or "")

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    await world.clock.advance(1)
    assert seen[:2] == [None, "Foreign"]
    assert world.get("a")["status"] == {"phase": "Foreign", "count": 7}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert world.watchman.lost() == []


async def test_a_conflict_teaches_what_the_watch_has_not_shown_yet(world: World) -> None:
    """The watch lags far behind: the second try begins with the object that the first one ran into, and succeeds."""
    seen: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        seen.append(ctx.object["status"].get("phase"))
        if len(seen) == 1:
            world.client.patch(world.get("a"), {"status": {"phase": "Foreign"}}, subresource="status")
        ctx.status["count"] = len(seen)

    world.make("a")
    world.faults.next(verb="watch", kind="Gadget", answer="lagging", behind=100)
    await world.start(Controller(API, "Gadget", reconcile))
    await world.clock.advance(1)
    assert seen == [None, "Foreign"]
    assert world.get("a")["status"] == {"phase": "Foreign", "count": 2}


async def test_a_conflict_on_every_write_becomes_an_error_in_the_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody fights for the field: that is worth knowing, and nothing of his is lost."""

    async def reconcile(ctx: Context) -> None:
        read = ctx.status.get("count", 0)
        world.client.patch(world.get("a"), {"status": {"count": read + 1}}, subresource="status")
        ctx.status["count"] = -1

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile, name="loser"))
    await world.clock.advance(2)
    assert "was decided on what has changed since (5 in a row)" in caplog.text
    assert 5 < world.get("a")["status"]["count"] < 15
    assert world.watchman.lost() == []


async def test_an_object_deleted_while_reconciling_ends_quietly(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Its status has nowhere to go, and whatever failed for that reason is no error."""

    async def reconcile(ctx: Context) -> None:
        ctx.status["phase"] = "Running"
        world.client.delete(world.get("a"))
        raise RuntimeError("it was there a moment ago")

    world.make("a")
    manager = await world.start(Controller(API, "Gadget", reconcile))
    await world.clock.advance(10)
    assert caplog.text == ""
    assert (len(manager.running[0].queue), manager.running[0].queue.next_due()) == (0, None)


async def test_one_object_is_reconciled_by_one_worker_at_a_time(world: World) -> None:
    """Changes that come meanwhile bring it back once."""
    working: list[str] = []
    most = 0

    async def reconcile(ctx: Context) -> None:
        nonlocal most
        assert ctx.name not in working
        working.append(ctx.name)
        most = max(most, len(working))
        await world.clock.sleep(1)
        working.remove(ctx.name)

    for name in "abc":
        world.make(name)
    manager = await world.start(Controller(API, "Gadget", reconcile, concurrency=3))
    for _ in range(5):
        manager.running[0].add(("default", "a"))
    await world.clock.advance(1)
    assert working == ["a"]
    await world.clock.advance(1)
    assert (working, most) == ([], 3)


async def test_reading_the_status_through_the_object_counts_as_reading_it(world: World) -> None:
    """Either way the decision stands on it."""
    paths: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        ctx.object["status"].get("phase")
        paths.extend(ctx._stage.reads)

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert paths == [("status", "phase")]


async def test_the_object_is_read_only(world: World) -> None:
    """Its status says where changes go; the rest is a copy."""
    errors: list[str] = []

    async def reconcile(ctx: Context) -> None:
        ctx.object["spec"]["size"] = 99
        changes: list[Callable[[], object]] = [
            lambda: ctx.object["status"].__setitem__("phase", "x"),
            lambda: ctx.object["status"]["conditions"].append({}),
            lambda: ctx.object["status"]["conditions"][0].__setitem__("type", "x"),
            lambda: ctx.object["status"].clear(),
        ]
        for change in changes:
            with pytest.raises(TypeError) as refused:
                change()
            errors.append(str(refused.value))

    made = world.make("a", spec={"size": 1})
    world.client.patch(made, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    manager = await world.start(Controller(API, "Gadget", reconcile))
    assert errors == ["the object is what was read, and read-only; stage changes on the status"] * 4
    assert next(iter(manager.caches.of(API, "Gadget")))["spec"] == {"size": 1}


async def test_own_writes_are_seen_at_once(world: World) -> None:
    """Created, patched and deleted through ctx: the cache shows it before the watch does."""
    seen: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        if ctx.name != "a" or seen:
            return
        made = await ctx.client.create({"apiVersion": API, "kind": "Gadget", "metadata": {"name": "made", "namespace": "default"}})
        seen.append(ctx.cache.get(API, "Gadget", "made", "default") is made)
        await ctx.client.patch(made, {"spec": {"size": 2}})
        seen.append([obj["spec"] for obj in ctx.cache.list(API, "Gadget") if obj["metadata"]["name"] == "made"])
        await ctx.client.delete(made)
        seen.append([obj["metadata"]["name"] for obj in ctx.cache.list(API, "Gadget")])
        await ctx.writer.add_finalizer(ctx.snapshot, "example.io/f")
        seen.append([obj["metadata"]["finalizers"] for obj in ctx.cache.list(API, "Gadget")])

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert seen == [True, [{"size": 2}], ["a"], [["example.io/f"]]]


async def test_owned_and_watched_objects_bring_back_their_owner(world: World) -> None:
    """An owner by its controller reference; a watched object by its mapper, before and after its change."""
    reconciled: list[str] = []

    async def reconcile(ctx: Context) -> None:
        reconciled.append(ctx.name)

    def users(obj: Any) -> list[tuple[str, str]]:
        return [("default", obj["metadata"]["labels"]["for"])]

    owners = {name: world.make(name) for name in "abc"}
    controller = Controller(API, "Gadget", reconcile).owns("v1", "ConfigMap").watches("v1", "Secret", users)
    await world.start(controller)
    reconciled.clear()
    reference = {"apiVersion": API, "kind": "Gadget", "name": "a", "uid": owners["a"]["metadata"]["uid"], "controller": True}
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default", "ownerReferences": [reference]}}
    world.client.create(owned)
    await settle()
    assert reconciled == ["a"]
    labelled = {"name": "s", "namespace": "default", "labels": {"for": "b"}}
    secret = world.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": labelled})
    await settle()
    world.client.patch(secret, {"metadata": {"labels": {"for": "c"}}})
    await settle()
    assert reconciled == ["a", "b", "b", "c"]


async def test_a_mapper_that_fails_is_told_of_and_ends_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The watch goes on."""

    async def reconcile(ctx: Context) -> None:
        ctx.status["phase"] = "Seen"

    await world.start(Controller(API, "Gadget", reconcile).watches("v1", "Secret", lambda obj: [obj["nothing"]]))
    world.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}})
    await settle()
    world.make("a")
    await settle()
    assert "failed on ('default', 's')" in caplog.text
    assert world.get("a")["status"] == {"phase": "Seen"}


async def test_indexes_find_objects_by_what_they_say(world: World) -> None:
    """An index is asked through ctx.cache."""
    found: list[list[str]] = []

    async def reconcile(ctx: Context) -> None:
        found.append([obj["metadata"]["name"] for obj in ctx.cache.by(API, "Gadget", "size", 2)])

    world.make("a", spec={"size": 2})
    world.make("b", spec={"size": 3})
    controller = Controller(API, "Gadget", reconcile).index(API, "Gadget", "size", lambda obj: [obj["spec"]["size"]])
    await world.start(controller)
    assert found == [["a"], ["a"]]


async def test_a_kind_that_is_not_watched_is_named(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The error says what to add."""

    async def reconcile(ctx: Context) -> None:
        ctx.cache.list("v1", "Secret")

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert "Secret of v1 is not watched: add .owns() or .watches() to the controller, or read it with ctx.client" in caplog.text


async def test_a_claim_of_another_controller_is_refused_before_anything_is_sent(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Controllers of one manager share a registry of claims."""

    async def foreign(ctx: Context) -> None:
        ctx.status["phase"] = "Mine"

    world.make("a")
    line = world.line()
    owner = Controller(API, "Gadget", ready, name="owner", claims=["phase"])
    await world.start(owner, Controller(API, "Gadget", foreign, name="thief"), line=line)
    assert "thief-controller may not write status.phase of Gadget.example.io: owner-controller has claimed status.phase" in caplog.text
    assert "phase" not in world.get("a")["status"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"api_version": "", "kind": "Gadget"}, "expected an apiVersion and a kind, got '' and 'Gadget'"),
        ({"reconcile": lambda ctx: None}, "expected reconcile to be an `async def`, got"),
        ({"concurrency": 0}, "expected a concurrency of at least 1, got 0"),
        ({"timeout": 0}, "expected a timeout of more than 0 seconds, or None for none, got 0"),
    ],
    ids=["no apiVersion", "not async", "no workers", "no time"],
)
def test_a_controller_that_cannot_run_is_refused_when_it_is_made(arguments: dict[str, Any], text: str) -> None:
    """Not when it runs."""
    given: dict[str, Any] = {"api_version": API, "kind": "Gadget", "reconcile": ready, **arguments}
    with pytest.raises(FiferailError) as refused:
        Controller(**given)
    assert str(refused.value).startswith(text)


async def test_a_cluster_scoped_owner_is_found_from_a_namespaced_object(bare: World) -> None:
    """Its key has no namespace, whatever the owned object's is."""
    cluster = crd("Fleet")
    cluster["spec"]["scope"] = "Cluster"
    bare.client.create(cluster)
    reconciled: list[str] = []

    async def reconcile(ctx: Context) -> None:
        reconciled.append(ctx.namespace + "/" + ctx.name)

    owner = bare.client.create({"apiVersion": API, "kind": "Fleet", "metadata": {"name": "f"}})
    await bare.start(Controller(API, "Fleet", reconcile).owns("v1", "ConfigMap"))
    reference = {"apiVersion": API, "kind": "Fleet", "name": "f", "uid": owner["metadata"]["uid"], "controller": True}
    bare.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default", "ownerReferences": [reference]}}
    )
    await settle()
    assert reconciled == ["/f", "/f"]
