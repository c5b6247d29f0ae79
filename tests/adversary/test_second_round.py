"""What a second adversary broke: empty sets, weakened reads, shared sessions, errors that were not true, and two leaders."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

import fiferail
from fiferail.status.sharing import Lanes

from .conftest import API, World, published, serve


@dataclasses.dataclass
class Marked:
    """A model whose set is empty by default."""

    marks: list[str] = dataclasses.field(default_factory=list)
    n: int = 0


# -- sets that are assigned empty


def knowing(world: World) -> tuple[fiferail.StatusWriter, Any]:
    """A writer that has read the schema, and the object."""
    obj = world.object()
    published(world, "marks")
    writer = world.writer()
    with writer.session(obj) as status:
        status.entry("workloads", kind="Job", name="j")["ready"] = True
    assert any("/openapi/v3" in seen.path and seen.agent == "me" for seen in world.server.requests)
    return writer, world.get()


def assign(status: fiferail.Status) -> None:
    """Assign an empty set, and something beside it."""
    status["marks"] = []
    status["n"] = 5


@pytest.mark.parametrize("edit", [assign, lambda status: status.store(Marked(n=5))], ids=["an assignment", "a model"])
def test_an_empty_set_does_not_erase_what_another_writer_put_there(world: World, edit: Callable[[Any], object]) -> None:
    """A set that was absent and is assigned empty is tested like any other value: an element that came since is a conflict."""
    writer, old = knowing(world)
    world.other(marks=["theirs"])
    with pytest.raises(fiferail.Conflict, match=r'status\.marks  was absent, is now \["theirs"\]'), writer.session(old) as status:
        edit(status)
    assert (world.status()["marks"], "n" in world.status()) == (["theirs"], False)


def test_empty_finalizers_do_not_erase_another_writers(world: World) -> None:
    """An edit that assigns no finalizers to an object without any is refused when somebody has added one."""
    old = world.object({"size": 1})
    world.server.client_as("other").patch(old, {"metadata": {"finalizers": ["example.io/theirs"]}})

    def clear(obj: Any) -> None:
        obj["metadata"]["finalizers"] = []
        obj["spec"]["size"] = 2

    try:
        with pytest.raises(fiferail.Conflict, match=r"metadata\.finalizers  was absent, is now \[\"example\.io/theirs\"\]"):
            world.writer().edit(old, clear)
        assert (world.get()["metadata"]["finalizers"], world.get()["spec"]) == (["example.io/theirs"], {"size": 1})
    finally:
        world.client.patch(old, {"metadata": {"finalizers": None}})


def test_an_empty_set_replaces_the_own_write(world: World) -> None:
    """A second session on the same object empties the set that the first one filled."""
    writer, old = knowing(world)
    with writer.session(old) as status:
        status["marks"] = ["mine"]
    with writer.session(old) as status:
        status["marks"] = []
    assert world.status()["marks"] == []


# -- create_once in a session


def test_a_look_of_build_does_not_weaken_what_the_session_read(world: World) -> None:
    """The session read a value, build only asks whether the field is there: a change of the value is still a conflict."""
    old = world.object(net={"a": "1"}, lastPlan={"id": "x", "n": 1})
    changed = r'status\.net\S*  was .*"1".*, is now .*"2".* \(written by other\), and this write depended on it'
    with pytest.raises(fiferail.Conflict, match=changed), world.writer().session(old) as status:
        status["phase"] = "a is " + status["net"].plain()["a"]
        world.other(net={"a": "2"})
        status.create_once("plan", lambda obj: {"has": "net" in obj["status"]}, fence="lastPlan")
    assert set(world.status()) == {"net", "lastPlan"}


async def test_plans_do_not_weaken_what_the_reconcile_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reconcile that read the status before it made a plan is refused when the status has changed."""
    await asyncio.to_thread(world.object, net={"a": "1"}, lastPlan={"id": "x", "n": 1})
    runs: list[int] = []

    async def step(ctx: Any, identity: str) -> None:
        return None

    plans = fiferail.Plans({"do": step}, build=lambda obj: fiferail.Plan("test", ["do"]))

    async def reconcile(ctx: fiferail.Context) -> float | None:
        runs.append(1)
        if len(runs) == 1:
            ctx.status["phase"] = "a is " + ctx.status.plain()["net"]["a"]
            await asyncio.to_thread(world.other, net={"a": "2"})
        return await plans.reconcile(ctx)

    await serve(world, monkeypatch, reconcile, lambda: world.status()["lastPlan"]["n"] == 2)
    assert "phase" not in world.status()


