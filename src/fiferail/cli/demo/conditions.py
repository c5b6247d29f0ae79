"""Two controllers of one Gadget, one condition each: with merge patches one condition is gone, with fiferail's writer none is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .kinds import GADGETS, gadget
from .wires import line, send, short

if TYPE_CHECKING:
    from rich.console import Console

    from ...testing.checking import Watchman
    from .wires import Counted

#: Who writes which condition.
WRITERS = {"config-controller": "Ready", "probe-reporter": "Probed"}


def with_patches(console: Console, transports: dict[str, Counted], watchman: Watchman) -> None:
    """Both read, both patch their own condition, one condition is gone."""
    from rich.markup import escape

    from ...history.words import explain
    from ...wire import JSON, MERGE_PATCH

    console.rule("[bold]two controllers, one Gadget, plain merge patches", align="left")
    send(next(iter(transports.values())), "POST", GADGETS, JSON, gadget("patched"))
    _both_read(console, transports, "patched")
    for name, condition in WRITERS.items():
        body = {"status": {"conditions": [{"type": condition, "status": "True"}]}}
        code, _, spent = send(transports[name], "PATCH", f"{GADGETS}/patched/status", MERGE_PATCH, body)
        console.print(line(name, f"sets {condition} with a merge patch", f"[green]{code} OK[/]", spent))
    for finding in watchman.findings():
        console.print(f"\n[bold red]{escape(explain(finding))}[/]")
    console.print("Both were answered 200. Nobody was told.\n")
    watchman.checker.findings.clear()


def with_writers(console: Console, transports: dict[str, Counted], watchman: Watchman) -> None:
    """The same race through fiferail's writer."""
    import fiferail

    from ...wire import JSON

    console.rule("[bold]the same race with fiferail.StatusWriter", align="left")
    send(next(iter(transports.values())), "POST", GADGETS, JSON, gadget("written"))
    seen = _both_read(console, transports, "written")
    for name, condition in WRITERS.items():
        transport = transports[name]
        transport.sent.clear()
        writer = fiferail.StatusWriter(transport, field_manager=name)
        started = time.perf_counter()
        with writer.session(seen[name]) as status:
            status.conditions.set(condition, True, reason="Observed")
        spent = time.perf_counter() - started
        assert status.outcome is not None, "a session that ended has an outcome"
        console.print(line(name, f"sets {condition} in a session", f"[green]{status.outcome.kind}[/]", spent))
        for request, code, seconds in transport.sent:
            console.print(f"    [dim]{request.method:<6}{short(request):<52}{code:>4}  {seconds * 1000:7.2f} ms[/]")
    kept = [condition["type"] for condition in send(transport, "GET", f"{GADGETS}/written")[1]["status"]["conditions"]]
    lost = watchman.lost()
    verdict = "[bold green]Nothing lost[/], says the checker." if not lost else "[bold red]" + "\n".join(lost) + "[/]"
    console.print(f"\nStored: {', '.join(kept)}. {verdict}\n")


def _both_read(console: Console, transports: dict[str, Counted], name: str) -> dict[str, Any]:
    seen = {writer: send(transport, "GET", f"{GADGETS}/{name}")[1] for writer, transport in transports.items()}
    versions = {obj["metadata"]["resourceVersion"] for obj in seen.values()}
    console.print(f"  {' and '.join(transports)} both read version {', '.join(sorted(versions))}")
    return seen
