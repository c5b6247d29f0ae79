"""Listens, and owns the loop that serves: in a thread of its own for tests, or in the caller's for `fiferail serve`.

`HttpServer` knows sockets, threads, tokens and nothing about Kubernetes objects; it asks a handler. Every call of the handler
is made under one lock, which in-process callers of the same machine take too, so that the machine never sees two requests at once.
The port is bound and listening when `start` returns, and after `stop` neither thread nor socket is left.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Protocol

from .. import statuses
from .connection import BODY_LIMIT, Connection, Delayed, Lines, Parked

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from ...wire import Answer, Request
    from ..kinds import User

log = logging.getLogger("fiferail.apiserver")

#: What may be read without credentials, as the real server's role for everybody allows.
_PUBLIC = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
_UNKNOWN_TOKEN = statuses.status(401, "Unauthorized", "Unauthorized")


class Handler(Protocol):
    """Who answers requests. `lock` is held around every call."""

    lock: threading.RLock

    def handle(self, request: Request, user: User | None) -> Answer | Lines | Delayed | Parked | None:
        """`user` is None where no tokens are configured."""
        ...


class HttpServer:
    """A listening socket, its connections, and the loop that serves them."""

    def __init__(
        self,
        handler: Handler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tokens: Mapping[str, User] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._handler = handler
        self._tokens = dict(tokens or {})
        self._tls = tls
        self._requests = count(1)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._serving = self._finishing = False
        self.connections: set[Connection] = set()
        #: Exceptions that a handler let through: each was answered with a 500, none is expected.
        self.crashes: list[BaseException] = []
        self._socket = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else ("127.0.0.1" if host in ("", "0.0.0.0") else host)
        self.url = f"{'https' if tls else 'http'}://{shown}:{self.port}"

    # answering

    def audit_id(self) -> str:
        """A new id for the Audit-Id header."""
        return f"00000000-0000-4000-8000-{next(self._requests):012x}"

    def reply(self, request: Request, oversized: bool) -> Answer | Lines | Delayed | Parked | None:
        """The handler's answer, or why it was not asked."""
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

    def crashed(self, error: BaseException) -> None:
        """Keeps what should not have happened, for whoever looks at `crashes`."""
        self.crashes.append(error)
        log.error("a defect of the embedded API server", exc_info=error)

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
        server = loop.create_server(lambda: Connection(self, loop), sock=self._socket, ssl=self._tls, backlog=1024)
        listening = loop.run_until_complete(server)
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


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
