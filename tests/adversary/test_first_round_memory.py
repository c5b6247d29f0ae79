"""What a writer remembers of its own writes, on one body that is passed again and again: never a decision's base, never a reason to
skip a write that is needed, never a conflict with itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fiferail

from .conftest import World

FINALIZER = "adversary.example.io/held"
Z, X = {"kind": "a", "name": "z"}, {"kind": "a", "name": "x"}


# -- what was there already


def test_a_converged_write_knows_only_what_it_asserted(world: World) -> None:
    """A member that another writer put beside the asserted ones was never seen: the next session does not overwrite it."""
    body = world.object(workloads=[Z])
    writer = world.writer()
    world.other(workloads=[Z, {**X, "count": 5}])
    with writer.session(body) as status:
        status["workloads"] = [Z, X]
    assert status.outcome is not None
    assert status.outcome.kind == "converged"
    with pytest.raises(fiferail.Conflict) as caught, writer.session(body) as status:
        status["workloads"] = [Z, {**X, "count": 1}]
    assert 'is now [{"kind":"a","name":"z"},{"count":5,"kind":"a","name":"x"}] (written by other)' in str(caught.value)
    assert world.status()["workloads"] == [Z, {**X, "count": 5}]


def test_a_locked_session_is_refused_after_a_converged_flush(world: World) -> None:
    """A flush that found everything there does not move the precondition of LOCKED to a version that the caller never saw."""
    body = world.object(phase="A", n=0)
    world.other(phase="B", n=1)
    writer = world.writer(strategy=fiferail.LOCKED)
    with pytest.raises(fiferail.Conflict, match="changed while this write was being decided"), writer.session(body) as status:
        status["n"] = 1
        status.flush()
        status["summary"] = "phase is " + body["status"]["phase"]
    assert world.status() == {"phase": "B", "n": 1}


def test_a_second_locked_session_is_refused_after_a_converged_one(world: World) -> None:
    """So it is for the next session on the same body."""
    body = world.object(phase="A", n=0)
    writer = world.writer(strategy=fiferail.LOCKED)
    world.other(phase="B", n=1)
    with pytest.raises(fiferail.Conflict, match="changed while this write was being decided"):
        with writer.session(body) as status:
            status["n"] = 1
        with writer.session(body) as status:
            status["summary"] = "phase is " + body["status"]["phase"]
    assert world.status() == {"phase": "B", "n": 1}


# -- writes that look unnecessary on the passed body


def test_a_finalizer_that_was_just_added_is_removed(world: World) -> None:
    """The body does not have it, the writer's own last answer does: removing it is a write."""
    body = world.object()
    writer = world.writer()
    assert writer.add_finalizer(body, FINALIZER).kind == "applied"
    assert writer.remove_finalizer(body, FINALIZER).kind != "unchanged"
    assert not world.get()["metadata"].get("finalizers")


def test_a_finalizer_that_was_just_removed_is_added(world: World) -> None:
    """The body has it, the writer's own last answer does not: adding it is a write."""
    world.object()
    writer = world.writer()
    writer.add_finalizer(world.get(), FINALIZER)
    body = world.get()
    writer.remove_finalizer(body, FINALIZER)
    writer.add_finalizer(body, FINALIZER)
    assert world.get()["metadata"]["finalizers"] == [FINALIZER]
    writer.remove_finalizer(world.get(), FINALIZER)  # or the server could not be cleaned up


def test_a_pop_of_what_an_own_write_put_there_is_a_conflict(world: World) -> None:
    """`pop` looks: the body shows nothing, this writer put something there, and the error says which object to pass."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body) as status:
        status["plan"] = {"id": 1}
    with pytest.raises(fiferail.Conflict) as caught, writer.session(body) as status:
        status.pop("plan", None)
    assert 'status.plan  was absent, is now {"id":1} (written by me), and this write depended on it' in str(caught.value)
    assert "This writer changed it itself: pass `outcome.object` of that write" in str(caught.value)
    assert world.status()["plan"] == {"id": 1}


def test_a_pop_by_mutate_removes_what_an_own_write_put_there(world: World) -> None:
    """A function is run again on the live object, where there is something to pop."""
    body = world.object(phase="A")
    writer = world.writer()
    writer.mutate(body, lambda status: status.__setitem__("plan", {"id": 1}))
    outcome = writer.mutate(body, lambda status: status.pop("plan", None))
    assert (outcome.kind != "unchanged", "plan" in world.status()) == (True, False)


def test_a_value_set_twice_back_to_what_was_read_is_written(world: World) -> None:
    """Two assignments that end in the body's value are one assignment of it, which the writer's own newer write makes necessary."""
    body = world.object(phase="C")
    writer = world.writer()
    with writer.session(body) as status:
        status["phase"] = "D"
    with writer.session(body) as status:
        status["phase"] = "working"
        status["phase"] = "C"
    assert world.status()["phase"] == "C"


def test_a_value_set_twice_over_a_foreign_one_is_a_conflict(world: World) -> None:
    """An answer has shown another writer's value: assigning the body's value does not pass as unchanged."""
    body = world.object(phase="A", n=0)
    writer = world.writer()
    world.other(phase="C")
    with writer.session(body) as status:
        status["n"] = 1
    with pytest.raises(fiferail.Conflict) as caught, writer.session(body) as status:
        status["phase"] = "working"
        status["phase"] = "A"
    assert 'status.phase  was "A", is now "C" (written by other)' in str(caught.value)
    assert world.status()["phase"] == "C"


def test_a_number_that_was_lowered_is_raised_again(world: World) -> None:
    """`raise_to` looks unnecessary on the body and is not: an answer has shown a lower number."""
    body = world.object(observedGeneration=5, n=0)
    writer = world.writer()
    world.other(observedGeneration=3)
    with writer.session(body) as status:
        status["n"] = 1
    with writer.session(body) as status:
        status.raise_to("observedGeneration", 5)
    assert world.status()["observedGeneration"] == 5


class Typed:
    """An object as a client with models returns it."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    def to_dict(self) -> Any:
        """The tree."""
        return self._tree


