"""The HTTP shell alone, around a handler that knows nothing of Kubernetes."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fiferail.apiserver.http.connection import Delayed
from fiferail.apiserver.http.server import HttpServer
from fiferail.apiserver.kinds import User
from fiferail.wire import Answer, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = {"content-type": "application/json"}


class Echo:
    """Answers with what it was asked; `/lost` cuts, `/late` waits, `/crash` raises, `/watch` streams."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.streams: list[Tape] = []

    def handle(self, request: Request, user: User | None) -> Answer | Tape | Delayed | None:
        if request.path == "/lost":
            return None
        if request.path == "/late":
            return Delayed(Answer(200, b'"late"', JSON), 0.01)
        if request.path == "/crash":
            raise ZeroDivisionError("by design")
        if request.path == "/watch":
            self.streams.append(Tape())
            return self.streams[-1]
        told = {"method": request.method, "path": request.path, "query": request.query, "length": len(request.body)}
        told["user"] = user and user.name
        return Answer(200, json.dumps(told).encode(), JSON)


class Tape:
    """A watch that the test feeds."""

    head = Answer(200, b"", JSON)
    lifetime: float | None = 30.0
    bookmark_every: float | None = None

    def __init__(self) -> None:
        self.ready: list[bytes] = [b'{"n":0}\n']
        self.ended = False
        self.closed = threading.Event()
        self.wake: Callable[[], None] = lambda: None
        self.listening = threading.Event()

    def take(self, portion: int) -> list[bytes]:
        taken, self.ready = self.ready, []
        return taken

    def bookmark(self) -> None:
        self.ready.append(b"bookmark\n")

    def listen(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.listening.set()

    def close(self) -> None:
        self.closed.set()


@contextmanager
def serving(tokens: dict[str, User] | None = None) -> Iterator[tuple[HttpServer, Echo]]:
    echo = Echo()
    server = HttpServer(echo, tokens=tokens)
    server.start()
    try:
        yield server, echo
    finally:
        server.stop()


def exchange(server: HttpServer, raw: bytes, *, until: bytes | None = None) -> bytes:
    """Sends raw bytes and reads until the server closes, or until the answer ends so."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(raw)
        received = b""
        while until is None or not received.endswith(until):
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            received += part
        return received


def body(raw: bytes) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(raw.partition(b"\r\n\r\n")[2])
    return decoded


CLOSE = b"Host: localhost\r\nConnection: close\r\n"


def test_path_and_query_are_decoded_once() -> None:
    """Escapes are decoded in path and query, and a plus in a query is a blank."""
    with serving() as (server, _):
        told = body(exchange(server, b"GET /a%2Fb/%C3%A9?x=1+2&y=%26&bad=%zz&semi;colon=1&empty HTTP/1.1\r\n" + CLOSE + b"\r\n"))
    assert told["path"] == "/a/b/é"
    assert told["query"] == [["x", "1 2"], ["y", "&"], ["empty", ""]]


def test_chunked_bodies_are_joined() -> None:
    """A chunked body reaches the handler whole."""
    with serving() as (server, _):
        raw = b"POST / HTTP/1.1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        assert body(exchange(server, raw))["length"] == 5


def test_pipelined_requests_are_answered_in_order() -> None:
    """Requests sent without waiting come back in their order, even behind a delayed one."""
    with serving() as (server, _):
        first = b"".join(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path for path in (b"/1", b"/late"))
        raw = first + b"GET /3 HTTP/1.1\r\n" + CLOSE + b"\r\n"
        received = exchange(server, raw)
    assert received.index(b'"/1"') < received.index(b'"late"') < received.index(b'"/3"')
    assert received.count(b"HTTP/1.1 200 OK") == 3


def test_head_gets_the_length_without_the_body() -> None:
    """HEAD is answered with the headers of the whole answer and no body."""
    with serving() as (server, _):
        received = exchange(server, b"HEAD / HTTP/1.1\r\n" + CLOSE + b"\r\n")
    head, _, rest = received.partition(b"\r\n\r\n")
    assert b"Content-Length: " in head
    assert rest == b""


def test_command_line_tools_get_indented_json() -> None:
    """The server indents for curl, and for whoever asks with pretty=true, and for nobody else."""
    with serving() as (server, _):
        assert b"{\n  " in exchange(server, b"GET / HTTP/1.1\r\nUser-Agent: curl/8\r\n" + CLOSE + b"\r\n")
        assert b"{\n  " in exchange(server, b"GET /?pretty=true HTTP/1.1\r\n" + CLOSE + b"\r\n")
        assert b"{\n  " not in exchange(server, b"GET /?pretty=false HTTP/1.1\r\nUser-Agent: curl/8\r\n" + CLOSE + b"\r\n")


MALFORMED = {
    "no HTTP at all": (b"GARBAGE\r\n\r\n", "400 Bad Request"),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request: missing required Host header"),
    "a bad escape in the path": (b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400 Bad Request"),
    "a blank in the path": (b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", "400 Bad Request"),
    "a header name with a blank": (b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n", "400 Bad Request: invalid header name"),
    "a length that is no number": (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", "400 Bad Request"),
    "a chunk length that is none": (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400 Bad Request"),
    "another version": (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "505 HTTP Version Not Supported: unsupported protocol version"),
    "headers over a megabyte": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_200_000, "431 Request Header Fields Too Large"),
}


@pytest.mark.parametrize(("raw", "refusal"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_refused_in_plain_text(raw: bytes, refusal: str) -> None:
    """What is not a request gets Go's plain refusal and a closed connection, and the server goes on."""
    with serving() as (server, _):
        received = exchange(server, raw)
        assert received.split(b"\r\n")[0].decode() == f"HTTP/1.1 {refusal}"
        assert received.partition(b"\r\n\r\n")[2].decode() == refusal
        assert body(exchange(server, b"GET /after HTTP/1.1\r\n" + CLOSE + b"\r\n"))["path"] == "/after"


def test_any_token_is_a_method() -> None:
    """A method that nobody has heard of reaches the handler, which may refuse it."""
    with serving() as (server, _):
        assert body(exchange(server, b"FROB /x HTTP/1.1\r\n" + CLOSE + b"\r\n"))["method"] == "FROB"


def test_an_unknown_method_behind_another_request_answers_nothing_twice() -> None:
    """A pipelined request is answered once, whatever follows it in the same packet."""
    with serving() as (server, _):
        received = exchange(server, b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\nFROB /2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert received.count(b'"/1"') == 1
    assert received.endswith(b"400 Bad Request")


def test_a_refusal_comes_after_the_answers_before_it() -> None:
    """However many requests stand before one that cannot be read, all are answered, and the refusal is the last."""
    with serving() as (server, _):
        received = exchange(server, b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100 + b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n")
    assert received.count(b'"/1"') == 100
    assert received.endswith(b"505 HTTP Version Not Supported: unsupported protocol version")


def test_a_client_that_pipelines_leaves_others_their_turn() -> None:
    """Of 1,000 requests in one packet only some are handled before another client is answered."""
    with serving() as (server, echo):
        order: list[str] = []
        original, arrived = echo.handle, threading.Event()

        def handle(request: Request, user: User | None) -> Answer | Tape | Delayed | None:
            order.append(request.path)
            if len(order) == 1:
                assert arrived.wait(10)
            return original(request, user)

        echo.handle = handle  # type: ignore[method-assign]
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as greedy:
            greedy.sendall(b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as other:
                other.sendall(b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n")
                arrived.set()
                assert b'"/other"' in other.recv(65536)
    assert order.index("/other") < 500


def test_upgrades_are_declined_by_answering() -> None:
    """Requests that ask to upgrade are answered as any other, any number of them in one packet."""
    ask = b"GET /u HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with serving() as (server, _):
        received = exchange(server, ask * 500 + b"GET /last HTTP/1.1\r\n" + CLOSE + b"\r\n")
    assert received.count(b'"/u"') == 500
    assert received.count(b'"/last"') == 1


def test_a_body_over_three_mebibytes_is_refused() -> None:
    """The body limit is the real server's, and so are the words; one byte less passes."""
    with serving() as (server, _):
        head = b"POST / HTTP/1.1\r\n" + CLOSE
        received = exchange(server, head + b"Content-Length: 3145729\r\n\r\n" + b"a" * 3145729)
        assert received.startswith(b"HTTP/1.1 413 Request Entity Too Large\r\n")
        assert body(received) == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "Request entity too large: limit is 3145728",
            "reason": "RequestEntityTooLarge",
            "code": 413,
        }
        assert body(exchange(server, head + b"Content-Length: 3145728\r\n\r\n" + b"a" * 3145728))["length"] == 3145728


def test_a_lost_answer_cuts_the_connection() -> None:
    """A handler that loses its answer leaves the client without a single byte."""
    with serving() as (server, _):
        assert exchange(server, b"GET /lost HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""


def test_a_crash_of_the_handler_is_a_500_without_a_traceback() -> None:
    """A defect is answered as an internal error, is kept for the test to see, and does not end the server."""
    with serving() as (server, _):
        received = exchange(server, b"GET /crash HTTP/1.1\r\n" + CLOSE + b"\r\n")
        assert received.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
        assert body(received)["message"] == "Internal error occurred: ZeroDivisionError: by design"
        assert b"Traceback" not in received
        assert [type(crash) for crash in server.crashes] == [ZeroDivisionError]


def test_tokens_name_the_user() -> None:
    """With tokens configured a known one names the user, and everything else is Unauthorized."""
    with serving({"secret": User(name="ada")}) as (server, _):
        assert body(exchange(server, b"GET / HTTP/1.1\r\nAuthorization: Bearer secret\r\n" + CLOSE + b"\r\n"))["user"] == "ada"
        refused = exchange(server, b"GET / HTTP/1.1\r\nAuthorization: Bearer other\r\n" + CLOSE + b"\r\n")
        assert refused.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
        assert body(refused)["message"] == "Unauthorized"
        assert exchange(server, b"GET /healthz HTTP/1.1\r\n" + CLOSE + b"\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


def test_events_are_sent_as_they_come() -> None:
    """Each event of a watch is one chunk, sent when the machine wakes the connection from any thread."""
    with serving() as (server, echo), socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = _until(connection, b'{"n":0}\n\r\n')
        assert b"Transfer-Encoding: chunked" in received
        (tape,) = echo.streams
        tape.ready.append(b'{"n":1}\n')
        tape.wake()
        assert _until(connection, b'{"n":1}\n\r\n') == b'8\r\n{"n":1}\n\r\n'
        tape.ended = True
        tape.wake()
        assert _until(connection, b"0\r\n\r\n") == b"0\r\n\r\n"
        connection.sendall(b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b'"/next"' in _until(connection, b"}")
        assert tape.closed.is_set()


def test_a_client_that_goes_away_ends_its_watch() -> None:
    """When the client closes, the machine is told, so that nothing is kept for it."""
    with serving() as (server, echo):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(b"GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _until(connection, b'{"n":0}\n\r\n')
        assert echo.streams[0].closed.wait(10)


def test_stopping_leaves_no_thread_and_no_socket() -> None:
    """After stop the thread is gone, watches were closed, and the port can be taken again."""
    with serving() as (server, echo), socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _until(connection, b'{"n":0}\n\r\n')
        server.stop()
        assert not any(thread.name.endswith(str(server.port)) for thread in threading.enumerate())
        assert echo.streams[0].closed.is_set()
    HttpServer(Echo(), port=server.port).stop()


def _until(connection: socket.socket, end: bytes) -> bytes:
    received = b""
    while not received.endswith(end):
        part = connection.recv(65536)
        assert part, f"the connection ended after {received!r}"
        received += part
    return received
