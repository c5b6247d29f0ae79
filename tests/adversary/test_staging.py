"""Staging and reads: nothing that is staged is dropped, nothing that is looked at goes unrecorded."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest

import fiferail

from .conftest import API, World


def async_writer(world: World, **settings: Any) -> fiferail.AsyncStatusWriter:
    """A writer over an async client of the same server."""
    import os

    os.environ["KUBECONFIG"] = str(world.server.kubeconfig)
    return fiferail.AsyncStatusWriter(fiferail.connect_async(), field_manager="me", **settings)


@pytest.fixture
def kubeconfig(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The server as `connect_async()` finds it."""
    monkeypatch.setenv("KUBECONFIG", str(world.server.kubeconfig))
    return world


async def test_what_is_staged_while_a_flush_is_on_its_way_is_written_next(kubeconfig: World) -> None:
    """A task that stages beside another one's flush loses nothing."""
    world = kubeconfig
    obj = await asyncio.to_thread(world.object, phase="A")
    writer = fiferail.AsyncStatusWriter(fiferail.connect_async(), field_manager="me")
    async with writer.session(obj) as status:
        status["n"] = 1
        flushing = asyncio.ensure_future(status.flush())
        await asyncio.sleep(0)
        status["summary"] = "staged meanwhile"
        status.conditions.set("Probed", True, reason="Meanwhile")
        await flushing
        assert status["summary"] == "staged meanwhile"
    stored = await asyncio.to_thread(world.status)
    assert (stored["n"], stored["summary"], stored["conditions"][0]["type"]) == (1, "staged meanwhile", "Probed")


async def test_what_is_staged_beside_create_once_is_written(kubeconfig: World) -> None:
    """`gather(plan(), probe())` in one session: the plan is made, and the probe's condition is there."""
    world = kubeconfig
    obj = await asyncio.to_thread(world.object, phase="A")
    writer = fiferail.AsyncStatusWriter(fiferail.connect_async(), field_manager="me")
    async with writer.session(obj) as status:

        async def plan() -> None:
            await status.create_once("plan", lambda _: {"id": "p"}, fence="lastPlan")

        async def probe() -> None:
            await asyncio.sleep(0)
            status.conditions.set("Probed", True, reason="Ok")

        await asyncio.gather(plan(), probe())
    stored = await asyncio.to_thread(world.status)
    assert (stored["plan"], stored["conditions"][0]["type"]) == ({"id": "p"}, "Probed")


