"""Contention: noticed by slow answers, met by holding back, and forgotten when answers are quick again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fiferail.status.answers import FAILED_TEST
from fiferail.status.pacing import Pace, Tempo
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

REFUSED = {"message": FAILED_TEST, "details": {}}
RESOURCES = [{"name": "gadgets", "kind": "Gadget", "namespaced": True}, {"name": "gadgets/status", "kind": "Gadget", "namespaced": True}]


def paced(*answers: float, quickest: float = 0.004) -> Pace:
    """A pace after answers that took so long, one right after the other, the last one at 100."""
    pace, now = Pace(Tempo(quickest)), 100.0 - sum(answers)
    for took in answers:
        now += took
        pace.answered(took, now, lambda: 0.5)
    return pace


@pytest.mark.parametrize(
    ("answers", "until"),
    [
        pytest.param([0.004, 0.005], float("-inf"), id="quick ones"),
        pytest.param([0.011], float("-inf"), id="less than a hundredth of a second is never slow"),
        pytest.param([0.1], 101.0, id="a slow one: a second"),
        pytest.param([0.004] * 5 + [0.06], float("-inf"), id="one slow one among quick ones"),
        pytest.param([0.004] * 5 + [0.06] * 3, 101.0, id="three of them"),
        pytest.param([2.0], 108.0, id="a very slow one: four times as long"),
    ],
)
def test_a_slow_answer_makes_a_writer_give_way(answers: list[float], until: float) -> None:
    """For a while."""
    pace = paced(*answers)
    assert pace.until == pytest.approx(until)
    assert pace.gives_way(100.5) is (until > 100.5)


def test_turns_grow_while_they_are_needed() -> None:
    """Half as long again each time, up to a limit; quick answers bring them back; after the turn the writer writes as ever."""
    pace = paced(0.1)
    assert [round(pace.refused(100.0, 0.5), 2) for _ in range(6)] == [1.0, 1.5, 2.25, 3.38, 5.06, 6.0]
    assert pace.until == pytest.approx(106.0)
    for _ in range(80):
        pace.answered(0.004, 101.0, lambda: 0.5)
    assert pace.turn == 1.0


@pytest.mark.parametrize(("took", "waits"), [(0.1, 1.0), (2.0, 8.0), (10.0, 15.0)])
def test_a_turn_is_longer_where_answers_take_seconds(took: float, waits: float) -> None:
    """Very many write at once there, and all come back within a second would be the next rush: four times the answer, at most 15 s."""
    pace = paced(took)
    pace.answered(0.004, 100.0, lambda: 0.5, yielding=True)  # a refusal is quick whatever else goes on
    assert pace.refused(100.0, 0.5) == pytest.approx(waits)


def test_a_writer_that_writes_now_and_then_never_gives_way() -> None:
    """It counts from the last slow answer."""
    assert not paced(0.1).gives_way(160.0)


def test_a_server_that_is_slow_for_everybody_is_not_contended() -> None:
    """What is quick is learned from this server, and fades, so that a change for the worse is learned too."""
    assert not paced(0.3, 0.3, 0.4, quickest=0.2).gives_way(100.0)
    assert not paced(*[0.3] * 400).gives_way(100.0)


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


def test_nobody_came_in_between() -> None:
    """After a slow answer the version is tested; it still holds: one request, no wait."""
    server = Slow((0.1, 200), (0.0, 200), (0.0, 200))
    write(server, 3)
    assert server.asked == ["PATCH", "PATCH", "PATCH"]
    assert [step["path"] for step in server.bodies[1]] == ["/metadata/uid", "/metadata/resourceVersion", "/status/phase"]


def test_somebody_was_first() -> None:
    """Refused: it waits its turn, reads, and then tests the fields only, which nobody else's write can refuse."""
    server = Slow((0.1, 200), (0.0, 422), (0.0, 200))
    write(server, 2)
    assert server.asked == ["PATCH", "PATCH", "wait 1.00", "GET", "PATCH"]
    assert [step["path"] for step in server.bodies[2]] == ["/metadata/uid", "/status/phase", "/status/phase"]
