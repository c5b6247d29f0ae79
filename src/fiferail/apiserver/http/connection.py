"""One client connection: requests in, answers out in the same order.

The parser is httptools', the protocol asyncio's, and between them there is nothing: a request is answered inside the callback
that completes it. A watch, a request that a test holds, or an answer that a fault delays makes the connection busy; requests that
were pipelined behind it wait, and reading pauses meanwhile. The same goes for a client that does not read its answers. Whatever is not
HTTP is refused in Go's words, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import httptools

from ...wire import Answer, Request
from .feed import Feed
from .messages import BadTarget, is_host, plain, rendered, request_head, split_target, stream_head, wants_indent

if TYPE_CHECKING:
    from collections.abc import Callable

#: The real server's limits: on a body, and on the request line with all headers.
BODY_LIMIT = 3 * 1024 * 1024
HEAD_LIMIT = 1024 * 1024 + 4096
#: What is read and thrown away of a body that is too large, so that its sender gets to read the refusal.
DRAIN_LIMIT = 64 * 1024 * 1024

#: How much is read at a time, and how many requests are answered in one turn: other connections are served in between.
READ_SIZE = 64 * 1024
TURN = 16

_UNUSUAL_METHOD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ")
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"})


class Lines(Protocol):
    """The open end of a watch, as the connection needs it."""

    head: Answer
    #: Seconds until the server ends the watch by itself; None: it does not.
    lifetime: float | None
    #: Seconds between two bookmarks; None: none are sent by the clock.
    bookmark_every: float | None

    def take(self, portion: int) -> list[bytes]:
        """The next events that are ready, each a line with its end; about `portion` bytes of them, and at least one."""
        ...

    def bookmark(self) -> None:
        """Asks for a bookmark among the next events."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        ...

    def listen(self, wake: Callable[[], None]) -> None:
        """Calls back, from whatever thread, when there may be something to take."""
        ...

    def close(self) -> None:
        """The client has gone, or time is up."""
        ...


class Delayed:
    """A reply that is not to be sent at once (a fault asked for latency)."""

    __slots__ = ("reply", "seconds")

    def __init__(self, reply: Answer | Lines | None, seconds: float) -> None:
        self.reply, self.seconds = reply, seconds


class Parked:
    """A request that is held before it is processed: it is served once `listen` calls back, from whatever thread.

    `abandon` is called instead when the client has gone meanwhile.
    """

    __slots__ = ("abandon", "listen")

    def __init__(self, listen: Callable[[Callable[[], None]], None], abandon: Callable[[], None]) -> None:
        self.listen, self.abandon = listen, abandon


class Application(Protocol):
    """Who answers. None means that the answer is lost: the connection is cut."""

    connections: set[Connection]

    def reply(self, request: Request, oversized: bool) -> Answer | Lines | Delayed | Parked | None: ...

    def shared(self, answer: Answer, request: Request) -> Answer:
        """The answer with what lets a web page of an allowed origin read it."""
        ...

    def audit_id(self) -> str: ...

    def crashed(self, error: BaseException) -> None: ...


