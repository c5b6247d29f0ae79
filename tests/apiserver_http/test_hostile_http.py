"""What a hostile client may send: framing tricks and web pages, on the embedded server and, where it does the same job, on the real one."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.apiserver.kinds import User
from fiferail.apiserver.real.launch import RealServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ORIGIN = "http://ui.example"
CONFIGMAPS = b"/api/v1/namespaces/default/configmaps"


class Wire:
    """A server to which raw bytes are sent."""

    def __init__(self, port: int, token: str, tls: ssl.SSLContext | None = None) -> None:
        self.port, self.token, self._tls = port, token.encode(), tls

    def ask(self, raw: bytes) -> bytes:
        """Everything that comes back until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain:
            wire = self._tls.wrap_socket(plain, server_hostname="127.0.0.1") if self._tls else plain
            wire.sendall(raw)
            received = b""
            while part := wire.recv(65536):
                received += part
            return received


@pytest.fixture(scope="module", params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """Each server in turn, with a token and one origin whose pages may use it."""
    if request.param == "embedded":
        with EmbeddedServer(tokens={"secret": User()}, allowed_origins=[ORIGIN]) as server:
            yield Wire(server.port, "secret")
            assert server.http.crashes == []
        return
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    with RealServer(flags=[r"--cors-allowed-origins=^http://ui\.example$"]) as real:
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["http/1.1"])
        yield Wire(int(real.url.rpartition(":")[2]), real.token, context)


def head(wire: Wire, method: bytes, target: bytes, *lines: bytes) -> bytes:
    given = [b"Host: localhost", b"Authorization: Bearer " + wire.token, *lines]
    return method + b" " + target + b" HTTP/1.1\r\n" + b"\r\n".join(given) + b"\r\n\r\n"


def codes(received: bytes) -> list[bytes]:
    """The status of each answer."""
    return re.findall(rb"HTTP/1\.1 (\d{3}) ", received)


def configmap(name: str, text: str = "") -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}).encode()


UPGRADE = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA")


def test_a_body_behind_a_wish_to_upgrade_belongs_to_its_request(wire: Wire) -> None:
    """Java's client asks to upgrade and sends the body at once: it is created, and a request inside the body is not executed."""
    inside = "GET /api/v1/secrets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + wire.token.decode() + "\r\n\r\n"
    body = configmap("upgraded", inside)
    length = b"Content-Length: %d" % len(body)
    first = head(wire, b"POST", CONFIGMAPS, b"Content-Type: application/json", length, *UPGRADE) + body
    received = wire.ask(first + head(wire, b"DELETE", CONFIGMAPS + b"/upgraded", b"Connection: close"))
    assert codes(received) == [b"201", b"200"]
    assert b"SecretList" not in received


def test_a_chunked_body_behind_a_wish_to_upgrade_is_read_too(wire: Wire) -> None:
    """The same with a chunked body that comes in pieces."""
    body = configmap("chunked")
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    first = head(wire, b"POST", CONFIGMAPS, b"Content-Type: application/json", b"Transfer-Encoding: chunked", *UPGRADE)
    received = wire.ask(first + chunks + head(wire, b"DELETE", CONFIGMAPS + b"/chunked", b"Connection: close"))
    assert codes(received) == [b"201", b"200"]


def test_a_wish_to_upgrade_hides_no_wrong_framing(wire: Wire) -> None:
    """A transfer encoding that nobody knows is refused in the same words, upgrade or not."""
    received = wire.ask(head(wire, b"POST", CONFIGMAPS, b"Transfer-Encoding: identity", *UPGRADE) + b"1\r\na\r\n0\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 501 Not Implemented\r\n")
    assert received.endswith(b"\r\n\r\nUnsupported transfer encoding")


