"""Turns the results of the conformance suite into the table of docs/conformance.md.

Called by the suite's conftest. A row is one behaviour: the docstring of a test, with the name of its case where it has several.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_HEAD = """\
# Conformance

<!-- Written by scripts/conformance_table.py from a run of tests/conformance. Do not edit. -->

Each row is one behaviour, asserted by the same code on the embedded server and on a real kube-apiserver v1.36.3.
"""


class Table:
    """Collects outcomes while the suite runs."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, str]] = {}

    def add(self, item: pytest.Item, server: str, report: pytest.TestReport) -> None:
        """One outcome. A failure in any phase stays a failure."""
        section, behaviour = _section(item), _behaviour(item, server)
        outcomes = self._rows.setdefault((section, behaviour), {})
        outcome = "yes" if report.passed else "skipped" if report.skipped else "**no**"
        if outcomes.get(server) != "**no**":
            outcomes[server] = outcome

    def write(self, target: Path) -> None:
        """The Markdown file, sections and rows in the order of the suite."""
        lines, section = [_HEAD.rstrip()], ""
        for (title, behaviour), outcomes in self._rows.items():
            if title != section:
                section = title
                lines += ["", f"## {title}", "", "| behaviour | embedded | real |", "| --- | --- | --- |"]
            lines.append(f"| {behaviour} | {outcomes.get('embedded', 'not run')} | {outcomes.get('real', 'not run')} |")
        target.write_text("\n".join(lines) + "\n")


def _section(item: pytest.Item) -> str:
    module = inspect.getmodule(getattr(item, "function", None))
    return (inspect.getdoc(module) or item.nodeid).splitlines()[0].rstrip(".")


def _behaviour(item: pytest.Item, server: str) -> str:
    sentence = (inspect.getdoc(getattr(item, "function", None)) or item.name).replace("\n", " ").rstrip(".")
    case = [part for part in _parameters(item) if part != server]
    text = f"{sentence}: {', '.join(case)}" if case else sentence
    return text.replace("|", "\\|").replace("<", "&lt;")


def _parameters(item: pytest.Item) -> list[str]:
    """The ids of the case, without the server's."""
    callspec = getattr(item, "callspec", None)
    return [str(part) for part in getattr(callspec, "_idlist", [])]
