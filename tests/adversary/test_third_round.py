"""What the third adversary broke: own writes in a row on one body, looks after a removal, and parameters that did nothing."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import fiferail

from .conftest import World, published


def known_schema(world: World, writer: fiferail.StatusWriter) -> None:
    """Let the writer read the schema: from then on it knows which lists are keyed, and which are sets."""
    published(world, "marks")
    obj = world.object(n=1)
    writer.mutate(obj, lambda status: status.entry("workloads", kind="Job", name="seed").__setitem__("up", True))


def test_members_of_a_new_entry_come_together(world: World) -> None:
    """Two sessions on one body that each set a member of an entry which the body lacks: both stand."""
    body, writer = world.object(n=1), world.writer()
    with writer.session(body) as status:
        status.entry("workloads", kind="Job", name="a")["x"] = "1"
    with writer.session(body) as status:
        status.entry("workloads", kind="Job", name="a")["ready"] = True
    assert world.status()["workloads"] == [{"kind": "Job", "name": "a", "x": "1", "ready": True}]


def test_a_condition_keeps_what_it_said(world: World) -> None:
    """A message that is edited in a second session on one body takes nothing from the condition that the first one set."""
    body, writer = world.object(n=1), world.writer()
    with writer.session(body) as status:
        status.conditions.set("A", True, reason="R", message="m")
    with writer.session(body) as status:
        status.entry("conditions", type="A")["message"] = "z"
    entry = world.status()["conditions"][0]
    assert (entry["status"], entry["reason"], entry["message"]) == ("True", "R", "z")


def test_appends_in_a_row_on_one_body_all_stand(world: World) -> None:
    """Each append to a keyed list or a set adds its own entry and removes none."""
    writer = world.writer()
    known_schema(world, writer)
    body = world.object(workloads=[{"kind": "Job", "name": "z"}], marks=["z"])
    for name in "abc":
        with writer.session(body) as status:
            status["workloads"].append({"kind": "Job", "name": name})
            status["marks"].append(name)
    assert [entry["name"] for entry in world.status()["workloads"]] == ["z", "a", "b", "c"]
    assert sorted(world.status()["marks"]) == ["a", "b", "c", "z"]


def test_an_assignment_takes_back_own_members(world: World) -> None:
    """A map that is assigned as the body has it, after an own write added a member, is what was assigned."""
    body, writer = world.object(net={"x": "1"}), world.writer()
    with writer.session(body) as status:
        status["net"]["y"] = "2"
    with writer.session(body) as status:
        status["net"] = {"x": "1"}
    assert world.status()["net"] == {"x": "1"}


def test_put_whole_of_a_refused_run_exempts_no_later_run(world: World) -> None:
    """A second run that assigns the list from its closure is a conflict, although the first one put it as a whole."""
    body = world.object(phase="A", workloads=[{"kind": "Job", "name": "a"}])
    world.other(phase="B", workloads=[{"kind": "Job", "name": "a"}, {"kind": "Job", "name": "c"}])
    runs: list[int] = []

    def edit(status: fiferail.Status) -> None:
        runs.append(1)
        status["summary"] = status["phase"]
        mine = [*body["status"]["workloads"], {"kind": "Job", "name": "m"}]
        if len(runs) == 1:
            status.put_whole("workloads", mine)
        else:
            status["workloads"] = [entry for entry in mine if entry["name"] != "c"]

    with contextlib.suppress(fiferail.Conflict):
        world.writer().mutate(body, edit)
    assert "c" in [entry["name"] for entry in world.status()["workloads"]]


def test_what_is_looked_at_after_removing_and_assigning_is_guarded(world: World) -> None:
    """A member that another writer adds is not taken for absent because this session removed and assigned the map."""
    body = world.object(net={"x": "0"})
    with pytest.raises(fiferail.Conflict, match=r"status\.net"), world.writer().session(body) as status:
        del status["net"]
        status["net"] = {"x": "1"}
        if "y" not in status["net"]:
            status["phase"] = "no-y"
        world.other(net={"y": "F"})
    assert "phase" not in world.status()


def test_an_assignment_after_raising_is_an_assignment(world: World) -> None:
    """The same number, raised and then assigned: another writer's higher number is a conflict."""
    body = world.object(n=3)
    world.other(n=7)
    with pytest.raises(fiferail.Conflict, match=r"status\.n  was 3, is now 7"), world.writer().session(body) as status:
        status.raise_to("n", 5)
        status["n"] = 5


@pytest.mark.parametrize("before", [{}, {"conditions": [{"type": "A", "status": "False", "reason": "R", "message": ""}]}])
def test_since_is_the_transition_time(world: World, before: dict[str, Any]) -> None:
    """`conditions.set(since=)` is kept for a new condition, for one that flips, and where nothing else differs."""
    body = world.object(n=1, **before)
    writer = world.writer()
    for since in ("2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z"):
        with writer.session(body) as status:
            status.conditions.set("A", True, reason="R", since=since)
        assert status.outcome is not None
        body = status.outcome.object
        assert world.status()["conditions"][0]["lastTransitionTime"] == since
