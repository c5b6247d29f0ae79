"""An answer that never reaches its caller is no observation: the recorder is told what was done, not what would have been shown."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.apiserver.inprocess import Transport, request_of
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.recording import Log
from fiferail.testing.checking import Watchman
from fiferail.wire import MERGE_PATCH, Request

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
READS: dict[str, tuple[str, str, tuple[tuple[str, str], ...], Any]] = {
    "a lost get": ("get", f"{CONFIGMAPS}/a", (), "lost"),
    "a lost list": ("list", CONFIGMAPS, (), "lost"),
    "a lost watch": ("watch", CONFIGMAPS, (("watch", "1"),), "lost"),
    "a dropped watch": ("watch", CONFIGMAPS, (("watch", "1"),), "dropped"),
}


def world(recorder: Any) -> tuple[Machine, Transport]:
    machine = Machine(clock=lambda: 1_700_000_000.0)
    transport = Transport(machine)
    transport.send(request_of("POST", CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, manager="maker"))
    machine.recorder = recorder
    return machine, transport


@pytest.mark.parametrize(("verb", "path", "query", "answer"), READS.values(), ids=READS)
def test_a_read_that_nobody_gets_is_not_recorded(verb: Any, path: str, query: tuple[tuple[str, str], ...], answer: Any) -> None:
    """Neither the read itself nor an event of it reaches the recorder; the next one does."""
    log = Log()
    machine, _ = world(log)
    machine.faults.next(verb=verb, kind="ConfigMap", answer=answer)
    machine.handle(Request(method="GET", path=path, query=query))
    assert log.records == []
    assert machine.recorder is log
    machine.handle(Request(method="GET", path=path, query=query))
    assert [record.what for record in log.records] == ["read"]


def test_a_write_whose_answer_is_lost_is_recorded() -> None:
    """The write landed, whoever knows."""
    log = Log()
    machine, _ = world(log)
    machine.faults.next(verb="patch", kind="ConfigMap", answer="lost")
    machine.handle(request_of("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, content_type=MERGE_PATCH))
    assert [record.what for record in log.records] == ["commit"]


def test_a_lost_read_does_not_hide_a_lost_update() -> None:
    """A writer whose second read was lost decided on the first: what it overwrites is lost, and the checker says so."""
    watchman = Watchman()
    machine, transport = world(watchman)

    def send(agent: str, method: str, value: str = "") -> None:
        body = {"data": {"x": value}} if value else None
        machine.handle(request_of(method, f"{CONFIGMAPS}/a", body, manager=agent, content_type=MERGE_PATCH))

    for agent in ("one", "two"):
        send(agent, "GET")
    send("one", "PATCH", "written by one")
    machine.faults.next(verb="get", kind="ConfigMap", answer="lost")
    send("two", "GET")
    send("two", "PATCH", "written by two")
    (told,) = watchman.lost()
    assert told.startswith("LOST data.x of configmaps default/a: one")
    del transport
