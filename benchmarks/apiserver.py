"""The embedded API server beside the real one and kmock: start, memory, GET, status patch, growth to 10,000 objects."""

from __future__ import annotations

import http.client
import os
import re
import ssl
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
    from collections.abc import Iterator

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
    """`fairlead serve`, cold: the server, seconds until it said that it is ready, and its process."""
    with tempfile.TemporaryDirectory() as folder:
        crd = Path(folder, "crd.json")
        crd.write_bytes(msgspec.json.encode(CRD))
        start = time.perf_counter()
        command = [sys.executable, "-m", "fairlead", "serve", "--crd", str(crd)]
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
    from fairlead.apiserver.real.launch import RealServer

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
    from fairlead.apiserver.embedded import EmbeddedServer

    samples = []
    for _ in range(5):
        start = time.perf_counter()
        with EmbeddedServer(crds=[CRD]):
            samples.append(time.perf_counter() - start)
    return min(samples)


def in_process() -> float:
    """Seconds of one status JSON patch of a 4 KB object without HTTP, validation and managedFields included."""
    from fairlead.apiserver.embedded import EmbeddedServer
    from fairlead.apiserver.inprocess import Transport
    from fairlead.wire import JSON_PATCH, MERGE_PATCH, Request

    machine = EmbeddedServer(crds=[CRD]).machine
    transport = Transport(machine)
    transport.send(Request(method="POST", path=COLLECTION, body=msgspec.json.encode(gadget("g")), content_type="application/json"))
    path = f"{COLLECTION}/g/status"
    transport.send(Request(method="PATCH", path=path, body=msgspec.json.encode({"status": full_status()}), content_type=MERGE_PATCH))
    best = float("inf")
    for round_ in range(10):
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


def growth(counts: tuple[int, ...] = (100, 1000, 10_000)) -> list[dict[str, float]]:
    """Create, patch, list in pages and watch with that many objects, in process, with the garbage collector as `fairlead serve`
    sets it: seconds per operation."""
    from fairlead.cli.serve import calm_collector

    calm_collector()
    return [_grown(count) for count in counts]


def _grown(count: int) -> dict[str, float]:
    from fairlead.apiserver.embedded import EmbeddedServer
    from fairlead.apiserver.inprocess import Transport
    from fairlead.wire import JSON_PATCH, Request

    transport = Transport(EmbeddedServer(crds=[CRD]).machine)
    stream = transport.open(Request(method="GET", path=COLLECTION, query=(("watch", "true"),)))
    start = time.perf_counter()
    for index in range(count):
        body = msgspec.json.encode({**gadget(f"g{index:05d}"), "spec": {"size": index}})
        assert transport.send(Request(method="POST", path=COLLECTION, body=body, content_type="application/json")).status == 201
    created = (time.perf_counter() - start) / count
    body = msgspec.json.encode([{"op": "add", "path": "/status", "value": {"phase": "p"}}])
    start = time.perf_counter()
    for index in range(0, count, max(1, count // 100)):
        path = f"{COLLECTION}/g{index:05d}/status"
        assert transport.send(Request(method="PATCH", path=path, body=body, content_type=JSON_PATCH)).status == 200
    patched = (time.perf_counter() - start) / min(count, 100)
    start, items, token = time.perf_counter(), 0, ""
    while True:
        query = (("limit", "500"), *((("continue", token),) if token else ()))
        page = msgspec.json.decode(transport.send(Request(method="GET", path=COLLECTION, query=query)).body)
        items += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            break
    listed = (time.perf_counter() - start) / items
    assert items == count
    start = time.perf_counter()
    events = [msgspec.json.decode(line) for line in stream.take()]
    watched = (time.perf_counter() - start) / len(events)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert len([e for e in events if e["type"] == "ADDED"]) == count
    assert versions == sorted(versions)
    return {"objects": count, "create": created, "patch": patched, "list": listed, "watch": watched}


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
        ["ready, `fairlead serve` from a cold process", *_started(start, "cold"), "at most 500 ms"],
        ["ready, in a warm process", *_started(start, "warm"), "at most 100 ms"],
        ["resident when empty", f"{result['resident'] / 1e6:.0f} MB", "", "", "", "at most 60 MB"],
        [f"GET of a {result['object_bytes'] / 1000:.1f} KB object", *_compared(get), "at least 4x"],
        ["status JSON patch of it", *_compared(patch), "at least 5x"],
        ["the same in process, without HTTP", shown(each), "", "", f"{1 / each:,.0f} a second", "at least 5,000 a second"],
    ]
    grown = [[f"{g['objects']:.0f}", *[shown(g[n]) for n in ("create", "patch", "list", "watch")]] for g in result["growth"]]
    return "\n\n".join(
        [
            "## The API server",
            table(["", "embedded", "real kube-apiserver", "kmock", "real / embedded", "goal"], rows),
            "Time per operation with that many objects, in process, with the garbage collector as `fairlead serve` sets it "
            "(list and watch: per object; these are means, and one pause of the collector moves them):",
            table(["objects", "create", "status patch", "list in pages", "watch"], grown),
        ]
    )


def _started(start: dict[str, float], how: str) -> list[str]:
    return [shown(start[how]), shown(start["real"]), "", f"{start['real'] / start[how]:.0f}x"]


def _compared(times: dict[str, float]) -> list[str]:
    return [*(shown(times[name]) for name in ("embedded", "real", "kmock")), f"{times['real'] / times['embedded']:.1f}x"]


if __name__ == "__main__":
    save("apiserver", run())
    print(render())
