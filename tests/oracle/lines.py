"""The lines between callers and a server: they note every request, and lose, refuse, delay or cancel as the seed says.

A trouble is drawn from the seed, the step and the number of the request in it, never from a shared stream of chance: when a step is taken
out of a program, the others meet what they met before. A lost answer is lost here, so what the server did is always known to the oracle.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from fiferail.wire import Answer, Request

from .records import Record, Sent

#: Loop turns that a request or an answer may take.
QUICK, SLOW = 4, 30


@dataclass
class Flow:
    """One flow of control: a handler, a thread, a foreign client."""

    number: int
    foreign: bool = False
    action: str = ""
    requests: int = 0
    #: Whether faults and cancellations may strike the present step.
    troubled: bool = True
    task: asyncio.Task[None] | None = None


CURRENT: ContextVar[Flow] = ContextVar("oracle flow")


class Server(Protocol):
    """Whoever answers requests."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer: ...


@dataclass(frozen=True)
class Rates:
    """How often a request meets which trouble."""

    lost: float = 0.03
    dropped: float = 0.02
    failed: float = 0.02
    failed_late: float = 0.02
    busy: float = 0.02
    refused: float = 0.01
    cancelled_before: float = 0.015
    cancelled_after: float = 0.02

    def pick(self, dice: float) -> str:
        """The trouble that a throw of the dice means; empty for none."""
        for name, rate in vars(self).items():
            if dice < rate:
                return str(name)
            dice -= rate
        return ""


USUAL = Rates()


class Book:
    """Shared by all lines of one run: chance, the record, and the virtual time."""

    def __init__(self, seed: int, rates: Rates) -> None:
        self.seed = seed
        self.rates = rates
        self.record = Record()
        self.now = 1_000_000.0
        self._lock = threading.Lock()

    def chance(self, *what: object) -> random.Random:
        """Chance that depends on the seed and on what it is for, and on nothing else."""
        return random.Random(f"{self.seed}/{'/'.join(map(str, what))}")

    def note(self, flow: Flow, request: Request, answer: Answer) -> Sent:
        """Write down a request that reached the server."""
        found = 0
        if request.method != "GET" and answer.status in (200, 201):
            found = int(json.loads(answer.body).get("metadata", {}).get("resourceVersion", 0) or 0)
        sent = Sent(flow.number, flow.action, request.method, request.body, answer.status, found, foreign=flow.foreign)
        with self._lock:
            if request.method != "GET":
                self.record.sent.append(sent)
        return sent

    def trouble(self, flow: Flow, dice: random.Random) -> str:
        """The trouble of the next request of this flow."""
        picked = self.rates.pick(dice.random()) if flow.troubled and not flow.foreign else ""
        if picked:
            with self._lock:
                self.record.count(picked)
        return picked


def refusal(trouble: str) -> Answer | None:
    """The answer of a server that did nothing, for the troubles that are one."""
    codes = {"failed": (500, "InternalError"), "busy": (429, "TooManyRequests"), "refused": (409, "Conflict")}
    if trouble not in codes:
        return None
    code, reason = codes[trouble]
    details = {"retryAfterSeconds": 1} if code == 429 else {}
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": trouble}
    body["details"] = details
    headers = {"content-type": "application/json", **({"retry-after": "1"} if code == 429 else {})}
    return Answer(code, json.dumps(body).encode(), headers)


class AsyncLine:
    """For tasks. Who goes next is decided by how many turns of the loop a request and its answer take."""

    def __init__(self, server: Server, book: Book, *, blocking: bool = False) -> None:
        self._server, self._book, self._blocking = server, book, blocking

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carry a request through whatever the seed has for it."""
        flow = CURRENT.get()
        flow.requests += 1
        dice = self._book.chance(flow.action, flow.requests)
        trouble = self._book.trouble(flow, dice)
        self._book.now += 0.001
        await self._turns(dice)
        if trouble == "cancelled_before":
            await self._cancel(flow)
        if trouble == "dropped":
            raise ConnectionError("the request was lost")
        if (instead := refusal(trouble)) is not None:
            return instead
        answer, sent = await self._carried(flow, request)
        try:
            await self._turns(dice)
            if trouble == "cancelled_after":
                await self._cancel(flow)
        except asyncio.CancelledError:
            sent.fate = "cancelled"
            raise
        if trouble in ("lost", "failed_late"):
            sent.fate = "lost"
            if trouble == "failed_late":
                return Answer(504, b'{"kind":"Status","reason":"Timeout","code":504,"message":"late"}', {})
            raise ConnectionError("the answer was lost")
        return answer

    async def _carried(self, flow: Flow, request: Request) -> tuple[Answer, Sent]:
        if not self._blocking:
            answer = self._server.send(request)
            return answer, self._book.note(flow, request, answer)

        noted: list[Sent] = []
        abandoned = threading.Event()

        def carry() -> Answer:
            answer = self._server.send(request)
            noted.append(self._book.note(flow, request, answer))
            if abandoned.is_set():
                noted[0].fate = "cancelled"
            return answer

        try:
            return await asyncio.to_thread(carry), noted[0]
        except asyncio.CancelledError:
            abandoned.set()
            for sent in noted:
                sent.fate = "cancelled"
            raise

    async def _turns(self, dice: random.Random) -> None:
        for _ in range(dice.randrange(SLOW) if dice.random() < 0.15 else dice.randrange(QUICK)):
            await asyncio.sleep(0)

    async def _cancel(self, flow: Flow) -> None:
        assert flow.task is not None
        flow.task.cancel()
        await asyncio.sleep(0)

    async def sleep(self, seconds: float) -> None:
        """Let virtual time pass; a pause is some turns of the loop."""
        self._book.now += seconds / 4
        for _ in range(min(SLOW, 1 + int(seconds * 50))):
            await asyncio.sleep(0)

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Programs do not watch; the oracle does, on a line of its own."""
        raise NotImplementedError


class Line:
    """For threads and processes: the same troubles, but for cancellation, which blocking calls do not know."""

    def __init__(self, server: Server, book: Book) -> None:
        self._server, self._book = server, book

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carry a request through whatever the seed has for it."""
        flow = CURRENT.get()
        flow.requests += 1
        dice = self._book.chance(flow.action, flow.requests)
        trouble = self._book.trouble(flow, dice)
        if trouble in ("dropped", "cancelled_before"):
            raise ConnectionError("the request was lost")
        if (instead := refusal(trouble)) is not None:
            return instead
        answer = self._server.send(request)
        sent = self._book.note(flow, request, answer)
        if trouble in ("lost", "failed_late", "cancelled_after"):
            sent.fate = "lost"
            raise ConnectionError("the answer was lost")
        return answer

    def sleep(self, seconds: float) -> None:
        """Yield the processor; a pause need not last here."""
        self._book.now += seconds / 4
        time.sleep(0)

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """Programs do not watch; the oracle does, on a line of its own."""
        raise NotImplementedError
