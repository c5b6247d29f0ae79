"""The rule pages: docs/rules/FR0xx.md and their index, written from the rules' docstrings.

    python -m fiferail.audit.rules.pages docs/rules

A test regenerates them and compares, so that page and rule cannot drift apart.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from fiferail.audit.rules import page_of, rules, slug_of

HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "Known limits")
_MARK = "<!-- Written by `python -m fiferail.audit.rules.pages docs/rules` from the rule's docstring. -->"


def page(code: str) -> str:
    """One rule's page in Markdown."""
    lines = page_of(code).splitlines()
    out = [_MARK, f"# {code} {slug_of(code)}", ""]
    body: list[str] = []
    for line in [*lines[1:], HEADINGS[0]]:
        if line in HEADINGS:
            out += [part.rstrip() for part in textwrap.dedent("\n".join(body)).strip("\n").split("\n")] if body else []
            out += ["", f"## {line}", ""]
            body = []
        else:
            body.append(line)
    while out and out[-1] != f"## {HEADINGS[0]}":
        out.pop()
    out.pop()
    return "\n".join(out).replace("\n\n\n", "\n\n").rstrip() + "\n"


def index() -> str:
    rows = [
        "<!-- Written by `python -m fiferail.audit.rules.pages docs/rules`. -->",
        "# Rules",
        "",
        "| code | rule | severity | what it finds |",
        "| --- | --- | --- | --- |",
    ]
    for code, rule in rules().items():
        first = page_of(code).partition("What it does")[2].partition("Why is this bad?")[0]
        rows.append(f"| [{code}]({code}.md) | {slug_of(code)} | {rule.SEVERITY} | {' '.join(first.split())} |")
    return "\n".join(rows) + "\n"


def write(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for code in rules():
        (directory / f"{code}.md").write_text(page(code))
    (directory / "index.md").write_text(index())


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/rules"))
