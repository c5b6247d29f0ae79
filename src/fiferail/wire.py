"""What goes over the wire, whoever carries it.

The writer yields a `Request` and wants an `Answer`; an adapter of `clients/` carries one with the client the operator already
has, the embedded server answers one in process, the explorer decides when it is carried. Nothing here opens a socket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. `path` is decoded and has no query; header names are lower case."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = ""
    headers: dict[str, str] = {}

    @property
    def target(self) -> str:
        """Path and query as they stand in the request line."""
        from urllib.parse import quote, urlencode  # slow to import, and few need it

        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        return f"{path}?{urlencode(self.query)}" if self.query else path


class Answer(msgspec.Struct, frozen=True):
    """One HTTP answer. Header names are lower case."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}

    def json(self) -> Any:
        """The body as JSON."""
        return msgspec.json.decode(self.body)


class Transport(Protocol):
    """Carries requests and blocks for answers. A lost connection or a timeout is raised as the client's own exception."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer: ...

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch, without their line ends. A status other than 200 is raised as `StreamRefused`."""
        ...


class AsyncTransport(Protocol):
    """The same, awaited."""

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer: ...

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]: ...


class StreamRefused(Exception):
    """A watch was answered with an error instead of a stream."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the watch was answered with {answer.status}")
        self.answer = answer
