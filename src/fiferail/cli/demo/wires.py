"""Connections that take the time of every request, and the lines that tell of one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...testing.transport import HttpTransport
    from ...wire import Answer, Request


class Counted:
    """One writer's connection, and what went over it."""

    def __init__(self, inner: HttpTransport) -> None:
        self._inner = inner
        self.sent: list[tuple[Request, int, float]] = []

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Pass on, and take the time."""
        started = time.perf_counter()
        answer = self._inner.send(request, timeout=timeout)
        self.sent.append((request, answer.status, time.perf_counter() - started))
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """Not used here, but part of being a transport."""
        return self._inner.stream(request, timeout=timeout)

    def close(self) -> None:
        """End the connection."""
        self._inner.close()


@contextmanager
def connected(url: str, names: Iterable[str]) -> Iterator[dict[str, Counted]]:
    """A connection for each of them, by name."""
    from ...testing.transport import HttpTransport

    transports = {name: Counted(HttpTransport(url, user_agent=name)) for name in names}
    try:
        yield transports
    finally:
        for transport in transports.values():
            transport.close()


def send(transport: Counted, method: str, path: str, content_type: str = "", body: Any = None) -> tuple[int, Any, float]:
    """Status, body and seconds of one request."""
    import msgspec

    from ...wire import Request

    data = b"" if body is None else msgspec.json.encode(body)
    answer = transport.send(Request(method=method, path=path, body=data, content_type=content_type))
    return answer.status, answer.json(), transport.sent[-1][2]


def line(name: str, what: str, answer: str, seconds: float) -> str:
    """Who did what, how it was answered, and how long that took."""
    return f"  {name:<18} {what:<38} {answer:<19} {seconds * 1000:7.2f} ms"


def short(request: Request) -> str:
    """A request's path and content, without what is the same in all of them."""
    path = request.path.replace("/apis/example.io/v1/namespaces/default", "...")
    kind = request.content_type.partition("/")[2].replace("-patch+json", " patch")
    return f"{path}  {kind}".rstrip()
