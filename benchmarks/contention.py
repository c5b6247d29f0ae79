"""Many writers of one object: each owns one condition and writes it again and again, as fast as it can, on the real kube-apiserver.

Every writer is a thread with a connection, a writer and a memory of its own: nothing is shared, as between processes. But for
"COMPARE, one writer": there the threads have a connection each and one StatusWriter, as the parts of one operator have, so that
flushes that meet go together. Losses are conditions whose last acknowledged message is not what stands in the end.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

import fiferail
from fiferail.status.strategies import APPLY, COMPARE, LOCKED, MERGE
from fiferail.testing.transport import HttpTransport
from fiferail.wire import JSON, Request

from .apiserver import CONDITION
from .measure import RESULTS, load, save, table
from .plot import Line, chart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fiferail.wire import Answer

#: How many writers, and in how many rounds: ways take turns within a round, and the median of the rounds is told.
ROUNDS = {2: 3, 4: 3, 8: 3, 16: 3, 32: 1, 64: 1}
SECONDS = 3.0
#: The first wave, when all writers start in the same instant, is left out.
WARM_UP = 3.0
NOW = "2026-01-01T00:00:00Z"
GROUP = "contention.example.io"
LISTS = {"map": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}, "plain": {}}


def crd(plural: str, kind: str, extra: dict[str, Any]) -> dict[str, Any]:
    """A kind whose conditions are keyed by the server, or not."""
    known: Any = CONDITION["properties"]
    condition = {**CONDITION, "properties": {**known, "observedGeneration": {"type": "integer"}}}
    status = {"type": "object", "properties": {"conditions": {"type": "array", "items": condition, **extra}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
                }
            ],
        },
    }  # fmt: skip


class Counting:
    """A transport that counts what goes to the object; discovery and schemas are asked once and do not count."""

    def __init__(self, connect: Callable[[], HttpTransport]) -> None:
        self._inner = connect()
        self.requests = 0

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Carry and count."""
        self.requests += "/namespaces/" in request.path
        return self._inner.send(request, timeout=timeout)

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        """Not used."""
        raise AssertionError


def message(turn: int) -> str:
    """What one write says."""
    return f"turn {turn}"


class Fiferail:
    """A writer of ours with some strategy; for the locked one the caller's loop backs off, as operators' do."""

    def __init__(self, writer: fiferail.StatusWriter, obj: Any, name: str) -> None:
        self._writer, self._obj, self._name = writer, obj, name

    def write(self, turn: int) -> None:
        """One write, however many requests it takes."""
        outcome = self._writer.mutate(
            self._obj, lambda status: status.conditions.set(self._name, bool(turn % 2), reason="Turn", message=message(turn))
        )
        self._obj = outcome.object


class PutRetry:
    """Read, change, PUT the status; on a conflict read again after a jittered, growing pause."""

    def __init__(self, transport: Counting, obj: Any, name: str, path: str) -> None:
        self._transport, self._obj, self._name, self._path = transport, obj, name, path

    def write(self, turn: int) -> None:
        """One write."""
        pause = 0.01
        while True:
            mine = {"type": self._name, "status": "True", "reason": "Turn", "message": message(turn), "lastTransitionTime": NOW}
            before = (self._obj.get("status") or {}).get("conditions") or []
            others = [entry for entry in before if entry["type"] != self._name]
            body = msgspec.json.encode({**self._obj, "status": {"conditions": [*others, mine]}})
            query = (("fieldManager", self._name),)
            answer = self._transport.send(
                Request(method="PUT", path=f"{self._path}/status", query=query, body=body, content_type=JSON)
            )
            if answer.status == 200:
                self._obj = answer.json()
                return
            if answer.status not in (409, 429, 500, 504):
                raise RuntimeError(f"PUT: {answer.status} {answer.body[:200]!r}")
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(1.0, pause * 1.7)
            self._obj = self._transport.send(Request(method="GET", path=self._path)).json()


STRATEGIES = {"COMPARE, one writer": COMPARE, "COMPARE": COMPARE, "LOCKED + backoff": LOCKED, "MERGE": MERGE, "APPLY": APPLY}
WAYS = ("COMPARE, one writer", "COMPARE", "LOCKED + backoff", "PUT + retry", "MERGE", "APPLY")