def test_a_trailer_does_not_authenticate(wire: Wire) -> None:
    """Headers after a chunked body come too late to be credentials."""
    body = configmap("trailed")
    trailer = b"Authorization: Bearer " + wire.token
    start = b"POST " + CONFIGMAPS + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer)
    received = wire.ask(start + b"Trailer: Authorization\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    assert received.split(b" ")[1] in (b"401", b"403")
    assert b"Unauthorized" in received or b"system:anonymous" in received


def test_a_second_host_is_refused(wire: Wire) -> None:
    """Two Host headers are two opinions about who is asked."""
    received = wire.ask(head(wire, b"GET", b"/version", b"Host: evil.example", b"Connection: close"))
    assert received.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.parametrize("host", [b"a b", b"evil/x", b"\xff", b"a@b", b"<x>"])
def test_a_host_that_is_none_is_refused(wire: Wire, host: bytes) -> None:
    """Characters that no host has are refused in the same words."""
    received = wire.ask(b"GET /version HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 400 Bad Request: malformed Host header\r\n")


@pytest.mark.parametrize(("pairs", "code"), [(9_999, b"400"), (10_000, b"200")])
def test_a_query_of_too_many_pairs_is_ignored(wire: Wire, pairs: int, code: bytes) -> None:
    """Go's parser takes 10,000 pairs: with one more the wrong selector among them is not seen."""
    received = wire.ask(head(wire, b"GET", CONFIGMAPS + b"?labelSelector=(((" + b"&a" * pairs, b"Connection: close"))
    assert codes(received) == [code]


def test_a_path_of_many_parts_is_no_work(wire: Wire) -> None:
    """Half a million parts that lead nowhere are 404, and at once."""
    started = time.perf_counter()
    assert codes(wire.ask(head(wire, b"GET", b"/" + b"a/" * 400_000, b"Connection: close"))) == [b"404"]
    assert time.perf_counter() - started < 10, "it took minutes"


def test_an_allowed_origin_gets_the_headers_of_the_real_server(wire: Wire) -> None:
    """A page of an allowed origin may ask whether it may ask, and may read the answer: with the same headers on both servers."""
    received = wire.ask(head(wire, b"OPTIONS", CONFIGMAPS, b"Origin: http://ui.example", b"Connection: close"))
    assert received.startswith(b"HTTP/1.1 204 No Content\r\n")
    read = wire.ask(head(wire, b"GET", CONFIGMAPS, b"Origin: http://ui.example", b"Connection: close"))
    assert read.startswith(b"HTTP/1.1 200 OK\r\n")
    for answer in (received, read):
        lines = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
        assert sorted(line for line in lines if line.startswith(b"Access-Control-")) == [
            b"Access-Control-Allow-Credentials: true",
            b"Access-Control-Allow-Headers: Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "
            b"X-Requested-With, If-Modified-Since",
            b"Access-Control-Allow-Methods: POST, GET, OPTIONS, PUT, DELETE, PATCH",
            b"Access-Control-Allow-Origin: http://ui.example",
            b"Access-Control-Expose-Headers: Date",
        ]


# Web pages: only the embedded server, which may serve without credentials, has to refuse them.


@pytest.fixture(scope="module")
def open_server() -> Iterator[EmbeddedServer]:
    """A server on loopback without tokens."""
    with EmbeddedServer() as server:
        yield server


def sent(server: EmbeddedServer, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, Any]:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    raw = f"{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode("latin-1") + body
    received = Wire(server.port, "").ask(raw)
    return int(received.split(b" ")[1]), json.loads(received.partition(b"\r\n\r\n")[2] or b"null")


LOOPBACK = ["localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:1", "127.9.9.9", "[::1]:6443", "api.localhost", "localhost."]
NAMES = ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"]
FOREIGN = [*NAMES, "0.0.0.0", "10.0.0.1", "[::2]", "2130706433"]


@pytest.mark.parametrize("host", LOOPBACK)
def test_names_of_this_machine_are_served(open_server: EmbeddedServer, host: str) -> None:
    """A Host that can only mean this machine is served, with and without a port."""
    assert sent(open_server, "GET", "/api/v1/secrets", {"Host": host})[0] == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_was_made_to_resolve_to_loopback_reads_nothing(open_server: EmbeddedServer, host: str) -> None:
    """DNS rebinding: any other Host is refused, and the refusal says how to allow it."""
    code, told = sent(open_server, "GET", "/api/v1/secrets", {"Host": host})
    assert (code, told["reason"]) == (403, "Forbidden")
    assert told["message"].startswith(f'the request names the host "{host}": a server for this machine serves localhost and 127.0.0.1; ')
    assert "allow another name with --allow-host" in told["message"]


PAGES = {
    "another site": {"Origin": "http://evil.example"},
    "a file or a sandbox": {"Origin": "null"},
    "another port of this machine": {"Origin": "http://localhost:3000"},
    "a form or an image of another site": {"Sec-Fetch-Site": "cross-site"},
    "a form of another port": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("signs", PAGES.values(), ids=PAGES)
def test_a_web_page_writes_nothing(open_server: EmbeddedServer, signs: dict[str, str]) -> None:
    """A POST without a Content-Type, which a page may send unasked, is refused and creates nothing."""
    path, (name, value) = CONFIGMAPS.decode(), next(iter(signs.items()))
    code, told = sent(open_server, "POST", path, {"Host": "localhost", **signs}, configmap("planted"))
    how = "it comes from a web page; allow the page's origin with --allow-origin or allowed_origins="
    assert (code, told["message"]) == (403, f'the request carries "{name}: {value}": {how}')
    assert sent(open_server, "GET", f"{path}/planted", {"Host": "localhost"})[0] == 404


def test_an_address_that_is_typed_into_a_browser_is_served(open_server: EmbeddedServer) -> None:
    """A navigation of the user's own carries Sec-Fetch-Site: none."""
    assert sent(open_server, "GET", "/version", {"Host": "localhost", "Sec-Fetch-Site": "none"})[0] == 200


def test_hosts_and_origins_can_be_allowed() -> None:
    """allowed_hosts and allowed_origins take names, and "*" for all."""
    with EmbeddedServer(allowed_hosts=["Host.docker.internal"], allowed_origins=["http://UI.example/"]) as server:
        assert sent(server, "GET", "/version", {"Host": "host.docker.internal:80", "Origin": ORIGIN})[0] == 200
        assert sent(server, "GET", "/version", {"Host": "evil.example"})[0] == 403
        assert sent(server, "GET", "/version", {"Host": "localhost", "Origin": "http://evil.example"})[0] == 403
    with EmbeddedServer(allowed_hosts=["*"], allowed_origins=["*"]) as server:
        assert sent(server, "GET", "/version", {"Host": "evil.example", "Origin": "http://evil.example"})[0] == 200


def test_beyond_loopback_a_token_is_wanted() -> None:
    """Without tokens only loopback is served, unless anonymous=True; then names that could be rebound stay refused."""
    with pytest.raises(ValueError, match=r"^0\.0\.0\.0 is not loopback: give tokens, or anonymous=True to let everybody"):
        EmbeddedServer(host="0.0.0.0")
    with EmbeddedServer(host="0.0.0.0", tokens={"secret": User()}) as server:
        assert sent(server, "GET", "/api/v1/secrets", {"Host": "any.example"})[0] == 401
        assert sent(server, "GET", "/api/v1/secrets", {"Host": "any.example", "Authorization": "Bearer secret"})[0] == 200
    with EmbeddedServer(host="0.0.0.0", anonymous=True) as server:
        assert sent(server, "GET", "/api/v1/secrets", {"Host": "10.0.0.7:6443"})[0] == 200
        assert sent(server, "GET", "/api/v1/secrets", {"Host": "evil.example"})[0] == 403
