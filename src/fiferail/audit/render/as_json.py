"""Everything, for programs: `{"sites": [...], "findings": [...], "summary": {...}}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fiferail.audit.judge import summary

if TYPE_CHECKING:
    from fiferail.audit.model import Report


def render(report: Report) -> str:
    content = {
        "sites": [site.to_json() for site in report.facts.sites],
        "findings": [{**finding.to_json(), "baselined": finding.baselined} for finding in report.findings],
        "summary": summary(report),
    }
    return encoded(content)


def encoded(content: Any) -> str:
    """JSON in ASCII, in which neither a terminal nor a runner finds a command: `##[` can only stand inside of a string."""
    return json.dumps(content, indent=2).replace("\x7f", "\\u007f").replace("##[", "\\u0023#[") + "\n"
