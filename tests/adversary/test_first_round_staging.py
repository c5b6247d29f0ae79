"""Views, outcomes and arguments: what is staged is looked at freely, what is gone is `gone`, and no argument is ignored."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import fiferail

from .conftest import API, World

# -- looking at what the session itself staged


def test_a_staged_map_is_no_conflict_after_a_refusal(world: World) -> None:
    """A member is added to a map that was staged where nothing stood; the server refuses once; both are written."""
    body = world.object(phase="A")
    world.server.faults.next(verb="patch", kind="Probe", answer=409)
    with world.writer().session(body) as status:
        status["net"] = {"ip": "1"}
        status["net"]["mask"] = "2"
    assert world.status()["net"] == {"ip": "1", "mask": "2"}


def test_a_staged_map_is_no_conflict_in_a_second_session(world: World) -> None:
    """So it is when the body is older than the writer's own last write."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body) as status:
        status["n"] = 1
    with writer.session(body) as status:
        status["net"] = {"ip": "1"}
        status["net"]["mask"] = "2"
    assert world.status()["net"] == {"ip": "1", "mask": "2"}


def test_a_staged_map_is_no_conflict_after_a_flush(world: World) -> None:
    """So it is after a flush in the same session, also when the map's truth is asked for."""
    body = world.object(phase="A")
    with world.writer().session(body) as status:
        status["n"] = 1
        status.flush()
        status["net"] = {"ip": "1"}
        if status["net"]:
            status["net"]["mask"] = "2"
    assert world.status()["net"] == {"ip": "1", "mask": "2"}


def test_a_map_that_was_looked_at_and_removed_is_no_conflict_after_a_flush(world: World) -> None:
    """The session's own removal is not a change of what it read."""
    body = world.object(plan={"id": 1})
    with world.writer().session(body) as status:
        if status.get("plan"):
            del status["plan"]
        status.flush()
        status["n"] = 1
    assert world.status() == {"n": 1}


# -- objects that are gone


def test_a_session_goes_on_after_a_flush_that_said_gone(world: World) -> None:
    """Staging after it is no crash; the end says gone again."""
    body = world.object(phase="A")
    world.client.delete(body)
    with world.writer().session(body) as status:
        status["n"] = 1
        assert status.flush().kind == "gone"
        status["count"] = 2
    assert status.outcome is not None
    assert status.outcome.kind == "gone"


async def test_tasks_that_wait_behind_a_write_to_a_deleted_object_learn_that_it_is_gone(world: World) -> None:
    """Three tasks share a writer and flush at the same time: each outcome is gone."""
    body = await asyncio.to_thread(world.object, phase="A")
    async with fiferail.connect_async(world.server.kubeconfig) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="me")
        async with writer.session(body) as status:
            status["n"] = 0
        assert status.outcome is not None
        newest = status.outcome.object
        await asyncio.to_thread(world.client.delete, body)

        async def report(name: str) -> Any:
            async with writer.session(newest) as status:
                status["net"] = {name: 1}
            return status.outcome

        outcomes = await asyncio.gather(*map(report, "abc"))
    assert [outcome.kind for outcome in outcomes] == ["gone", "gone", "gone"]


