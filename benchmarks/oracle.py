"""The oracle at length: 200,000 operations, 20,000 of them on a real server, with 20,000 faults and cancellations. Goal: no violation."""

from __future__ import annotations

import logging
import time
from typing import Any

from tests.oracle.__main__ import MODES, Session

from .measure import load, save, table

GOALS = {"embedded": 180_000, "real": 20_000}
SEED = 200_000


def run() -> Any:
    """Both servers, until each has done its operations."""
    logging.disable(logging.WARNING)
    result = {server: _run(server, operations) for server, operations in GOALS.items()}
    logging.disable(logging.NOTSET)
    return result


def _run(server: str, operations: int) -> dict[str, Any]:
    session, seed, violations = Session(server, print), SEED, []
    started = time.perf_counter()
    try:
        while session.tally.operations < operations:
            mode = MODES[server][seed % len(MODES[server])]
            violations += [f"seed {seed} ({mode}): {violation}" for violation in session.play(seed, mode, "")]
            seed += 1
    finally:
        session.close()
    tally = session.tally
    return {
        "programs": tally.programs, "operations": tally.operations, "versions": tally.versions, "troubles": dict(tally.troubles),
        "results": dict(tally.results), "violations": violations, "seconds": time.perf_counter() - started,
    }  # fmt: skip


def render() -> str:
    """The section of the page."""
    result = load("oracle")
    if result is None:
        return ""
    rows = []
    for server, found in result.items():
        figures = [found["programs"], found["operations"], sum(found["troubles"].values()), found["versions"], len(found["violations"])]
        rows.append([server, *(f"{figure:,}" for figure in figures), f"{found['seconds']:.0f} s"])
    text = (
        "Random programs of several writers, hostile clients, faults and cancellations, judged from the full watch history by an oracle\n"
        "that shares no code with the writer or the checker ([fuzzing](fuzzing.md))."
    )
    head = ["server", "programs", "operations", "faults and cancellations", "versions", "violations", "time"]
    return f"## The oracle at length\n\n{text}\n\n" + table(head, rows)


if __name__ == "__main__":
    save("oracle", run())
    print(render())
