"""Workflow commands that GitHub turns into annotations: one per place of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.quoting import printable

if TYPE_CHECKING:
    from fiferail.audit.model import Report

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    lines = []
    for finding in report.findings:
        if finding.baselined:
            continue
        level = _LEVELS[finding.severity]
        for place in finding.places:
            title = f"{finding.code} {finding.slug}"
            where = f"file={_property(place.file)},line={place.line},col={place.column},title={_property(title)}"
            lines.append(f"::{level} {where}::{_data(f'{finding.message}. Fix: {finding.fix}')}")
    return "\n".join(lines) + ("\n" if lines else "")


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
