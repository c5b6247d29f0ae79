"""The embedded API server, ready to use: a machine with everything a client asks for, behind HTTP.

    with EmbeddedServer(crds=["crds/"]) as server:
        server.url, server.kubeconfig(path), server.machine

It starts in milliseconds, serves from a thread of its own, and leaves nothing behind when it is stopped. Whoever calls the machine
in the same process while the server runs does so under `server.lock`, as the HTTP side does.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..wire import Answer, Request
from . import discovery, kubeconfig, openapi, reviews, routes, statuses, tables
from .faults import Delayed as DelayedByFault
from .faults import Lost
from .http.access import is_loopback
from .http.connection import Delayed, Lines
from .http.server import HttpServer
from .inprocess import Transport
from .kinds import User
from .machine import Machine

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from ..objects.tree import Json
    from .kinds import Kind, Version
    from .verbs.watch import Stream

#: Without timeoutSeconds the real server ends a watch after half an hour to an hour.
WATCH_LIFETIME = 2700.0
#: How often an idle watch that allows bookmarks gets one.
BOOKMARK_EVERY = 60.0
_ROW_OBJECTS = ("", "Metadata", "Object", "None")


class EmbeddedServer:
    """An API server inside this process.

    - `machine`: the state machine to serve; by default a new one with `clock`, `controllers` and `crds` (files, directories, objects).
    - `host`, `port`: where it listens; port 0 takes a free one. Beyond loopback it wants `tokens`, or `anonymous=True`.
    - `tokens`: bearer tokens and the users that they stand for. Without any everybody is served.
    - `tls`: a context to serve HTTPS with.
    - `allowed_hosts`: names besides loopback that requests may carry in `Host`. `allowed_origins`: origins whose web pages may use
      the server. `"*"` allows all.

    Raises ValueError for a host beyond loopback without tokens, ManifestError for CRDs that cannot be used, OSError for a port that
    cannot be had.
    """

    def __init__(
        self,
        machine: Machine | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tokens: Mapping[str, User] | None = None,
        anonymous: bool = False,
        tls: ssl.SSLContext | None = None,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        crds: Iterable[str | Path | Json] = (),
        controllers: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not tokens and not anonymous and not is_loopback(host):
            raise ValueError(f"{host} is not loopback: give tokens, or anonymous=True to let everybody who reaches it do everything")
        self.machine = machine or Machine(clock=clock, controllers=controllers)
        equip(self.machine)
        self.lock = threading.RLock()
        self.tokens = dict(tokens or {})
        from .manifests import load_crds

        load_crds(self.machine, crds)
        self.http = HttpServer(
            self, host=host, port=port, tokens=self.tokens, tls=tls, allowed_hosts=allowed_hosts, allowed_origins=allowed_origins
        )

    @property
    def url(self) -> str:
        """Where clients find the server."""
        return self.http.url

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.http.port

    def start(self) -> EmbeddedServer:
        """Serves from a thread of its own."""
        self.http.start()
        return self

    def stop(self) -> None:
        """Ends every connection and the thread."""
        self.http.stop()

    def __enter__(self) -> EmbeddedServer:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def kubeconfig(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes a kubeconfig for this server, readable by its owner only, and gives its path back.

        A file that fiferail did not write is replaced only with `force`. Raises FileExistsError, or another OSError.
        """
        return kubeconfig.write(Path(path), self.url, next(iter(self.tokens), "fiferail"), force=force)

    def transport(self, *, agent: str = "fiferail", user: User | None = None) -> Transport:
        """A way to the same machine without HTTP, safe to use while the server runs."""
        return _LockedTransport(self.machine, self.lock, agent, user)

    def handle(self, request: Request, user: User | None) -> Answer | Lines | Delayed | None:
        """What the HTTP side asks. The lock is held."""
        known = user or User()
        if request.path.startswith("/apis/auth"):
            review = reviews.answer(self.machine, request, known, self.tokens)
            if review is not None:
                return review
        if request.method == "HEAD" and self._headless(request):
            return self._refused_head(request, known)
        return self._carried(self.machine.handle(request, known), request)

    def _headless(self, request: Request) -> bool:
        """The server's own resources have no HEAD; custom ones treat it as GET."""
        route = routes.parse(request.method, request.path)
        kind = self.machine.kinds.get((route.group, route.resource)) if route else None
        return kind is not None and not kind.custom

    def _refused_head(self, request: Request, user: User) -> Answer:
        """405 where the path exists, as 404 where it does not."""
        got = self.machine.handle(msgspec.structs.replace(request, method="GET", query=()), user)
        if isinstance(got, Answer) and got.status == 404 and b"could not find the requested resource" in got.body:
            return got
        return statuses.method_not_allowed().answer()

    def _carried(self, reply: Answer | Stream | DelayedByFault | Lost, request: Request) -> Answer | Lines | Delayed | None:
        if isinstance(reply, Answer):
            return reply
        if isinstance(reply, Lost):
            return None
        if isinstance(reply, DelayedByFault):
            inner = self._carried(reply.answer, request)
            return inner if isinstance(inner, Delayed) else Delayed(inner, reply.seconds)
        return _Watch(reply, request, self.lock)


