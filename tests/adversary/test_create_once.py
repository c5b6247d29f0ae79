"""create_once: one creation per decision, whatever is lost, refused or missing in the schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fiferail
from fiferail.controllers.plans import Plan, Plans

from .conftest import API, STATUS, World, crd


def test_a_429_does_not_drop_the_tests(world: World, interrupt: Callable[..., None]) -> None:
    """The server asks to wait, the spec changes meanwhile: the plan for the old spec does not land."""
    old = world.object({"v": 1})
    writer = world.writer(sleep=lambda seconds: world.respec(v=2) if seconds >= 0.5 else None)
    world.server.faults.next(verb="patch", kind="Probe", answer=429, retry_after=1)
    made = writer.create_once(old, "plan", lambda obj: {"for": obj["spec"]["v"]}, fence="lastPlan")
    assert (made.created, world.status()["plan"]) == (True, {"for": 2})


@pytest.mark.parametrize("fence", ["lastPlan", None])
def test_a_plan_for_an_old_spec_never_lands(world: World, fence: str | None) -> None:
    """A closure that holds the old object is a conflict; a build that looks at its argument is run again on the live one."""
    old = world.object({"v": 1}, n=1)
    world.respec(v=2)
    with pytest.raises(fiferail.Conflict, match=r"metadata\.generation"):
        world.writer().create_once(old, "plan", lambda _: {"for": old["spec"]["v"]}, fence=fence)
    assert "plan" not in world.status()
    made = world.writer().create_once(old, "plan", lambda obj: {"for": obj["spec"]["v"]}, fence=fence)
    assert (made.created, world.status()["plan"]) == (True, {"for": 2})


def test_a_writer_that_knows_better_still_stands_on_the_callers_object(world: World) -> None:
    """The writer's memory of a newer version does not make an old decision fresh."""
    old = world.object({"v": 1}, n=1)
    writer = world.writer()
    world.respec(v=2)
    with writer.session(world.get()) as status:
        status["n"] = 2
    with pytest.raises(fiferail.Conflict):
        writer.create_once(old, "plan", lambda _: {"for": old["spec"]["v"]}, fence="lastPlan")
    assert "plan" not in world.status()


def test_a_plan_that_was_made_run_and_cleared_is_not_made_again(world: World) -> None:
    """The fence has moved since the caller's object: a build that does not look at it is a conflict."""
    old = world.object({"v": 1}, lastPlan={"id": "a", "n": 1})
    world.other(plan={"id": "b"})
    world.other(plan=None, lastPlan={"id": "b", "n": 2})
    with pytest.raises(fiferail.Conflict, match=r"status\.lastPlan"):
        world.writer().create_once(old, "plan", lambda _: {"id": "b"}, fence="lastPlan")
    assert "plan" not in world.status()


def test_what_build_reads_is_tested(world: World, interrupt: Callable[..., None]) -> None:
    """A field that build decided on changes just before the patch: build runs again."""
    old = world.object({"v": 1}, phase="A", n=1)
    writer = world.writer()
    interrupt(writer, "PATCH", lambda: world.other(phase="B"))
    made = writer.create_once(old, "plan", lambda obj: {"for": obj["status"]["phase"]}, fence="lastPlan")
    assert (made.created, made.value, world.status()["plan"]) == (True, {"for": "B"}, {"for": "B"})


@pytest.mark.parametrize(("token", "first"), [("", None), ("by", True)])
def test_a_lost_answer_and_an_equal_plan_are_not_two_creations(world: World, token: str, first: bool | None) -> None:
    """After a lost answer nobody can tell whose equal plan stands there, unless it carries a token of the call."""
    old = world.object({"v": 1}, n=1)
    world.server.faults.next(verb="patch", kind="Probe", answer="lost")
    one = world.writer("one", sleep=lambda _: None).create_once(old, "plan", lambda _: {"id": "same"}, fence="lastPlan", token=token)
    two = world.writer("two").create_once(old, "plan", lambda _: {"id": "same"}, fence="lastPlan", token=token)
    assert (one.created, two.created) == (first, False)


