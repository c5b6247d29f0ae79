"""Mending source: small edits at known places, everything else byte for byte as it was.

Called by the command line. Safe fixes change no behaviour but the one that the rule is about; unsafe ones may make an error visible that
nobody handles yet. What
is written stays formatted as gofmt would, and a second run finds nothing more to mend.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Report

_MERGE = re.compile(rb"(\b\w+\.)?\b(MergeFrom|MergeFromWithOptions|StrategicMergeFrom)\(")
_LOCK = b"MergeFromWithOptimisticLock{}"


@dataclass(slots=True)
class Change:
    """One file before and after."""

    file: str
    before: bytes
    after: bytes
    count: int

    def diff(self) -> str:
        old = self.before.decode("utf-8", "replace").splitlines(keepends=True)
        new = self.after.decode("utf-8", "replace").splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, f"a/{self.file}", f"b/{self.file}"))


@dataclass(slots=True)
class _Edits:
    source: bytes
    spans: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def applied(self) -> bytes:
        out = self.source
        for (start, end), text in sorted(self.spans.items(), reverse=True):
            out = out[:start] + text + out[end:]
        return out


def mend(report: Report, *, unsafe: bool = False, write: bool = True) -> list[Change]:
    """The changes of every finding that can be mended, one per file; written to disk when asked."""
    files: dict[str, _Edits] = {}
    for finding in report.findings:
        if finding.baselined or not finding.fixable or (finding.fixable == "unsafe" and not unsafe):
            continue
        _edit(finding, report, files)
    changes = []
    for file, edits in sorted(files.items()):
        after = edits.applied()
        if after != edits.source:
            changes.append(Change(file, edits.source, after, len({start for start, _ in edits.spans})))
            if write:
                with open(os.path.join(report.root, file), "wb") as handle:
                    handle.write(after)
    return changes


def _edit(finding: Finding, report: Report, files: dict[str, _Edits]) -> None:
    if finding.code in ("FR002", "FR003"):
        for base in {site.base for site in finding.sites if site.base}:
            file, _, line = base.rpartition(":")
            _lock(_edits(file, report, files), int(line))
    elif finding.code == "FR013":
        _drop_line(_edits(finding.places[0].file, report, files), finding.places[0].line)
    elif finding.code == "FR017":
        for place in finding.places:
            _content_type(_edits(place.file, report, files), place.line)


def _edits(file: str, report: Report, files: dict[str, _Edits]) -> _Edits:
    if file not in files:
        with open(os.path.join(report.root, file), "rb") as handle:
            files[file] = _Edits(handle.read())
    return files[file]


def _lock(edits: _Edits, line: int) -> None:
    """client.MergeFrom(x) -> client.MergeFromWithOptions(x, client.MergeFromWithOptimisticLock{}). StrategicMergeFrom takes the option as
    it is."""
    source = edits.source
    start = _offset(source, line)
    match = _MERGE.search(source, start)
    if match is None or source.count(b"\n", start, match.start()) > 0:
        return
    close = _closing(source, match.end() - 1)
    if close < 0 or _LOCK in source[match.end() : close]:
        return
    package = match.group(1) or b""
    if match.group(2) == b"MergeFrom":
        edits.spans[(match.start(2), match.end(2))] = b"MergeFromWithOptions"
    inside = source[match.end() : close]
    if inside.rstrip().endswith(b","):
        # One argument a line: the option gets a line of its own, indented like the last one.
        last = inside.rstrip()
        indent = re.match(rb"[ \t]*", last[last.rfind(b"\n") + 1 :]).group(0)  # type: ignore[union-attr]
        at = match.end() + len(last)
        edits.spans[(at, at)] = b"\n" + indent + package + _LOCK + b","
    else:
        edits.spans[(close, close)] = b", " + package + _LOCK


def _closing(source: bytes, opening: int) -> int:
    """The parenthesis that closes the one at a position; text and comments are stepped over."""
    depth, position = 0, opening
    while position < len(source):
        byte = source[position : position + 1]
        if byte in b"\"'`":
            position = _end_of_text(source, position, byte)
        elif source[position : position + 2] == b"//":
            position = source.find(b"\n", position)
            if position < 0:
                return -1
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return -1


def _end_of_text(source: bytes, position: int, quote: bytes) -> int:
    position += 1
    while position < len(source) and source[position : position + 1] != quote:
        position += 2 if source[position : position + 1] == b"\\" and quote != b"`" else 1
    return position


def _offset(source: bytes, line: int) -> int:
    position = 0
    for _ in range(line - 1):
        position = source.find(b"\n", position) + 1
        if position == 0:
            return len(source)
    return position


def _drop_line(edits: _Edits, line: int) -> None:
    start = _offset(edits.source, line)
    end = edits.source.find(b"\n", start)
    edits.spans[(start, len(edits.source) if end < 0 else end + 1)] = b""


def _content_type(edits: _Edits, line: int) -> None:
    """Adds the content type to the patch call that starts on a line."""
    try:
        tree = ast.parse(edits.source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.Call)
            or node.lineno != line
            or not isinstance(node.func, ast.Attribute)
            or not node.func.attr.startswith("patch_")
        ):
            continue
        body = b"json-patch" if _is_list(node) else b"merge-patch"
        text = b'_content_type="application/' + body + b'+json"'
        close = _offset(edits.source, node.end_lineno or line) + (node.end_col_offset or 1) - 1
        if edits.source[close : close + 1] != b")":
            # Columns are counted in UTF-8: in a file of another encoding they may point elsewhere, and then nothing is changed.
            return
        inside = edits.source[:close].rstrip()
        if inside.endswith(b","):
            indent = re.match(rb"[ \t]*", inside[inside.rfind(b"\n") + 1 :]).group(0)  # type: ignore[union-attr]
            alone = edits.source[len(inside) : close].strip(b" \t") == b""
            edits.spans[(len(inside), len(inside))] = b" " + text if alone else b"\n" + indent + text + b","
        else:
            edits.spans[(len(inside), len(inside))] = b", " + text
        return


def _is_list(node: ast.Call) -> bool:
    body = next((keyword.value for keyword in node.keywords if keyword.arg == "body"), node.args[-1] if node.args else None)
    return isinstance(body, (ast.List, ast.ListComp))