def test_threads_that_write_to_a_deleted_object_learn_that_it_is_gone(world: World) -> None:
    """The same with threads, in whatever order they run."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body) as status:
        status["n"] = 0
    assert status.outcome is not None
    newest = status.outcome.object
    world.client.delete(body)
    seen: list[str] = []
    start = threading.Barrier(3)

    def report(name: str) -> None:
        start.wait()
        try:
            with writer.session(newest) as status:
                status["net"] = {name: 1}
            assert status.outcome is not None
            seen.append(str(status.outcome.kind))
        except Exception as failure:
            seen.append(repr(failure))

    threads = [threading.Thread(target=report, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["gone", "gone", "gone"]


# -- views of list entries


@pytest.mark.parametrize("index", [1, -1], ids=["by index", "from the end"])
def test_a_view_of_an_entry_that_has_moved_is_refused(world: World, index: int) -> None:
    """A list without keys loses an entry: a view that was taken before would write into another one, so it is an error."""
    body = world.object(rows=[{"a": 1}, {"a": 2}])
    with world.writer().session(body) as status:
        row = status["rows"][index]
        del status["rows"][0]
        with pytest.raises(fiferail.FiferailError) as caught:
            row["seen"] = True
        status["rows"][0]["seen"] = True
    what = "status.rows[1] was taken before entries of status.rows came, went or changed places: take it again"
    assert str(caught.value) == what
    assert world.status()["rows"] == [{"a": 2, "seen": True}]


# -- APPLY


def test_apply_keeps_what_another_replica_applied(world: World) -> None:
    """Two replicas with one field manager and one body: the second does not remove the first one's field."""
    body = world.object(phase="A")
    one, two = (world.writer(strategy=fiferail.APPLY) for _ in range(2))
    with two.session(body) as status:
        status["count"] = 2
    with one.session(body) as status:
        status["n"] = 3
    assert world.status() == {"phase": "A", "count": 2, "n": 3}


def test_apply_does_not_write_to_a_recreated_object(world: World) -> None:
    """The object was deleted and made again under its name: the outcome is gone, and the new one has no status."""
    body = world.object(phase="A")
    world.client.delete(body)
    metadata = {"name": world.name, "namespace": "default"}
    world.client.create({"apiVersion": API, "kind": "Probe", "metadata": metadata, "spec": {}})
    with world.writer(strategy=fiferail.APPLY).session(body) as status:
        status["summary"] = "of the deleted one"
    assert status.outcome is not None
    assert (status.outcome.kind, world.status()) == ("gone", None)


# -- arguments and reports


def test_a_guard_with_merge_is_refused(world: World) -> None:
    """MERGE tests nothing, so a guard would be ignored: an error before anything is staged, for each call that takes both."""
    body = world.object({"size": 1}, phase="A")
    writer = world.writer(strategy=fiferail.MERGE)
    what = "expected no guard= with MERGE, which tests nothing: use COMPARE or LOCKED"
    with pytest.raises(ValueError, match=what):
        writer.session(body, guard=["spec.size"])
    with pytest.raises(ValueError, match=what):
        writer.mutate(body, lambda status: status.__setitem__("n", 1), guard=["spec.size"])
    with pytest.raises(ValueError, match=what):
        world.writer().session(body, guard=["spec.size"], strategy=fiferail.MERGE)
    assert world.status() == {"phase": "A"}


def test_a_guard_with_apply_is_tested(world: World) -> None:
    """The guarded spec has changed since the caller's object: APPLY does not write."""
    body = world.object({"size": 1}, phase="A")
    world.respec(size=9)
    with pytest.raises(fiferail.Conflict) as caught, world.writer(strategy=fiferail.APPLY).session(body, guard=["spec.size"]) as status:
        status["n"] = body["spec"]["size"]
    assert "spec.size  was 1, is now 9 (written by user), and this write depended on it" in str(caught.value)
    assert world.status() == {"phase": "A"}


def test_create_once_reports_what_the_server_dropped(world: World) -> None:
    """A staged field that the schema lacks goes along with the plan: the plan's outcome names it."""
    body = world.object(phase="A")
    with world.writer().session(body) as status:
        status["unknown"] = 1
        made = status.create_once("plan", lambda _: {"id": 1}, fence="lastPlan")
    assert (made.created, made.outcome.altered) == (True, ("status.unknown",))
    assert world.status() == {"phase": "A", "plan": {"id": 1}}


def test_the_object_of_a_session_is_not_its_staged_tree_for_another_write(world: World) -> None:
    """A value that is only staged is not on the server: another write through `status.object` sends it."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body, on_error="discard") as status:
        status["phase"] = "B"
        outcome = writer.mutate(status.object, lambda other: other.__setitem__("phase", "B"))
        assert (outcome.kind, world.status()["phase"]) == ("applied", "B")