def test_a_request_that_never_arrived_and_another_replicas_equal_plan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request was lost before it landed, and another replica made the same plan: not created by both."""
    old = world.object({"v": 1}, n=1)
    writer, other = world.writer("one", sleep=lambda _: None), world.writer("two")
    send = writer._transport.send
    lost: list[Any] = []

    def losing(request: Any, /, timeout: float | None = None) -> Any:
        if request.method == "PATCH" and not lost:
            lost.append(other.create_once(old, "plan", lambda _: {"id": "same"}, fence="lastPlan"))
            raise TimeoutError
        return send(request, timeout=timeout)

    monkeypatch.setattr(writer._transport, "send", losing)
    mine = writer.create_once(old, "plan", lambda _: {"id": "same"}, fence="lastPlan")
    assert (lost[0].created, mine.created, mine.value) == (True, None, {"id": "same"})


def narrow(world: World, *fields: str) -> Any:
    """An object of a kind whose status has only these fields."""
    properties = {name: STATUS["properties"][name] for name in fields}
    world.server.apply(crd({"type": "object", "properties": properties}, plural="narrows"))
    metadata = {"generateName": "n-", "namespace": "default"}
    return world.client.create({"apiVersion": API, "kind": "Narrow", "metadata": metadata, "spec": {}})


@pytest.mark.parametrize("fields", [("n", "lastPlan"), ("n", "plan")], ids=["the slot", "the fence"])
def test_a_field_that_the_schema_lacks_is_an_error_before_anything_acts(world: World, fields: tuple[str, ...]) -> None:
    """The server would drop it without a word, and everybody would create for ever."""
    obj = narrow(world, *fields)
    missing = r"status\.plan" if "plan" not in fields else r"status\.lastPlan"
    with pytest.raises(fiferail.FiferailError, match=f"has no {missing}, so the server would drop it"):
        world.writer().create_once(obj, "plan", lambda _: {"id": "x"}, fence="lastPlan")
    assert "status" not in world.client.get(API, "Narrow", obj["metadata"]["name"], namespace="default")


def test_two_reconciles_make_one_plan(world: World) -> None:
    """Two replicas with the same object: one makes it, the other gets that."""
    old = world.object({"v": 1})
    one = world.writer("one").create_once(old, "plan", lambda _: {"by": "one"}, fence="lastPlan")
    two = world.writer("two").create_once(old, "plan", lambda _: {"by": "two"}, fence="lastPlan")
    assert (one.created, two.created, two.value) == (True, False, {"by": "one"})


def test_what_is_staged_goes_along_in_one_request(world: World) -> None:
    """A session that plans and says so writes once."""
    old = world.object({"v": 1})
    writer = world.writer()
    with writer.session(old) as status:
        status.conditions.set("Planned", True, reason="Decided")
        before = len([seen for seen in world.server.requests if seen.verb == "patch"])
        made = status.create_once("plan", lambda _: {"id": "p"}, fence="lastPlan")
    patches = [seen for seen in world.server.requests if seen.verb == "patch"][before:]
    assert (made.created, len(patches)) == (True, 1)
    assert (world.status()["plan"], world.status()["conditions"][0]["type"]) == ({"id": "p"}, "Planned")


def test_the_winners_plan_is_what_the_session_sees(world: World) -> None:
    """Whoever loses goes on with the winner's value, and what it staged is written."""
    old = world.object({"v": 1})
    world.other(plan={"id": "theirs"})
    with world.writer().session(old) as status:
        status["n"] = 1
        made = status.create_once("plan", lambda _: {"id": "mine"}, fence="lastPlan")
        status["summary"] = f"running {status['plan']['id']}"
    assert (made.created, world.status()["summary"], world.status()["n"]) == (False, "running theirs", 1)


async def test_plans_do_not_loop_where_the_schema_drops_them(world: World) -> None:
    """A controller whose CRD lacks the plan backs off with an error, instead of sending thousands of patches."""
    ran: list[str] = []

    async def step(ctx: Any, identity: str) -> None:
        ran.append(identity)

    plans = Plans({"do": step}, build=lambda obj: Plan("test", ["do"]))
    obj = narrow(world, "n")
    name = obj["metadata"]["name"]
    controller = fiferail.Controller(API, "Narrow", plans.reconcile)
    await running(world, controller, lambda: len(world.server.requests) > 40 or failed(world, name))
    patches = [seen for seen in world.server.requests if seen.verb == "patch" and f"narrows/{name}" in seen.path]
    assert (ran, patches) == ([], [])


def failed(world: World, name: str) -> bool:
    """Whether the schema was asked for: the reconcile has got as far as it can."""
    return any("/openapi/v3" in seen.path for seen in world.server.requests)


async def running(world: World, controller: fiferail.Controller, until: Callable[[], bool]) -> None:
    """Run a controller until something holds."""
    import asyncio
    import os

    os.environ["KUBECONFIG"] = str(world.server.kubeconfig)
    manager = fiferail.Manager(controller, client=fiferail.connect_async())
    task = asyncio.ensure_future(manager.serve())
    try:
        async with asyncio.timeout(20):
            while not until():
                await asyncio.sleep(0.01)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
