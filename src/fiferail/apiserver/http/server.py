"""Listens, and owns the loop that serves: in a thread of its own for tests, or in the caller's for `fiferail serve`.

`HttpServer` knows sockets, threads, tokens and nothing about Kubernetes objects; it asks a handler. Every call of the handler
is made under one lock, which in-process callers of the same machine take too, so that the machine never sees two requests at once.
The port is bound and listening when `start` returns, and after `stop` neither thread nor socket is left.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ...wire import Answer
from .. import statuses
from .access import Access
from .connection import BODY_LIMIT, Connection, Delayed, Lines, Parked

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping

    from ...wire import Request
    from ..kinds import User

log = logging.getLogger("fiferail.apiserver")

#: What may be read without credentials, as the real server's role for everybody allows.
_PUBLIC = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
#: Seconds for the head of a request, as on the real server.
HEAD_SECONDS = 32.0
#: How many defects are kept and logged.
CRASHES = 20
BACKLOG = 1024
#: How many connections are accepted in one turn of the loop. asyncio also tries, and logs, so many times when no descriptor is left.
ACCEPTED = 16
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_UNKNOWN_TOKEN = statuses.status(401, "Unauthorized", "Unauthorized")


class Handler(Protocol):
    """Who answers requests. `lock` is held around every call."""

    lock: threading.RLock

    def handle(self, request: Request, user: User | None) -> Answer | Lines | Delayed | Parked | None:
        """`user` is None where no tokens are configured."""
        ...


class HttpServer:
    """A listening socket, its connections, and the loop that serves them.

    `tokens`: bearer tokens and their users; without any everybody is served. `allowed_hosts` and `allowed_origins`: see `Access`.
    `head_seconds`: how long a client may take for the head of a request.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tokens: Mapping[str, User] | None = None,
        tls: ssl.SSLContext | None = None,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        self._handler = handler
        self._access = Access(host, tokens=bool(tokens), hosts=allowed_hosts, origins=allowed_origins)
        self._head_seconds = head_seconds
        self._exhausted_until = 0.0
        self._tokens = dict(tokens or {})
        self._tls = tls
        #: How many requests were answered.
        self.answered = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._serving = self._finishing = False
        self.connections: set[Connection] = set()
        #: The first exceptions that a handler let through, without their frames: each was answered with a 500, none is expected.
        self.crashes: list[BaseException] = []
        self._socket = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else ("127.0.0.1" if host in ("", "0.0.0.0") else host)
        self.url = f"{'https' if tls else 'http'}://{shown}:{self.port}"

    # answering

    def audit_id(self) -> str:
        """A new id for the Audit-Id header."""
        self.answered += 1
        return f"00000000-0000-4000-8000-{self.answered:012x}"

    def reply(self, request: Request, oversized: bool) -> Answer | Lines | Delayed | Parked | None:
        """The handler's answer, or why it was not asked."""
        foreign = self._access.refusal(request.headers)
        if foreign is not None:
            return foreign.answer()
        if request.method == "OPTIONS" and "origin" in request.headers:  # a browser asks whether the page may ask
            return Answer(204)
        user = None
        if self._tokens:
            user = self._tokens.get(_bearer(request.headers.get("authorization", "")))
            if user is None and request.path not in _PUBLIC:
                return _UNKNOWN_TOKEN.answer()
        if oversized:
            return statuses.too_large(BODY_LIMIT).answer()
        try:
            with self._handler.lock:
                return self._handler.handle(request, user)
        except Exception as error:
            # The last line of defence: a defect of ours must not take the connection, or the test that waits on it, down.
            self.crashed(error)
            return statuses.internal_error(f"{type(error).__name__}: {error}").answer()

    def shared(self, answer: Answer, request: Request) -> Answer:
        """The answer with the CORS headers of the real server, for a page whose origin is allowed."""
        if not self._access.allows(request.headers["origin"]):
            return answer
        return msgspec.structs.replace(answer, headers={**answer.headers, **self._access.cors(request.headers)})

    def crashed(self, error: BaseException) -> None:
        """Keeps what should not have happened, for whoever looks at `crashes`: the first of them, without the requests in their frames."""
        if len(self.crashes) >= CRASHES:
            return
        log.error("a defect of the embedded API server", exc_info=error)
        self.crashes.append(error)
        link: BaseException | None = error
        while link is not None:
            link.__traceback__ = None
            link = link.__cause__ or link.__context__

    # running

    def start(self) -> None:
        """Serves from a thread of its own."""
        self._thread = threading.Thread(target=self._serve_in_thread, name=f"fiferail-apiserver-{self.port}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Cuts every connection, closes the socket and waits for the thread. May be called twice."""
        loop, thread = self._loop, self._thread
        if thread is not None and thread.is_alive():
            while loop is None:  # the thread has been started and not yet made its loop
                loop = self._loop
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self.finish)
            thread.join()
        self._socket.close()

    def _serve_in_thread(self) -> None:
        loop = asyncio.new_event_loop()
        self._loop = loop
        try:
            self.serve(loop)
        finally:
            loop.close()

    def finish(self) -> None:
        """Makes `serve` return; to be called on its loop."""
        self._finishing = True
        if self._serving and self._loop is not None:
            self._loop.stop()

    def serve(self, loop: asyncio.AbstractEventLoop, ready: Callable[[], None] = lambda: None) -> None:
        """Serves on this loop until `finish` is called, then lets go of everything. Calls `ready` when it begins."""
        self._loop = loop
        loop.set_exception_handler(self._troubled)
        server = loop.create_server(lambda: Connection(self, loop), sock=self._socket, ssl=self._tls, backlog=ACCEPTED)
        listening = loop.run_until_complete(server)
        self._socket.listen(BACKLOG)
        self._expire_heads(loop)
        loop.call_soon(ready)
        try:
            # A loop that is told to stop before it runs would run all the same: finish() may have come while the socket was set up.
            self._serving = True
            if not self._finishing:
                loop.run_forever()
        finally:
            for connection in tuple(self.connections):
                connection.cut()
            listening.close()
            loop.run_until_complete(asyncio.sleep(0))  # lets transports tell their protocols that they are gone
            loop.run_until_complete(loop.shutdown_asyncgens())


    def _expire_heads(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ends connections whose request never gets complete, now and from time to time."""
        earliest = loop.time() - self._head_seconds
        for connection in tuple(self.connections):
            connection.expire(earliest)
        loop.call_later(self._head_seconds / 8, self._expire_heads, loop)

    def _troubled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What asyncio has to report. It tries to accept again every second: one line a minute says as much."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _EXHAUSTED:
            loop.default_exception_handler(context)
        elif loop.time() >= self._exhausted_until:
            self._exhausted_until = loop.time() + 60
            connected = len(self.connections)
            log.error("cannot accept connections: %s; %d are open, and others wait until some are closed", error.strerror, connected)


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
