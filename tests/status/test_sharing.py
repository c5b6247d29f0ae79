"""Flushes that meet at one object go together: stepped by hand, so that every meeting is the one that the test describes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fiferail.clients.kubeconfig import connect_async
from fiferail.errors import Conflict, Invalid, Unavailable
from fiferail.status.answers import Lost
from fiferail.status.effects import Conversation, Join, Send, Wait
from fiferail.status.outcome import Kind, Outcome
from fiferail.status.patience import Budget
from fiferail.status.sharing import Lanes
from fiferail.status.writer import AsyncStatusWriter, Session, StatusWriter
from fiferail.testing.server import ApiServer
from fiferail.wire import Answer, Request

TEXT = {"type": "string"}
CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), TEXT),
        "observedGeneration": {"type": "integer"},
    },
}
CONDITIONS = {"type": "array", "items": CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
STATUS = {
    "type": "object",
    "properties": {"conditions": CONDITIONS, "phase": {"type": "string", "maxLength": 9}, "count": {"type": "integer"}},
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": STATUS}}},
            }
        ],
    },
}  # fmt: skip


class Bench:
    """One object, one writer, and what went over the wire."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.transport: Any = server.client.transport
        self.writer = StatusWriter(self.transport, field_manager="operator", chance=lambda: 0.5, budget=Budget(tries=3))
        server.apply(CRD)
        self.object = server.apply(
            {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "status": {"conditions": [], "phase": "New"}}
        )[0]
        self.writer._core.lanes = Lanes(at_once=1)  # so that the second one waits
        self.writer.mutate(
            self.object, lambda status: status.conditions.set("Seed", True, reason="Up")
        )  # asks discovery and the schema, once
        self.object = self.stored()

    def stored(self) -> Any:
        """What the server has."""
        return self.server.get("example.io/v1", "Gadget", "g")

    def conditions(self) -> set[str]:
        """Their types."""
        return {entry["type"] for entry in self.stored()["status"]["conditions"]}

    def flush(self, stage: Callable[[Any], object]) -> Flush:
        """A flush of what the function stages, not begun."""
        session: Session = self.writer.session(self.object)
        stage(session.__enter__())
        return Flush(self, self.writer._core.flush(session.opened))


class Flush:
    """One conversation, driven step by step."""

    def __init__(self, bench: Bench, conversation: Conversation[Outcome]) -> None:
        self._bench, self._conversation = bench, conversation
        self.asks: Any = None
        self.outcome: Outcome | None = None

    def begin(self) -> Flush:
        """Up to its first effect."""
        self._step(lambda: next(self._conversation))
        return self

    def answer(self, answer: Answer | Lost | None = None) -> Flush:
        """Carry the request (or say what became of it), up to the next effect; a wait before it passes."""
        if isinstance(self.asks, Wait):
            self.resume()
        assert isinstance(self.asks, Send), self.asks
        given = answer if isinstance(answer, Lost) else self._bench.transport.send(self.asks.request)
        self._step(lambda: self._conversation.send(answer or given))
        return self

    def resume(self) -> Flush:
        """After a wait, or when something was given to its ticket."""
        assert isinstance(self.asks, Wait) or self.asks.ticket.given is not None, "nothing was given to it"
        self._step(lambda: self._conversation.send(None))
        return self

    def cancel(self) -> None:
        """As a cancelled task does."""
        self._conversation.close()

    @property
    def waits(self) -> bool:
        """Whether it waits for others."""
        return isinstance(self.asks, Join) and self.asks.ticket.given is None

    def _step(self, advance: Callable[[], Any]) -> None:
        try:
            self.asks = advance()
        except StopIteration as stop:
            self.asks, self.outcome = None, stop.value


@pytest.fixture
def bench(embedded: ApiServer) -> Bench:
    """An object to meet at."""
    return Bench(embedded)


def condition(name: str) -> Callable[[Any], object]:
    """Stages one condition."""
    return lambda status: status.conditions.set(name, True, reason="Up")


def three(bench: Bench, *stages: Callable[[Any], object]) -> tuple[Flush, Flush, Flush]:
    """The first has sent its request, the other two wait for it."""
    first, second, third = (bench.flush(stage) for stage in (condition("A"), *stages))
    first.begin()
    second.begin()
    third.begin()
    assert second.waits
    assert third.waits
    return first, second, third


def test_who_comes_meanwhile_goes_together(bench: Bench) -> None:
    """Three flushes, two requests, all three conditions; the requests that each outcome tells add up to those that were sent."""
    first, second, third = three(bench, condition("B"), condition("C"))
    first.answer()
    assert third.waits, "the second leads, the third rides along"
    second.resume().answer()
    third.resume()
    assert bench.conditions() == {"Seed", "A", "B", "C"}
    outcomes = [flush.outcome for flush in (first, second, third) if flush.outcome is not None]
    assert [outcome.kind for outcome in outcomes] == [Kind.APPLIED, Kind.REBASED, Kind.REBASED]
    assert [outcome.requests for outcome in outcomes] == [1, 1, 0]
    assert outcomes[1].object == outcomes[2].object == bench.stored()
    assert outcomes[1].object is not outcomes[2].object, "what one caller does with his object is not the other's business"


