"""Fairness between processes: N processes write one object in a loop on the real kube-apiserver until the slowest has 50 writes.

Two workloads: *conditions* (every process owns one condition) and *counter* (all processes increment one number). Two contenders take
turns on the same server with the same HTTP client: COMPARE through `mutate`, and GET + PUT of the whole status with client-go's
`retry.DefaultBackoff`. Every process has its own interpreter, connection and writer: nothing is shared.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from typing import TYPE_CHECKING, Any

import msgspec

import fiferail
from fiferail.clients.adapters import transport_of
from fiferail.wire import JSON, Request

from .apiserver import CONDITION
from .measure import load, save, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.wire import Answer, Transport

WRITERS = (2, 4, 8, 16)
WORKLOADS = ("conditions", "counter")
COMPARE, PUT = "COMPARE", "GET + PUT"
#: The slowest process must have this many writes; the measurement ends without them after so many seconds.
ENOUGH, LONGEST = 50, 60.0
#: client-go's retry.DefaultBackoff: attempts, first pause in seconds, factor, jitter.
STEPS, PAUSE, FACTOR, JITTER = 4, 0.01, 5.0, 0.1
GROUP, KIND, PLURAL = "fairness.example.io", "Shared", "shareds"
NOW = "2026-01-01T00:00:00Z"


class Counting:
    """A transport that counts the requests to objects, refused ones included; discovery does not count."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.requests = 0

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carry and count."""
        self.requests += "/namespaces/" in request.path
        return self._inner.send(request, timeout=timeout)

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        """Not used."""
        raise AssertionError


def crd() -> dict[str, Any]:
    """A kind with keyed conditions and a counter in its status."""
    known: Any = CONDITION["properties"]
    condition = {**CONDITION, "properties": {**known, "observedGeneration": {"type": "integer"}}}
    keyed = {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    status = {"type": "object", "properties": {"n": {"type": "integer"}, "conditions": keyed}}
    schema = {"type": "object", "properties": {"status": status}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": PLURAL, "singular": KIND.lower(), "kind": KIND, "listKind": f"{KIND}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


# -- one process


def comparing(transport: Counting, obj: Any, workload: str, name: str) -> Callable[[int], None]:
    """A function that makes one write with COMPARE, on the object that its last write returned."""
    writer = fiferail.StatusWriter(transport, field_manager=name)

    def write(turn: int) -> None:
        def change(status: Any) -> None:
            if workload == "counter":
                status["n"] = status.get("n", 0) + 1
            else:
                status.conditions.set(name, bool(turn % 2), reason="Turn", message=f"turn {turn}")

        nonlocal obj
        obj = writer.mutate(obj, change).object

    return write


def putting(transport: Counting, obj: Any, workload: str, name: str) -> Callable[[int], None]:
    """A function that makes one write as `retry.RetryOnConflict(retry.DefaultBackoff, ...)` around Get and Status().Update does."""
    metadata = obj["metadata"]
    path = f"/apis/{GROUP}/v1/namespaces/{metadata['namespace']}/{PLURAL}/{metadata['name']}"
    query = (("fieldManager", name),)

    def write(turn: int) -> None:
        pause = PAUSE
        for step in range(STEPS):
            live = transport.send(Request(method="GET", path=path)).json()
            body = msgspec.json.encode({**live, "status": _status(live.get("status") or {}, workload, name, turn)})
            answer = transport.send(Request(method="PUT", path=f"{path}/status", query=query, body=body, content_type=JSON))
            if answer.status == 200:
                return
            if answer.status != 409:
                raise RuntimeError(f"PUT: {answer.status} {answer.body[:200]!r}")
            if step < STEPS - 1:
                time.sleep(pause * (1 + JITTER * random.random()))
                pause *= FACTOR
        raise fiferail.FiferailError("conflict after the last step")

    return write


def _status(status: Any, workload: str, name: str, turn: int) -> Any:
    """The whole status with this write's change in it."""
    if workload == "counter":
        return {**status, "n": status.get("n", 0) + 1}
    mine = {"type": name, "status": str(bool(turn % 2)), "reason": "Turn", "message": f"turn {turn}", "lastTransitionTime": NOW}
    return {**status, "conditions": [*(entry for entry in status.get("conditions") or [] if entry["type"] != name), mine]}


def process(kubeconfig: str, way: str, workload: str, index: int, obj: Any, shared: Any, answers: Any) -> None:
    """Write in a loop until the parent says stop; report counts, waits and requests. Runs in a process of its own."""
    counts, ready, start, stop = shared
    transport = Counting(transport_of(fiferail.connect(kubeconfig)))
    name = f"writer-{index}"
    write = (comparing if way == COMPARE else putting)(transport, obj, workload, name)
    with ready.get_lock():
        ready.value += 1
    start.wait()
    waits: list[float] = []
    failed = first = at_stop = 0
    began = time.monotonic()
    while not stop.is_set():
        try:
            write(len(waits))
        except fiferail.FiferailError:
            failed += 1
            continue
        now = time.monotonic()
        waits.append(now - began)
        began = now
        first = first or transport.requests
        if not stop.is_set():
            counts[index] = at_stop = len(waits)
    answers.put({
        "index": index, "writes": len(waits), "counted": at_stop, "failed": failed, "waits": waits, "unfinished": time.monotonic() - began,
        "requests": transport.requests, "first": first,
    })  # fmt: skip


# -- all processes of one measurement


