"""Staging: a mutable view of the status that records reads and writes and touches nothing."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import pydantic
import pytest

from fiferail.errors import FiferailError, Invalid
from fiferail.objects.paths import Path, parse, render
from fiferail.status.reads import Look
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.view import Status
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

NOW = "2026-01-02T03:04:05Z"
READY = {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
OBJECT = {
    "apiVersion": "example.io/v1",
    "kind": "Gadget",
    "metadata": {"name": "g", "uid": "u", "resourceVersion": "7", "generation": 3},
    "spec": {"size": 3},
    "status": {"phase": "Pending", "count": 5, "network": {"ip": "10.0.0.1", "ports": [80, 443]}, "conditions": [READY]},
}


def staged(obj: Any = OBJECT) -> tuple[Status, Stage]:
    """A status view on the object, and its stage."""
    stage = Stage(obj, shapes=Shapes(), now=lambda: NOW, generation=3)
    return Status(stage, ("status",)), stage


def read_paths(stage: Stage) -> list[str]:
    """What was read, as text; a question mark where only its presence was."""
    return [render(path) + ("" if look is Look.VALUE else "?") for path, look in stage.reads.items()]


@pytest.mark.parametrize(
    ("look", "reads"),
    [
        pytest.param(lambda s: s["phase"], ["status.phase"], id="a scalar"),
        pytest.param(lambda s: s.get("missing"), ["status.missing"], id="a missing member"),
        pytest.param(lambda s: "phase" in s, ["status.phase"], id="membership"),
        pytest.param(lambda s: s["network"], ["status.network?"], id="a nested mapping, not yet looked into"),
        pytest.param(lambda s: s["network"]["ip"], ["status.network?", "status.network.ip"], id="a nested scalar"),
        pytest.param(lambda s: s["network"].plain(), ["status.network"], id="a nested mapping as plain data"),
        pytest.param(lambda s: len(s["network"]["ports"]), ["status.network?", "status.network.ports"], id="the length of a list"),
        pytest.param(lambda s: s["network"]["ports"][1], ["status.network?", "status.network.ports"], id="an entry of a list reads it"),
        pytest.param(lambda s: s["conditions"][0]["type"], ["status.conditions"], id="an entry by index reads the list"),
        pytest.param(lambda s: s.get("network") is not None, ["status.network?"], id="that a mapping is there"),
        pytest.param(lambda s: "network" in s, ["status.network?"], id="membership of a mapping"),
        pytest.param(lambda s: isinstance(s["conditions"], list), ["status.conditions?"], id="that a list is there"),
        pytest.param(lambda s: bool(s["conditions"]), ["status.conditions?"], id="that a list has entries"),
        pytest.param(lambda s: bool(s["network"]), ["status.network?"], id="that a mapping has members"),
        pytest.param(copy.deepcopy, ["status"], id="a deep copy"),
        pytest.param(copy.copy, ["status"], id="a copy"),
        pytest.param(lambda s: s.object["spec"]["size"], ["spec?", "spec.size"], id="the spec, through the object"),
        pytest.param(lambda s: s.object["metadata"]["resourceVersion"], [], id="the version"),
        pytest.param(lambda s: s.object["metadata"]["name"], ["metadata.name"], id="metadata"),
        pytest.param(lambda s: list(s), ["status"], id="iteration reads everything below"),
        pytest.param(lambda s: s == {}, ["status"], id="equality reads everything below"),
        pytest.param(lambda s: s.conditions.get("Ready"), ["status.conditions[Ready]"], id="a condition by type"),
        pytest.param(lambda s: s.conditions.is_true("Ready"), ["status.conditions[Ready].status"], id="whether a condition is true"),
        pytest.param(lambda s: s.conditions.types(), ["status.conditions"], id="the types"),
        pytest.param(lambda s: s.peek("phase"), [], id="a peek"),
        pytest.param(repr, [], id="a repr, for logs"),
    ],
)
def test_what_counts_as_read(look: Any, reads: list[str]) -> None:
    """A path is read when the caller could have decided on its value, and not before."""
    status, stage = staged()
    look(status)
    assert read_paths(stage) == reads


def test_reading_what_the_session_wrote_itself_is_no_read() -> None:
    """A value that this session staged says nothing about the server."""
    status, stage = staged()
    status["phase"] = "Running"
    assert status["phase"] == "Running"
    assert read_paths(stage) == []


def test_values_can_be_edited_like_plain_dicts_and_lists() -> None:
    """Nested members, lists, update, setdefault, pop and del end in the tree one would expect."""
    status, stage = staged()
    status["network"]["ip"] = "10.0.0.2"
    status["network"]["ports"].append(8080)
    status["network"].update({"mac": "aa", "dns": ["a"]})
    assert status.setdefault("fresh", 1) == 1
    assert status.pop("count") == 5
    del status["phase"]
    assert stage.tree["status"] == {
        "network": {"ip": "10.0.0.2", "ports": [80, 443, 8080], "mac": "aa", "dns": ["a"]},
        "conditions": [READY],
        "fresh": 1,
    }


def test_the_callers_object_is_never_changed() -> None:
    """Whatever is staged, the object that was passed in stays as it was, and so does what was assigned."""
    obj = copy.deepcopy(OBJECT)
    status, stage = staged(obj)
    mine = {"a": [1]}
    status["mine"] = mine
    mine["a"].append(2)
    status["network"]["ports"].clear()
    status.conditions.set("Ready", False, reason="Down")
    assert obj == OBJECT
    assert stage.tree["status"]["mine"] == {"a": [1]}


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda s: s.__setitem__("phase", "Pending"), id="a scalar"),
        pytest.param(lambda s: s.__setitem__("count", 5.0), id="a float that is the same number"),
        pytest.param(lambda s: s.__setitem__("network", {"ports": [80, 443], "ip": "10.0.0.1"}), id="an equal mapping in another order"),
        pytest.param(lambda s: s.conditions.set("Ready", True, reason="Up", observed_generation=None), id="a condition"),
        pytest.param(lambda s: s.raise_to("count", 4), id="raising to less"),
        pytest.param(lambda s: s.conditions.remove("Absent"), id="removing what is not there"),
    ],
)
def test_assigning_what_is_there_is_no_change(edit: Any) -> None:
    """A staged value equal to the base's leaves nothing to send."""
    obj = {**OBJECT, "status": {**OBJECT["status"], "conditions": [{**READY, "observedGeneration": 3}]}}  # type: ignore[dict-item]
    status, stage = staged(obj)
    edit(status)
    assert stage.intents() == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(object(), "expected a JSON value, got object at status.bad", id="no JSON"),
        pytest.param({"a": {1}}, "expected a JSON value, got set at status.bad.a", id="no JSON, deep inside"),
        pytest.param({1: 2}, "expected member names of type str, got int at status.bad", id="a name that is no text"),
        pytest.param(float("nan"), "expected a finite number, got nan at status.bad", id="not a number"),
    ],
)
def test_what_is_no_json_is_refused_where_it_is_assigned(value: Any, text: str) -> None:
    """The error names the path, and nothing is staged."""
    status, stage = staged()
    with pytest.raises((TypeError, ValueError)) as caught:
        status["bad"] = value
    assert str(caught.value) == text
    assert stage.tree is stage.base


