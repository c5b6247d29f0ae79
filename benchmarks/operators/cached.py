"""Ten thousand objects in fiferail's cache: what each costs in memory, and how soon a change is reconciled at two hundred a second."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from ..apiserver import COLLECTION
from .places import embedded
from .ready import operator, resident, until_idle
from .with_fiferail_timed import MARK

if TYPE_CHECKING:
    from .places import Place

OBJECTS = 10_000
RATE = 200
SECONDS = 20.0
COMMAND = [sys.executable, "-m", "benchmarks.operators.with_fiferail_timed"]


def steady(objects: int = OBJECTS, seconds: float = SECONDS) -> dict[str, Any]:
    """On the embedded server."""
    with embedded() as place:
        with operator(place, COMMAND, stdout=subprocess.PIPE) as process:
            until_idle(process.pid)
            empty = resident(process.pid)
        place.create(objects)
        size = len(place.send("GET", f"{COLLECTION}/g00000"))
        with operator(place, COMMAND, stdout=subprocess.PIPE) as process:
            until_idle(process.pid)
            full = resident(process.pid)
            changes, rate = _changes(place, objects, seconds)
            until_idle(process.pid)
            process.terminate()
            said, _ = process.communicate(timeout=30)
    waits = sorted(msgspec.json.decode(said))
    return {
        "objects": objects, "object_bytes": size, "empty": empty, "full": full, "changes": changes, "rate": rate, "reconciled": len(waits),
        "p50": waits[len(waits) // 2], "p99": waits[len(waits) * 99 // 100], "longest": waits[-1],
    }  # fmt: skip


def _changes(place: Place, objects: int, seconds: float) -> tuple[int, float]:
    """Changes at an even pace, each of another object; gives their number, and how many a second it came to."""
    total, start = int(RATE * seconds), time.monotonic()
    for turn in range(total):
        time.sleep(max(0.0, start + turn / RATE - time.monotonic()))
        body = {"spec": {"text": f"{MARK}{time.monotonic()}"}}
        place.send("PATCH", f"{COLLECTION}/g{turn * 7919 % objects:05d}", body, "application/merge-patch+json")
    return total, total / (time.monotonic() - start)
