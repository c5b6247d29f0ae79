"""`python -m fiferail.testing.differential.hostile [--seconds N] [--seed N]`: hostile bytes against `fiferail serve` for so long.

A script is what one connection sends: requests that are fine, with their framing spoiled, cut, repeated and mixed, in pieces or at
once; the client then reads or goes away. After each script another client must be answered within a second. The server must not end,
and must report no defect. The same seed gives the same scripts; a script that finds something is printed with its number.
Called by `make fuzz` and, with a fixed seed, by tests/fuzz.
"""

from __future__ import annotations

import argparse
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 1.0
#: How often a script that made the server slow is sent again before it counts: the machine may have been slow.
AGAIN = 2
_OBJECT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"fuzz"},"data":{"a":"b"}}'
_TARGETS = (
    b"/api/v1/namespaces/default/configmaps", b"/api/v1/namespaces/default/configmaps/fuzz", b"/api/v1/pods?limit=5", b"/apis", b"/",
    b"/openapi/v3", b"/api/v1/namespaces?watch=1&timeoutSeconds=1", b"*", b"http://localhost/version", b"/%00", b"//api//v1", b"/healthz",
)  # fmt: skip
_METHODS = (b"GET", b"POST", b"PUT", b"PATCH", b"DELETE")
_ODD_METHODS = (b"HEAD", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI", b"FROB", b"get", b"G\x00T")
_HEADERS = (
    b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade\r\nUpgrade: h2c", b"Expect: 100-continue",
    b"Content-Type: application/json", b"Content-Type: application/merge-patch+json", b"Content-Type: application/yaml",
    b"Accept: application/yaml", b"Accept: application/json;as=Table;v=v1;g=meta.k8s.io", b"Accept-Encoding: gzip",
    b"Authorization: Bearer x", b"Trailer: Authorization", b"X-HTTP-Method-Override: DELETE", b"Range: bytes=0-1", b"If-None-Match: *",
    b"User-Agent: curl/8", b"X: " + b"x" * 70_000,
)  # fmt: skip
_ODD_HEADERS = (
    b"Upgrade: websocket", b"Accept: \xff",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding: identity", b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 4294967296",
    b"Content-Length: 99999999999999999999", b"Content-Length: 3, 3", b"Host: evil.example", b"Host:", b"Origin: null",
    b" folded: header", b"No colon", b": empty", b"X\x00Y: z",
)  # fmt: skip
_ODD_VERSIONS = (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 ", b"HTTP/0.9", b"http/1.1", b"")
_ODD_ENDS = (b"\n", b"\r", b"\r\n\r\n", b"")
#: How often each part of a request is odd.
_ODD = 0.08


class Script(NamedTuple):
    """What one connection does."""

    pieces: tuple[bytes, ...]
    #: What the client does at the end: read the answers, close at once, close with a reset, or close its half and read.
    end: str


def script(rng: random.Random) -> Script:
    """The next script."""
    data = b"".join(_request(rng) for _ in range(rng.choice((1, 1, 1, 2, 3, 40))))
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        data = _spoiled(rng, data)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 5))))
    pieces = tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True))
    return Script(pieces, rng.choice(("read", "half", "half", "close", "reset")))


def _request(rng: random.Random) -> bytes:
    def either(usual: tuple[bytes, ...], odd: tuple[bytes, ...]) -> bytes:
        return rng.choice(odd if rng.random() < _ODD else usual)

    end = either((b"\r\n",), _ODD_ENDS)
    lines = [either(_METHODS, _ODD_METHODS) + b" " + rng.choice(_TARGETS) + b" " + either((b"HTTP/1.1",), _ODD_VERSIONS)]
    lines += [b"Host: localhost"] if rng.random() > _ODD else []
    lines += [either(_HEADERS, _ODD_HEADERS) for _ in range(rng.choice((0, 1, 2, 3)))]
    body = rng.choice((b"", _OBJECT, _OBJECT[:20], rng.randbytes(rng.randrange(200)), b"x" * 100_000))
    how = rng.random()
    if how < 0.4:
        lines.append(b"Content-Length: %d" % len(body))
    elif how < 0.7:
        lines.append(b"Transfer-Encoding: chunked")
        body = _chunked(rng, body)
    return end.join(lines) + end + end + body


def _chunked(rng: random.Random, body: bytes) -> bytes:
    size = rng.choice((1, 7, 1000, max(1, len(body))))
    parts = [body[start : start + size] for start in range(0, min(len(body), 200 * size), size)]
    extension = rng.choice((b"", b"", b"", b";a=b", b";" + b"x" * 5000, b" "))
    trailer = rng.choice((b"", b"", b"Authorization: Bearer x\r\n", b"X: " + b"x" * 70_000 + b"\r\n", b"bad\r\n"))
    return b"".join(b"%x%b\r\n%b\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


def _spoiled(rng: random.Random, data: bytes) -> bytes:
    """The bytes with a part cut, repeated, or replaced."""
    if not data:
        return data
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 2, 10, 1000)))
    how = rng.choice(("cut", "repeat", "replace", "truncate"))
    if how == "truncate":
        return data[:start]
    middle = {"cut": b"", "repeat": data[start:end] * rng.choice((2, 50)), "replace": rng.randbytes(end - start)}[how]
    return data[:start] + middle + data[end:]


def play(port: int, what: Script) -> None:
    """Be that client. Whatever the server does to the connection is its right."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE / 4) as connection:
        for piece in what.pieces:
            connection.sendall(piece)
        if what.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if what.end in ("read", "half"):
            if what.end == "half":
                connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 20):
                pass


def answered(port: int, patience: float) -> float | None:
    """Seconds until another client was answered; None: not in time."""
    start = time.perf_counter()
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while part := connection.recv(4096):
            received += part
        if received.endswith(b"\r\n\r\nok"):
            return time.perf_counter() - start
    return None


def wrong(port: int, what: Script, defects: Callable[[], str]) -> str:
    """What this script does to the server that it must not; empty: nothing."""
    for _ in range(1 + AGAIN):
        play(port, what)
        took = answered(port, 30.0)
        found = defects()
        if found:
            return found
        if took is not None and took <= PATIENCE:
            return ""
    return "no answer to another client within 30 s" if took is None else f"another client waited {took:.1f} s"


def main(arguments: list[str]) -> int:
    """0 when nothing was found, 1 when something was."""
    parser = argparse.ArgumentParser(prog="python -m fiferail.testing.differential.hostile")
    parser.add_argument("--seconds", type=float, default=60.0, help="when to stop")
    parser.add_argument("--seed", type=int, default=1, help="the first script; each takes the next number")
    given = parser.parse_args(arguments)
    number, until = given.seed, time.monotonic() + given.seconds
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "fiferail", "serve"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            try:
                port = _port(process)
                while time.monotonic() < until:
                    what = script(random.Random(number))
                    found = wrong(port, what, lambda: _defects(process, log))
                    if found:
                        print(f"# script {number}: {found}\n{what!r}"[:20_000])
                        return 1
                    number += 1
            finally:
                process.terminate()
    print(f"# {number - given.seed} hostile scripts: no crash, no defect, every other client answered within {PATIENCE:g} s")
    return 0


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
    assert found is not None, line
    return int(found[1])


def _defects(process: subprocess.Popen[str], log: IO[str]) -> str:
    """What the server has reported, or that it has ended."""
    log.seek(0)
    text = log.read()
    if process.poll() is not None:
        return f"the server ended with {process.returncode}\n{text}"
    return f"the server reported\n{text}" if "defect" in text or "Traceback" in text else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
