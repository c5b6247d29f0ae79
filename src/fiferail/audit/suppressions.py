"""Suppressions: `//fiferail:allow FR001 reason` in Go, `# fiferail: allow[FR001] reason` in Python, on the line or the line above.

Called by `run` to read them and by `judge` to honour them. One without a reason is not honoured.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.model import Suppression

if TYPE_CHECKING:
    from fiferail.audit.model import Finding

_GO = re.compile(rb"//[ \t]*fiferail:allow\b[ \t]*([^\r\n]*)")
_PYTHON = re.compile(rb"#[ \t]*fiferail:[ \t]*allow\b[ \t]*([^\r\n]*)")
_CODES = re.compile(r"^\[?\s*((?:FR\d{3}\s*,?\s*)+)\]?\s*(.*)$", re.S)


def read(path: str, source: bytes) -> list[Suppression]:
    if b"fiferail" not in source:
        return []
    out: list[Suppression] = []
    for match in (_GO if path.endswith(".go") else _PYTHON).finditer(source):
        line = source.count(b"\n", 0, match.start()) + 1
        start = source.rfind(b"\n", 0, match.start()) + 1
        alone = not source[start : match.start()].strip()
        text = match.group(1).decode("utf-8", "replace").strip()
        found = _CODES.match(text)
        codes = tuple(re.findall(r"FR\d{3}", found.group(1))) if found else ()
        reason = (found.group(2) if found else text).strip(" :-]")
        out.append(Suppression(path, line, codes, reason, _covered(source, match.end(), line) if alone else line))
    return out


def _covered(source: bytes, position: int, line: int) -> int:
    """The line that a comment on its own stands for: the next one that is neither blank nor a comment."""
    for offset, text in enumerate(source[position:].split(b"\n")[1:], 1):
        stripped = text.strip()
        if stripped and not stripped.startswith((b"//", b"#")):
            return line + offset
    return line + 1


def honour(findings: list[Finding], suppressions: list[Suppression]) -> tuple[list[Finding], dict[str, str]]:
    """Findings that are left, and the reasons of the places that were allowed."""
    by_place: dict[tuple[str, int], list[Suppression]] = {}
    for one in suppressions:
        by_place.setdefault((one.file, one.covers), []).append(one)
    allowed: dict[str, str] = {}
    left: list[Finding] = []
    for finding in findings:
        kept = []
        for place in finding.places:
            hit = _hit(by_place, finding, place.file, place.line)
            if hit is None:
                kept.append(place)
            else:
                hit.used = True
                if hit.reason:
                    allowed[f"{place.file}:{place.line}"] = hit.reason
                else:
                    kept.append(place)
        if kept:
            finding.places = kept
            finding.sites = [site for site in finding.sites if any(site.file == place.file and site.line == place.line for place in kept)]
            left.append(finding)
    return left, allowed


def _hit(by_place: dict[tuple[str, int], list[Suppression]], finding: Finding, file: str, line: int) -> Suppression | None:
    span = {line}
    for site in finding.sites:
        if site.file == file and site.line == line and site.end_line:
            span |= set(range(line, site.end_line + 1))
        if site.file == file and site.line == line and site.base.startswith(f"{file}:"):
            span.add(int(site.base.rpartition(":")[2]))
    for one in sorted(span):
        for suppression in by_place.get((file, one), ()):
            if finding.code in suppression.codes:
                return suppression
    return None
