"""Our own HTTP/1.1 client: framing, kept connections, and what is said when the server hangs up."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from fiferail.clients.credentials import Credentials
from fiferail.clients.http1 import AHEAD, AsyncHttpTransport, BrokenAnswer
from fiferail.wire import Request, StreamRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GET = Request(method="GET", path="/apis/example.io/v1", query=(("limit", "5"),), headers={"accept": "application/json"})
PATCH = Request(method="PATCH", path="/a b", body=b"[]", content_type="application/json-patch+json")


class Scripted:
    """A server that says what it is told to: one list of answers per connection, and hangs up after the last."""

    def __init__(self, *connections: list[list[bytes]]) -> None:
        self._script = list(connections)
        self.heard: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        answers = self._script[self.connections]
        self.connections += 1
        for pieces in answers:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            self.heard.append(head + await reader.readexactly(length))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()


@asynccontextmanager
async def served(*connections: list[list[bytes]], path: str = "") -> AsyncIterator[tuple[Scripted, AsyncHttpTransport]]:
    """The scripted server and a transport to it."""
    script = Scripted(*connections)
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = AsyncHttpTransport(f"http://127.0.0.1:{port}{path}", credentials=Credentials([("authorization", "Bearer t")]))
    try:
        yield script, transport
    finally:
        await transport.close()
        server.close()
        await server.wait_closed()


def ok(body: bytes, *headers: str) -> bytes:
    """An answer framed by its length."""
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]).encode() + body


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FRAMINGS = {
    "a length": [ok(b'{"a": 1}', "X-One: Two")],
    "a length, byte by byte": [bytes([each]) for each in ok(b'{"a": 1}', "X-One: Two")],
    "chunks": [CHUNKED[:-2] + b"X-One: Two\r\n\r\n", b"4\r\n{\"a\"\r\n", b"4;note=1\r\n: 1}\r\n0\r\n\r\n"],
    "chunks, byte by byte": [
        bytes([each]) for each in CHUNKED[:-2] + b"x-one: Two\r\n\r\n" + b"3\r\n{\"a\r\n5\r\n\": 1}\r\n0\r\nTrailer: x\r\n\r\n"
    ],
    "the end of the connection": [b"HTTP/1.1 200 OK\r\nx-one:Two\r\n\r\n", b'{"a"', b": 1}"],
    "a 103 before it": [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", ok(b'{"a": 1}', "X-One: Two")],
}


@pytest.mark.parametrize("pieces", FRAMINGS.values(), ids=FRAMINGS)
async def test_an_answer_is_read_however_it_is_framed(pieces: list[bytes]) -> None:
    """Status, headers in lower case and body come out whole."""
    async with served([pieces]) as (_, transport):
        answer = await transport.send(GET, timeout=5)
    assert (answer.status, answer.headers["x-one"], answer.json()) == (200, "Two", {"a": 1})


async def test_a_request_says_what_is_asked() -> None:
    """The request line is escaped, the server's own path goes first, credentials and length are there."""
    async with served([[ok(b"{}")]], path="/k8s/c1") as (script, transport):
        await transport.send(PATCH)
    line, *headers = script.heard[0].decode().split("\r\n")
    assert line == "PATCH /k8s/c1/a%20b HTTP/1.1"
    expected = {"authorization: Bearer t", "content-length: 2", "content-type: application/json-patch+json", "user-agent: fiferail"}
    assert expected <= set(headers)
    assert headers[-1] == "[]"


async def test_a_connection_is_used_again() -> None:
    """Two requests after each other take one connection."""
    async with served([[ok(b"1")], [ok(b"2")]]) as (script, transport):
        assert [(await transport.send(GET)).body for _ in range(2)] == [b"1", b"2"]
    assert script.connections == 1


async def test_requests_at_the_same_time_take_a_connection_each() -> None:
    """Nobody waits for another's answer."""
    async with served([[ok(b"1")]], [[ok(b"1")]]) as (script, transport):
        await asyncio.gather(transport.send(GET), transport.send(GET))
    assert script.connections == 2


async def test_connection_close_is_obeyed() -> None:
    """A connection that the server is about to close is not used again, not even for a write."""
    async with served([[ok(b"1", "Connection: close")]], [[ok(b"2")]]) as (script, transport):
        assert [(await transport.send(PATCH)).body for _ in range(2)] == [b"1", b"2"]
    assert script.connections == 2


BROKEN = {
    "nothing": ([b""], "the server closed the connection before its answer was complete"),
    "half an answer": ([ok(b"1234")[:-2]], "the server closed the connection before its answer was complete"),
    "half a chunk": ([CHUNKED, b"9\r\nabc"], "the server closed the connection before its answer was complete"),
    "no HTTP": ([b"SSH-2.0-OpenSSH\r\n\r\n"], "no HTTP/1 answer: 'SSH-2.0-OpenSSH'"),
    "a chunk of no size": ([CHUNKED, b"x\r\nabc\r\n"], "expected an HTTP answer"),
}


