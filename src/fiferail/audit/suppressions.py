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
    """The suppressions of a file, in order."""
    if b"fiferail" not in source:
        return []
    out: list[Suppression] = []
    alone: list[tuple[Suppression, int, int]] = []
    line, counted = 1, 0
    for match in (_GO if path.endswith(".go") else _PYTHON).finditer(source):
        line, counted = line + source.count(b"\n", counted, match.start()), match.start()
        text = match.group(1).decode("utf-8", "replace").strip()
        found = _CODES.match(text)
        codes = tuple(re.findall(r"FR\d{3}", found.group(1))) if found else ()
        reason = (found.group(2) if found else text).strip(" :-]")
        out.append(Suppression(path, line, codes, reason, line))
        start = source.rfind(b"\n", 0, match.start()) + 1
        if not source[start : match.start()].strip():
            alone.append((out[-1], start, match.end()))
    _cover(source, alone)
    return out


def _cover(source: bytes, alone: list[tuple[Suppression, int, int]]) -> None:
    """A comment on its own stands for the next line that is neither blank nor a comment.

    From the last to the first: comments that follow each other stand for one line, and no line is looked at twice.
    """
    below, covered = len(source), 0
    for suppression, start, end in reversed(alone):
        at = source.find(b"\n", end) + 1
        line = suppression.line
        while 0 < at < below:
            stop = source.find(b"\n", at)
            line += 1
            stripped = source[at : len(source) if stop < 0 else stop].strip()
            if stripped and not stripped.startswith((b"//", b"#")):
                covered = line
                break
            at = stop + 1
        suppression.covers = covered or suppression.line + 1
        below = start


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
