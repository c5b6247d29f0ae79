"""Runs the benchmarks that are named, or all, and renders docs/benchmarks.md from the kept results."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from .measure import save

#: Each module has run() -> result and render() -> Markdown.
ALL = ("apiserver", "checker", "traces", "faults", "oracle", "operators", "flush_cpu", "contention", "fairness", "load")
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """\
# Benchmarks

<!-- Written by `make bench` from benchmarks/results. Do not edit. -->

Contenders take turns in one run on one machine (2 cores); medians are compared. Ratios decide, absolute figures orient."""


def main(names: list[str]) -> None:
    """Run, keep, render."""
    for name in names or ALL:
        print(f"running {name} ...", flush=True)
        save(name, importlib.import_module(f"benchmarks.{name}").run())
    parts = [importlib.import_module(f"benchmarks.{name}").render() for name in ALL]
    PAGE.write_text("\n\n".join([HEAD, *(part for part in parts if part)]) + "\n")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