def test_a_refused_create_once_leaves_nothing_for_the_end_of_the_session(world: World) -> None:
    """The conflict says that nothing was written, and the end of the session keeps to that."""
    old = world.object(lastPlan={"id": "x", "n": 1})
    with pytest.raises(fiferail.Conflict, match="fiferail did not write anything") as caught, world.writer().session(old) as status:
        status["n"] = 1
        world.other(lastPlan={"id": "y", "n": 2})
        status.create_once("plan", lambda _: {"id": "1"}, fence="lastPlan")
    changed = 'status.lastPlan  was {"id":"x","n":1}, is now {"id":"y","n":2} (written by other), and this write depended on it'
    assert changed in str(caught.value)
    assert world.status() == {"lastPlan": {"id": "y", "n": 2}}


def test_a_lost_answer_of_create_once_is_remembered(world: World, interrupt: Callable[..., None]) -> None:
    """What was staged went with a request whose answer was lost: a later conflict over it says that it may have landed."""
    old = world.object(n=5, lastPlan={"id": "x", "n": 1})
    writer = world.writer(sleep=lambda _: None)
    writer.create_once(old, "extra", lambda _: {"id": "0"}, fence="lastPlan")  # asks for the schema, once
    old = world.get()
    landed: list[int] = []

    def change() -> None:
        landed.append(world.status()["n"])
        world.other(n=100)

    world.server.faults.next(verb="patch", kind="Probe", answer="lost", client="me")
    interrupt(writer, "GET", change)
    with pytest.raises(fiferail.Conflict) as caught, writer.session(old) as status:
        status["n"] = 6
        made = status.create_once("plan", lambda _: {"id": "1"}, fence="lastPlan")
        assert (made.created, made.value) == (None, {"id": "1"})
    assert landed == [6]
    assert "status.n  was 5, is now 100 (written by other), this write wanted 6" in str(caught.value)
    assert "an answer was lost, so this write may have landed" in str(caught.value)
    assert world.status()["n"] == 100


# -- sessions that meet


async def test_flushes_that_went_together_all_remember_a_lost_answer(world: World) -> None:
    """Two sessions share a request that may have landed: the next flush of each finds its own value there, and adds nothing to it."""
    old = await asyncio.to_thread(world.object, n=1, count=1, phase="A")
    async with fiferail.connect_async(world.server.kubeconfig) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="me", budget=fiferail.Budget(tries=2, first=0.0), chance=lambda: 0.0)
        writer._core.lanes = Lanes(at_once=1)
        await writer.mutate(old, lambda status: status.update(phase="B"))
        old = await asyncio.to_thread(world.get)
        ended: dict[str, str] = {}
        everybody = asyncio.Event()

        async def increment(field: str) -> None:
            async with writer.session(old) as status:
                status[field] = status[field] + 1
                with pytest.raises(fiferail.Unavailable, match="it may have landed"):
                    await status.flush()
                ended[field] = ""
                if len(ended) == 2:
                    world.server.faults.clear()
                    everybody.set()
                await everybody.wait()
                ended[field] = str((await status.flush()).kind)

        with world.server.hold(verb="patch", kind="Probe") as held:
            first = asyncio.ensure_future(writer.mutate(old, lambda status: status.update(phase="C")))
            await held.arrived()
            others = [asyncio.ensure_future(increment(field)) for field in ("n", "count")]
            for _ in range(20):
                await asyncio.sleep(0)  # both flushes queue behind the first one
            world.server.faults.next(verb="patch", kind="Probe", answer="lost", after=1)
            world.server.faults.next(verb="get", kind="Probe", answer=500, times=50, optional=True)
            held.release()
            await asyncio.gather(first, *others)
    stored = await asyncio.to_thread(world.status)
    assert (ended, stored["n"], stored["count"]) == ({"n": "converged", "count": "converged"}, 2, 2)
    patches = [seen for seen in world.server.requests if seen.verb == "patch" and b"/status/count" in seen.body]
    assert b"/status/n" in patches[0].body, "they went together"


@pytest.mark.parametrize("flushes_first", [False, True])
async def test_a_shared_session_knows_only_what_all_its_tasks_know(world: World, flushes_first: bool) -> None:
    """A task that began before another write of the same writer does not overwrite it through a session that they share."""
    old = await asyncio.to_thread(world.object, phase="A")
    async with fiferail.connect_async(world.server.kubeconfig) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="me")
        go = asyncio.Event()
        with pytest.raises(fiferail.Conflict, match=r'status\.phase  was "A", is now "B".*, this write wanted "from A"'):
            async with writer.session(old) as status:

                async def probe() -> None:
                    await go.wait()
                    status["phase"] = "from " + old["status"]["phase"]

                task = asyncio.create_task(probe())
                async with writer.session(old) as other:
                    other["phase"] = "B"
                status["n"] = 1
                if flushes_first:
                    await status.flush()
                go.set()
                await task
                await status.flush()
    assert (await asyncio.to_thread(world.status))["phase"] == "B"