def test_two_are_on_the_way_at_once_but_not_in_a_crowd(bench: Bench) -> None:
    """With two writers both go; with five the first to come back hands nothing on, and the next request carries all who wait."""
    bench.writer._core.lanes = Lanes()
    pair = [bench.flush(condition(name)).begin() for name in ("A", "B")]
    assert not any(flush.waits for flush in pair)
    for flush in pair:
        flush.answer()
    first, second, *others = [bench.flush(condition(name)).begin() for name in ("C", "D", "E", "F", "G")]
    assert [flush.waits for flush in (first, second, *others)] == [False, False, True, True, True]
    first.answer()
    assert all(flush.waits for flush in others), "the second is still on the way"
    second.answer()
    late = bench.flush(condition("H")).begin()
    assert late.waits, "it is a crowd, so one is on the way at a time"
    others[0].resume().answer()
    for flush in (*others[1:], late):
        flush.resume()
    late.answer()
    requests = [flush.outcome.requests for flush in (first, second, *others, late) if flush.outcome is not None]
    assert requests == [1, 1, 1, 0, 0, 1]
    assert bench.conditions() == {"Seed", *"ABCDEFGH"}


def test_what_was_decided_on_something_old_is_told_alone(bench: Bench) -> None:
    """The third read what the first changed: a Conflict for it, and the second is stored all the same."""

    def reader(status: Any) -> None:
        status["count"] = len(status.conditions.types())

    first, second, third = three(bench, condition("B"), reader)
    first.answer()
    second.resume().answer()
    with pytest.raises(Conflict, match=r"status.conditions"):
        third.resume()
    assert bench.conditions() == {"Seed", "A", "B"}
    assert "count" not in bench.stored()["status"]


def write_phase(status: Any) -> None:
    """Two of them meet."""
    status["phase"] = "Two"


def read_phase(status: Any) -> None:
    """What it counts depends on the phase."""
    status["count"] = len(status["phase"])


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        pytest.param(lambda status: status.update(phase="One"), write_phase, True, id="both write it"),
        pytest.param(write_phase, read_phase, True, id="the later read it"),
        pytest.param(read_phase, write_phase, False, id="the earlier read it"),
    ],
)
def test_who_touches_what_another_touches_goes_alone(
    bench: Bench, one: Callable[[Any], None], other: Callable[[Any], None], refused: bool
) -> None:
    """One after the other; and where what the later stood on has changed meanwhile, it is refused."""
    first, second, third = three(bench, one, other)
    first.answer()
    second.resume().answer()
    assert second.outcome is not None
    third.resume().answer()  # a request of its own
    if not refused:
        assert third.outcome is not None
        assert bench.stored()["status"]["phase"] == "Two"
        return
    with pytest.raises(Conflict, match=r"status.phase"):
        third.answer()


def test_one_bad_value_does_not_spoil_the_others(bench: Bench) -> None:
    """The common patch is invalid: each goes alone, one is told, one is stored."""
    first, second, third = three(bench, condition("B"), lambda status: status.update(phase="far too long a phase"))
    first.answer()
    second.resume().answer().answer()
    with pytest.raises(Invalid, match="phase"):
        third.resume().answer()
    assert bench.conditions() == {"Seed", "A", "B"}
    assert bench.stored()["status"]["phase"] == "New"


def test_a_lost_answer_is_looked_up_once_for_all(bench: Bench) -> None:
    """The common patch landed, its answer did not: one read, and both know."""
    first, second, third = three(bench, condition("B"), condition("C"))
    first.answer()
    second.resume()
    bench.transport.send(second.asks.request)
    second.answer(Lost(ConnectionResetError()))
    second.answer()
    third.resume()
    assert second.outcome is not None
    assert third.outcome is not None
    assert (second.outcome.kind, third.outcome.kind) == (Kind.CONVERGED, Kind.CONVERGED)
    assert bench.conditions() == {"Seed", "A", "B", "C"}


def test_a_server_that_never_answers_is_unavailable_for_all(bench: Bench) -> None:
    """The budget is spent once, not once for each."""
    first, second, third = three(bench, condition("B"), condition("C"))
    first.answer()
    second.resume()
    with pytest.raises(Unavailable):
        while True:
            second = second.resume() if isinstance(second.asks, Wait) else second.answer(Lost(TimeoutError()))
    with pytest.raises(Unavailable):
        third.resume()


def test_the_first_one_dies(bench: Bench) -> None:
    """Interrupted in its request: those who wait go on, and nobody waits for ever."""
    first, second, third = three(bench, condition("B"), condition("C"))
    first.cancel()
    second.resume().answer()
    third.resume()
    assert bench.conditions() == {"Seed", "B", "C"}


