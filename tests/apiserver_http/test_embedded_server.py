"""The whole embedded server: start, stop, faults, and one machine for everybody."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.apiserver.inprocess import request_of
from fiferail.apiserver.kinds import User
from fiferail.wire import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

CRD = Path(__file__).parent.parent / "clients_on_embedded" / "gadgets.yaml"
GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"
GADGET = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """A server with a CRD."""
    with EmbeddedServer(crds=[CRD]) as running:
        yield running
        assert running.http.crashes == []


def call(server: EmbeddedServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        named = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), named)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


def test_a_warm_process_starts_one_quickly_and_leaves_nothing() -> None:
    """Starting and stopping leaves no thread behind; a second server in the same process is there at once."""
    EmbeddedServer().start().stop()
    before = set(threading.enumerate())
    started = time.perf_counter()
    with EmbeddedServer() as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(4096).endswith(b"ok")
        ready = time.perf_counter() - started
    assert set(threading.enumerate()) == before
    assert ready < 1.0, "the goal is a tenth of a second; ten times that means that something heavy is loaded again"


def test_nobody_sees_the_machine_half_done(server: EmbeddedServer) -> None:
    """Writers over HTTP and writers in the process count to the same sum: each request is whole."""
    assert call(server, "POST", GADGETS, GADGET)[0] == 201
    rounds = 40

    def bump(send: Any) -> None:
        done = 0
        while done < rounds:
            live = send("GET", f"{GADGETS}/g", None)
            live["spec"]["size"] += 1
            done += send("PUT", f"{GADGETS}/g", live).get("kind") == "Gadget"

    inside = server.transport()
    senders = [
        lambda method, path, body: call(server, method, path, body)[1],
        lambda method, path, body: inside.send(request_of(method, path, body)).json(),
    ]
    threads = [threading.Thread(target=bump, args=(send,)) for send in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert call(server, "GET", f"{GADGETS}/g")[1]["spec"]["size"] == 1 + 2 * rounds


def test_a_commit_in_the_process_wakes_a_watch_over_http(server: EmbeddedServer) -> None:
    """A watch over HTTP gets what was written without HTTP."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"{GADGETS}?watch=1&resourceVersion={server.machine.store.revision}")
    watch = connection.getresponse()
    server.transport(agent="inside").send(request_of("POST", GADGETS, GADGET))
    event = json.loads(watch.readline())
    assert (event["type"], event["object"]["metadata"]["managedFields"][0]["manager"]) == ("ADDED", "inside")
    connection.close()


def test_a_watch_ends_after_its_time(server: EmbeddedServer) -> None:
    """timeoutSeconds ends the stream in good order."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"{GADGETS}?watch=1&timeoutSeconds=1")
    assert connection.getresponse().read() == b""
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    connection.close()


def test_faults_reach_the_client(server: EmbeddedServer) -> None:
    """A refusal, a lost answer after a commit, and a delay are what the client sees."""
    faults = server.machine.faults
    faults.next(verb="create", kind="Gadget", answer=503, retry_after=7)
    status, body = call(server, "POST", GADGETS, GADGET)
    assert (status, body["details"]["retryAfterSeconds"]) == (503, 7)
    faults.next(verb="create", kind="Gadget", answer="lost")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        call(server, "POST", GADGETS, GADGET)
    faults.next(verb="get", kind="Gadget", answer=200, latency=0.05)
    started = time.perf_counter()
    assert call(server, "GET", f"{GADGETS}/g")[0] == 200
    assert time.perf_counter() - started >= 0.05


def test_reviews_know_the_bearer() -> None:
    """With tokens, a SelfSubjectReview over HTTP names the owner of the token, and TokenReview knows the others."""
    tokens = {"a": User(name="ada"), "b": User(name="bob")}
    with EmbeddedServer(tokens=tokens) as server:
        path = "/apis/authentication.k8s.io/v1"
        status, review = call(server, "POST", f"{path}/selfsubjectreviews", {}, Authorization="Bearer a")
        assert (status, review["status"]["userInfo"]["username"]) == (201, "ada")
        _, review = call(server, "POST", f"{path}/tokenreviews", {"spec": {"token": "b"}}, Authorization="Bearer a")
        assert review["status"]["user"]["username"] == "bob"
        assert call(server, "POST", f"{path}/selfsubjectreviews", {})[0] == 401


def test_reviews_are_there_without_http(server: EmbeddedServer) -> None:
    """A machine that is called directly answers reviews as its administrator."""
    asked = Request(method="POST", path="/apis/authentication.k8s.io/v1/selfsubjectreviews", body=b"{}", content_type="application/json")
    assert server.transport().send(asked).json()["status"]["userInfo"]["username"] == "admin"


def test_head_is_for_custom_kinds_only(server: EmbeddedServer) -> None:
    """HEAD reads a custom resource and is refused on the server's own, as on the real server."""
    assert call(server, "HEAD", GADGETS)[0] == 200
    assert call(server, "HEAD", "/api/v1/namespaces/default/configmaps")[0] == 405