def test_so_it_is_for_an_object_of_a_typed_client(world: World) -> None:
    """A typed object is read again before the write: what the writer's own answer contradicts is still written."""
    body = world.object(observedGeneration=41, n=0)
    writer = world.writer()
    world.other(observedGeneration=4)
    with writer.session(body) as status:
        status["n"] = 1
    with writer.session(Typed(body)) as status:
        status.raise_to("observedGeneration", 7)
    assert world.status()["observedGeneration"] == 7


def test_a_map_assigned_after_an_own_one_replaces_it(world: World) -> None:
    """The second assignment of a map on one body leaves nothing of the first."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body) as status:
        status["net"] = {"a": 1, "b": 1}
    with writer.session(body) as status:
        status["net"] = {"b": 2}
    assert world.status()["net"] == {"b": 2}


# -- sessions in a row


def test_a_lost_answer_is_no_conflict_of_the_next_session(world: World) -> None:
    """A write whose answer was lost and that was found to have landed is an own write like any other."""
    body = world.object(n=0)
    writer = world.writer(sleep=lambda _: None)
    with writer.session(body) as status:
        status["n"] = 1
    world.server.faults.next(verb="patch", kind="Probe", answer="lost")
    with writer.session(body) as status:
        status["n"] = 2
    assert status.outcome is not None
    assert status.outcome.kind == "converged"
    with writer.session(body) as status:
        status["n"] = 3
    assert world.status()["n"] == 3


def test_forty_sessions_on_one_body_finish(world: World) -> None:
    """A progress loop is not refused because of its own writes, however many they are."""
    body = world.object(n=0)
    writer = world.writer()
    for number in range(40):
        with writer.session(body) as status:
            status["n"] = number + 1
    assert world.status()["n"] == 40


def test_a_handler_of_the_next_event_does_not_know_the_last_ones_write(world: World) -> None:
    """One task handles two events, as kopf's worker does: the second body lacks the first handler's write, so it is a conflict."""
    first = world.object({"size": 1}, phase="A")
    second = world.respec(size=2)
    writer = world.writer()

    def handle(body: Any, name: str) -> None:
        with writer.session(body) as status:
            status["phase"] = f"{name} after " + body["status"]["phase"]

    handle(first, "one")
    with pytest.raises(fiferail.Conflict, match=r'status\.phase  was "A", is now "one after A" \(written by me\)'):
        handle(second, "two")
    assert world.status()["phase"] == "one after A"


async def test_so_it_is_in_one_asyncio_task(world: World) -> None:
    """The same with an async writer, whose flow of control is the task."""
    first = await asyncio.to_thread(world.object, {"size": 1}, phase="A")
    second = await asyncio.to_thread(world.respec, size=2)

    async with fiferail.connect_async(world.server.kubeconfig) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="me")

        async def handle(body: Any, name: str) -> None:
            async with writer.session(body) as status:
                status["phase"] = f"{name} after " + body["status"]["phase"]

        await handle(first, "one")
        with pytest.raises(fiferail.Conflict, match=r'status\.phase  was "A", is now "one after A" \(written by me\)'):
            await handle(second, "two")
    assert (await asyncio.to_thread(world.status))["phase"] == "one after A"


# -- bounds


def test_what_the_server_drops_is_remembered_for_a_bounded_number_of_fields(world: World) -> None:
    """Of 200 fields that the schema lacks the last 128 are not sent again; the others are forgotten and cost a request."""
    body = world.object(n=0)
    writer = world.writer()
    names = [f"unknown{number}" for number in range(200)]

    def write(body: Any, names: list[str]) -> Any:
        with writer.session(body) as status:
            for name in names:
                status[name] = 1
        return status.outcome

    for first in range(0, 200, 50):
        assert set(write(body, names[first : first + 50]).altered) == {f"status.{name}" for name in names[first : first + 50]}
    assert write(body, names[-128:]).requests == 0
    assert write(body, names[:1]).requests == 1