@pytest.mark.parametrize("led", [False, True], ids=["while it waits", "when it was about to lead"])
def test_one_that_waits_is_cancelled(bench: Bench, led: bool) -> None:
    """Nothing of it is written, and the others do not wait for it."""
    first, second, third = three(bench, condition("B"), condition("C"))
    if led:
        first.answer()
    second.cancel()
    if not led:
        first.answer()
    third.resume().answer()
    assert bench.conditions() == {"Seed", "A", "C"}
    bench.flush(condition("D")).begin().answer()
    assert "D" in bench.conditions(), "the lane is free again"


def test_a_leader_dies_with_others_aboard(bench: Bench) -> None:
    """They go alone, and look first: the request that carried them may be on the server."""
    first, second, third = three(bench, condition("B"), condition("C"))
    first.answer()
    second.resume().cancel()
    third.resume()
    assert third.asks.request.method == "GET"
    third.answer().answer()
    assert bench.conditions() == {"Seed", "A", "C"}


def test_a_leader_dies_after_its_request_has_landed(bench: Bench) -> None:
    """Those whose changes it carried find them there: an increment is not applied twice, and is no conflict."""

    def increment(status: Any) -> None:
        status["count"] = status.get("count", 0) + 1

    first, second, third = three(bench, condition("B"), increment)
    first.answer()
    second.resume()
    bench.transport.send(second.asks.request)  # it lands, and nobody hears the answer
    second.cancel()
    third.resume().answer()
    assert third.outcome is not None
    assert (third.outcome.kind, bench.stored()["status"]["count"]) == ("converged", 1)


def test_threads(bench: Bench) -> None:
    """Eight threads with one writer, twenty writes each: every last word stands, with no more requests than writes."""
    sent: list[Request] = []

    class Counting:
        def send(self, request: Request, /, timeout: float | None = None) -> Answer:
            sent.append(request)
            answer: Answer = bench.transport.send(request)
            return answer

        def stream(self, request: Request, /, timeout: float | None = None) -> Any:
            raise AssertionError

    writer = StatusWriter(Counting(), field_manager="operator", resources=bench.writer._core.memory.resources)

    def work(number: int) -> None:
        obj = bench.object
        for turn in range(20):
            with writer.session(obj) as status:
                status.conditions.set(f"T{number}", True, reason="Up", message=str(turn))
            assert status.outcome is not None
            obj = status.outcome.object

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = {entry["type"]: entry.get("message") for entry in bench.stored()["status"]["conditions"]}
    assert said == {"Seed": "", **{f"T{number}": "19" for number in range(8)}}
    assert sum(request.method == "PATCH" for request in sent) <= 160


async def test_tasks(bench: Bench) -> None:
    """Sixteen async sessions at once: a request each for the first two, one for the fourteen that came meanwhile."""
    sent: list[str] = []

    async with connect_async(bench.server.kubeconfig) as client:

        class Counting:
            async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
                sent.append(request.method)
                return await client.transport.send(request, timeout)

            def stream(self, request: Request, /, timeout: float | None = None) -> Any:
                raise AssertionError

        writer = AsyncStatusWriter(Counting(), field_manager="operator", resources=bench.writer._core.memory.resources)
        await writer.mutate(bench.object, lambda status: status.conditions.set("First", True, reason="Up"))
        sent.clear()

        async def work(number: int) -> Outcome | None:
            async with writer.session(bench.object) as status:
                status.conditions.set(f"T{number}", True, reason="Up")
            return status.outcome

        outcomes = await asyncio.gather(*(work(number) for number in range(16)))
    assert sent == ["PATCH"] * 3
    assert sum(outcome.requests for outcome in outcomes if outcome is not None) == 3
    stored = await asyncio.to_thread(bench.conditions)
    assert stored == {"Seed", "First", *(f"T{number}" for number in range(16))}


async def test_a_cancelled_task(bench: Bench) -> None:
    """Cancelled while it waits for another's request: the other one, and who comes later, are not held up."""
    async with connect_async(bench.server.kubeconfig) as client:
        held, begun = asyncio.Event(), asyncio.Event()

        class Held:
            async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
                if request.method == "PATCH":
                    begun.set()
                    await held.wait()
                return await client.transport.send(request, timeout)

            def stream(self, request: Request, /, timeout: float | None = None) -> Any:
                raise AssertionError

        writer = AsyncStatusWriter(Held(), field_manager="operator")
        tasks = [asyncio.ensure_future(writer.mutate(bench.object, condition(name))) for name in "AB"]
        await begun.wait()
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        held.set()
        await tasks[0]
        await writer.mutate(bench.object, condition("C"))
    assert await asyncio.to_thread(bench.conditions) == {"Seed", "A", "C"}
