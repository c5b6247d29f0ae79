"""A small HTTP proxy in front of a real server: plain HTTP in, TLS out, every request counted, faults and holds on request.

Used by the test fixture with `--fiferail-server=real`. It has the same faults as the embedded server where a proxy can: codes
instead of an answer, a committed write whose answer is lost, latency, a dropped watch. What needs the server's inside (a stale
list, a lagging watch) is refused by name with `Unobtainable`, so that a test can be skipped instead of passing for nothing.
Requests that carry the harness header are passed on without it, past faults and holds.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fiferail.apiserver.aims import Served, asked
from fiferail.apiserver.faults import DROPPED, LAGGING, LOST, STALE, Fault, Faults, refusal_of
from fiferail.apiserver.holds import Holds
from fiferail.wire import Request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

#: Marks the requests of the test fixture itself: faults and holds pass them by.
HARNESS = "x-fiferail-harness"
#: Answers that need the inside of the server.
UNOBTAINABLE = frozenset({STALE, LAGGING})
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}


@dataclass(frozen=True)
class Seen:
    """One request that came by, and the code of its answer; 0 when the answer was withheld."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    agent: str
    verb: str
    code: int
    body: bytes = field(default=b"", repr=False)
    #: Whether the fixture itself asked (`apiserver.apply`, `get`, `list`, `wait_for`): faults and holds pass such a request by.
    harness: bool = False

    @property
    def request(self) -> Request:
        """The request as far as faults look at it."""
        return Request(method=self.method, path=self.path, query=self.query, body=self.body, headers={"user-agent": self.agent})


class Proxy:
    """Stands in front of one real server, as a context manager."""

    def __init__(self, url: str, *, token: str, context: ssl.SSLContext) -> None:
        self._target, self._token, self._context = urlsplit(url), token, context
        self._own_kinds: list[Served] | None = None
        self.lock = threading.RLock()
        self.faults = Faults(self.served, lock=self.lock, unobtainable=UNOBTAINABLE)
        self.holds = Holds()
        self.requests: list[Seen] = []
        #: Called before a request is passed on (method, path, body), and after it was answered (the body of the answer too).
        self.before: Callable[[str, str, bytes], None] | None = None
        self.on_answer: Callable[[Seen, bytes], None] | None = None
        #: What clients say about their requests (`x-fiferail-...`), by the audit id that the server gave to the request.
        self.said: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="fiferail-proxy", daemon=True)

    @property
    def url(self) -> str:
        """Where clients find the proxy."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def connect(self) -> http.client.HTTPSConnection:
        """A connection to the real server."""
        return http.client.HTTPSConnection(self._target.hostname or "", self._target.port, context=self._context, timeout=120)

    def headers(self, given: dict[str, str]) -> dict[str, str]:
        """What is passed on: everything but what belongs to one connection or to us; the admin's token where none was sent."""
        kept = {name: value for name, value in given.items() if name.lower() not in _HOP and name.lower() != HARNESS}
        if not any(name.lower() == "authorization" for name in kept):
            kept["Authorization"] = f"Bearer {self._token}"
        return kept

    def served(self) -> list[Served]:
        """What the server serves: its own kinds, and the custom ones as their CRDs stand now (discovery comes a little later)."""
        custom = [_of_crd(crd) for crd in self._read(_CRDS)["items"]]
        if self._own_kinds is None:
            groups = {kind.group for kind in custom}
            listed = [group for path in ("/api", "/apis") for group in self._read(path, _DISCOVERY)["items"]]
            self._own_kinds = [kind for group in listed for kind in _of_group(group) if kind.group not in groups]
        return [*self._own_kinds, *custom]

    def _read(self, path: str, accept: str = "application/json") -> Any:
        connection = self.connect()
        try:
            connection.request("GET", path, headers=self.headers({"Accept": accept}))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def _of_crd(crd: Any) -> Served:
    spec = crd["spec"]
    below = {name for version in spec["versions"] for name in version.get("subresources") or {}}
    return Served(spec["group"], spec["names"]["plural"], spec["names"]["kind"], spec["scope"] == "Namespaced", frozenset(below))


