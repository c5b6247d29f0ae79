"""What a person reads in a terminal: findings with place, sentence and fix; a summary; the matrix of writers."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

from fiferail.audit.judge import summary
from fiferail.audit.quoting import printable

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Report

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_PLACES = 6


def render(report: Report, *, colour: bool = False, width: int = 0) -> str:
    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out, force_terminal=colour, width=width or 140, highlight=False, markup=False, emoji=False, soft_wrap=True, no_color=not colour
    )
    for finding in report.findings:
        if not finding.baselined:
            _finding(console, finding)
    _summary(console, report)
    _matrix(console, report)
    for one in report.facts.skipped:
        console.print(printable(f"skipped {one.file}: {one.why}"), style="dim")
    return out.getvalue()


def _finding(console: Any, finding: Finding) -> None:
    from rich.text import Text

    first = finding.places[0]
    head = Text(printable(f"{first.file}:{first.line}: "))
    head.append(f"{finding.code} {finding.slug}", style=_COLOURS[finding.severity])
    head.append(f"  [{finding.number}]", style="dim")
    console.print(head)
    console.print(printable(f"    {finding.message}"))
    option = f" (--fix{' --unsafe' if finding.fixable == 'unsafe' else ''})" if finding.fixable else ""
    console.print(printable(f"    fix: {finding.fix}{option}"))
    for place in finding.places[1:_PLACES]:
        console.print(printable(f"    also {place.file}:{place.line} {place.note}".rstrip()))
    if len(finding.places) > _PLACES:
        console.print(f"    and {len(finding.places) - _PLACES} more places")
    console.print(f"    see {finding.page}", style="dim")


def _summary(console: Any, report: Report) -> None:
    counts: Any = summary(report)
    console.print(
        f"{counts['status_sites']} status writes among {counts['sites']} writes to the API in {counts['files']} files "
        f"({counts['lines']} lines); "
        f"{counts['findings']} findings"
        + (f", {counts['baselined']} in the baseline" if counts["baselined"] else "")
        + f"; policy {report.policy}"
    )
    for name in ("verb", "verdict", "controller"):
        listed = list(counts[f"by_{name}"].items())
        shown = ", ".join(f"{key} {value}" for key, value in listed[:8]) + (f", {len(listed) - 8} more" if len(listed) > 8 else "")
        console.print(printable(f"  by {name}: {shown or 'none'}"))


def _matrix(console: Any, report: Report) -> None:
    shared = {
        kind: writers
        for kind, writers in report.matrix.items()
        if len(writers) > 1 or any(site.ownership == "foreign" for sites in writers.values() for site in sites)
    }
    if not shared:
        return
    from rich.table import Table

    table = Table(title="Kinds whose status has several or foreign writers", title_justify="left")
    table.add_column("kind")
    table.add_column("writer")
    table.add_column("writes", justify="right")
    table.add_column("how")
    table.add_column("fields")
    for kind, writers in shared.items():
        for position, (writer, sites) in enumerate(sorted(writers.items())):
            foreign = any(site.ownership == "foreign" for site in sites)
            ways = ", ".join(sorted({str(site.way) for site in sites}))
            fields = ", ".join(sorted({name for site in sites for name in site.fields}))
            table.add_row(
                "" if position else printable(kind),
                printable(writer) + (" (foreign)" if foreign else ""),
                str(len(sites)),
                printable(ways),
                printable(fields),
                style="red" if foreign else None,
            )
    console.print(table)
