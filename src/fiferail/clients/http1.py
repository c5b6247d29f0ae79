"""HTTP/1.1 for asyncio, as much of it as a Kubernetes API needs: what `connect_async()` uses.

An operator sends thousands of small requests to one server, and this is most of what it does: a general client spends more on
each than the server does. Connections are kept and used again, one request at a time on each. No redirects, no cookies, no
compression, no proxies. Nothing is sent twice, but for a GET on a kept connection that the server had just given up, and for a
request that was answered 401 when there are new credentials.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..wire import Answer, Request, StreamRefused
from .credentials import Credentials
from .lines import Lines

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from .credentials import Headers

#: Connections that are kept open while nobody needs them.
KEPT = 64
#: Unread bytes of a watch after which the server has to wait.
AHEAD = 1 << 20
HEAD_LIMIT = 1 << 16


class BrokenAnswer(ConnectionError):
    """The server hung up before the answer was complete, or what it sent is no HTTP."""


class AsyncHttpTransport:
    """Carries requests to one server. `tls` is needed for https; `tls_name` is the name in its certificate, if not the host's."""

    def __init__(
        self, url: str, tls: ssl.SSLContext | None = None, credentials: Credentials | None = None, *, user_agent: str = "fiferail",
        tls_name: str | None = None,
    ) -> None:  # fmt: skip
        parts = urlsplit(url)
        if (parts.scheme == "https") is not (tls is not None):
            raise ValueError(f"expected https with TLS settings, or http without, got {parts.scheme or 'no scheme'}")
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._named = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._tls = tls
        self._tls_name = tls_name or self._host
        self._credentials = credentials or Credentials()
        self._agent = user_agent
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request. The timeout does not count a credential plugin, which has its own."""
        headers = await self._credentials.headers_async()
        answer = await self._sent(request, headers, timeout)
        if answer.status == 401 and (fresh := await self._credentials.renewed_async(headers)) is not None:
            answer = await self._sent(request, fresh, timeout)
        return answer

    async def _sent(self, request: Request, headers: Headers, timeout: float | None) -> Answer:
        async with asyncio.timeout(timeout):
            connection, answer = await self._asked(request, headers)
            try:
                body = await connection.whole()
            finally:
                self._done(connection)
            return Answer(answer.status, body, answer.headers)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch. The timeout is for each wait: for the answer to begin, and for something to be said."""
        headers = await self._credentials.headers_async()
        async with asyncio.timeout(timeout):
            connection, answer = await self._asked(request, headers)
        if answer.status == 401 and (fresh := await self._renewed(connection, headers)) is not None:
            async with asyncio.timeout(timeout):
                connection, answer = await self._asked(request, fresh)
        try:
            if answer.status != 200:
                async with asyncio.timeout(timeout):
                    raise StreamRefused(Answer(answer.status, await connection.whole(), answer.headers))
            lines = Lines()
            while True:
                async with asyncio.timeout(timeout):
                    chunk = await connection.some()
                if not chunk:
                    return
                for line in lines.feed(chunk):
                    yield line
        finally:
            self._done(connection)

    async def _renewed(self, connection: Connection, refused: Headers) -> Headers | None:
        """Return new credentials after a 401; the connection is given up when there are some, or when asking for them fails."""
        fresh = None
        try:
            fresh = await self._credentials.renewed_async(refused)
        except BaseException:
            self._done(connection)
            raise
        if fresh is not None:
            self._done(connection)
        return fresh

    async def close(self) -> None:
        """Close every connection."""
        for connection in [*self._idle, *self._busy]:
            connection.hang_up()
        self._idle.clear()
        self._busy.clear()

    # -- connections

    async def _asked(self, request: Request, credentials: Headers) -> tuple[Connection, Answer]:
        """A connection on which the answer has begun."""
        content = self._written(request, credentials)
        while True:
            kept = self._kept()
            connection = kept or await self._opened()
            self._busy.add(connection)
            try:
                return connection, await connection.ask(content)
            except BrokenAnswer:
                self._done(connection)
                if kept is None or request.method != "GET":
                    raise
            except BaseException:
                self._done(connection)
                raise

    def _kept(self) -> Connection | None:
        loop = asyncio.get_running_loop()
        while self._idle:
            connection = self._idle.pop()
            if connection.usable(loop):
                return connection
        return None

    async def _opened(self) -> Connection:
        loop = asyncio.get_running_loop()
        name = self._tls_name if self._tls is not None else None
        _, connection = await loop.create_connection(lambda: Connection(loop), self._host, self._port, ssl=self._tls, server_hostname=name)
        return connection

    def _done(self, connection: Connection) -> None:
        """Keep it for the next request; one whose answer was not read to its end cannot be."""
        self._busy.discard(connection)
        if connection.reusable and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            connection.hang_up()

    def _written(self, request: Request, credentials: Headers) -> bytes:
        replaced = {name for name, _ in credentials}
        headers = {"user-agent": self._agent, **request.headers}
        lines = [f"{request.method} {self._prefix}{request.target} HTTP/1.1", f"host: {self._named}"]
        lines += [f"{name}: {value}" for name, value in headers.items() if name not in replaced]
        lines += [f"{name}: {value}" for name, value in credentials]
        if request.content_type:
            lines.append(f"content-type: {request.content_type}")
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"content-length: {len(request.body)}")
        for line in lines:
            if "\r" in line or "\n" in line:  # the value is not shown: it may be a credential
                raise ValueError(f"expected a header on one line, got line ends in {line.partition(':')[0].strip()[:40]!r}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


class Connection(asyncio.Protocol):
    """One connection: a request goes out, the head of its answer comes back, then its body in pieces."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: asyncio.Future[Answer] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._body: Body | None = None
        self._pieces: list[bytes] = []
        self._ahead = 0
        self._paused = False
        self._closing = False
        self._error: Exception | None = None

    # -- what the transport asks

    async def ask(self, content: bytes) -> Answer:
        """Send; gives the head of the answer."""
        if self._transport is None or self._error is not None:
            raise self._failure()
        self._head = self._loop.create_future()
        self._body = None
        self._transport.write(content)
        return await self._head

    async def whole(self) -> bytes:
        """The rest of the body."""
        pieces = []
        while piece := await self.some():
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def some(self) -> bytes:
        """What has come of the body, at least a byte; empty at its end."""
        while not self._pieces:
            if self._body is not None and self._body.complete:
                return b""
            if self._error is not None:
                raise self._failure()
            self._waiter = self._loop.create_future()
            await self._waiter
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._ahead = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return piece

    @property
    def reusable(self) -> bool:
        """Whether the answer was read to its end, and the server goes on listening."""
        done = self._body is not None and self._body.complete and not self._pieces
        return done and self._error is None and not self._closing and not self._buffer

    def usable(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether another request may be sent."""
        fine = self._error is None and self._transport is not None and not self._transport.is_closing()
        return fine and self._loop is loop and not self._buffer

    def hang_up(self) -> None:
        """Close, without waiting for anything."""
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()

    # -- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """More of the answer."""
        self._buffer += data
        try:
            if self._body is None and not self._begun():
                return
            assert self._body is not None
            self._take(self._body.feed(self._buffer))
        except (ValueError, IndexError) as error:
            self._fail(BrokenAnswer(f"expected an HTTP answer, got {bytes(data[:60])!r} ({error})"))
            self.hang_up()

    def eof_received(self) -> None:
        """The server will say no more."""
        if self._body is not None and self._body.until_end and self._error is None:
            self._body.complete = True
            self._closing = True
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Closed, by whomever."""
        if self._error is None:
            self._fail(exc if isinstance(exc, OSError) else BrokenAnswer("the server closed the connection before its answer was complete"))

    # -- the parts

    def _begun(self) -> bool:
        """Read the head, if all of it is there."""
        if self._head is None:
            raise ValueError("nothing was asked")
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_LIMIT:
                raise ValueError("a head without end")
            return False
        answer = _parsed(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        if answer.status < 200:
            return self._begun()
        self._body = _body(answer)
        self._closing = answer.headers.get("connection", "").lower() == "close" or self._body.until_end
        if not self._head.done():
            self._head.set_result(answer)
        return True

    def _take(self, pieces: list[bytes]) -> None:
        self._pieces += pieces
        self._ahead += sum(map(len, pieces))
        if self._ahead > AHEAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = error
        if self._head is not None and not self._head.done():
            self._head.set_exception(self._failure())
        self._wake()

    def _failure(self) -> Exception:
        failure = BrokenAnswer(str(self._error or "the connection is closed"))
        failure.__cause__ = self._error
        return failure


class Body:
    """How the rest of an answer is framed: by its length, in chunks, or by the end of the connection."""

    def __init__(self, length: int | None, *, chunked: bool = False) -> None:
        self._left = length or 0
        self._chunked = chunked
        self.until_end = length is None and not chunked
        self.complete = length == 0 and not chunked
        self._trailing = False

    def feed(self, buffer: bytearray) -> list[bytes]:
        """Takes out of the buffer what belongs to the body."""
        if self._chunked:
            return self._chunks(buffer)
        if self.until_end or len(buffer) <= self._left:
            taken = bytes(buffer)
            buffer.clear()
        else:
            taken = bytes(buffer[: self._left])
            del buffer[: self._left]
        self._left -= len(taken)
        self.complete = not self.until_end and self._left == 0
        return [taken] if taken else []

    def _chunks(self, buffer: bytearray) -> list[bytes]:
        """`_left` counts what is missing of the chunk with its line end, 0 between chunks."""
        pieces, at = [], 0
        while not self.complete:
            if self._left > 2:
                piece = bytes(buffer[at : at + self._left - 2])
                if not piece:
                    break
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                continue
            if self._left:
                if len(buffer) - at < self._left:
                    break
                at, self._left = at + self._left, 0
            end = buffer.find(b"\r\n", at)
            if end < 0:
                break
            line, at = bytes(buffer[at:end]), end + 2
            if self._trailing:
                self.complete = not line
            else:
                size = int(line.partition(b";")[0], 16)
                self._trailing, self._left = size == 0, size + 2 if size else 0
        del buffer[:at]
        return pieces


def _parsed(head: bytes) -> Answer:
    first, *rest = head.decode("latin-1").split("\r\n")
    protocol, _, said = first.partition(" ")
    if not protocol.startswith("HTTP/1."):
        raise ValueError(f"no HTTP/1 answer: {first[:60]!r}")
    headers = {}
    for line in rest:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Answer(int(said[:3]), b"", headers)


def _body(answer: Answer) -> Body:
    if answer.status in (204, 304):
        return Body(0)
    if "chunked" in answer.headers.get("transfer-encoding", "").lower():
        return Body(None, chunked=True)
    length = answer.headers.get("content-length")
    return Body(int(length) if length is not None else None)