def test_an_idle_watch_gets_bookmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that allows bookmarks is told how far it is, though nothing happens."""
    monkeypatch.setattr("fiferail.apiserver.embedded.BOOKMARK_EVERY", 0.01)
    with EmbeddedServer(crds=[CRD]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        revision = server.machine.store.revision
        connection.request("GET", f"{GADGETS}?watch=1&allowWatchBookmarks=true&resourceVersion={revision}")
        event = json.loads(connection.getresponse().readline())
        connection.close()
    assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", str(revision))


def test_a_slow_reader_misses_nothing(server: EmbeddedServer) -> None:
    """A watch whose client does not read for a while gets every event afterwards, in order, and holds nobody up."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", f"{GADGETS}?watch=1&resourceVersion={server.machine.store.revision}")
    watch = connection.getresponse()
    inside = server.transport()
    padding = "x" * 4000
    for number in range(600):
        meta = {"name": f"g{number}", "annotations": {"padding": padding}}
        assert inside.send(request_of("POST", GADGETS, {**GADGET, "metadata": meta})).status == 201
    names = [json.loads(watch.readline())["object"]["metadata"]["name"] for _ in range(600)]
    connection.close()
    assert names == [f"g{number}" for number in range(600)]


def test_large_answers_are_compressed_for_who_asks(server: EmbeddedServer) -> None:
    """From 128 KiB on a client that takes gzip gets gzip; others, and small answers, stay plain."""
    import gzip

    inside = server.transport()
    for number in range(40):
        meta = {"name": f"g{number}", "annotations": {"padding": "x" * 4000}}
        inside.send(request_of("POST", GADGETS, {**GADGET, "metadata": meta}))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    encodings, bodies = [], []
    for path, asked in ((GADGETS, "gzip"), (GADGETS, "identity"), (f"{GADGETS}/g0", "gzip")):
        connection.request("GET", path, headers={"Accept-Encoding": asked})
        answer = connection.getresponse()
        encodings.append(answer.getheader("Content-Encoding"))
        bodies.append(answer.read())
    connection.close()
    assert encodings == ["gzip", None, None]
    assert gzip.decompress(bodies[0]) == bodies[1]


def test_a_watched_table_has_its_columns_once(server: EmbeddedServer) -> None:
    """Only the first event of a watch in table form carries the columns; bookmarks are tables too."""
    inside = server.transport()
    for name in ("a", "b"):
        inside.send(request_of("POST", GADGETS, {**GADGET, "metadata": {"name": name}}))
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", f"{GADGETS}?{query}", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    watch = connection.getresponse()
    first, second, bookmark = (json.loads(watch.readline()) for _ in range(3))
    connection.close()
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Size", "Ready", "Age"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][:2] == ["b", 1]
    assert (bookmark["type"], bookmark["object"]["kind"]) == ("BOOKMARK", "Table")
    assert bookmark["object"]["rows"][0]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
