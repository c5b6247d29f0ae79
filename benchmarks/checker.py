"""How fast the checker reads a history: commits a second of processor time, beside a pass over the same records that does nothing.

The history is that of a busy object store: writers that each keep one condition of eight per object, read what they write to,
and send JSON patches with tests. One commit in two hundred is a stale whole-list merge that loses something.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

from fairlead.history.checker import Checker
from fairlead.history.records import Commit, Identity, Observation, Record
from fairlead.objects.tree import replaced

from .measure import load, save, table

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1_000, 10_000, 100_000)
WRITERS = 8
ROUNDS = 5
STALE_EVERY = 200


def history(commits: int) -> list[Record]:
    """So many commits, each after the read that it was decided on."""
    objects = [Identity("gadgets.example.io", "default", f"g{i}", f"uid-{i}") for i in range(max(1, commits // 500))]
    live = {identity: _gadget(identity) for identity in objects}
    records: list[Record] = [Commit("maker", identity, index, "create", None, live[identity]) for index, identity in enumerate(objects, 1)]
    version = len(objects)
    for turn in range(commits):
        identity, writer = objects[turn % len(objects)], turn % WRITERS
        stale = turn % STALE_EVERY == STALE_EVERY - 1
        before = live[identity]
        if not stale:
            records.append(Observation(f"writer-{writer}", identity, int(before["metadata"]["resourceVersion"])))
        version += 1
        entry = {"type": f"C{writer}", "status": "True" if turn & 8 else "False", "reason": f"R{turn % 7}", "message": f"turn {turn}"}
        after = replaced(before, ["status", "conditions", writer], entry)
        after = replaced(after, ["metadata", "resourceVersion"], str(version))
        body, content = _body(before, after, writer, stale)
        live[identity] = after
        actor = f"writer-{(writer + 3) % WRITERS}" if stale else f"writer-{writer}"
        records.append(Commit(actor, identity, version, "patch", before, after, actor, "status", content, body))
    return records


def _gadget(identity: Identity) -> Any:
    conditions = [{"type": f"C{i}", "status": "Unknown", "reason": "New", "message": ""} for i in range(WRITERS)]
    metadata = {"name": identity.name, "namespace": identity.namespace, "uid": identity.uid, "resourceVersion": "1", "labels": {"a": "b"}}
    status = {"conditions": conditions}
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata, "spec": {"size": 3}, "status": status}


def _body(before: Any, after: Any, writer: int, stale: bool) -> tuple[Any, str]:
    if stale:
        return {"status": {"conditions": after["status"]["conditions"]}}, "merge"
    place = f"/status/conditions/{writer}"
    was, now = before["status"]["conditions"][writer], after["status"]["conditions"][writer]
    return [{"op": "test", "path": place, "value": was}, {"op": "replace", "path": place, "value": now}], "json"


def run() -> Any:
    """Median commits a second for each size, and how much longer the check takes than the pass that does nothing."""
    return {"sizes": [_measured(size) for size in SIZES]}


def _measured(commits: int) -> dict[str, float]:
    records = history(commits)
    gc.collect()
    gc.freeze()  # the history is the benchmark's, not the checker's: its collection is not measured
    spent: dict[str, list[float]] = {"check": [], "nothing": []}
    found = 0
    for _ in range(ROUNDS):
        checker = Checker()
        spent["check"].append(_seconds(records, checker.feed))
        spent["nothing"].append(_seconds(records, _nothing))
        found = len(checker.findings)
    check, nothing = (sorted(spent[name])[ROUNDS // 2] for name in ("check", "nothing"))
    return {"commits": commits, "records": len(records), "per_second": commits / check, "over_nothing": check / nothing, "found": found}


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
    return "## The checker\n\nReading a history with one read before each commit, objects of eight conditions.\n\n" + table(head, rows)


if __name__ == "__main__":
    save("checker", run())
    print(render())
