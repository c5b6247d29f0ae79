"""How benchmarks measure: the contenders take turns, so that a noisy machine is noisy for all of them, and medians are compared."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RESULTS = Path(__file__).parent / "results"


def in_turns(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int, each: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of one call for every contender, each called `each` times a round, in turns."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for call in contenders.values():
        call()
    for _ in range(rounds):
        for name, call in contenders.items():
            for _ in range(each):
                start = clock()
                call()
                samples[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in samples.items()}


def save(name: str, result: Any) -> None:
    """Keep a result for the page."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def load(name: str) -> Any:
    """A kept result, or None."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def shown(seconds: float) -> str:
    """A duration for people."""
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
