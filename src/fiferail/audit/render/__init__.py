"""How a report is printed: one module per format, each with `render(report) -> str`. They read a report and change nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.model import Report

FORMATS = ("text", "markdown", "json", "sarif", "github", "html")


def render(report: Report, form: str) -> str:
    return str(import_module(f"fiferail.audit.render.{'as_json' if form == 'json' else form}").render(report))