# -- functions and parts that run again


@pytest.mark.parametrize("whole", [False, True], ids=["entries", "put_whole"])
def test_put_whole_of_one_list_exempts_no_other(world: World, whole: bool) -> None:
    """Whoever owns the members of one group does not own those of another: a stale list from a closure is a conflict there."""
    groups = [{"name": "a", "members": [{"name": "u1"}]}, {"name": "b", "members": [{"name": "u2", "v": "1"}]}]
    moved = [groups[0], {"name": "b", "members": [{"name": "u2", "v": "2"}, {"name": "u3"}]}]
    old = world.object(groups=groups, phase="x")
    published(world, "groups")
    runs: list[int] = []

    def edit(status: fiferail.Status) -> None:
        _ = status["phase"]
        if whole:
            status.put_whole("groups[name=a].members", [{"name": "z"}])
        status.entry("groups", name="b")["members"] = [*groups[1]["members"], {"name": "new"}]
        runs.append(1)
        if len(runs) == 1:
            world.other(phase="y", groups=moved)

    with pytest.raises(fiferail.Conflict, match=r"status\.groups\[.*b.*\]\.members"):
        world.writer().mutate(old, edit)
    assert world.status() == {"phase": "y", "groups": moved}


@pytest.mark.parametrize("twice", [False, True], ids=["assigned", "assigned and edited"])
async def test_a_scope_that_edits_its_own_list_loses_alone(world: World, monkeypatch: pytest.MonkeyPatch, twice: bool) -> None:
    """A scope that edits a list which it has staged is withheld without what the reconcile itself staged."""
    await asyncio.to_thread(world.object, phase="p0")
    runs: list[int] = []

    async def reconcile(ctx: fiferail.Context) -> None:
        runs.append(1)
        part = ctx.scope("part")
        _ = part.status["phase"]
        part.status["items"] = ["1"]
        if twice:
            part.status["items"].append("2")
        ctx.status["n"] = min(len(runs), 4)
        if len(runs) <= 3:
            await asyncio.to_thread(world.other, phase=f"p{len(runs)}")

    await serve(world, monkeypatch, reconcile, lambda: "items" in world.status() and world.status()["n"] == 4)
    assert world.status()["items"] == (["1", "2"] if twice else ["1"])
    assert {1, 2, 3} <= set(landed(world, "/status/n")), "what no scope staged was written while the scope was withheld"


def landed(world: World, path: str) -> list[Any]:
    """The values that JSON patches have put there."""
    bodies = [json.loads(seen.body) for seen in world.server.requests if seen.verb == "patch" and seen.code == 200]
    return [one["value"] for body in bodies if isinstance(body, list) for one in body if one["path"] == path and one["op"] != "test"]


# -- leaders


async def test_two_managers_of_one_process_have_one_leader(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The default identity is different for every election, also with the same host and process id."""
    caplog.set_level("INFO", logger="fiferail.controllers")
    await asyncio.to_thread(world.object, {"size": 1})
    acted: list[tuple[str, int]] = []
    elections = {name: fiferail.LeaderElection("second-round", namespace="default") for name in ("one", "two")}
    managers = {name: led(world, name, election, acted) for name, election in elections.items()}
    tasks = [asyncio.ensure_future(managers["one"].serve())]
    try:
        await until(lambda: ("one", 1) in acted)
        tasks.append(asyncio.ensure_future(managers["two"].serve()))
        await until(lambda: f"waiting for the lease default/second-round, held by {elections['one'].identity}" in caplog.text)
        await asyncio.to_thread(world.respec, size=2)
        await until(lambda: ("one", 2) in acted)
    finally:
        managers["two"].stop()
        managers["one"].stop()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert (elections["two"].leads, {name for name, _ in acted}) == (False, {"one"})


def led(world: World, name: str, election: fiferail.LeaderElection, acted: list[tuple[str, int]]) -> fiferail.Manager:
    """A manager whose reconcile notes its name and the size that it saw."""

    async def reconcile(ctx: fiferail.Context) -> None:
        acted.append((name, ctx.object["spec"]["size"]))

    client = fiferail.connect_async(world.server.kubeconfig)
    return fiferail.Manager(fiferail.Controller(API, "Probe", reconcile), client=client, events=False, leader_election=election)


async def until(holds: Callable[[], bool]) -> None:
    """Let the managers run until something holds."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)
