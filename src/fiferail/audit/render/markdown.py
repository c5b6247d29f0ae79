"""The table a reviewer pastes into a pull request: site, verdict, reason; then the findings and who writes what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.judge import summary

if TYPE_CHECKING:
    from fiferail.audit.model import Report, Site


def render(report: Report) -> str:
    counts = summary(report)
    status = [site for site in report.facts.sites if site.target == "status"]
    others = [site for site in report.facts.sites if site.target != "status"]
    lines = [f"## Status writes: {len(status)} sites, {counts['findings']} findings (policy `{report.policy}`)", ""]
    lines += _table(status)
    if others:
        lines += ["", f"<details><summary>{len(others)} writes that are not of status</summary>", "", *_table(others), "", "</details>"]
    if report.matrix:
        lines += ["", "### Who writes whose status", "", *_matrix(report)]
    return "\n".join(lines) + "\n"


def _table(sites: list[Site]) -> list[str]:
    if not sites:
        return ["No status write was found."]
    rows = [
        "| site | controller | kind | ownership | verb | verdict | rules | reason |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for site in sites:
        verb = f"{site.verb} ({site.way})" if site.verb == "helper" else str(site.verb)
        cells = [
            f"`{site.place}` {site.function}",
            site.controller,
            site.kind or "?",
            str(site.ownership),
            verb,
            f"**{site.verdict}**" if site.verdict == "fix" else str(site.verdict),
        ]
        rows.append("| " + " | ".join(_cell(cell) for cell in [*cells, ", ".join(site.rules), site.reason]) + " |")
    return rows


def _matrix(report: Report) -> list[str]:
    rows = ["| kind | writers |", "| --- | --- |"]
    for kind, writers in report.matrix.items():
        names = [
            f"**{name}** ({len(sites)}, foreign)" if any(site.ownership == "foreign" for site in sites) else f"{name} ({len(sites)})"
            for name, sites in sorted(writers.items())
        ]
        rows.append(f"| {_cell(kind)} | {_cell(', '.join(names))} |")
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