@pytest.mark.parametrize(("pieces", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_is_an_error(pieces: list[bytes], said: str) -> None:
    """It is said what was wrong, and a write is not sent again."""
    async with served([pieces]) as (script, transport):
        with pytest.raises(BrokenAnswer, match=said.replace("(", r"\(")):
            await transport.send(PATCH, timeout=5)
    assert len(script.heard) == 1


async def test_a_get_on_a_kept_connection_that_was_given_up_is_sent_again() -> None:
    """The server may hang up while the request is on its way: a read goes out again on a fresh connection, a write does not."""
    first: list[list[bytes]] = [[ok(b"1")], [b""]]
    async with served(first, [[ok(b"2")]]) as (script, transport):
        await transport.send(GET)
        assert (await transport.send(GET)).body == b"2"
    assert script.connections == 2
    async with served(first) as (script, transport):
        await transport.send(GET)
        with pytest.raises(BrokenAnswer):
            await transport.send(PATCH)
    assert script.connections == 1


async def test_a_timeout_ends_the_connection() -> None:
    """A late answer is not taken for that of the next request."""
    async with served([[CHUNKED, b"1\r\na\r\n"], [b"never"]], [[ok(b"2")]]) as (script, transport):
        with pytest.raises(TimeoutError):
            await transport.send(GET, timeout=0.01)
        assert (await transport.send(GET, timeout=5)).body == b"2"
    assert script.connections == 2


async def test_a_watch_gives_lines_as_they_come() -> None:
    """Lines are put together over chunks; the stream ends when the server ends it."""
    async with served([[CHUNKED, b"5\r\none\nt\r\n", b"3\r\nwo\n\r\n", b"0\r\n\r\n"]]) as (_, transport):
        assert [line async for line in transport.stream(GET)] == [b"one", b"two"]


async def test_a_watch_that_is_refused_says_why() -> None:
    """The answer comes with the error."""
    gone = b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone"
    async with served([[gone]]) as (_, transport):
        with pytest.raises(StreamRefused) as caught:
            [line async for line in transport.stream(GET)]
    assert (caught.value.answer.status, caught.value.answer.body) == (410, b"gone")


async def test_a_watch_that_breaks_is_an_error() -> None:
    """What was said before is given first."""
    said = []
    async with served([[CHUNKED, b"4\r\none\n\r\n"]]) as (_, transport):
        with pytest.raises(BrokenAnswer):
            async for line in transport.stream(GET):
                said.append(line)  # noqa: PERF401 - what came before the error counts
    assert said == [b"one"]


async def test_a_slow_reader_holds_up_the_server() -> None:
    """What is not read yet stays with the server, but for a bounded part; all of it arrives in the end."""
    lines, size = 200, 1 << 15
    chunk = b"%x\r\n%s\n\r\n" % (size, b"x" * (size - 1))
    async with served([[CHUNKED, *[chunk] * lines, b"0\r\n\r\n"]]) as (_, transport):
        got, most = 0, 0
        async for line in transport.stream(GET):
            got += len(line) == size - 1
            for _ in range(3):
                await asyncio.sleep(0)
            most = max(most, *(connection._ahead for connection in transport._busy))
    assert got == lines
    assert most < 2 * AHEAD


@pytest.mark.parametrize("header", ["a\r\nb", "a\nb"])
async def test_a_header_cannot_smuggle_another(header: str) -> None:
    """Nothing is sent."""
    async with served([]) as (script, transport):
        with pytest.raises(ValueError, match="^expected a header on one line, got line ends in 'x'$"):
            await transport.send(Request(method="GET", path="/", headers={"x": header}))
    assert script.connections == 0


async def test_nobody_there_is_a_connection_error() -> None:
    """The operating system's own words."""
    with pytest.raises(ConnectionRefusedError):
        await AsyncHttpTransport("http://127.0.0.1:9").send(GET)


async def test_a_credential_with_a_line_end_is_not_quoted() -> None:
    """The error names the header only."""
    transport = AsyncHttpTransport("http://127.0.0.1:9", credentials=Credentials([("authorization", "Bearer s3cr3t\r\nx: y")]))
    with pytest.raises(ValueError, match="^expected a header on one line, got line ends in 'authorization'$"):
        await transport.send(GET)


@pytest.mark.parametrize(
    ("url", "tls", "scheme"), [("HTTPS://a", False, "https"), ("http://a", True, "http"), ("a:80", True, "a"), ("//a", True, "no scheme")]
)
def test_an_address_and_its_tls_settings_agree(url: str, tls: bool, scheme: str) -> None:
    """https without TLS settings would send everything in clear."""
    with pytest.raises(ValueError, match=f"^expected https with TLS settings, or http without, got {scheme}$"):
        AsyncHttpTransport(url, ssl.create_default_context() if tls else None)