def contest(server: Any, client: Any, way: str, workload: str, writers: int) -> dict[str, Any]:
    """Start the processes, wait until the slowest has enough, and collect what they report."""
    context = multiprocessing.get_context("spawn")
    name = f"o-{random.getrandbits(40):x}"
    obj = client.create({"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": name, "namespace": "default"}})
    counts, ready, start, stop = context.Array("i", writers), context.Value("i", 0), context.Event(), context.Event()
    answers = context.Queue()
    shared = (counts, ready, start, stop)
    everybody = [
        context.Process(target=process, args=(str(server.kubeconfig), way, workload, index, obj, shared, answers), daemon=True)
        for index in range(writers)
    ]
    for one in everybody:
        one.start()
    while ready.value < writers:
        if any(not one.is_alive() for one in everybody):
            raise RuntimeError("a writer ended before the start")
        time.sleep(0.01)
    began = time.monotonic()
    start.set()
    while min(counts[:]) < ENOUGH and time.monotonic() - began < LONGEST:
        time.sleep(0.01)
    stop.set()
    elapsed = time.monotonic() - began
    reports = [answers.get(timeout=120) for _ in everybody]
    for one in everybody:
        one.join(30)
    stored = client.get(f"{GROUP}/v1", KIND, name, "default")
    return {"way": way, "workload": workload, "writers": writers, **summary(reports, elapsed), **_right(reports, stored, workload)}


def summary(reports: list[dict[str, Any]], elapsed: float) -> dict[str, Any]:
    """The shares, the waits and the requests per write; first writes are left out of the requests."""
    counted = [one["counted"] for one in reports]
    later = sum(max(0, one["writes"] - 1) for one in reports)
    return {
        "seconds": elapsed,
        "fastest": max(counted),
        "slowest": min(counted),
        "share": min(counted) / max(1, *counted),
        "worst_wait": max(max([*one["waits"], one["unfinished"]]) for one in reports),
        "writes_per_second": sum(counted) / elapsed,
        "requests_per_write": sum(one["requests"] - one["first"] for one in reports) / max(1, later),
        "failed": sum(one["failed"] for one in reports),
    }


def _right(reports: list[dict[str, Any]], stored: Any, workload: str) -> dict[str, Any]:
    """How many acknowledged writes are missing in the end: increments, or conditions that say something older."""
    status = stored.get("status") or {}
    if workload == "counter":
        return {"lost": sum(one["writes"] for one in reports) - status.get("n", 0)}
    said = {entry["type"]: entry["message"] for entry in status.get("conditions") or []}
    return {"lost": sum(one["writes"] > 0 and said.get(f"writer-{one['index']}") != f"turn {one['writes'] - 1}" for one in reports)}


def run(writers: tuple[int, ...] = WRITERS, workloads: tuple[str, ...] = WORKLOADS) -> list[dict[str, Any]]:
    """Every workload with every number of processes, the contenders in turns."""
    from fiferail.apiserver.real.launch import RealServer

    results = []
    with RealServer() as server:
        client = fiferail.connect(server.kubeconfig)
        client.create(crd())
        _wait_until_served(client)
        for workload in workloads:
            for count in writers:
                for way in (COMPARE, PUT):
                    results.append(contest(server, client, way, workload, count))
                    print("  ".join([workload, *_row(results[-1])]), flush=True)
    return results


def _wait_until_served(client: Any) -> None:
    """Return when the new kind is listed and its schema is published."""
    transport = transport_of(client)
    for _ in range(300):
        listed = transport.send(Request(method="GET", path=f"/apis/{GROUP}/v1/{PLURAL}"))
        schema = transport.send(Request(method="GET", path=f"/openapi/v3/apis/{GROUP}/v1"))
        if listed.status == 200 and f'{KIND}"'.encode() in schema.body:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{KIND} was never served")


HEAD = ["processes", "contender", "slowest / fastest", "share", "worst wait", "writes a second", "requests per write", "gave up", "lost"]


def _row(found: dict[str, Any]) -> list[str]:
    return [
        str(found["writers"]), found["way"], f"{found['slowest']} / {found['fastest']}", f"{found['share']:.2f}",
        f"{found['worst_wait'] * 1000:,.0f} ms", f"{found['writes_per_second']:.0f}", f"{found['requests_per_write']:.2f}",
        str(found["failed"]), str(found["lost"]),
    ]  # fmt: skip


TEXT = (
    f"N processes write one object in a loop until the slowest has {ENOUGH} writes (at most {LONGEST:.0f} s). COMPARE is `mutate` on the "
    "object that the last write returned; GET + PUT reads, writes the whole status and repeats both on a conflict with client-go's "
    f"`retry.DefaultBackoff` ({STEPS} attempts, {PAUSE * 1000:.0f} ms, factor {FACTOR:.0f}); a write that gave up is begun again. Share: "
    "writes of the slowest process divided by those of the fastest. Worst wait: the longest time from the beginning of a write to its "
    "acknowledgement, of any process. Requests: all of them, refused ones too, without each process's first write. Lost: acknowledged "
    "increments that the counter lacks, or conditions whose last acknowledged write is not what is stored. Goals: a share of at least a "
    "third up to 8 processes and not below GET + PUT's at 16; worst wait and writes a second not worse than GET + PUT's; at most 1.1 "
    "requests per write for conditions up to 8 processes, 1.4 at 16; nothing lost."
)


def render() -> str:
    """The section of the page."""
    results = load("fairness")
    if results is None:
        return ""
    parts = ["## Fairness between processes", TEXT]
    titles = {"conditions": "Every process writes a condition of its own", "counter": "All processes increment one number"}
    for workload, title in titles.items():
        parts += [f"### {title}", table(HEAD, [_row(found) for found in results if found["workload"] == workload])]
    return "\n\n".join(parts)


if __name__ == "__main__":
    save("fairness", run())
    print(render())
