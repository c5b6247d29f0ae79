"""What one client can make the server keep: history, answers that nobody reads, defects, unfinished requests, open files."""

from __future__ import annotations

import gc
import logging
import os
import resource
import socket
import threading
import tracemalloc
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.apiserver.http import server as shell
from fiferail.apiserver.http.connection import Connection
from fiferail.apiserver.http.server import HttpServer
from fiferail.apiserver.inprocess import Transport, request_of
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.store import Store
from fiferail.wire import Answer, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fiferail.apiserver.kinds import User

JSON = {"content-type": "application/json"}
MERGE = "application/merge-patch+json"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MB = 1024 * 1024


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def patched(transport: Transport, name: str, value: str) -> Answer:
    return transport.send(request_of("PATCH", f"{CONFIGMAPS}/{name}", {"data": {"n": value}}, content_type=MERGE))


def machine(store: Store | None = None) -> Machine:
    """A machine with the usual kinds; with `store` its bounds are that store's."""
    made = Machine(clock=lambda: 1_700_000_000.0)
    if store is not None:
        made.store.keep_bytes, made.store.keep = store.keep_bytes, store.keep
    return made


# the past


def test_small_patches_of_a_large_object_cost_little() -> None:
    """100 patches of a 1 MB object do not keep 100 times a megabyte: the JSON of old versions goes."""
    transport = Transport(machine())
    transport.send(request_of("POST", CONFIGMAPS, configmap("large", text="x" * 1_000_000)))
    tracemalloc.start()
    try:
        for number in range(100):
            assert patched(transport, "large", str(number)).status == 200
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 30 * MB, f"{kept / MB:.0f} MB"


def test_history_is_bounded_by_bytes() -> None:
    """Old versions go when all of them together exceed the bound; from before, a watch and a list are answered 410."""
    world = machine(Store(keep_bytes=10 * MB))
    transport = Transport(world)
    made = transport.send(request_of("POST", CONFIGMAPS, configmap("large", text="x" * 1_000_000))).json()
    first = made["metadata"]["resourceVersion"]
    transport.send(request_of("POST", CONFIGMAPS, configmap("small")))
    for number in range(30):
        patched(transport, "large", str(number))
        assert world.store.size <= 11 * MB
    table = world.store.table(("", "configmaps"))
    assert 9 <= len(table.log) <= 11
    assert world.store.size == sum(each.size for each in world.store.tables.values()) == sum(event.size for event in table.log)
    query = (("resourceVersion", first), ("resourceVersionMatch", "Exact"))
    assert transport.send(Request(method="GET", path=CONFIGMAPS, query=query)).status == 410
    watch = transport.open(Request(method="GET", path=CONFIGMAPS, query=(("watch", "1"), ("resourceVersion", first))))
    assert msgspec.json.decode(watch.take()[0])["object"]["code"] == 410


def test_a_watch_that_stays_behind_what_is_kept_is_ended() -> None:
    """Events that were dropped before a watch took them end it with 410, they are not skipped."""
    transport = Transport(machine(Store(keep_bytes=3 * MB)))
    transport.send(request_of("POST", CONFIGMAPS, configmap("large", text="x" * 1_000_000)))
    watch = transport.open(Request(method="GET", path=CONFIGMAPS, query=(("watch", "1"),)))
    assert b'"ADDED"' in watch.take()[0]
    for number in range(10):
        patched(transport, "large", str(number))
    lines = watch.take()
    assert [msgspec.json.decode(line)["type"] for line in lines] == ["ERROR"]
    assert watch.drained


def test_the_other_tables_keep_their_history() -> None:
    """The table that fills the history loses its oldest events, not the others."""
    world = machine(Store(keep_bytes=3 * MB))
    transport = Transport(world)
    transport.send(request_of("POST", "/api/v1/namespaces", {"metadata": {"name": "quiet"}}))
    transport.send(request_of("POST", CONFIGMAPS, configmap("large", text="x" * 1_000_000)))
    for number in range(10):
        patched(transport, "large", str(number))
    assert world.store.table(("", "configmaps")).trimmed > 0
    assert world.store.table(("", "namespaces")).trimmed == 0


