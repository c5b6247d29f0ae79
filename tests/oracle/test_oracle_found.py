"""What the oracle found after the known losses were fixed: each as small as it can be had, on both servers."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import fiferail
from fiferail.testing.server import ApiServer
from fiferail.wire import Answer, Request

from .foreign import first_status
from .kind import API, NAME, Json, identity


class World:
    """One object, a client that is somebody else's, and writers."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client = server.client_as("other")
        self.make(1)

    def make(self, size: int, **status: Json) -> Json:
        """A new object of that name."""
        made = self.client.create({**identity("found"), "spec": {"size": size}})
        return self.merge(**(status or first_status(3))) if status != {"none": True} else made

    def get(self) -> Json:
        """The object now."""
        return self.client.get(API, NAME, "found", "default")

    def merge(self, **status: Json) -> Json:
        """Somebody else writes."""
        return self.client.patch(identity("found"), {"status": status}, subresource="status", field_manager="other")

    def recreate(self) -> None:
        """Another object of the same name, with a phase."""
        self.client.delete(identity("found"))
        self.make(9, phase="new")

    def writer(self, **settings: Any) -> fiferail.StatusWriter:
        """A writer of its own memory."""
        return fiferail.StatusWriter(self.server.client_as("writer"), field_manager="writer", **settings)


@pytest.fixture
def world(server: ApiServer) -> World:
    """On each server."""
    return World(server)


class Typed:
    """An object of a client that has models."""

    def __init__(self, obj: Json) -> None:
        self._obj = obj

    def to_dict(self) -> Json:
        """The tree."""
        return copy.deepcopy(self._obj)


def test_a_merge_to_another_object_of_the_name_is_not_remembered_for_the_old_one(world: World) -> None:
    """After MERGE has written to a recreated object, create_once on the old one says gone and creates nothing."""
    writer, old = world.writer(), world.get()
    world.recreate()
    with writer.session(old, strategy=fiferail.MERGE) as status:
        status["note"] = "x"
    made = writer.create_once(old, "plan", lambda obj: {"size": obj["spec"]["size"]})
    assert (str(made.outcome.kind), world.get()["status"].get("plan")) == ("gone", None)


def test_a_typed_object_stays_the_base_after_create_once_in_a_session(world: World) -> None:
    """A value computed from a typed object does not replace one that came since, although create_once has read the object anew."""
    writer, held = world.writer(), world.get()
    world.merge(plan={"id": "theirs"}, note="B")
    with pytest.raises(fiferail.Conflict, match=r"status\.note  was \"first\", is now \"B\""), writer.session(Typed(held)) as status:
        status["note"] = "from " + held["status"]["note"]
        status.create_once("plan", lambda obj: {"id": "mine"})
    assert world.get()["status"]["note"] == "B"


def test_what_apply_could_not_remove_is_removed_by_compare(world: World) -> None:
    """That server-side apply left a field in place says nothing about a JSON patch."""
    writer = world.writer()
    with writer.session(world.get(), strategy=fiferail.APPLY) as status:
        del status["phase"]
        status["owner"] = "me"
    assert status.outcome is not None
    assert status.outcome.altered == ("status.phase",)
    with writer.session(world.get()) as status:
        del status["phase"]
    assert "phase" not in world.get()["status"]


class LosesOneAnswer:
    """A line that loses the answer to the first write; before that comes to light somebody else writes."""

    def __init__(self, world: World) -> None:
        self._inner, self._world, self._lost = world.server.client_as("writer").transport, world, False

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carry, or lose."""
        answer = self._inner.send(request, timeout)
        if request.method == "PATCH" and not self._lost:
            self._lost = True
            self._world.merge(phase="theirs")
            raise ConnectionError("the answer was lost")
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        """Not used."""
        raise NotImplementedError


def test_a_conflict_of_mutate_after_a_lost_answer_says_that_it_may_have_landed(world: World) -> None:
    """It had landed: the error must not say that nothing was written."""
    writer = fiferail.StatusWriter(LosesOneAnswer(world), field_manager="writer", sleep=lambda seconds: None)
    with pytest.raises(fiferail.Conflict) as caught:
        writer.mutate(world.get(), lambda status: status.__setitem__("phase", "mine"))
    assert "an answer was lost, so this write may have landed" in str(caught.value)
    assert "did not write anything" not in str(caught.value)


def test_an_own_apply_is_no_known_step_of_a_field_that_somebody_else_removed(world: World) -> None:
    """APPLY tests nothing: that it was asked to remove a field does not make another's removal of it an own write."""
    writer, held = world.writer(), world.get()
    world.merge(note=None)
    with writer.session(held, strategy=fiferail.APPLY) as status:
        del status["note"]
        status["owner"] = "me"
    with pytest.raises(fiferail.Conflict, match=r"status\.note  was \"first\", is now absent"), writer.session(held) as status:
        status["note"] = "from first"
    assert "note" not in world.get()["status"]


