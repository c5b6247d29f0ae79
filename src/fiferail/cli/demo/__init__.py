"""`fiferail demo`: lost updates, end to end, on a server that it starts itself; and the same with nothing lost.

    conditions  two controllers, one condition each: one is gone, then none is
    lists       workloads append themselves to a list that its owner patches too: an entry is gone
    operator    the mended operator, running: the only writer of that list; told by `story`, shown by `table`

Every line is measured: the times are those of this run, the findings are the checker's, the requests are those that went over the
wire, and what stands in the table came out of a watch.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

NEXT = (
    ("fiferail serve --check --crd ./crds", "this, for your operator, in any language"),
    ("fiferail audit ./my-operator", "unsafe writes in Go and Python source"),
    ("apiserver.assert_nothing_lost()", "in your tests: the pytest fixture"),
    ("examples/reference_owner", "this operator, to copy: in the repository"),
)
_TOLD = "Two lost updates, each with both writers answered 200; then the same with nothing lost, and an operator at work."
#: What a shell expects of a program that was interrupted.
_INTERRUPTED = 130


def run(arguments: Sequence[str]) -> int:
    """Run the command; the exit code is 1 when something was lost that should not be, and 2 when an extra is missing."""
    argparse.ArgumentParser(prog="fiferail demo", description=_TOLD).parse_args(arguments)
    try:
        return _run()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ModuleNotFoundError as missing:
        from ...errors import missing_extra

        print("fiferail: the demo " + missing_extra("server", missing.name), file=sys.stderr)
        return 2


def _run() -> int:
    started = time.perf_counter()
    from ...apiserver.embedded import EmbeddedServer
    from .kinds import CRDS

    with EmbeddedServer(crds=CRDS) as server:
        ready = time.perf_counter() - started
        from rich.console import Console

        from ...testing.checking import Watchman
        from . import conditions, lists, story
        from .wires import connected

        console, watchman = Console(highlight=False), Watchman()
        server.machine.recorder = watchman
        console.print(f"[bold]A Kubernetes API server, ready in {ready * 1000:.0f} ms[/] at {server.url}")
        with connected(server.url, conditions.WRITERS) as transports:
            conditions.with_patches(console, transports, watchman)
            conditions.with_writers(console, transports, watchman)
        with connected(server.url, lists.WRITERS) as transports:
            lists.with_appends(console, transports, watchman)
        with server.lock:
            watchman.checker.findings.clear()
        came_out = story.with_one_owner(console, server, watchman)
        _close(console, time.perf_counter() - started)
    return 0 if came_out else 1


def _close(console: Console, seconds: float) -> None:
    console.rule("[bold]what to run next", align="left")
    for command, what in NEXT:
        console.print(f"  [bold cyan]{command:<36}[/] {what}")
    console.print(f"\n[dim]This took {seconds:.1f} s.[/]")