def contenders(way: str, transports: list[Counting], obj: Any, path: str) -> list[Any]:
    """A writer for each thread."""
    if way == "PUT + retry":
        return [PutRetry(transport, obj, f"writer-{index}", path) for index, transport in enumerate(transports)]

    def writer(index: int, manager: str) -> fiferail.StatusWriter:
        budget = fiferail.Budget(tries=60, longest=1.0)
        return fiferail.StatusWriter(transports[index], field_manager=manager, strategy=STRATEGIES[way], budget=budget)

    if way == "COMPARE, one writer":
        shared = writer(0, "operator")
        return [Fiferail(shared, obj, f"writer-{index}") for index in range(len(transports))]
    return [Fiferail(writer(index, f"writer-{index}"), obj, f"writer-{index}") for index in range(len(transports))]


@contextmanager
def real() -> Iterator[Callable[[], HttpTransport]]:
    """kube-apiserver with both kinds served: makes connections."""
    from fiferail.apiserver.real.launch import RealServer

    with RealServer() as running:

        def connect() -> HttpTransport:
            return HttpTransport(running.url, token=running.token, context=running.ssl_context(), user_agent="bench")

        client = fiferail.Client(connect())
        for kind, extra in LISTS.items():
            client.create(crd(f"{kind}s", kind.capitalize(), extra))
        for kind in LISTS:
            _served(connect(), kind)
        yield connect


def _served(transport: HttpTransport, kind: str) -> None:
    """A CRD is served, and its schema published, some seconds after it is made."""
    for _ in range(300):
        listed = transport.send(Request(method="GET", path=f"/apis/{GROUP}/v1/{kind}s"))
        schema = transport.send(Request(method="GET", path=f"/openapi/v3/apis/{GROUP}/v1"))
        if listed.status == 200 and kind.capitalize().encode() + b'"' in schema.body:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{kind} was never served")


def contest(connect: Callable[[], HttpTransport], kind: str, way: str, writers: int, seconds: float) -> dict[str, Any]:
    """One way of writing, so many writers, for so long."""
    client = fiferail.Client(connect())
    name = f"o-{random.getrandbits(40):x}"
    obj = client.create(
        {"apiVersion": f"{GROUP}/v1", "kind": kind.capitalize(), "metadata": {"name": name, "namespace": "default"}}, field_manager="bench"
    )
    # Everybody's condition is there from the start: a way that lets only a few writers through must not win by a smaller object.
    seed = {"status": "True", "reason": "Seed", "message": "", "lastTransitionTime": NOW}
    seeds = [{"type": f"writer-{index}", **seed} for index in range(writers)]
    if way == "APPLY":  # fields that another manager has written could not be applied
        for index, entry in enumerate(seeds):
            part = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": name}, "status": {"conditions": [entry]}}
            obj = client.patch(obj, part, type="apply", subresource="status", field_manager=f"writer-{index}")
    else:
        obj = client.patch(obj, {"status": {"conditions": seeds}}, subresource="status", field_manager="bench")
    path = f"/apis/{GROUP}/v1/namespaces/default/{kind}s/{name}"
    transports = [Counting(connect) for _ in range(writers)]
    ready, counting, stop = threading.Barrier(writers + 1), threading.Event(), threading.Event()
    took: list[list[float]] = [[] for _ in range(writers)]
    last, failed = [-1] * writers, [0] * writers
    everybody = contenders(way, transports, obj, path)

    def work(index: int) -> None:
        writer = everybody[index]
        ready.wait()
        turn = 0
        while not stop.is_set():
            began = time.monotonic()
            try:
                writer.write(turn)
            except (fiferail.FiferailError, OSError):
                failed[index] += 1
                continue
            last[index] = turn
            if counting.is_set() and not stop.is_set():
                took[index].append(time.monotonic() - began)
            turn += 1

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(writers)]
    for thread in threads:
        thread.start()
    ready.wait()
    time.sleep(WARM_UP + writers / 4)
    counting.set()
    began, before = time.monotonic(), sum(transport.requests for transport in transports)
    time.sleep(seconds)
    elapsed, asked = time.monotonic() - began, sum(transport.requests for transport in transports) - before
    stop.set()
    for thread in threads:
        thread.join()
    stored = client.get(f"{GROUP}/v1", kind.capitalize(), name, "default")
    return {"list": kind, "way": way, "writers": writers, **summary(took, asked, last, stored, elapsed), "failed": sum(failed)}


