"""Transports that call the machine instead of a socket: one that blocks, one that is awaited.

Writers, clients and tests use them where a real client would use HTTP. A lost answer is a ConnectionError, as with a real
connection. A delay is not waited for: time belongs to whoever owns the clock (`on_delay`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import gojson
from ..wire import JSON, Answer, Request, StreamRefused
from .faults import Delayed, Lost
from .verbs.watch import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from ..objects.tree import Json
    from .kinds import User
    from .machine import Machine


def request_of(method: str, path: str, body: Json = None, *, manager: str = "", query: tuple[tuple[str, str], ...] = (),
               content_type: str = JSON) -> Request:  # fmt: skip
    """A request with a JSON body, for callers inside the process."""
    data = b"" if body is None else gojson.encode(body)
    headers = {"user-agent": f"{manager}/v0"} if manager else {}
    return Request(method=method, path=path, query=query, body=data, content_type=content_type if data else "", headers=headers)


class Transport:
    """Carries requests to a machine."""

    def __init__(
        self, machine: Machine, user: User | None = None, *, agent: str = "", on_delay: Callable[[float], None] | None = None
    ) -> None:
        self.machine = machine
        self._user = user
        self._agent = agent
        self._on_delay = on_delay

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """The answer to a request. A watch has to be streamed."""
        del timeout
        outcome = self._handled(request)
        if isinstance(outcome, Stream):
            outcome.close()
            raise ValueError("this request opens a watch: use stream()")
        return outcome

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch that are there now. It ends when there is nothing more to take: nobody else runs meanwhile."""
        del timeout
        stream = self.open(request)
        try:
            while lines := stream.take():
                yield from (line.rstrip(b"\n") for line in lines)
        finally:
            stream.close()

    def open(self, request: Request) -> Stream:
        """The stream of a watch, to be taken from whenever the caller likes."""
        outcome = self._handled(request)
        if isinstance(outcome, Answer):
            raise StreamRefused(outcome)
        return outcome

    def _handled(self, request: Request) -> Answer | Stream:
        if self._agent and "user-agent" not in request.headers:
            request = Request(
                method=request.method, path=request.path, query=request.query, body=request.body,
                content_type=request.content_type, headers={**request.headers, "user-agent": self._agent},
            )  # fmt: skip
        outcome = self.machine.handle(request, self._user) if self._user else self.machine.handle(request)
        if isinstance(outcome, Delayed):
            if self._on_delay is not None:
                self._on_delay(outcome.seconds)
            outcome = outcome.answer
        if isinstance(outcome, Lost):
            raise ConnectionError("the connection was closed before an answer came")
        return outcome


class AsyncTransport:
    """The same, awaited. It never yields to the loop by itself: the machine answers at once."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """The answer to a request."""
        return self._transport.send(request, timeout=timeout)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch; waits for more until the stream is closed or the timeout is over."""
        import asyncio

        stream = self._transport.open(request)
        ready = asyncio.Event()
        stream.on_ready = ready.set
        limit = stream.timeout_seconds if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                while True:
                    ready.clear()
                    for line in stream.take():
                        yield line.rstrip(b"\n")
                    if stream.closed:
                        return
                    await ready.wait()
        except TimeoutError:
            return
        finally:
            stream.close()
