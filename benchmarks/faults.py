"""The fault run: ten thousand writes by eight writers on the embedded server, a thousand on a real one, and what became of them.

Five in a hundred requests lose their answer, five fail with 500 (half of those after the write has landed), two are told to wait, and one
writer in a hundred dies and is replaced. Goal: nothing lost, nothing written twice with different values, everything acknowledged there.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.testing.hazards.faultplaces import on_embedded, on_real
from fiferail.testing.hazards.faultrun import Rates, Run, problems

from .measure import load, save, table

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITERS, SEED = 8, 1
EMBEDDED, REAL = 10_000, 1_000


def run() -> Any:
    """Both servers."""
    started = time.perf_counter()
    embedded, keeping = on_embedded(writes=EMBEDDED, count=WRITERS, seed=SEED, rates=Rates())
    seconds = time.perf_counter() - started
    wrong = problems(keeping.versions, embedded) + keeping.lost_by(embedded)
    result = {"embedded": _told(EMBEDDED, embedded, keeping.versions, wrong, seconds)}
    with RealServer(binaries=build.ensure()) as server:
        started = time.perf_counter()
        real, versions = on_real(server, writes=REAL, count=WRITERS, seed=SEED, rates=Rates())
        seconds = time.perf_counter() - started
        result["real"] = _told(REAL, real, versions, problems(versions, real), seconds)
    return result


def _told(writes: int, done: Run, versions: Mapping[str, list[Any]], wrong: list[str], seconds: float) -> dict[str, Any]:
    return {
        "writes": writes, "acknowledged": len(done.acknowledged), "outcomes": dict(done.outcomes), "faults": dict(done.faults),
        "requests": done.requests, "commits": sum(map(len, versions.values())), "problems": wrong, "seconds": seconds,
    }  # fmt: skip


def render() -> str:
    """The section of the page."""
    result = load("faults")
    if result is None:
        return ""
    head = ["server", "writes", "acknowledged", "writers killed", "faults", "requests", "versions", "problems"]
    rows = []
    for name, told in result.items():
        faults = ", ".join(f"{count:,} {fault}" for fault, count in sorted(told["faults"].items()) if fault != "killed")
        figures = [told["writes"], told["acknowledged"], told["faults"].get("killed", 0)]
        wrong = str(len(told["problems"]))
        rows.append([name, *(f"{n:,}" for n in figures), faults, f"{told['requests']:,}", f"{told['commits']:,}", wrong])
    text = (
        "Eight writers of three objects while answers are lost, requests fail, the server asks to wait, and writers die. A problem is an\n"
        "update that vanished or came back, a write that landed twice, or an acknowledged write that no version has."
    )
    return f"## Writing through faults\n\n{text}\n\n" + table(head, rows)


if __name__ == "__main__":
    save("faults", run())
    print(render())