def test_a_list_that_is_changed_in_place_is_read(world: World) -> None:
    """Two appends from one body: the second must not take back the first, which its own caller made."""
    writer, held = world.writer(), world.get()
    with writer.session(held) as status:
        status["refs"].append("x")
    with pytest.raises(fiferail.Conflict, match=r"status\.refs"), writer.session(held) as status:
        status["refs"].append("y")
    assert world.get()["status"]["refs"] == ["first", "x"]


def test_a_session_goes_on_after_a_flush_that_found_the_object_gone(world: World) -> None:
    """What is staged afterwards has nobody to go to: gone again, and no TypeError."""
    held = world.get()
    world.client.delete(identity("found"))
    with world.writer().session(held) as status:
        status["note"] = "a"
        assert str(status.flush().kind) == "gone"
        status["phase"] = "b"
    assert str(status.outcome and status.outcome.kind) == "gone"


def test_reading_back_an_own_map_is_no_read_of_what_it_replaces(world: World) -> None:
    """`mutate` must not put a value from the caller's dict over one that came since because its function looked at its own map."""
    held = world.get()
    world.merge(net={"a": "theirs"})

    def change(status: fiferail.Status) -> None:
        status["net"] = {"a": "from " + held["status"]["net"]["a"]}
        dict(status["net"])

    with pytest.raises(fiferail.Conflict, match=r"status\.net"):
        world.writer().mutate(held, change)
    assert world.get()["status"]["net"] == {"a": "theirs"}


def test_a_value_that_is_assigned_twice_and_ends_where_it_was_is_reported_when_it_has_changed(world: World) -> None:
    """Down and then Up again, on an object that said Up: the outcome names the path, because the server says Down."""
    held = world.get()
    world.merge(mode="Down")
    with world.writer().session(held) as status:
        status["mode"] = "Down"
        status["mode"] = "Up"
        status["note"] = "x"
    assert status.outcome is not None
    assert status.outcome.contradicted == ("status.mode",)


def test_a_contradiction_is_reported_by_create_once_in_a_session(world: World) -> None:
    """A value that the session took for settled has changed: one of the two outcomes says so."""
    held = world.get()
    world.merge(mode="Down")
    with world.writer().session(held) as status:
        status["mode"] = "Up"
        made = status.create_once("plan", lambda obj: {"id": "mine"})
    assert status.outcome is not None
    assert ("status.mode",) in (made.outcome.contradicted, status.outcome.contradicted)


def test_an_own_map_in_an_absent_status_is_no_read(world: World) -> None:
    """A map that the session itself has put there is not looked for on the server: no Conflict over a status that came since."""
    world.client.delete(identity("found"))
    held = world.make(1, none=True)
    world.merge(phase="x")
    with world.writer().session(held) as status:
        status["net"] = {}
        status["net"]["a"] = "1"
    assert world.get()["status"] == {"phase": "x", "net": {"a": "1"}}


def test_own_writes_stay_known_after_a_flush(world: World) -> None:
    """Two sessions on one body, the second with a flush in between that the server drops: its own earlier write is no conflict."""
    writer, held = world.writer(), world.get()
    with writer.session(held) as status:
        status["note"] = "1"
    with writer.session(held) as status:
        status["unheardOf"] = "x"
        status.flush()
        status["note"] = "2"
    assert world.get()["status"]["note"] == "2"


def test_a_locked_session_stays_locked_with_create_once_in_it(world: World) -> None:
    """What is staged in a LOCKED session does not land over somebody else's version because a plan was made in it."""
    held = world.get()
    world.merge(phase="x")
    with pytest.raises(fiferail.Conflict), world.writer(strategy=fiferail.LOCKED).session(held) as status:
        status["note"] = "1"
        status.create_once("plan", lambda obj: {"id": "mine"})
    assert world.get()["status"]["note"] == "first"


def test_apply_keeps_what_its_manager_has_applied_since(world: World) -> None:
    """Two replicas of one manager apply different fields from the same version: both stand."""
    held = world.get()
    for name in ("owner", "late"):
        with world.writer(strategy=fiferail.APPLY).session(held) as status:
            status[name] = "x"
    assert {name: world.get()["status"].get(name) for name in ("owner", "late")} == {"owner": "x", "late": "x"}