def test_a_condition_moves_its_time_only_when_it_flips() -> None:
    """Same status: the old time. Another status: now."""
    status, stage = staged()
    status.conditions.set("Ready", True, reason="StillUp")
    assert stage.tree["status"]["conditions"][0]["lastTransitionTime"] == READY["lastTransitionTime"]
    status.conditions.set("Ready", False, reason="Down")
    assert stage.tree["status"]["conditions"][0] == {
        **READY, "status": "False", "reason": "Down", "observedGeneration": 3, "lastTransitionTime": NOW,
    }  # fmt: skip


def test_a_bad_reason_is_refused_before_anything_is_sent() -> None:
    """The API's pattern for reasons is checked where the condition is set."""
    status, stage = staged()
    with pytest.raises(Invalid, match="expected reason to be one CamelCase word"):
        status.conditions.set("Ready", True, reason="not a word")
    assert stage.tree is stage.base


@dataclass
class DataStatus:
    """Two of the members."""

    phase: str = ""
    count: int = 0


class StructStatus(msgspec.Struct):
    """Two of the members."""

    phase: str = ""
    count: int = 0


class PydanticStatus(pydantic.BaseModel):
    """Two of the members."""

    phase: str = ""
    count: int = 0


@pytest.mark.parametrize("model", [DataStatus, StructStatus, PydanticStatus], ids=["dataclass", "msgspec", "pydantic"])
def test_models_read_and_stage_only_what_they_declare(model: Any) -> None:
    """A model's members are read and written; its ignorance of the rest removes nothing."""
    status, stage = staged()
    loaded = status.load(model)
    assert (loaded.phase, loaded.count) == ("Pending", 5)
    assert read_paths(stage) == ["status.phase", "status.count"]
    loaded.count = 6
    status.store(loaded)
    assert stage.tree["status"] == {**OBJECT["status"], "count": 6}  # type: ignore[dict-item]