def _of_group(group: Any) -> list[Served]:
    """The kinds of one group of the aggregated discovery document."""
    return [
        Served(
            group["metadata"].get("name", ""), entry["resource"], entry["responseKind"]["kind"], entry["scope"] == "Namespaced",
            frozenset(below["subresource"] for below in entry.get("subresources", [])),
        )
        for version in group["versions"]
        for entry in version["resources"]
    ]  # fmt: skip


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One connection of a client, with one connection to the server behind it."""

        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        upstream: http.client.HTTPSConnection | None = None
        _asked: Seen
        _request: Request
        _latency = 0.0

        def log_message(self, format: str, *args: object) -> None:
            """Silence: the proxy keeps its own records."""

        def finish(self) -> None:
            super().finish()
            if self.upstream is not None:
                self.upstream.close()

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = tuple(parse_qsl(parts.query, keep_blank_values=True))
            agent, harness = self.headers.get("User-Agent", ""), HARNESS in self.headers
            seen = Seen(self.command, unquote(parts.path), query, agent, "", 0, body, harness)
            self._request = seen.request
            what = asked(self._request)
            self._asked = replace(seen, verb=what.verb if what else "")
            try:
                if not harness and self._kept_until_the_client_went():
                    self.close_connection = True
                    return
                fault = proxy.faults.strike(self._request) if proxy.faults and not harness else None
                self._answer(body, fault)
            finally:
                proxy.holds.processed(self._request)

        def _kept_until_the_client_went(self) -> bool:
            """Waits where the request is held; says whether its client has given up meanwhile."""
            hold = proxy.holds.catch(self._request)
            if hold is None:
                return False
            hold.blocked()
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

        def _note(self, code: int) -> None:
            """Counts the request, before the client can know the answer. A fault may keep the answer back from here on."""
            proxy.requests.append(replace(self._asked, code=code))
            proxy.holds.processed(self._request)
            if self._latency:
                time.sleep(self._latency)

        def _answer(self, body: bytes, fault: Fault | None) -> None:
            self._latency = fault.latency if fault is not None else 0.0
            if fault is not None and isinstance(fault.answer, int) and fault.answer != 200:
                answer = refusal_of(fault, self._request)
                self._reply(answer.status, dict(answer.headers), answer.body)
                return
            if fault is not None and fault.answer == DROPPED:
                self._reply(200, {"Content-Type": "application/json"}, b"")
                self.close_connection = True
                return
            self._forward(body, lost=fault is not None and fault.answer == LOST)

        def _forward(self, body: bytes, lost: bool) -> None:
            response = self._ask(body)
            said = {name.lower(): value for name, value in self.headers.items() if name.lower().startswith("x-fiferail-")}
            if said:
                proxy.said[response.getheader("Audit-Id", "")] = said
            if lost:
                response.read()
                self._note(0)
                self.close_connection = True
                self.connection.close()
                return
            headers = {name: value for name, value in response.getheaders() if name.lower() not in _HOP}
            if response.getheader("Transfer-Encoding", "").lower() == "chunked":
                self._stream(response, headers)
                return
            content = response.read()
            if proxy.on_answer is not None:
                proxy.on_answer(replace(self._asked, code=response.status), content)
            self._reply(response.status, headers, content)

        def _ask(self, body: bytes) -> http.client.HTTPResponse:
            if proxy.before is not None:
                proxy.before(self.command, unquote(urlsplit(self.path).path), body)
            fresh = self.upstream is None
            self.upstream = self.upstream or proxy.connect()
            headers = proxy.headers(dict(self.headers.items()))
            try:
                self.upstream.request(self.command, self.path, body=body or None, headers=headers)
                return self.upstream.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                self.upstream.close()
                if fresh:
                    raise
                self.upstream = proxy.connect()
                self.upstream.request(self.command, self.path, body=body or None, headers=headers)
                return self.upstream.getresponse()

        def _stream(self, response: http.client.HTTPResponse, headers: dict[str, str]) -> None:
            """A watch, line by line, as it comes. It ends when either side ends."""
            self._note(response.status)
            self.send_response(response.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while chunk := response.read1(65536):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.write(b"0\r\n\r\n")
            except (ConnectionError, http.client.HTTPException):
                self.close_connection = True
            finally:
                if self.upstream is not None:
                    self.upstream.close()
                self.upstream = None

        def _reply(self, code: int, headers: dict[str, str], content: bytes) -> None:
            self._note(code)
            self.send_response_only(code)
            for name, value in headers.items():
                if name.lower() != "content-length":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve

    return Handler
