"""Functions that the writer calls, perhaps twice: what a run did not look at is not its to overwrite, and what is reported is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import fiferail

from .conftest import World


def ready(**fields: Any) -> dict[str, Any]:
    """A condition that is not True."""
    return {"type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z", **fields}


OLD, FULL = ready(reason="Old", message="old"), ready(reason="DiskFull", message="disk full")


# -- mutate


def test_a_run_that_read_one_member_of_a_condition_has_not_seen_the_others(world: World) -> None:
    """The status was looked at, the message comes from a closure: another writer's message stays."""
    body = world.object(conditions=[OLD])
    world.other(conditions=[FULL])

    def say(status: fiferail.Status) -> None:
        if not status.conditions.is_true("Ready"):
            status.conditions.set("Ready", False, reason="Old", message="still " + body["status"]["conditions"][0]["message"])

    with pytest.raises(fiferail.Conflict, match=r"status\.conditions\[Ready\]\S*  was .*old.*, is now .*\(written by other\)"):
        world.writer().mutate(body, say)
    assert world.status()["conditions"] == [FULL]


def test_the_same_in_a_session_is_a_conflict(world: World) -> None:
    """A session and `mutate` agree."""
    body = world.object(conditions=[OLD])
    world.other(conditions=[FULL])
    with pytest.raises(fiferail.Conflict, match=r"status\.conditions\[Ready\]"), world.writer().session(body) as status:
        if not status.conditions.is_true("Ready"):
            status.conditions.set("Ready", False, reason="Old", message="still old")
    assert world.status()["conditions"] == [FULL]


def test_a_run_that_read_one_member_of_a_map_does_not_remove_the_others(world: World) -> None:
    """Removing a map because of one member is a conflict when another member has changed."""
    body = world.object(net={"a": 1, "b": 1})
    world.other(net={"b": 2})

    def remove(status: fiferail.Status) -> None:
        if status["net"]["a"] == 1:
            del status["net"]

    with pytest.raises(fiferail.Conflict, match=r"status\.net\S*  was .*, is now .*\(written by other\)"):
        world.writer().mutate(body, remove)
    assert world.status()["net"] == {"a": 1, "b": 2}


# -- lost answers


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Callable[[], object]], None]:
    """A writer's first patch lands, its answer is lost, and something happens before the writer looks."""

    def losing(writer: Any, after: Callable[[], object]) -> None:
        send, left = writer._transport.send, [after]

        def sending(request: Any, /, timeout: float | None = None) -> Any:
            answer = send(request, timeout=timeout)
            if request.method == "PATCH" and left:
                left.pop()()
                raise ConnectionError("the answer is lost")
            return answer

        monkeypatch.setattr(writer._transport, "send", sending)

    return losing


def test_a_conflict_of_the_second_run_says_that_the_first_may_have_landed(world: World, lose: Callable[..., None]) -> None:
    """The first run's write is on the server: the error does not say that nothing was written."""
    body = world.object(phase="A")
    writer = world.writer(sleep=lambda _: None)
    lose(writer, lambda: world.other(phase="B"))
    with pytest.raises(fiferail.Conflict) as caught:
        writer.mutate(body, lambda status: status.__setitem__("summary", "phase is " + status["phase"]))
    assert 'status.summary  was absent, is now "phase is A" (written by me), this write wanted "phase is B"' in str(caught.value)
    assert "an answer was lost, so this write may have landed" in str(caught.value)
    assert "did not write anything" not in str(caught.value)
    assert world.status() == {"phase": "B", "summary": "phase is A"}


def test_a_second_run_that_finds_its_write_there_is_converged(world: World, lose: Callable[..., None]) -> None:
    """The write was sent and changed the object: it is not reported as unchanged."""
    body = world.object(phase="A")
    writer = world.writer(sleep=lambda _: None)
    lose(writer, lambda: world.other(phase="B"))

    def summarize(status: fiferail.Status) -> None:
        assert status["phase"]
        status["summary"] = "the same"

    assert writer.mutate(body, summarize).kind == "converged"
    assert world.status() == {"phase": "B", "summary": "the same"}


# -- create_once


def test_a_plan_that_this_writer_cleared_does_not_stand(world: World) -> None:
    """The body still shows it; the writer removed it: a new one is made, and what is returned is stored."""
    body = world.object(plan={"id": 1})
    writer = world.writer()
    with writer.session(body) as status:
        del status["plan"]
    made = writer.create_once(body, "plan", lambda _: {"id": 2}, fence="lastPlan")
    assert (made.created, made.value, world.status()["plan"]) == (True, {"id": 2}, {"id": 2})


def test_a_staged_removal_comes_before_the_plan(world: World) -> None:
    """Remove and create in one session: the new plan is made, and the end of the session does not remove it."""
    body = world.object(plan={"id": 1})
    with world.writer().session(body) as status:
        del status["plan"]
        made = status.create_once("plan", lambda _: {"id": 2}, fence="lastPlan")
    assert (made.created, made.value, world.status()["plan"]) == (True, {"id": 2}, {"id": 2})


def test_a_value_staged_in_the_slot_stands(world: World) -> None:
    """What the session staged there is written and is the plan; nothing of it vanishes."""
    body = world.object(phase="A")
    with world.writer().session(body) as status:
        status["plan"] = {"note": "keep"}
        made = status.create_once("plan", lambda _: {"id": 2}, fence="lastPlan")
    assert (made.created, made.value, world.status()["plan"]) == (False, {"note": "keep"}, {"note": "keep"})


@pytest.mark.parametrize("call", ["flush", "create_once"])
def test_a_write_of_the_session_inside_build_is_refused(world: World, call: str) -> None:
    """It would wait for itself for ever: it is an error at once, and the session goes on."""
    body = world.object(phase="A")
    with world.writer().session(body) as status:
        status["n"] = 1

        def build(_: Any) -> Any:
            return status.flush() if call == "flush" else status.create_once("lastPlan", lambda _: {"id": 1})

        with pytest.raises(fiferail.FiferailError, match="flush and create_once cannot be called inside of `build`"):
            status.create_once("plan", build, fence="lastPlan")
    assert world.status() == {"phase": "A", "n": 1}


async def test_so_it_is_in_an_async_session(world: World) -> None:
    """A coroutine function that builds is refused the same."""
    body = await asyncio.to_thread(world.object, phase="A")
    async with (
        fiferail.connect_async(world.server.kubeconfig) as client,
        fiferail.AsyncStatusWriter(client, field_manager="me").session(body) as status,
    ):
        status["n"] = 1

        async def build(_: Any) -> Any:
            return await status.flush()

        with pytest.raises(fiferail.FiferailError, match="flush and create_once cannot be called inside of `build`"):
            await status.create_once("plan", build, fence="lastPlan")
    assert await asyncio.to_thread(world.status) == {"phase": "A", "n": 1}
