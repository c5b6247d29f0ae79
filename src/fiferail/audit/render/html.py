"""One self-contained page: findings, every site, and the matrix kind by writer in which foreign writers stand out. No script, no outside
file."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from fiferail.audit.judge import summary
from fiferail.audit.quoting import printable

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Report, Site

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%;margin:1rem 0}
th,td{border:1px solid #d0d7de;padding:.3rem .5rem;text-align:left;vertical-align:top}
th{background:#f6f8fa;position:sticky;top:0}
code{font:13px ui-monospace,monospace}
.fix,.foreign{background:#ffe3e0}
.review{background:#fff4d6}
.ok{background:#e6f6e6}
.out-of-scope{color:#59636e}
.finding{border-left:4px solid #c93c37;padding:.2rem 1rem;margin:1rem 0}
.finding.warning{border-color:#bf8700}
.finding.note{border-color:#0969da}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}
th{background:#161b22}
th,td{border-color:#30363d}
.fix,.foreign{background:#4a1d1c}
.review{background:#3d2f0b}
.ok{background:#12311a}}
"""


def render(report: Report) -> str:
    counts = summary(report)
    body = [
        f"<h1>Writes to the Kubernetes API</h1><p>{counts['status_sites']} status writes among {counts['sites']} "
        f"writes; {counts['findings']} findings; policy <code>{escape(report.policy)}</code>.</p>",
        "<h2>Findings</h2>",
        *(_finding(finding) for finding in report.findings),
        "<h2>Who writes whose status</h2>",
        _matrix(report),
        "<h2>Every write</h2>",
        _sites(report.facts.sites),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>fiferail audit</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _finding(finding: Finding) -> str:
    places = "".join(f"<li><code>{escape(place.file)}:{place.line}</code> {escape(place.note)}</li>" for place in finding.places)
    known = " (in the baseline)" if finding.baselined else ""
    return (
        f'<div class="finding {finding.severity}"><h3>{finding.code} {escape(finding.slug)}{known}</h3><p>{escape(finding.message)}</p>'
        f"<p><b>Fix:</b> {escape(finding.fix)}</p><ul>{places}</ul></div>"
    )


def _matrix(report: Report) -> str:
    writers = sorted({writer for row in report.matrix.values() for writer in row})
    if not writers:
        return "<p>No status write was found.</p>"
    head = "".join(f"<th>{escape(writer)}</th>" for writer in writers)
    rows = []
    for kind, row in report.matrix.items():
        rows.append(f"<tr><th>{escape(kind)}</th>{''.join(_cell(row.get(writer)) for writer in writers)}</tr>")
    return f"<table><tr><th>kind</th>{head}</tr>{''.join(rows)}</table>"


def _cell(sites: list[Site] | None) -> str:
    if not sites:
        return "<td></td>"
    foreign = any(site.ownership == "foreign" for site in sites)
    ways = ", ".join(sorted({str(site.way) for site in sites}))
    fields = ", ".join(sorted({name for site in sites for name in site.fields}))
    return f"<td{' class=foreign' if foreign else ''}>{len(sites)}: {escape(ways)}<br><small>{escape(fields)}</small></td>"


def _sites(sites: list[Site]) -> str:
    rows = []
    for site in sites:
        cells = [
            f"<code>{escape(site.place)}</code>",
            escape(site.function),
            escape(site.controller),
            escape(site.kind or "?"),
            escape(site.ownership),
            escape(site.target),
            escape(f"{site.verb} {site.effective}"),
            escape(", ".join(site.rules)),
            escape(site.reason),
        ]
        rows.append(f'<tr class="{site.verdict}"><td>{site.verdict}</td>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(
        f"<th>{name}</th>"
        for name in ("verdict", "site", "function", "controller", "kind", "ownership", "target", "verb", "rules", "reason")
    )
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def escape(text: str) -> str:
    """Text of the audited tree for the page: no markup, and nothing that a terminal would obey."""
    return html.escape(printable(str(text)))