def summary(took: list[list[float]], asked: int, last: list[int], stored: Any, elapsed: float) -> dict[str, Any]:
    """Requests per write, writes a second, latencies, losses."""
    samples = sorted(second for one in took for second in one)
    said = {entry["type"]: entry["message"] for entry in (stored.get("status") or {}).get("conditions") or []}
    lost = sum(turn >= 0 and said.get(f"writer-{index}") != message(turn) for index, turn in enumerate(last))
    writes = len(samples)
    return {
        "writes": writes,
        "requests_per_write": asked / max(1, writes),
        "writes_per_second": writes / elapsed,
        "p50": statistics.median(samples) if samples else None,
        "p99": samples[int(len(samples) * 0.99)] if samples else None,
        "slowest_writer": min(len(one) for one in took),
        "lost": lost,
    }


def run(
    rounds: dict[int, int] | None = None, seconds: float = SECONDS, ways: tuple[str, ...] = WAYS, lists: tuple[str, ...] = tuple(LISTS)
) -> list[dict[str, Any]]:
    """All ways at all counts, in turns."""
    found: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    with real() as connect:
        for kind in lists:
            for writers, times in (rounds or ROUNDS).items():
                for turn in range(times):
                    for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                        if way == "APPLY" and kind == "plain":
                            continue  # on a plain list apply owns the whole of it
                        result = contest(connect, kind, way, writers, seconds)
                        found.setdefault((kind, writers, way), []).append(result)
                        print("  ".join([kind, *_row(result)]), flush=True)
    return [_median(found[kind, writers, way]) for kind, writers in dict.fromkeys(key[:2] for key in found) for way in ways
            if (kind, writers, way) in found]  # fmt: skip


def _median(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the rounds: the middle one by writes a second, with all losses and the spread."""
    ordered = sorted(results, key=lambda result: result["writes_per_second"])
    middle = ordered[len(ordered) // 2]
    return {
        **middle,
        "lost": sum(result["lost"] for result in results),
        "failed": sum(result["failed"] for result in results),
        "requests_per_write": max(result["requests_per_write"] for result in results),
        "spread": [ordered[0]["writes_per_second"], ordered[-1]["writes_per_second"]],
    }


HEAD = ["writers", "way", "requests per write", "writes a second", "p50", "p99", "lost", "least"]


def _row(found: dict[str, Any]) -> list[str]:
    low, high = found.get("spread", (0.0, 0.0))
    spread = f" ({low:.0f}-{high:.0f})" if low < high else ""
    return [
        str(found["writers"]), found["way"], f"{found['requests_per_write']:.2f}", f"{found['writes_per_second']:.0f}{spread}",
        *(f"{found[name] * 1000:.0f} ms" if found[name] is not None else "-" for name in ("p50", "p99")), str(found["lost"]),
        str(found["slowest_writer"]),
    ]  # fmt: skip


def render() -> str:
    """The page's part, and its pictures."""
    results = load("contention")
    if results is None:
        return ""
    parts = [
        "## Contention",
        "Writers of different conditions of one object, each writing as fast as it can, on the real kube-apiserver and on its machine. "
        "Every writer is a thread with its own connection, and has a condition in the object from the start. In the row *COMPARE, one "
        "writer* they share a StatusWriter, as the parts of one operator do, so flushes that meet go together; in all other rows nothing "
        f"is shared, as between processes. A warm-up of {WARM_UP:.0f} s (and a quarter of a second per writer, because all start in the "
        f"same instant), then {SECONDS:.0f} s; up to 16 writers in three rounds, of which the middle one is told, with the lowest and "
        "highest rate in brackets and the most requests of any. Requests: all that were sent in that time, also in vain. Lost: conditions "
        "whose last acknowledged write does not stand in the end. Least: the writes of the writer that got the fewest; a rate may be one "
        "writer's alone. LOCKED and PUT back off with jitter and growing pauses. Goal: COMPARE at most 1.1 requests per write up to 16 "
        "writers, and never below the best other safe way (LOCKED, PUT, APPLY) in writes a second; writers of one process may share.",
    ]
    for kind in LISTS:
        found = [result for result in results if result["list"] == kind]
        if not found:
            continue
        name = "listType=map" if kind == "map" else "a plain list"
        picture = RESULTS / f"contention-{kind}.svg"
        lines = [Line(way, [(r["writers"], r["writes_per_second"]) for r in found if r["way"] == way]) for way in WAYS]
        picture.write_text(chart(f"Conditions as {name}", "writers", "writes a second", [line for line in lines if line.points]))
        parts += [f"### Conditions as {name}", f"![writes a second](../benchmarks/results/{picture.name})"]
        parts.append(table(HEAD, [_row(result) for result in found]))
    return "\n\n".join(parts)


if __name__ == "__main__":
    save("contention", run())
    print(render())
