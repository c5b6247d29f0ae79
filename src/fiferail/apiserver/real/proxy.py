"""A small HTTP proxy in front of a real server: plain HTTP in, TLS out, every request counted, faults on request.

Used by the test fixture with `--fiferail-server=real`. It speaks the same faults as the embedded server where a proxy can: codes
instead of an answer, a committed write whose answer is lost, latency, a dropped watch. What needs the server's inside (a stale
list, a lagging watch) is refused by name with `Unobtainable`, so that a test can be skipped instead of passing for nothing.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fiferail.apiserver import routes
from fiferail.apiserver.faults import DROPPED, LAGGING, LOST, STALE, Fault, refusal_of, taken
from fiferail.errors import Unsupported

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "content-length"}


class Unobtainable(Unsupported):
    """A fault that cannot be had in front of a real server."""

    def __init__(self, fault: str) -> None:
        Exception.__init__(self, f"a real server cannot be made to give a {fault} answer: use the embedded one for this test")
        self.feature = fault


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


class ProxyFaults:
    """The same interface as the embedded server's faults."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []
        self._lock = threading.Lock()
        self.struck: list[Fault] = []

    def next(self, **rule: Any) -> Fault:
        """The next matching requests go wrong; takes what the embedded server's `faults.next` takes."""
        fault = Fault(**rule)
        if fault.answer in (STALE, LAGGING):
            raise Unobtainable(str(fault.answer))
        with self._lock:
            self._rules.append(fault)
        return fault

    def clear(self) -> None:
        """No more trouble."""
        with self._lock:
            self._rules.clear()

    def first(self, route: routes.Route, kind: str, *, watch: bool) -> Fault | None:
        """The rule that strikes this request, used up by one."""
        with self._lock:
            rule = taken(self._rules, route, kind, watch=watch)
            if rule is not None:
                self.struck.append(rule)
            return rule


class Proxy:
    """Stands in front of one real server, as a context manager."""

    def __init__(self, url: str, *, token: str, context: ssl.SSLContext) -> None:
        self._target, self._token, self._context = urlsplit(url), token, context
        self._kinds: dict[tuple[str, str], dict[str, str]] = {}
        self.faults = ProxyFaults()
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
        """What is passed on: everything but what belongs to one connection; the admin's token where none was sent."""
        kept = {name: value for name, value in given.items() if name.lower() not in _HOP}
        if not any(name.lower() == "authorization" for name in kept):
            kept["Authorization"] = f"Bearer {self._token}"
        return kept

    def kind_of(self, route: routes.Route) -> str:
        """The kind of a resource, from discovery, remembered while it is found."""
        key = (route.group, route.version)
        if route.resource not in self._kinds.get(key, {}):
            connection = self.connect()
            base = f"/apis/{route.group}/{route.version}" if route.group else f"/api/{route.version}"
            connection.request("GET", base, headers=self.headers({"Accept": "application/json"}))
            response = connection.getresponse()
            found = json.loads(response.read()).get("resources", []) if response.status == 200 else []
            connection.close()
            self._kinds[key] = {entry["name"]: entry["kind"] for entry in found if "/" not in entry["name"]}
        return self._kinds[key].get(route.resource, "")


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One connection of a client, with one connection to the server behind it."""

        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        upstream: http.client.HTTPSConnection | None = None
        _asked: Seen

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
            route = routes.parse(self.command, unquote(parts.path))
            watch = route is not None and (route.verb == "watch" or (route.verb == "list" and any(name == "watch" for name, _ in query)))
            verb = ("watch" if watch else route.verb) if route else ""
            fault = proxy.faults.first(route, proxy.kind_of(route), watch=watch) if route and proxy.faults._rules else None
            self._asked = Seen(self.command, unquote(parts.path), query, self.headers.get("User-Agent", ""), verb, 0, body)
            self._answer(body, fault, route, watch)

        def _note(self, code: int) -> None:
            """Counts the request, before the client can know the answer."""
            proxy.requests.append(replace(self._asked, code=code))

        def _answer(self, body: bytes, fault: Fault | None, route: routes.Route | None, watch: bool) -> None:
            if fault is not None and fault.latency:
                time.sleep(fault.latency)
            if fault is not None and route is not None and isinstance(fault.answer, int) and fault.answer != 200:
                answer = refusal_of(fault, route)
                self._reply(answer.status, dict(answer.headers), answer.body)
                return
            if fault is not None and fault.answer == DROPPED and watch:
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