class Connection(asyncio.Protocol):
    """Reads requests from one socket and writes the answers."""

    def __init__(self, application: Application, loop: asyncio.AbstractEventLoop) -> None:
        self._application = application
        self._loop = loop
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._waiting: deque[tuple[Request, bool, bool]] = deque()
        self._watch: Feed | None = None
        self._parked: Parked | None = None
        self._busy = False
        #: The turn in which waiting requests are served next, and how many may still be answered in this one.
        self._turn: asyncio.Handle | None = None
        self._left = TURN
        #: What the last request, which cannot be read, is answered with.
        self._refusal = b""
        #: Whether the client is behind with reading its answers.
        self._stalled = False
        self._closing = False
        self._head_bytes = 0
        self._in_head = True
        self._method_override = ""
        self._completed = 0
        #: Since when a head is being read; None: it is complete, or none has begun.
        self._head_since: float | None = loop.time()
        self._body_follows = False
        self._reset()

    def _reset(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._hosts = 1
        self._body: list[bytes] = []
        self._body_bytes = 0

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        if hasattr(transport, "max_size"):
            transport.max_size = READ_SIZE
        self._application.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._application.connections.discard(self)
        if self._watch is not None:
            self._watch.stop()
        if self._parked is not None:
            self._parked.abandon()
        self._waiting.clear()
        # The parser, the watch and this object refer to each other, and asyncio's transport to itself. `fiferail serve` does not look
        # for such cycles while it is busy.
        self._parser = self._watch = None
        vars(self._transport).pop("_read_ready_cb", None)
        self._reset()

    def pause_writing(self) -> None:
        self._stalled = True
        if self._watch is not None:
            self._watch.paused = True
        else:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._stalled = False
        if self._watch is not None:
            self._watch.paused = False
            self._watch.flush()
        self._next()

    def data_received(self, data: bytes) -> None:
        self._left = TURN
        while data and not self._closing and not self._refusal:
            # Counted from the last byte of a body: before one this is the head, after one the trailer.
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT and self._head_only(data):
                self._refuse(431)
                return
            data = self._parsed(data)

    def expire(self, earliest: float) -> None:
        """Ends the connection if the head that is being read began before this time, as the real server does: without a word."""
        reading = not self._busy and not self._stalled and not self._waiting
        if reading and self._head_since is not None and self._head_since < earliest:
            self.cut()

    def _parsed(self, data: bytes) -> bytes:
        """Feeds the parser; gives back what a new one has to be fed."""
        completed = self._completed
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # nothing here upgrades: the request is answered as any other
            return self._not_upgraded(data[upgrade.args[0] :] if upgrade.args else b"")
        except httptools.HttpParserInvalidMethodError:
            # Only at the start of what was read is it known where the method stands, and that nothing before it was answered.
            if completed == self._completed:
                return self._with_known_method(data)
            self._refuse(400)
        except httptools.HttpParserCallbackError as error:
            self._application.crashed(error.__context__ or error)
            self.cut()
        except httptools.HttpParserError as error:
            self._unreadable(str(error))
        return b""

    def _not_upgraded(self, rest: bytes) -> bytes:
        """What a new parser is fed after a request to upgrade: its body, if it has one, belongs to it and is no request."""
        if not self._body_follows:
            self._parser = httptools.HttpRequestParser(self)
            return rest
        self._body_follows = False
        head = request_head(self._parser.get_method(), self._target, self._parser.get_http_version(), self._headers)
        self._parser = httptools.HttpRequestParser(self)
        self._parsed(head)
        return rest

    def _head_only(self, data: bytes) -> bool:
        """Whether these bytes are still head: a large body may come in the same read as the end of a small head."""
        return self._head_bytes - len(data) > HEAD_LIMIT or b"\r\n\r\n" not in data

    def eof_received(self) -> bool:
        return False

    # httptools

    def on_message_begin(self) -> None:
        self._reset()
        self._in_head = True
        self._head_since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # else a trailer, which is read and ignored: it comes after everything that it might change
            known, value_text = name.decode("latin-1").lower(), value.decode("latin-1")
            if self._headers.setdefault(known, value_text) is not value_text and known == "host":
                self._hosts += 1

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._head_since = None
        self._body_follows = bool(self._parser.should_upgrade()) and _has_body(self._headers) and self._parser.get_method() != b"CONNECT"
        if self._body_follows:
            return
        if self._headers.get("expect", "").lower() == "100-continue" and not self._busy and not self._closing:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        self._body_bytes += len(body)
        if self._body_bytes <= BODY_LIMIT:
            self._body.append(body)
        elif self._body_bytes > DRAIN_LIMIT and not self._closing:
            self._refuse(413)

    def on_message_complete(self) -> None:
        self._in_head = True
        if self._closing or self._refusal or self._body_follows:
            return
        self._completed += 1
        version = self._parser.get_http_version()
        if version not in ("1.1", "1.0"):
            self._refuse(505, "unsupported protocol version")
            return
        if version == "1.1" and "host" not in self._headers:
            self._refuse(400, "missing required Host header")
            return
        if self._hosts > 1:
            self._refuse(400)
            return
        if not is_host(self._headers.get("host", "")):
            self._refuse(400, "malformed Host header")
            return
        try:
            path, query = split_target(self._target)
        except BadTarget:
            self._refuse(400)
            return
        method = self._method_override or self._parser.get_method().decode("ascii")
        self._method_override = ""
        oversized = self._body_bytes > BODY_LIMIT and method not in _BODILESS
        request = Request(
            method=method,
            path=path,
            query=query,
            body=b"" if oversized else b"".join(self._body),
            content_type=self._headers.get("content-type", ""),
            headers=self._headers,
        )
        keep_alive = bool(self._parser.should_keep_alive()) and method != "CONNECT"
        if self._busy or self._stalled or self._waiting or not self._left:
            self._waiting.append((request, keep_alive, oversized))
            self._transport.pause_reading()
            self._take_turn()
        else:
            self._left -= 1
            self._serve(request, keep_alive, oversized)

    # refusals before any handler

    def _refuse(self, status: int, note: str = "", text: str = "") -> None:
        refusal = plain(status, text, note)
        if self._busy or self._waiting:
            self._refusal = refusal  # after the answers to the requests before it
            self._transport.pause_reading()
        else:
            self._close_with(refusal)

    def _close_with(self, refusal: bytes) -> None:
        self._closing = True
        self._transport.write(refusal)
        self._transport.close()

    def _unreadable(self, error: str) -> None:
        if self._closing or self._refusal:
            return
        if "version" in error.lower():
            self._refuse(505, "unsupported protocol version")
        elif "header token" in error.lower():
            self._refuse(400, "invalid header name")
        elif "Transfer-Encoding" in error:
            self._refuse(501, text="Unsupported transfer encoding")
        else:
            self._refuse(400)

    def _with_known_method(self, data: bytes) -> bytes:
        """Go takes any token as a method and lets the routes refuse it; the parser knows a fixed list, so it is shown another."""
        named = _UNUSUAL_METHOD.match(data)
        if named is None or self._method_override or named.group(1) == b"PRI":
            self._refuse(400)
            return b""
        self._method_override = named.group(1).decode("ascii")
        self._parser = httptools.HttpRequestParser(self)
        self._head_bytes = 0
        return b"OPTIONS " + data[named.end() :]

    # answers

    def _serve(self, request: Request, keep_alive: bool, oversized: bool) -> None:
        reply = self._application.reply(request, oversized)
        if isinstance(reply, Parked):
            self._park(reply, request, keep_alive, oversized)
        else:
            self._send(reply, request, keep_alive)

    def _park(self, parked: Parked, request: Request, keep_alive: bool, oversized: bool) -> None:
        """Serves the request when it is let go; other connections are served meanwhile."""
        self._busy, self._parked = True, parked

        def wake() -> None:
            # One turn of the loop later, so that a client that has gone by now is noticed first. The loop may be closed if the server
            # was stopped while the request was held.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.call_soon, self._unpark, request, keep_alive, oversized)

        parked.listen(wake)

    def _unpark(self, request: Request, keep_alive: bool, oversized: bool) -> None:
        if self._closing or self._transport.is_closing():
            return
        self._busy, self._parked = False, None
        self._serve(request, keep_alive, oversized)
        self._next()

    def _send(self, reply: Answer | Lines | Delayed | None, request: Request, keep_alive: bool) -> None:
        if self._closing:
            if reply is not None and not isinstance(reply, (Answer, Delayed)):
                reply.close()
        elif isinstance(reply, Answer):
            self._write(reply, request, keep_alive)
        elif reply is None:
            self._closing = True
            self._transport.abort()
        elif isinstance(reply, Delayed):
            self._busy = True
            self._loop.call_later(reply.seconds, self._send_late, reply.reply, request, keep_alive)
        else:
            self._busy = True
            chunked = self._parser.get_http_version() != "1.0"
            head = self._application.shared(reply.head, request) if "origin" in request.headers else reply.head
            self._transport.write(stream_head(head, audit_id=self._application.audit_id(), chunked=chunked))
            self._watch = Feed(reply, self._transport, self._loop, chunked, lambda: self._watched(keep_alive and chunked))
            self._watch.paused = self._stalled
            self._watch.start()

    def _send_late(self, reply: Answer | Lines | None, request: Request, keep_alive: bool) -> None:
        self._busy = False
        self._send(reply, request, keep_alive)
        self._next()

    def _write(self, answer: Answer, request: Request, keep_alive: bool) -> None:
        headers = request.headers
        if "origin" in headers:
            answer = self._application.shared(answer, request)
        self._transport.write(
            rendered(
                answer,
                audit_id=self._application.audit_id(),
                keep_alive=keep_alive,
                without_body=request.method == "HEAD",
                accept_encoding=headers.get("accept-encoding", ""),
                pretty=wants_indent(request.query, headers.get("user-agent", "")),
            )
        )
        if not keep_alive:
            self._closing = True
            self._transport.close()

    def _watched(self, keep_alive: bool) -> None:
        """A watch has ended by itself."""
        self._watch = None
        self._busy = False
        if keep_alive:
            self._next()
        else:
            self._closing = True
            self._transport.close()

    def _next(self) -> None:
        """Serves what was pipelined: some of it, and the rest after whatever else waits for the loop."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        for _ in range(TURN):
            if not self._waiting or self._busy or self._stalled or self._closing:
                break
            self._serve(*self._waiting.popleft())
        if self._closing:
            return
        if self._waiting:
            self._take_turn()
        elif self._refusal and not self._busy:
            self._close_with(self._refusal)
        elif not self._stalled:
            if self._head_since is not None:
                self._head_since = self._loop.time()  # the rest of a head could not come while nothing was read
            self._transport.resume_reading()

    def _take_turn(self) -> None:
        if self._turn is None and not self._busy and not self._stalled:
            self._turn = self._loop.call_soon(self._next)

    def cut(self) -> None:
        """Ends the connection at once: the server stops, or a fault wants it so."""
        self._closing = True
        if self._watch is not None:
            self._watch.stop()
        self._transport.abort()


def _has_body(headers: dict[str, str]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
