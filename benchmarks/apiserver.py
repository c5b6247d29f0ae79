"""The embedded API server beside the real one and kmock: start, memory, GET, status patch, growth to 10,000 objects."""

from __future__ import annotations

import http.client
import itertools
import os
import random
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from .measure import in_turns, load, save, shown, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COLLECTION = "/apis/example.io/v1/namespaces/default/gadgets"
CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message")},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "data": {"type": "object", "additionalProperties": {"type": "string"}},
        "conditions": {"type": "array", "items": CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    },
}
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "text": {"type": "string"}}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}},
            }
        ],
    },
}  # fmt: skip


def gadget(name: str) -> dict[str, Any]:
    """A small object."""
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 1}}


def full_status() -> dict[str, Any]:
    """A status that makes the object about 4 KB."""
    times = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": f"C{i}", "status": "True", "reason": "Up", "message": "m" * 120, **times} for i in range(8)]
    return {"phase": "p", "conditions": conditions, "data": {f"k{i}": "v" * 30 for i in range(20)}}


class Server:
    """A connection that is kept open, the same for every contender."""

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        tls = ssl._create_unverified_context() if parts.scheme == "https" else None
        self.url, self.token = url, token or ""
        host, port = parts.hostname or "", parts.port or 0
        self._connection = http.client.HTTPSConnection(host, port, context=tls) if tls else http.client.HTTPConnection(host, port)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """One request; anything but success stops the benchmark."""
        data = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {**self._headers, **({"Content-Type": content_type} if data else {})}
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
        return content

    def patch_status(self, name: str, operations: list[Any]) -> None:
        """A JSON patch on status."""
        self.send("PATCH", f"{COLLECTION}/{name}/status", operations, "application/json-patch+json")


@contextmanager
def embedded() -> Iterator[tuple[Server, float, int]]:
    """`fiferail serve`, cold: the server, seconds until it said that it is ready, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        crd = Path(folder, "crd.json")
        crd.write_bytes(msgspec.json.encode(CRD))
        start = time.perf_counter()
        command = [sys.executable, "-m", "fiferail", "serve", "--crd", str(crd)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                seconds = time.perf_counter() - start
                found = re.search(r"https?://[\w.]+:\d+", line)
                assert found is not None, line
                yield Server(found.group()), seconds, process.pid
            finally:
                process.terminate()


@contextmanager
def real() -> Iterator[tuple[Server, float]]:
    """kube-apiserver and etcd."""
    from fiferail.apiserver.real.launch import RealServer

    start = time.perf_counter()
    with RealServer() as running:
        seconds = time.perf_counter() - start
        server = Server(running.url, running.token)
        server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
        for _ in range(200):
            try:
                server.send("GET", COLLECTION)
                break
            except RuntimeError:
                time.sleep(0.1)
        yield server, seconds


@contextmanager
def kmock() -> Iterator[Server]:
    """kmock's emulator."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.kmock_server"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process.stdout.readline().strip())
        finally:
            process.terminate()


def warm_start() -> float:
    """Seconds until the embedded server is ready in a process that has imported it."""
    from fiferail.apiserver.embedded import EmbeddedServer

    samples = []
    for _ in range(5):
        start = time.perf_counter()
        with EmbeddedServer(crds=[CRD]):
            samples.append(time.perf_counter() - start)
    return min(samples)


def in_process() -> float:
    """Seconds of one status JSON patch of a 4 KB object without HTTP, validation and managedFields included."""
    from fiferail.apiserver.embedded import EmbeddedServer
    from fiferail.apiserver.inprocess import Transport
    from fiferail.wire import JSON_PATCH, MERGE_PATCH, Request

    machine = EmbeddedServer(crds=[CRD]).machine
    transport = Transport(machine)
    transport.send(Request(method="POST", path=COLLECTION, body=msgspec.json.encode(gadget("g")), content_type="application/json"))
    path = f"{COLLECTION}/g/status"
    transport.send(Request(method="PATCH", path=path, body=msgspec.json.encode({"status": full_status()}), content_type=MERGE_PATCH))
    best = float("inf")
    for round_ in range(50):  # the best of many: neighbours on the machine make single rounds up to a quarter slower
        requests = [
            Request(method="PATCH", path=path, body=msgspec.json.encode(_operations(round_ * 200 + i)), content_type=JSON_PATCH)
            for i in range(200)
        ]
        start = time.perf_counter()
        for request in requests:
            assert transport.send(request).status == 200
        best = min(best, (time.perf_counter() - start) / len(requests))
    return best