def test_an_entry_of_a_keyed_list_is_edited_by_its_key() -> None:
    """`entry` finds or makes the entry, and only its members are staged."""
    obj = {**OBJECT, "status": {"workloads": [{"kind": "Job", "name": "a", "n": 1}]}}
    status, stage = staged(obj)
    status.entry("workloads", kind="Job", name="a")["n"] = 2
    status.entry("workloads", kind="Job", name="b")["n"] = 3
    assert stage.tree["status"]["workloads"] == [{"kind": "Job", "name": "a", "n": 2}, {"kind": "Job", "name": "b", "n": 3}]
    written: list[Path] = [intent.path for intent in stage.intents()]
    assert [render(path) for path in written] == ["status.workloads[kind=Job,name=a].n", "status.workloads[kind=Job,name=b]"]


def test_paths_read_and_print_alike() -> None:
    """The text of a path is what `parse` takes."""
    assert render(parse("conditions[Ready].reason")) == "conditions[Ready].reason"


def test_members_of_an_enum_are_texts() -> None:
    """A reason kept in a StrEnum is the text it stands for: as a value, and when it says what is there already."""

    class Why(StrEnum):
        UP = "Up"
        DOWN = "Down"

    status, stage = staged({**OBJECT, "status": {**OBJECT["status"], "conditions": [{**READY, "observedGeneration": 3}]}})  # type: ignore[dict-item]
    status.conditions.set("Ready", True, reason=Why.UP)
    assert stage.intents() == []
    status.conditions.set("Ready", False, reason=Why.DOWN, message=Why.DOWN)
    entry = stage.tree["status"]["conditions"][0]
    assert (type(entry["reason"]), entry["reason"], type(entry["message"])) == (str, "Down", str)


class Untouchable:
    """A client that must not be asked for anything."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        raise AssertionError(f"{request.method} {request.path} before the flush")

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        raise AssertionError("a watch before the flush")


def test_nothing_touches_the_client_before_the_flush() -> None:
    """Opening, reading and staging of every sort go by without it; the flush is the first to ask."""
    writer = StatusWriter(Untouchable(), field_manager="mine", claims={"Gadget.example.io": ["phase"]}, sleep=lambda seconds: None)
    obj = {**OBJECT, "metadata": {**OBJECT["metadata"], "namespace": "default"}}  # type: ignore[dict-item]
    with pytest.raises(FiferailError, match="could not be read") as caught, writer.session(obj, guard=["status.count"]) as status:
        status["phase"] = "Running"
        status["network"]["ports"].append(8080)
        status.entry("parts", name="a")["up"] = True
        status.raise_to("observedGeneration", 3)
        status.conditions.set("Ready", False, reason="Down")
        status.put_whole("parts", [{"name": "b"}])
        assert (status.get("count"), len(status["network"]["ports"]), status.conditions.is_true("Ready")) == (5, 3, False)
        assert status.peek("phase") == "Running"
        assert status.outcome is None
    assert "GET /apis/example.io/v1 before the flush" in str(caught.value)
