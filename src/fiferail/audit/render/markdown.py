"""The table a reviewer pastes into a pull request: site, verdict, reason; then the findings and who writes what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.judge import summary
from fiferail.audit.quoting import code_span, markdown

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
            f"{code_span(site.place)} {markdown(site.function)}",
            markdown(site.controller),
            markdown(site.kind or "?"),
            str(site.ownership),
            markdown(verb),
            f"**{site.verdict}**" if site.verdict == "fix" else str(site.verdict),
        ]
        rows.append("| " + " | ".join([*cells, ", ".join(site.rules), markdown(site.reason)]) + " |")
    return rows


def _matrix(report: Report) -> list[str]:
    rows = ["| kind | writers |", "| --- | --- |"]
    for kind, writers in report.matrix.items():
        names = [_writer(markdown(name), sites) for name, sites in sorted(writers.items())]
        rows.append(f"| {markdown(kind)} | {', '.join(names)} |")
    return rows


def _writer(name: str, sites: list[Site]) -> str:
    foreign = any(site.ownership == "foreign" for site in sites)
    return f"**{name}** ({len(sites)}, foreign)" if foreign else f"{name} ({len(sites)})"