def _operations(turn: int) -> list[Any]:
    return [
        {"op": "test", "path": "/status/conditions/3/type", "value": "C3"},
        {"op": "replace", "path": "/status/conditions/3/message", "value": f"m{turn}"},
        {"op": "replace", "path": "/status/phase", "value": f"p{turn}"},
    ]


GROWTH = (100, 1000, 10_000)
OPERATIONS = ("create", "get", "patch", "list", "watch")
BATCH = 50
ROUNDS = 20


def growth(counts: tuple[int, ...] = GROWTH) -> list[dict[str, Any]]:
    """Servers of different sizes side by side in one process, asked in turns, so that what the machine does meanwhile meets all of them:
    what an operation takes where so many objects are, with the garbage collector as `fiferail serve` sets it."""
    from fiferail.cli.collecting import Collector, calm

    calm()
    collector = Collector(itertools.count().__next__)
    grown = [Grown(count) for count in counts]
    took: list[dict[str, list[float]]] = [{name: [] for name in OPERATIONS} for _ in grown]
    for _ in range(ROUNDS):
        for name in OPERATIONS:
            for one, times in zip(grown, took, strict=True):
                times[name].append(one.time(name))
                collector.look()
    return [
        {
            "objects": one.count,
            "median": {name: statistics.median(all_) for name, all_ in times.items()},
            "mean": {name: statistics.fmean(all_) for name, all_ in times.items()},
        }
        for one, times in zip(grown, took, strict=True)
    ]


class Grown:
    """A server with so many objects."""

    def __init__(self, count: int) -> None:
        from fiferail.apiserver.embedded import EmbeddedServer
        from fiferail.apiserver.inprocess import Transport
        from fiferail.wire import Request

        self.count = count
        self._transport = Transport(EmbeddedServer(crds=[CRD]).machine)
        self._chance = random.Random(7)
        self._stream = self._transport.open(Request(method="GET", path=COLLECTION, query=(("watch", "true"),)))
        self._turn = 0
        for number in range(count):
            self._create(number)
            self._patch(number)  # a first status, so that every later patch is of the same sort
        events = self._events()
        assert [event["type"] for event in events] == ["ADDED", "MODIFIED"] * count, "the watch gets every event, in order"
        _in_order(events)

    def time(self, name: str) -> float:
        """Seconds of one operation, from a batch of them on objects chosen at random."""
        if name == "create":
            fresh = iter(range(self.count, self.count + BATCH))
            took = _timed(lambda: self._create(next(fresh)), BATCH)
            for number in range(self.count, self.count + BATCH):
                self._send("DELETE", self._path(number))
            self._events()
            return took
        if name == "list":
            return self._list()
        if name == "watch":
            return self._watch()
        return _timed(self._get if name == "get" else self._patch, BATCH)

    def _send(self, method: str, path: str, body: Any = None, content_type: str = "", query: tuple[tuple[str, str], ...] = ()) -> Any:
        from fiferail.wire import Request

        data = b"" if body is None else msgspec.json.encode(body)
        answer = self._transport.send(Request(method=method, path=path, body=data, content_type=content_type, query=query))
        assert answer.status in (200, 201), answer.body
        return answer

    def _path(self, number: int | None = None) -> str:
        return f"{COLLECTION}/g{self._chance.randrange(self.count) if number is None else number:05d}"

    def _create(self, number: int) -> None:
        self._send("POST", COLLECTION, {**gadget(f"g{number:05d}"), "spec": {"size": number}}, "application/json")

    def _get(self) -> None:
        self._send("GET", self._path())

    def _patch(self, number: int | None = None) -> None:
        self._turn += 1
        status = {"phase": f"p{self._turn}"}
        body = [{"op": "add", "path": "/status", "value": status}]
        self._send("PATCH", f"{self._path(number)}/status", body, "application/json-patch+json")

    def _list(self) -> float:
        """Per object, in pages of 500."""
        start, items, token = time.process_time(), 0, ""
        while True:
            query = (("limit", "500"), *((("continue", token),) if token else ()))
            page = self._send("GET", COLLECTION, query=query).json()
            items += len(page["items"])
            token = page["metadata"].get("continue", "")
            if not token:
                assert items == self.count
                return (time.process_time() - start) / items

    def _watch(self) -> float:
        """Per event, from the stream to a tree, in the order of the versions."""
        self._events()
        for _ in range(BATCH):
            self._patch()
        start = time.process_time()
        events = self._events()
        took = time.process_time() - start
        assert len(events) == BATCH, "the watch gets every event"
        _in_order(events)
        return took / len(events)

    def _events(self) -> list[Any]:
        return [msgspec.json.decode(line) for line in self._stream.take()]