def test_a_clock_at_zero_is_a_time() -> None:
    """The first second of 1970 is written as one."""
    made = Transport(Machine(clock=lambda: 0.0)).send(request_of("POST", CONFIGMAPS, configmap("old")))
    assert made.json()["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"


# answers that nobody reads


class Large:
    """A handler with large answers; `/watch` is a watch of many large events."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.handled = 0
        self.reel = Reel(4000)

    def handle(self, request: Request, user: User | None) -> Answer | Reel:
        if request.path == "/watch":
            return self.reel
        self.handled += 1
        if request.path == "/crash":
            raise ValueError(f"crash {self.handled}")
        return Answer(200, b"small" if request.path == "/small" else b"x" * MB, {"content-type": "text/plain"})


class Reel:
    """A watch whose events are made when they are taken."""

    head = Answer(200, b"", JSON)
    lifetime: float | None = 60.0
    bookmark_every: float | None = None

    def __init__(self, left: int) -> None:
        self.left = left

    @property
    def ended(self) -> bool:
        return not self.left

    def take(self, portion: int) -> list[bytes]:
        count = min(self.left, -(-portion // 10_000))
        self.left -= count
        return [b"x" * 9_999 + b"\n"] * count

    def bookmark(self) -> None:
        raise AssertionError("nobody asked for bookmarks")

    def listen(self, wake: Callable[[], None]) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def serving(**options: Any) -> Iterator[tuple[HttpServer, Large]]:
    handler = Large()
    server = HttpServer(handler, **options)
    server.start()
    try:
        yield server, handler
    finally:
        server.stop()


def connected(server: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def get(path: bytes, last: bool = False) -> bytes:
    return b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % (path, b"Connection: close\r\n" if last else b"")


def rest(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(MB):
        parts.append(part)
    return b"".join(parts)


def settled(server: HttpServer) -> None:
    """Returns after the server has done what was sent to it before: another client has been answered twice."""
    with connected(server) as other:
        other.sendall(get(b"/small") + get(b"/small", last=True))
        rest(other)


def test_pipelined_requests_wait_for_a_client_that_does_not_read() -> None:
    """Of 200 requests for a megabyte only a few are answered before the client reads; then all are, in order."""
    with serving() as (server, handler), connected(server) as connection:
        connection.sendall(get(b"/large") * 199 + get(b"/large", last=True))
        settled(server)
        assert handler.handled <= 2 + 20, "sockets take some megabytes by themselves"
        received = rest(connection)
    assert received.count(b"HTTP/1.1 200 OK\r\n") == 200
    assert len(received) > 200 * MB


def test_a_watch_waits_for_a_client_that_does_not_read() -> None:
    """The events of a watch are made as the client reads them: 40 MB are not kept for one that does not."""
    with serving() as (server, handler), connected(server) as connection:
        connection.sendall(get(b"/watch", last=True))
        settled(server)
        assert handler.reel.left > 2000
        received = rest(connection)
    assert received.count(b"x\n\r\n") == 4000
    assert received.endswith(b"0\r\n\r\n")


def test_initial_events_are_made_as_they_are_taken() -> None:
    """A watch from the start of many objects gives portions, in order, then the bookmark, then what happened meanwhile."""
    transport = Transport(machine())
    for name in "abcde":
        transport.send(request_of("POST", CONFIGMAPS, configmap(name, text="x" * 10_000)))
    query = (("watch", "1"), ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"), ("allowWatchBookmarks", "true"))
    watch = transport.open(Request(method="GET", path=CONFIGMAPS, query=query))
    watch.bookmark()
    portions = [watch.take(25_000)]
    patched(transport, "a", "1")
    while portions[-1]:
        portions.append(watch.take(25_000))
    assert [len(portion) for portion in portions] == [3, 4, 1, 0]
    events = [msgspec.json.decode(line) for portion in portions for line in portion]
    assert [(event["type"], event["object"]["metadata"].get("name", "")) for event in events] == [
        *(("ADDED", name) for name in "abcde"), ("BOOKMARK", ""), ("MODIFIED", "a"), ("BOOKMARK", ""),
    ]  # fmt: skip


def test_a_bookmark_never_overtakes_an_event() -> None:
    """A bookmark says that everything up to its version was delivered, so it comes after what is still to be taken."""
    transport = Transport(machine())
    watch = transport.open(Request(method="GET", path=CONFIGMAPS, query=(("watch", "1"), ("allowWatchBookmarks", "true"))))
    watch.take()
    made = transport.send(request_of("POST", CONFIGMAPS, configmap("a"))).json()["metadata"]["resourceVersion"]
    watch.bookmark()
    events = [msgspec.json.decode(line) for line in watch.take()]
    assert [(event["type"], event["object"]["metadata"]["resourceVersion"]) for event in events] == [("ADDED", made), ("BOOKMARK", made)]


# defects


def test_defects_are_kept_without_their_requests(caplog: pytest.LogCaptureFixture) -> None:
    """Only the first crashes are kept and logged, and none keeps a frame, hence no request body."""
    with serving() as (server, _):
        for _ in range(3):
            with connected(server) as connection:
                connection.sendall(get(b"/crash") * 9 + get(b"/crash", last=True))
                assert rest(connection).count(b"HTTP/1.1 500 Internal Server Error\r\n") == 10
        assert [str(crash) for crash in server.crashes] == [f"crash {number}" for number in range(1, shell.CRASHES + 1)]
        assert all(crash.__traceback__ is None for crash in server.crashes)
    assert caplog.text.count("a defect of the embedded API server") == shell.CRASHES


def test_a_connection_is_freed_when_it_ends() -> None:
    """Nothing waits for the garbage collector: `fiferail serve` does not run it while it is busy."""
    made: list[weakref.ref[Connection]] = []
    gc.collect()
    gc.disable()
    try:
        with EmbeddedServer() as server:
            for path in (b"/api/v1/namespaces", b"/api/v1/namespaces/none", b"/api/v1/namespaces?watch=1&timeoutSeconds=0"):
                with connected(server.http) as connection:
                    connection.sendall(get(path))
                    connection.recv(100)
                    made += [weakref.ref(each) for each in server.http.connections]
            settled(server.http)
            settled(server.http)
        assert len(made) >= 3
        assert [each() for each in made if each() is not None] == []
    finally:
        gc.enable()


# unfinished requests and open files


@pytest.mark.parametrize("start", [b"", b"GET / HT", get(b"/small") + b"GET / HTTP/1.1\r\nX: "], ids=["nothing", "a line", "the second"])
def test_a_head_that_never_ends_is_cut(start: bytes) -> None:
    """A connection whose request head is not complete in time is closed without a word, as the real server does after 32 s."""
    with serving(head_seconds=0.05) as (server, handler), connected(server) as connection:
        connection.sendall(start)
        received = rest(connection) if not start else _rest_until_reset(connection)
    assert received.count(b"HTTP/1.1 200 OK") == handler.handled == start.count(b"/small")


def _rest_until_reset(connection: socket.socket) -> bytes:
    received = b""
    try:
        while part := connection.recv(MB):
            received += part
    except ConnectionResetError:
        pass
    return received


def test_an_idle_connection_and_a_watch_are_no_unfinished_head() -> None:
    """Only a head that has begun, or never begins, has a deadline: kept connections and watches live on."""
    with serving(head_seconds=0.05) as (server, _), connected(server) as idle, connected(server) as late:
        idle.sendall(get(b"/small"))
        assert idle.recv(1000).endswith(b"small")
        assert late.recv(1000) == b"", "the same time is too long for a connection without a request"
        idle.sendall(get(b"/small"))
        assert idle.recv(1000).endswith(b"small")


def test_the_time_for_a_head_is_the_real_servers() -> None:
    """32 seconds by default."""
    assert shell.HEAD_SECONDS == 32.0


def test_a_trailer_without_end_is_refused() -> None:
    """What follows the last chunk is bounded as the head is: a trailer is not collected for ever."""
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: "
    with serving() as (server, _), connected(server) as connection:
        connection.sendall(head)
        try:
            for _ in range(20):
                connection.sendall(b"x" * 100_000)
            received = _rest_until_reset(connection)
        except (BrokenPipeError, ConnectionResetError):
            received = _rest_until_reset(connection)
        settled(server)
        assert not received or received.startswith(b"HTTP/1.1 431 ")
        assert len(server.connections) <= 1


def test_exhausted_file_descriptors_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Without a descriptor left new connections wait, the log has one line, and afterwards they are served."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with caplog.at_level(logging.ERROR), serving() as (server, _), ExitStack() as waiting:
        settled(server)
        clients = [socket.socket() for _ in range(5)]
        for client in clients:
            waiting.enter_context(client)
            client.settimeout(30)
        resource.setrlimit(resource.RLIMIT_NOFILE, (_lowest_free(), limits[1]))
        try:
            for client in clients:
                client.connect(("127.0.0.1", server.port))
                client.sendall(get(b"/small"))
            while not caplog.records:
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert all(client.recv(1000).endswith(b"small") for client in clients)
    assert [record.getMessage() for record in caplog.records] == [
        "cannot accept connections: Too many open files; 0 are open, and others wait until some are closed"
    ]


def _lowest_free() -> int:
    """The number that the next descriptor would get."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor
