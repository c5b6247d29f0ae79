"""Mixed load by 16 clients that come and go, on the embedded server and on the real one in turns: errors, latencies, memory.

    python -m benchmarks.load --seconds 1800
    python -m benchmarks.load --seconds 120 --alone --pause 0      # the embedded server by itself, as fast as it can; keeps no result

Every client sends each request to one server and then to the other, so that whatever the machine does meanwhile meets both. A client
reads, lists, writes status by three patches and by PUT, creates and deletes; it keeps a watch open, and is restarted now and then:
it drops its connections, lists, and watches again. A conflict of a PUT is no error; whatever else is no success is.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import ssl
import time
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from .apiserver import COLLECTION, Server, embedded, full_status, gadget, real, resident
from .measure import load, save, shown, table

CLIENTS = 16
OBJECTS = 200
SECONDS = 1800.0
#: Seconds that a client waits between two requests, on average; and between two restarts.
PAUSE = 0.03
RESTART = 20.0
#: Until then the history of the embedded server fills up.
WARM = 1 / 3
_OPERATIONS = {"get": 40, "list": 8, "json": 20, "merge": 12, "apply": 6, "put": 8, "create": 6}


class Counted:
    """What one server answered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors: list[str] = []
        self.conflicts = self.events = self.restarts = self.expired = 0


class Connection:
    """One HTTP/1.1 connection."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._tls = _unverified() if parts.scheme == "https" else None
        self._head = f"Host: {self._host}:{self._port}\r\nAuthorization: Bearer {token}\r\nUser-Agent: load\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, target: str, body: Any = None, content_type: str = "application/json") -> tuple[int, bytes]:
        """A request and its whole answer."""
        await self.ask(method, target, body, content_type)
        assert self._reader is not None
        status, length = await self.head()
        if length is not None:
            return status, await self._reader.readexactly(length)
        parts = []
        while part := await self.chunk():
            parts.append(part)
        return status, b"".join(parts)

    async def ask(self, method: str, target: str, body: Any = None, content_type: str = "application/json") -> None:
        """Send a request."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=2**22)
        data = b"" if body is None else msgspec.json.encode(body)
        typed = f"Content-Type: {content_type}\r\n" if data else ""
        head = f"{method} {target} HTTP/1.1\r\n{self._head}{typed}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)

    async def head(self) -> tuple[int, int | None]:
        """Status and length of the answer; no length: chunked."""
        assert self._reader is not None
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
        return int(lines[0].split()[1]), length

    async def chunk(self) -> bytes:
        """The next chunk; empty at the end."""
        assert self._reader is not None
        size = int(await self._reader.readline(), 16)
        data = await self._reader.readexactly(size)
        await self._reader.readexactly(2)
        return data

    def close(self) -> None:
        """Drop it, with whatever is on its way."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def _unverified() -> ssl.SSLContext:
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class Client:
    """One of the sixteen, on one server."""

    def __init__(self, number: int, url: str, token: str, counted: Counted) -> None:
        self._number, self._counted = number, counted
        self._connection, self._watching = Connection(url, token), Connection(url, token)
        self._watch: asyncio.Task[None] | None = None
        self._turn = 0

    async def restart(self) -> None:
        """Drop everything, list, and watch from there."""
        self.close()
        self._counted.restarts += 1
        status, body = await self._timed("GET", f"{COLLECTION}?limit=500")
        if status == 200:
            version = msgspec.json.decode(body)["metadata"]["resourceVersion"]
            self._watch = asyncio.create_task(self._follow(version))

    def close(self) -> None:
        """Drop every connection."""
        if self._watch is not None:
            self._watch.cancel()
        self._connection.close()
        self._watching.close()

    async def _follow(self, version: str) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await self._watching.ask("GET", f"{COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion={version}")
            status, _ = await self._watching.head()
            if status != 200:
                self._counted.errors.append(f"watch: {status}")
            while event := await self._watching.chunk():
                self._counted.events += 1
                if b'"type":"ERROR"' in event[:20]:
                    self._counted.expired += 1

    async def step(self, operation: str, name: str) -> None:
        """One operation on an object."""
        self._turn += 1
        path, text = f"{COLLECTION}/{name}", f"{self._number}-{self._turn}"
        if operation == "get":
            await self._timed("GET", path)
        elif operation == "list":
            await self._timed("GET", f"{COLLECTION}?limit=50")
        elif operation == "json":
            await self._timed("PATCH", f"{path}/status", [{"op": "add", "path": "/status/phase", "value": text}], "json-patch+json")
        elif operation == "merge":
            await self._timed("PATCH", f"{path}/status", {"status": {"data": {f"c{self._number}": text}}}, "merge-patch+json")
        elif operation == "apply":
            applied = {"apiVersion": "example.io/v1", "kind": "Gadget", "status": {"data": {f"a{self._number}": text}}}
            manager = f"fieldManager=load-{self._number}&force=true"
            await self._timed("PATCH", f"{path}/status?{manager}", applied, "apply-patch+yaml")
        elif operation == "put":
            await self._put(path, text)
        else:
            await self._timed("POST", COLLECTION, gadget(f"t-{text}"))
            await self._timed("DELETE", f"{COLLECTION}/t-{text}")

    async def _put(self, path: str, text: str) -> None:
        status, body = await self._timed("GET", path)
        if status == 200:
            live = msgspec.json.decode(body)
            live["status"]["phase"] = text
            await self._timed("PUT", f"{path}/status", live, conflicts=True)

    async def _timed(self, method: str, target: str, body: Any = None, kind: str = "json", conflicts: bool = False) -> tuple[int, bytes]:
        start = time.perf_counter()
        try:
            status, answer = await self._connection.send(method, target, body, f"application/{kind}")
        except (OSError, asyncio.IncompleteReadError) as error:
            self._counted.errors.append(f"{method} {target}: {error!r}")
            self._connection.close()
            return 0, b""
        self._counted.seconds.append(time.perf_counter() - start)
        if status == 409 and conflicts:
            self._counted.conflicts += 1
        elif status >= 300:
            self._counted.errors.append(f"{method} {target}: {status} {answer[:200]!r}")
        return status, answer


async def _client(number: int, pairs: list[Client], until: float, pause: float) -> None:
    """The same operations on every server, in turns, until the time is over."""
    chance = random.Random(number)
    names, weights = list(_OPERATIONS), list(_OPERATIONS.values())
    restart = 0.0
    while time.monotonic() < until:
        if time.monotonic() >= restart:
            restart = time.monotonic() + chance.expovariate(1 / RESTART)
            for client in pairs:
                await client.restart()
        operation, name = chance.choices(names, weights)[0], f"g{chance.randrange(OBJECTS):03d}"
        for client in chance.sample(pairs, len(pairs)):
            await client.step(operation, name)
        await asyncio.sleep(chance.expovariate(1 / pause) if pause else 0)
    for client in pairs:
        client.close()


async def _memory(pid: int, until: float, samples: list[int]) -> None:
    while time.monotonic() < until:
        samples.append(resident(pid))
        await asyncio.sleep(1)


async def _loaded(servers: dict[str, Server], pid: int, seconds: float, pause: float) -> tuple[dict[str, Counted], list[int]]:
    counted = {name: Counted() for name in servers}
    samples: list[int] = []
    until = time.monotonic() + seconds
    clients = [[Client(number, one.url, one.token, counted[name]) for name, one in servers.items()] for number in range(CLIENTS)]
    running = (_client(number, pairs, until, pause) for number, pairs in enumerate(clients))
    await asyncio.gather(_memory(pid, until, samples), *running)
    return counted, samples


def run(seconds: float = SECONDS, *, pause: float = PAUSE, alone: bool = False) -> dict[str, Any]:
    """Load both servers, or the embedded one alone, for so long."""
    with ExitStack() as stack:
        ours, _, pid = stack.enter_context(embedded())
        servers = {"embedded": ours} if alone else {"embedded": ours, "real": stack.enter_context(real())[0]}
        for server in servers.values():
            for number in range(OBJECTS):
                server.send("POST", COLLECTION, gadget(f"g{number:03d}"))
                body = {"status": full_status()}
                server.send("PATCH", f"{COLLECTION}/g{number:03d}/status", body, "application/merge-patch+json")
        gc.disable()  # of this process, whose pauses would be measured with the server's
        counted, samples = asyncio.run(_loaded(servers, pid, seconds, pause))
        gc.enable()
    warm = int(len(samples) * WARM)
    tenths = samples[:: max(1, len(samples) // 10)]
    memory = {"each_tenth": tenths, "start": samples[0], "warm": max(samples[: warm + 1]), "most": max(samples), "end": samples[-1]}
    return {"seconds": seconds, "resident": memory, **{name: _figures(one) for name, one in counted.items()}}


def _figures(one: Counted) -> dict[str, Any]:
    ordered = sorted(one.seconds)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    return {
        "requests": len(ordered), "errors": len(one.errors), "first_errors": one.errors[:5], "conflicts": one.conflicts,
        "events": one.events, "restarts": one.restarts, "expired": one.expired,
        "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "most": ordered[-1],
    }  # fmt: skip


def render() -> str:
    """The page's part."""
    result = load("load")
    if result is None:
        return ""
    rows = []
    for name in ("embedded", "real"):
        one = result[name]
        times = [shown(one[key]) for key in ("p50", "p99", "p999", "most")]
        rows.append([name, *(f"{one[key]:,}" for key in ("requests", "errors", "conflicts", "events", "restarts")), *times])
    memory = {key: f"{value / 1e6:.0f} MB" for key, value in result["resident"].items() if key != "each_tenth"}
    text = (
        f"{CLIENTS} clients on {OBJECTS} objects of 4 KB for {result['seconds'] / 60:.0f} minutes, each request to one server and then to "
        "the other: reads, lists, four sorts of status writes, creations and deletions, an open watch each, restarts every "
        f"{RESTART:.0f} s. Goal: no error, p99 at most 20 ms, p99.9 not above the real server's, and memory that stays where it was after "
        f"the first third. Resident memory of `fiferail serve`: {memory['start']} at the start, at most {memory['warm']} in the first "
        f"third, at most {memory['most']} in all, {memory['end']} at the end."
    )
    head = ["server", "requests", "errors", "conflicts", "events", "restarts", "p50", "p99", "p99.9", "slowest"]
    return "\n\n".join(["## Under load", text, table(head, rows)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds between two requests of a client (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="load the embedded server only; print the figures and keep nothing")
    asked = parser.parse_args()
    result = run(asked.seconds, pause=asked.pause, alone=asked.alone)
    if asked.alone:
        print(msgspec.json.format(msgspec.json.encode(result), indent=1).decode())
    else:
        save("load", result)
        print(render())
