"""The injector of the trace benchmark: its logs must be what a lost update looks like, else its numbers mean nothing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
AGENT = "operator.test/v0.0.0 (linux/amd64) kubernetes/$Format"


@pytest.fixture
def inject(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.traces.inject")


@pytest.fixture
def measured(inject: Any) -> Any:
    return importlib.import_module("benchmarks.traces.measured")


def condition(name: str, message: str) -> dict[str, str]:
    return {"type": name, "status": "True", "reason": "R", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}


def gadget(name: str, version: int, *conditions: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "x.io/v1", "kind": "Gadget", "metadata": metadata, "status": {"conditions": list(conditions)}}


def event(verb: str, answer: Any, second: int, *, body: Any = None, name: str = "", agent: str = AGENT, stage: str = "") -> dict[str, Any]:
    about = {"apiGroup": "x.io", "apiVersion": "v1", "resource": "gadgets", "namespace": "default"}
    path = "/apis/x.io/v1/namespaces/default/gadgets"
    return {
        "kind": "Event", "auditID": f"{verb}-{second}", "stage": stage or "ResponseComplete", "verb": verb, "userAgent": agent,
        "objectRef": {**about, "name": name} if name else about, "requestURI": f"{path}/{name}" if name else path,
        "requestReceivedTimestamp": f"2026-01-01T00:00:{second:02d}.000000Z", "stageTimestamp": f"2026-01-01T00:00:{second:02d}.500000Z",
        "responseStatus": {"code": 200}, "requestObject": body, "responseObject": answer,
    }  # fmt: skip


def log() -> list[dict[str, Any]]:
    """Two objects. The test makes `a`, a controller sets Ready and then changes its message; a list shows the last version."""
    one, two, three = (gadget("a", 10), gadget("a", 12, condition("Ready", "old")), gadget("a", 14, condition("Ready", "new")))
    other = gadget("b", 13, condition("Ready", "other"))
    return [
        event("watch", None, 0, stage="ResponseStarted"),
        event("create", one, 1, body=one),
        event("update", two, 2, body=two, name="a"),
        event("create", other, 3, body=other),
        event("update", three, 4, body=three, name="a"),
        event("get", three, 5, name="a"),
        event("list", {"kind": "GadgetList", "items": [three, other]}, 6),
        event("get", other, 7, name="b"),
    ]


def test_places_are_writes_that_changed_conditions(inject: Any) -> None:
    """Creations, reads and lists are no places; a write that added or changed a condition is one."""
    found = inject.places(log())
    assert [(place.number, place.changed) for place in found] == [(2, {"Ready"}), (4, {"Ready"})]


def test_a_write_that_changed_no_condition_is_no_place(inject: Any) -> None:
    """A new version with the same conditions offers nothing to lose."""
    same = gadget("a", 20, condition("Ready", "new"))
    assert len(inject.places([*log(), event("update", same, 8, body=same, name="a")])) == 2


@pytest.mark.parametrize(("form", "path"), [("merge", None), ("json", "/status/conditions")])
def test_a_stale_patch_stands_right_after_the_write_that_it_undoes(inject: Any, form: str, path: str | None) -> None:
    """The patch carries the list as it was before, plus one condition, and is stored as the next version."""
    place = inject.places(log())[1]
    made = inject.injected(log(), [inject.Stale(place, form)])
    index = next(number for number, one in enumerate(made) if one["userAgent"] == inject.AGENT and one["verb"] == "patch")
    body, answer = made[index]["requestObject"], made[index]["responseObject"]
    conditions = body["status"]["conditions"] if path is None else body[0]["value"]
    assert made[index - 1]["auditID"] == "update-4"
    assert [entry["type"] for entry in conditions] == ["Ready", "StaleOperatorReady"]
    assert conditions[0]["message"] == "old"
    assert answer["status"]["conditions"] == conditions
    assert answer["metadata"]["resourceVersion"] == "15"
    assert path is None or body[0]["path"] == path


def test_a_stale_put_is_refused_reads_and_repeats_its_list(inject: Any) -> None:
    """A conforming server refuses the old resourceVersion: the loss comes from repeating the old list on the fresh one."""
    made = inject.injected(log(), [inject.Stale(inject.places(log())[1], "put")])
    mine = [one for one in made if one["userAgent"] == inject.AGENT and one["verb"] != "watch"]
    assert [(one["verb"], one["responseStatus"]["code"]) for one in mine] == [("update", 409), ("get", 200), ("update", 200)]
    versions = [one["requestObject"]["metadata"]["resourceVersion"] for one in (mine[0], mine[2])]
    assert versions == ["12", "14"]
    assert mine[0]["requestObject"]["status"] == mine[2]["requestObject"]["status"]


def test_the_history_of_the_object_ends_and_others_go_on(inject: Any) -> None:
    """Later requests about the object and later versions in lists are gone; those of other objects stay."""
    made = inject.injected(log(), [inject.Stale(inject.places(log())[0], "merge")])
    assert [one["auditID"] for one in made if one["userAgent"] == AGENT] == [
        "watch-0",
        "create-1",
        "update-2",
        "create-3",
        "list-6",
        "get-7",
    ]
    listed = next(one for one in made if one["verb"] == "list")
    assert [item["metadata"]["name"] for item in listed["responseObject"]["items"]] == ["b"]


def test_the_stale_client_watches_from_the_beginning(inject: Any) -> None:
    """It is a controller: the log shows its watch of the kind before anything else."""
    first = inject.injected(log(), [inject.Stale(inject.places(log())[0], "merge")])[0]
    assert (first["verb"], first["userAgent"], first["stage"]) == ("watch", inject.AGENT, "ResponseStarted")
    assert first["stageTimestamp"] <= log()[0]["requestReceivedTimestamp"]


def test_rounds_use_no_object_twice(inject: Any) -> None:
    """Two places of one object go to two rounds, because the first ends its history."""
    assert [len(one) for one in inject.rounds([inject.Stale(place, "merge") for place in inject.places(log())])] == [1, 1]


@pytest.mark.parametrize("agent", [AGENT, "operator.test/unknown cache-tracker (linux/amd64) x.io/unknown"])
def test_controllers_of_one_process_are_one_client_or_apart(measured: Any, agent: str) -> None:
    """Without the caller in the User-Agent there is one client; with it every controller has the watches of its process."""
    events = [event("watch", None, 0, stage="ResponseStarted", agent=agent)]
    events += [event("update", gadget("b", 30), 8, name="b", agent=f"{agent}/gadget.Reconciler")]
    assert {one["userAgent"] for one in measured.as_one(events)} == {agent}
    watching = {one["userAgent"] for one in measured.apart(events) if one["verb"] == "watch"}
    assert watching == {agent, f"{agent}/gadget.Reconciler"}