class _LockedTransport(Transport):
    """Calls the machine when nobody else does."""

    def __init__(self, machine: Machine, lock: threading.RLock, agent: str, user: User | None) -> None:
        super().__init__(machine, user, agent=agent)
        self._lock = lock

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """The answer to a request."""
        with self._lock:
            return super().send(request, timeout=timeout)

    def open(self, request: Request) -> Stream:
        """The stream of a watch."""
        with self._lock:
            return super().open(request)


class _Watch:
    """A stream of the machine as the HTTP side wants it: locked, and with the times that the machine does not know."""

    def __init__(self, stream: Stream, request: Request, lock: threading.RLock) -> None:
        self._stream, self._lock = stream, lock
        self.head = Answer(200, b"", stream.headers)
        self.lifetime: float | None = float(stream.timeout_seconds) if stream.timeout_seconds else WATCH_LIFETIME
        bookmarks = any(name == "allowWatchBookmarks" and value.lower() not in ("false", "0") for name, value in request.query)
        self.bookmark_every: float | None = BOOKMARK_EVERY if bookmarks else None

    def take(self, portion: int) -> list[bytes]:
        """The next events that are ready, about so many bytes of them."""
        with self._lock:
            return self._stream.take(portion)

    def bookmark(self) -> None:
        """Puts a bookmark among the next events."""
        with self._lock:
            self._stream.bookmark()

    @property
    def ended(self) -> bool:
        """Whether the machine has closed the stream and everything in it was taken."""
        return self._stream.drained

    def listen(self, wake: Callable[[], None]) -> None:
        """Calls back after commits."""
        self._stream.on_ready = wake

    def close(self) -> None:
        """Lets go of the stream."""
        with self._lock:
            self._stream.on_ready = None
            self._stream.close()


def equip(machine: Machine) -> Machine:
    """Gives a bare machine everything around its resources: discovery, OpenAPI, tables."""
    discovery.install(machine)
    openapi.install(machine)
    reviews.install(machine)

    def render(kind: Kind, version: Version, items: list[Json], whole: Json | None, request: Request, meta_version: str) -> Json:
        include = next((value for name, value in request.query if name == "includeObject"), "")
        if include not in _ROW_OBJECTS:
            allowed = "must be 'Metadata', 'Object', 'None', or empty"
            message = f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": {allowed}'
            raise statuses.bad_request(message)
        document = {**whole, "items": items} if whole is not None else items[0]
        api_version = f"meta.k8s.io/{meta_version}"
        return tables.table(kind, version.name, document, include=include or "Metadata", now=machine.clock(), api_version=api_version)

    machine.tables = render
    return machine