def _in_order(events: list[Any]) -> None:
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions)), "events come in the order of their versions, each once"


def _timed(operation: Callable[[], None], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        operation()
    return (time.process_time() - start) / times


def resident(pid: int) -> int:
    """Resident memory in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def run() -> dict[str, Any]:
    """Measure everything."""
    with ExitStack() as stack:
        ours, cold, pid = stack.enter_context(embedded())
        empty = resident(pid)
        judge, real_start = stack.enter_context(real())
        peer = stack.enter_context(kmock())
        servers = {"embedded": ours, "real": judge, "kmock": peer}
        for server in servers.values():
            server.send("POST", COLLECTION, gadget("g"))
            server.send("PATCH", f"{COLLECTION}/g/status", {"status": full_status()}, "application/merge-patch+json")
        size = len(ours.send("GET", f"{COLLECTION}/g"))
        turn = iter(range(10**9))
        gets = in_turns({name: _getter(server) for name, server in servers.items()}, rounds=20, each=25)
        patches = in_turns({name: _patcher(server, turn) for name, server in servers.items()}, rounds=20, each=15)
    return {
        "start": {"cold": cold, "warm": warm_start(), "real": real_start},
        "resident": empty,
        "object_bytes": size,
        "get": gets,
        "patch": patches,
        "in_process_patch": in_process(),
        "growth": growth(),
    }


def _getter(server: Server) -> Any:
    return lambda: server.send("GET", f"{COLLECTION}/g")


def _patcher(server: Server, turn: Iterator[int]) -> Any:
    return lambda: server.patch_status("g", _operations(next(turn)))


def render() -> str:
    """The page's part."""
    result = load("apiserver")
    if result is None:
        return ""
    start, get, patch, each = result["start"], result["get"], result["patch"], result["in_process_patch"]
    rows = [
        ["ready, `fiferail serve` from a cold process", *_started(start, "cold"), "at most 500 ms"],
        ["ready, in a warm process", *_started(start, "warm"), "at most 100 ms"],
        ["resident when empty", f"{result['resident'] / 1e6:.0f} MB", "", "", "", "at most 60 MB"],
        [f"GET of a {result['object_bytes'] / 1000:.1f} KB object", *_compared(get), "at least 4x"],
        ["status JSON patch of it", *_compared(patch), "at least 5x"],
        ["the same in process, without HTTP", shown(each), "", "", f"{1 / each:,.0f} a second", "at least 5,000 a second"],
    ]
    grown = [[f"{g['objects']:,}", *[f"{shown(g['median'][n])} ({shown(g['mean'][n])})" for n in OPERATIONS]] for g in result["growth"]]
    first, last = result["growth"][0]["median"], result["growth"][-1]["median"]
    grown.append([f"{GROWTH[-1]:,} / {GROWTH[0]:,}", *[f"{last[name] / first[name]:.2f}x" for name in OPERATIONS]])
    return "\n\n".join(
        [
            "## The API server",
            table(["", "embedded", "real kube-apiserver", "kmock", "real / embedded", "goal"], rows),
            "Processor time per operation where so many objects are: three servers in one process, asked in turns, with the garbage "
            f"collector as `fiferail serve` sets it. Operations on objects chosen at random, medians of batches of {BATCH} (in brackets "
            "means, which hold every pause of the collector). List: per object, in pages of 500. Watch: per event, in the order of the "
            "versions. Goal: flat.",
            table(["objects", "create", "GET", "status patch", "list in pages", "watch"], grown),
        ]
    )


def _started(start: dict[str, float], how: str) -> list[str]:
    return [shown(start[how]), shown(start["real"]), "", f"{start['real'] / start[how]:.0f}x"]


def _compared(times: dict[str, float]) -> list[str]:
    return [*(shown(times[name]) for name in ("embedded", "real", "kmock")), f"{times['real'] / times['embedded']:.1f}x"]


if __name__ == "__main__":
    save("apiserver", run())
    print(render())
