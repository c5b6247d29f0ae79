"""How fast the checker reads a history: commits a second of processor time, beside a pass over the same records that does nothing.

And how the time of one commit grows with what there is of everything: ten times the commits, objects, writers and conditions.

The history is that of a busy object store: writers that each keep one condition of eight per object, read what they write to,
and send JSON patches with tests. One commit in two hundred is a stale whole-list merge that loses something.
"""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING, Any

from fiferail.history.checker import Checker
from fiferail.history.records import Commit, Identity, Observation, Record
from fiferail.objects.tree import replaced

from .measure import load, save, table

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1_000, 10_000, 100_000)
WRITERS = 8
ROUNDS = 5
#: Short histories are read more often: so many commits at least.
AT_LEAST = 200_000
STALE_EVERY = 200
COMMITS = 10_000
#: What there is ten times as much of: commits, writers, conditions of each object, objects.
GROWTH: dict[str, tuple[int, int, int, int, str]] = {
    "as above": (COMMITS, WRITERS, WRITERS, COMMITS // 500, "get"),
    "10 times the commits": (10 * COMMITS, WRITERS, WRITERS, COMMITS // 500, "get"),
    "10 times the commits and the objects": (10 * COMMITS, WRITERS, WRITERS, COMMITS // 50, "get"),
    "10 times the writers, who take the conditions from each other": (COMMITS, 10 * WRITERS, WRITERS, COMMITS // 500, "get"),
    "10 times the conditions": (COMMITS, WRITERS, 10 * WRITERS, COMMITS // 500, "get"),
    "writers that watch, so that what they send is judged": (COMMITS, WRITERS, WRITERS, COMMITS // 500, "watch"),
}


def history(commits: int, writers: int = WRITERS, conditions: int = WRITERS, gadgets: int = 0, via: str = "get") -> list[Record]:
    """So many commits, each after the read that it was decided on."""
    objects = [Identity("gadgets.example.io", "default", f"g{i}", f"uid-{i}") for i in range(gadgets or max(1, commits // 500))]
    live = {identity: _gadget(identity, conditions) for identity in objects}
    records: list[Record] = [Commit("maker", identity, index, "create", None, live[identity]) for index, identity in enumerate(objects, 1)]
    version = len(objects)
    for turn in range(commits):
        identity, writer, place = objects[turn % len(objects)], turn % writers, turn % conditions
        stale = turn % STALE_EVERY == STALE_EVERY - 1
        before = live[identity]
        if not stale:
            records.append(Observation(f"writer-{writer}", identity, int(before["metadata"]["resourceVersion"]), via))
        version += 1
        entry = {"type": f"C{place}", "status": "True" if turn & 8 else "False", "reason": f"R{turn % 7}", "message": f"turn {turn}"}
        after = replaced(before, ["status", "conditions", place], entry)
        after = replaced(after, ["metadata", "resourceVersion"], str(version))
        body, content = _body(before, after, place, stale)
        live[identity] = after
        actor = f"writer-{(writer + 3) % writers}" if stale else f"writer-{writer}"
        records.append(Commit(actor, identity, version, "patch", before, after, actor, "status", content, body))
    return records


def _gadget(identity: Identity, count: int) -> Any:
    conditions = [{"type": f"C{i}", "status": "Unknown", "reason": "New", "message": ""} for i in range(count)]
    metadata = {"name": identity.name, "namespace": identity.namespace, "uid": identity.uid, "resourceVersion": "1", "labels": {"a": "b"}}
    status = {"conditions": conditions}
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata, "spec": {"size": 3}, "status": status}


def _body(before: Any, after: Any, place: int, stale: bool) -> tuple[Any, str]:
    if stale:
        return {"status": {"conditions": after["status"]["conditions"]}}, "merge"
    pointer = f"/status/conditions/{place}"
    was, now = before["status"]["conditions"][place], after["status"]["conditions"][place]
    return [{"op": "test", "path": pointer, "value": was}, {"op": "replace", "path": pointer, "value": now}], "json"


def run() -> Any:
    """Median commits a second for each size, how much longer the check takes than the pass that does nothing, and the growth."""
    return {"sizes": [_measured(size) for size in SIZES], "growth": _grown()}


def _measured(commits: int) -> dict[str, float]:
    records = history(commits)
    gc.collect()
    gc.freeze()  # the history is the benchmark's, not the checker's: its collection is not measured
    spent: dict[str, list[float]] = {"check": [], "nothing": []}
    found = 0
    for _ in range(max(ROUNDS, AT_LEAST // commits)):
        checker = Checker()
        spent["check"].append(_seconds(records, checker.feed))
        spent["nothing"].append(_seconds(records, _nothing))
        found = len(checker.findings)
    gc.unfreeze()
    check, nothing = (statistics.median(spent[name]) for name in ("check", "nothing"))
    return {"commits": commits, "records": len(records), "per_second": commits / check, "over_nothing": check / nothing, "found": found}


def _grown() -> list[dict[str, Any]]:
    """Microseconds of one commit to an object that is there, the histories taking turns."""
    histories = {name: history(*sizes) for name, sizes in GROWTH.items()}
    gc.collect()
    gc.freeze()
    spent: dict[str, list[float]] = {name: [] for name in GROWTH}
    for _ in range(ROUNDS):
        for name, records in histories.items():
            commits, _, _, objects, _ = GROWTH[name]
            checker = Checker()
            _seconds(records[:objects], checker.feed)
            spent[name].append(_seconds(records[objects:], checker.feed) / commits)
    gc.unfreeze()
    return [{"history": name, "us": statistics.median(values) * 1e6} for name, values in spent.items()]


def _seconds(records: list[Record], feed: Callable[[Record], object]) -> float:
    start = time.process_time()
    for record in records:
        feed(record)
    return time.process_time() - start


def _nothing(record: Record) -> object:
    """What a pass costs before anything is looked at."""
    return record.actor, record.object


def render() -> str:
    """The section of the page."""
    result = load("checker")
    if result is None:
        return ""
    rows = [
        [f"{size['commits']:,}", f"{size['records']:,}", f"{size['per_second']:,.0f}", f"{size['over_nothing']:.0f}", f"{size['found']:,}"]
        for size in result["sizes"]
    ]
    head = ["commits", "records", "commits a second", "times an empty pass", "findings"]
    parts = ["## The checker", "Reading a history with one read before each commit, objects of eight conditions.", table(head, rows)]
    if growth := result.get("growth"):
        grown = [[row["history"], f"{row['us']:.1f}", f"{row['us'] / growth[0]['us']:.2f}"] for row in growth]
        parts += [f"How one commit of {COMMITS:,} grows:", table(["history", "us a commit", "ratio"], grown)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    save("checker", run())
    print(render())
