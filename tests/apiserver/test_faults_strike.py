"""Faults: each rule strikes what it names, as often as it says, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fiferail.apiserver.faults import Delayed, Lost
from fiferail.apiserver.inprocess import Transport, request_of
from fiferail.apiserver.machine import Machine
from fiferail.wire import Answer

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def world() -> Machine:
    world = Machine(clock=lambda: 1_700_000_000.0)
    Transport(world).send(request_of("POST", CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}))
    return world


def patch(world: Machine, value: str = "2") -> Any:
    return world.handle(request_of("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": value}}, content_type="application/merge-patch+json"))


def stored(world: Machine) -> str:
    answer = world.internal(request_of("GET", f"{CONFIGMAPS}/a"))
    assert isinstance(answer, Answer)
    text: str = answer.json()["data"]["x"]
    return text


@pytest.mark.parametrize(
    ("code", "reason", "header"),
    [(409, "Conflict", None), (429, "TooManyRequests", "1"), (500, "InternalError", None), (503, "ServiceUnavailable", None)],
    ids=["conflict", "too many requests", "internal error", "unavailable"],
)
def test_an_answer_is_replaced_and_nothing_is_written(world: Machine, code: int, reason: str, header: str | None) -> None:
    """The next matching request gets the code, with Retry-After where it belongs; the one after that works."""
    world.faults.next(verb="patch", kind="ConfigMap", answer=code)
    answer = patch(world)
    assert answer.status == code
    assert answer.json()["reason"] == reason
    assert answer.headers.get("retry-after") == header
    assert stored(world) == "1"
    assert patch(world).status == 200
    assert stored(world) == "2"


def test_a_lost_answer_hides_a_write_that_landed(world: Machine) -> None:
    """The write is done, the client hears nothing, and the transport raises."""
    world.faults.next(verb="patch", answer="lost")
    assert isinstance(patch(world), Lost)
    assert stored(world) == "2"
    world.faults.next(verb="get", answer="lost")
    with pytest.raises(ConnectionError, match="closed before an answer came"):
        Transport(world).send(request_of("GET", f"{CONFIGMAPS}/a"))


def test_latency_is_told_to_the_shell(world: Machine) -> None:
    """The machine does not wait: it says how long the shell should."""
    world.faults.next(verb="patch", answer=200, latency=1.5)
    outcome = patch(world)
    assert isinstance(outcome, Delayed)
    assert outcome.seconds == 1.5
    assert isinstance(outcome.answer, Answer)
    assert outcome.answer.status == 200


def test_rules_count(world: Machine) -> None:
    """`after` lets requests pass, `times` says how many are hit."""
    world.faults.next(verb="patch", answer=503, after=1, times=2)
    assert [patch(world, str(number)).status for number in range(4)] == [200, 503, 503, 200]


def test_rules_match_by_name_and_verb(world: Machine) -> None:
    """Other objects and other verbs are left alone."""
    world.faults.next(verb="patch", name="b", answer=500)
    world.faults.next(verb="delete", answer=500)
    world.faults.next(kind="Secret", answer=500)
    assert patch(world).status == 200
    world.faults.clear()
    assert not world.faults


def test_a_stale_list_shows_the_past(world: Machine) -> None:
    """A list that is one commit behind does not show the last write."""
    patch(world)
    world.faults.next(verb="list", answer="stale", behind=1)
    answer = world.handle(request_of("GET", CONFIGMAPS))
    assert isinstance(answer, Answer)
    assert answer.json()["items"][0]["data"] == {"x": "1"}


def test_a_stale_list_counts_changes_of_its_kind(world: Machine) -> None:
    """Writes to other kinds do not make a list less stale, and selectors and paging hold in the past too."""
    transport = Transport(world)
    for name in "bc":
        transport.send(request_of("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"in": "yes"}}}))
    transport.send(request_of("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}}))
    world.faults.next(verb="list", kind="ConfigMap", answer="stale", behind=1, times=3)
    listed = transport.send(request_of("GET", CONFIGMAPS, query=(("labelSelector", "in=yes"),))).json()
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]
    page = transport.send(request_of("GET", CONFIGMAPS, query=(("limit", "1"),))).json()
    rest = transport.send(request_of("GET", CONFIGMAPS, query=(("continue", page["metadata"]["continue"]),))).json()
    assert [item["metadata"]["name"] for item in [*page["items"], *rest["items"]]] == ["a", "b"]


def test_a_stale_list_beyond_all_history(world: Machine) -> None:
    """A list that is to be more changes behind than there were shows the kind before its first change."""
    world.faults.next(verb="list", kind="ConfigMap", answer="stale", behind=1000)
    assert Transport(world).send(request_of("GET", CONFIGMAPS)).json()["items"] == []


def test_a_lost_watch_leaves_no_stream_behind(world: Machine) -> None:
    """A watch whose answer is lost is closed on the server too."""
    world.faults.next(verb="watch", answer="lost")
    with pytest.raises(ConnectionError, match="closed before an answer came"):
        Transport(world).open(request_of("GET", CONFIGMAPS, query=(("watch", "1"),)))
    assert world.store.table(("", "configmaps")).streams == []


def test_a_watch_can_lag_and_can_be_dropped(world: Machine) -> None:
    """A lagging watch holds back the newest events; a dropped one is closed."""
    world.faults.next(verb="watch", answer="lagging", behind=1)
    stream = Transport(world).open(request_of("GET", CONFIGMAPS, query=(("watch", "1"),)))
    stream.take()
    patch(world, "2")
    assert stream.take() == []
    patch(world, "3")
    assert [json.loads(line)["object"]["data"]["x"] for line in stream.take()] == ["2"]
    world.faults.next(verb="watch", answer="dropped")
    assert Transport(world).open(request_of("GET", CONFIGMAPS, query=(("watch", "1"),))).closed


def test_a_fork_has_its_own_faults(world: Machine) -> None:
    """A rule used up in one world is still there in the other."""
    world.faults.next(verb="patch", answer=503)
    twin = world.fork()
    assert patch(world).status == 503
    assert patch(world).status == 200
    assert [fault.struck for fault in twin.faults.given] == [0]
    assert patch(twin).status == 503
