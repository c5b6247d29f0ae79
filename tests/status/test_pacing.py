"""Contention: noticed by slow answers, met by holding back, and forgotten when answers are quick again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.status.answers import FAILED_TEST
from fairlead.status.pacing import Pace, Tempo
from fairlead.status.writer import StatusWriter
from fairlead.wire import Answer, Request

REFUSED = {"message": FAILED_TEST, "details": {}}
RESOURCES = [{"name": "gadgets", "kind": "Gadget", "namespaced": True}, {"name": "gadgets/status", "kind": "Gadget", "namespaced": True}]


def paced(*answers: float, quickest: float = 0.004) -> Pace:
    """A pace after answers that took so long, one right after the other."""
    pace, now = Pace(Tempo(quickest)), 100.0
    for took in answers:
        now += took
        pace.answered(took, now, 0.5)
    return pace


@pytest.mark.parametrize(
    ("answers", "gap"),
    [
        pytest.param([0.004, 0.005], 0.0, id="quick ones"),
        pytest.param([0.009], 0.0, id="less than a hundredth of a second is never slow"),
        pytest.param([0.1], 0.1, id="a slow one: as long as it took"),
        pytest.param([0.1, 0.1], 0.2, id="another: twice that"),
        pytest.param([0.1] * 9, 0.4, id="never more than four times the last answer"),
        pytest.param([0.1, 0.1, 0.004], 0.1, id="a quick one halves it"),
    ],
)
def test_the_gap_follows_the_answers(answers: list[float], gap: float) -> None:
    """Slow answers widen it, quick ones narrow it."""
    assert paced(*answers).gap == pytest.approx(gap)


def test_a_writer_that_writes_now_and_then_never_waits() -> None:
    """The gap counts from the last answer, not from the next write."""
    pace = paced(0.1)
    assert pace.hold(100.1) == pytest.approx(0.1)
    assert pace.hold(160.0) == 0.0


def test_a_server_that_is_slow_for_everybody_is_not_contended() -> None:
    """What is quick is learned from this server, and fades, so that a change for the worse is learned too."""
    assert paced(0.3, 0.3, 0.4, quickest=0.2).gap == 0.0
    pace = paced(*[0.3] * 400)
    assert pace.gap < 0.3


class Slow:
    """A server whose writes take as long as the script says."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.clock = 0.0
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.version = 7

    def object(self) -> Any:
        metadata = {"name": "g", "namespace": "default", "uid": "u", "resourceVersion": str(self.version)}
        return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata, "status": {"phase": str(self.version)}}

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        self.clock += 0.002
        if request.path == "/apis/example.io/v1":
            return Answer(200, msgspec.json.encode({"resources": RESOURCES}))
        self.asked.append(request.method)
        if request.method == "GET":
            return Answer(200, msgspec.json.encode(self.object()))
        self.bodies.append(msgspec.json.decode(request.body))
        took, code = self.script.pop(0)
        self.clock += took
        if code != 200:
            return Answer(code, msgspec.json.encode(REFUSED))
        self.version += 1
        return Answer(200, msgspec.json.encode(self.object()))

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        raise AssertionError("no watch here")

    def sleep(self, seconds: float) -> None:
        self.asked.append(f"wait {seconds:.2f}")
        self.clock += seconds


def write(server: Slow, times: int) -> None:
    """So many writes, one right after the other."""
    writer = StatusWriter(server, field_manager="me", sleep=server.sleep, chance=lambda: 0.5, seconds=lambda: server.clock)
    obj = server.object()
    for _ in range(times):
        obj = writer.mutate(obj, lambda status: status.update(phase=str(server.version + 1))).object


def test_after_a_slow_answer_the_next_write_waits_its_turn() -> None:
    """Still one request per write, with the fields tested."""
    server = Slow((0.1, 200), (0.0, 200), (0.0, 200))
    write(server, 3)
    assert server.asked == ["PATCH", "wait 0.10", "PATCH", "PATCH"]
    assert server.bodies[1][1]["path"] == "/status/phase"


def test_in_a_crowd_the_version_is_read_and_tested() -> None:
    """Refused at once or stored at once, never queued inside the server; each new try waits first, then reads."""
    server = Slow((1.2, 200), (0.0, 422), (0.0, 200))
    write(server, 2)
    assert server.asked == ["PATCH", "wait 1.20", "GET", "PATCH", "wait 0.14", "GET", "PATCH"]
    assert [step["path"] for step in server.bodies[2]] == ["/metadata/uid", "/metadata/resourceVersion", "/status/phase"]