def test_threads_that_stage_in_one_session_lose_nothing(world: World) -> None:
    """Sixteen threads, fifty members each, also entries of one list."""
    obj = world.object(phase="A")
    with world.writer().session(obj) as status:

        def stage(number: int) -> None:
            for index in range(50):
                status.setdefault("net", {})[f"k{number}-{index}"] = index
                status.setdefault("items", []).append(f"{number}-{index}")

        threads = [threading.Thread(target=stage, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    stored = world.status()
    assert (len(stored["net"]), len(stored["items"])) == (800, 800)


def test_setdefault_returns_the_stored_member(world: World) -> None:
    """What is done to the default counts."""
    obj = world.object(phase="A")
    with world.writer().session(obj) as status:
        status.setdefault("net", {})["ip"] = "10.0.0.1"
        status.setdefault("items", []).append("x")
    assert (world.status()["net"], world.status()["items"]) == ({"ip": "10.0.0.1"}, ["x"])


@pytest.mark.parametrize("how", ["ends", "raises", "is interrupted", "is discarded"])
def test_staging_after_a_session_has_ended_is_refused(world: World, how: str) -> None:
    """However it ended: nobody would write it."""
    obj = world.object(phase="A")
    kept: list[Any] = []
    error = {"ends": None, "raises": ValueError, "is interrupted": KeyboardInterrupt, "is discarded": ValueError}[how]
    try:
        with world.writer().session(obj, on_error="discard" if how == "is discarded" else "flush") as status:
            kept.append(status)
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        pass
    with pytest.raises(fiferail.FiferailError, match=r"status\.phase is staged after its session has ended"):
        kept[0]["phase"] = "B"


#: What a caller may look at before it writes a summary, what another writer does meanwhile, and what the object was.
LOOKS: dict[str, tuple[Callable[[Any], object], dict[str, Any], dict[str, Any]]] = {
    "that a map is there": (lambda s: s.get("plan") is not None, {"plan": {"id": "p"}}, {"plan": None}),
    "that a map is there, by trying": (lambda s: s["plan"], {"plan": {"id": "p"}}, {"plan": None}),
    "that a list is there": (lambda s: isinstance(s["items"], list), {"items": ["a"]}, {"items": None}),
    "that an empty list is there": (lambda s: isinstance(s["items"], list), {"items": []}, {"items": None}),
    "that a list has entries": (lambda s: bool(s["items"]), {"items": ["a"]}, {"items": []}),
    "that a list has none": (lambda s: not s["items"], {"items": []}, {"items": ["a"]}),
    "that a map has none": (lambda s: not s["net"], {"net": {}}, {"net": {"a": 1}}),
    "that a map has members": (lambda s: bool(s["net"]), {"net": {"a": 1}}, {"net": {"a": None}}),
    "a deep copy": (copy.deepcopy, {"phase": "A"}, {"phase": "B"}),
    "a copy of a map": (lambda s: copy.copy(s["net"]), {"net": {"a": 1}}, {"net": {"b": 1}}),
    "a value after raising it": (lambda s: (s.raise_to("n", 3), s["n"]), {"n": 2}, {"n": 7}),
    "a member after assigning the map": (lambda s: (s.__setitem__("net", {"a": 1}), s["net"].get("b")), {"phase": "A"}, {"net": {"b": 1}}),
    "a map after assigning it": (lambda s: (s.__setitem__("net", {"a": 1}), dict(s["net"])), {"phase": "A"}, {"net": {"b": 1}}),
    "a keyed list after assigning it": (
        lambda s: (s.__setitem__("ports", [{"port": 1}]), len(s["ports"])), {"ports": []}, {"ports": [{"port": 2}]}
    ),
    "popitem": (lambda s: s["net"].popitem(), {"net": {"a": 1, "b": 2}}, {"net": {"a": 5}}),
    "the keys of a map": (lambda s: list(s["net"].keys()), {"net": {"a": 1}}, {"net": {"b": 1}}),
    "the spec": (lambda s: s.object["spec"].get("size"), {"phase": "A"}, {}),
}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_whatever_is_looked_at_is_guarded(world: World, look: str) -> None:
    """A summary of what was seen does not land once somebody has changed it."""
    see, before, meanwhile = LOOKS[look]
    old = world.object({"size": 1}, **before)
    with pytest.raises(fiferail.Conflict), world.writer().session(old) as status:
        status["summary"] = f"saw {see(status)!r}"
        if meanwhile:
            world.other(**meanwhile)
        else:
            world.respec(size=2)
    assert "summary" not in world.status()


@pytest.mark.parametrize("look", ["a map", "a list"])
def test_presence_locks_nothing_below(world: World, look: str) -> None:
    """Whoever only asked whether something is there does not mind that its members change, and nothing changes owner."""
    old = world.object(net={"a": 1}, items=["x"])
    with world.writer().session(old) as status:
        assert status["net" if look == "a map" else "items"] is not None
        status["summary"] = "it is there"
        world.other(net={"a": 2}, items=["x", "y"])
    assert (world.status()["summary"], world.status()["net"], world.status()["items"]) == ("it is there", {"a": 2}, ["x", "y"])
    mine = [entry for entry in world.get()["metadata"]["managedFields"] if entry["manager"] == "me"]
    assert [list(entry["fieldsV1"]["f:status"]) for entry in mine] == [["f:summary"]]


def test_part_of_a_key_is_refused(world: World) -> None:
    """An entry that is addressed by a part of its key would become a second one, or another's."""
    old = world.object(workloads=[{"kind": "Job", "name": "a"}])
    with pytest.raises(fiferail.FiferailError, match=r"status\.workloads to be kind, name, as its schema says, got kind"):
        world.writer().mutate(old, lambda status: status.entry("workloads", kind="Job").__setitem__("ready", True))
    assert world.status()["workloads"] == [{"kind": "Job", "name": "a"}]


def test_an_integer_key_is_a_key(world: World) -> None:
    """1 is not true: entries of a list that is keyed by a number are written one by one."""
    old = world.object(ports=[{"port": 1, "up": False}, {"port": 2}])
    with world.writer().session(old) as status:
        world.other(ports=[{"port": 1, "up": False}, {"port": 2, "seen": True}])
        status.entry("ports", port=1)["up"] = True
    assert world.status()["ports"] == [{"port": 1, "up": True}, {"port": 2, "seen": True}]


def test_the_callers_objects_are_not_touched(world: World) -> None:
    """A session, a function and a build that look at everything leave what they were given as it was."""
    old = world.object({"size": 1}, net={"a": 1})
    kept = copy.deepcopy(old)
    with world.writer().session(old) as status:
        status["net"]["a"] = 2
        with pytest.raises(TypeError, match="read-only"):
            status.object["spec"]["size"] = 3
    with pytest.raises(TypeError, match="read-only"):
        world.writer().create_once(old, "plan", lambda obj: obj["spec"].update(size=4) or {"id": 1})
    assert old == kept
    assert world.client.get(API, "Probe", world.name, namespace="default")["spec"] == {"size": 1}


def test_a_condition_survives_assigning_its_list_as_it_is(world: World) -> None:
    """Set a condition, then assign the list back as it is staged: the condition is written."""
    old = world.object(conditions=[{"type": "Seed", "status": "True"}])
    with world.writer().session(old) as status:
        status.conditions.set("Ready", True, reason="Up")
        status["conditions"] = status["conditions"].plain()
    assert [entry["type"] for entry in world.status()["conditions"]] == ["Seed", "Ready"]


def test_lists_behave_like_lists(world: World) -> None:
    """Reversing, popping and removing do what they do to a plain list, also where the entries are maps."""
    entries = [{"a": 1}, {"b": 2}, {"c": 3}]
    old = world.object(net={"list": entries})
    with world.writer().session(old) as status:
        view = status["net"]["list"]
        view.reverse()
        assert view.pop(0) == {"c": 3}
        view.remove({"a": 1})
        view.extend([{"d": 4}])
        view += [{"e": 5}]
        view[0:1] = [{"f": 6}]
    assert world.status()["net"]["list"] == [{"f": 6}, {"d": 4}, {"e": 5}]


@pytest.mark.parametrize("look", [dict, len, lambda net: "c" in net, copy.deepcopy], ids=["dict", "len", "in", "deepcopy"])
def test_a_staged_map_that_is_read_back_hides_what_the_server_answered(world: World, look: Callable[[Any], object]) -> None:
    """After a flush a map is assigned and looked at: another writer's member was never shown, so removing it is a conflict."""
    old = world.object(phase="A")
    world.other(net={"c": 1})
    with pytest.raises(fiferail.Conflict, match=r"status\.net\S*  was .*, is now .*\(written by other\)"):  # noqa: SIM117
        with world.writer().session(old) as status:
            status["n"] = 1
            status.flush()
            status["net"] = {"b": 2}
            look(status["net"])
    assert world.status() == {"phase": "A", "n": 1, "net": {"c": 1}}


def test_a_map_that_was_looked_at_after_a_flush_may_be_replaced(world: World) -> None:
    """Whoever looks before the assignment has seen the member, and removes it knowingly."""
    old = world.object(phase="A")
    world.other(net={"c": 1})
    with world.writer().session(old) as status:
        status["n"] = 1
        status.flush()
        assert dict(status["net"]) == {"c": 1}
        status["net"] = {"b": 2}
        assert dict(status["net"]) == {"b": 2}
    assert world.status()["net"] == {"b": 2}
