"""Fixes: small edits at known places, everything else byte for byte as it was.

Called by the command line. Safe fixes change no behaviour but the one that the rule is about; unsafe ones may make an error visible that
nobody handles yet. What is written stays formatted as gofmt would, keeps its byte order mark and line endings, and a second run finds
nothing more to fix. A file is replaced whole or left as it is; one that cannot be written does not keep the others from it.
"""

from __future__ import annotations

import ast
import codecs
import difflib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fiferail.audit import files
from fiferail.audit.quoting import inner, printable

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Report

_MERGE = re.compile(rb"(\b\w+\.)?\b(MergeFrom|MergeFromWithOptions|StrategicMergeFrom)\(")
_LOCK = b"MergeFromWithOptimisticLock{}"


_GIANT = 8_000_000


@dataclass(slots=True)
class Change:
    """One file before and after. `problem` says why it was not written; empty for one that was, or that nobody asked to write."""

    file: str
    before: bytes
    after: bytes
    count: int
    problem: str = ""

    def diff(self) -> str:
        """A unified diff that `git apply` takes, once it is encoded with `surrogateescape`."""
        old, new = _lines(self.before), _lines(self.after)
        shown = difflib.unified_diff(old, new, _quoted(f"a/{self.file}"), _quoted(f"b/{self.file}"))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shown)


def _lines(data: bytes) -> list[str]:
    """Lines as a patch counts them: a form feed or a lone carriage return ends none. Bytes that are not UTF-8 stay what they are."""
    text = data.decode("utf-8", "surrogateescape")
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _quoted(name: str) -> str:
    """A name in a patch, quoted as git quotes it where it has to."""
    return name if printable(name) == name and '"' not in name and "\\" not in name else f'"{inner(name)}"'


@dataclass(slots=True)
class _Edits:
    """The edits of one file. `mark` is its byte order mark, which is no part of the source."""

    source: bytes
    mark: bytes = b""
    spans: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def applied(self) -> bytes:
        out = self.source
        for (start, end), text in sorted(self.spans.items(), reverse=True):
            out = out[:start] + text + out[end:]
        return out

    def line_end(self, position: int) -> bytes:
        """How the line before a position ends: as its neighbours do."""
        end = self.source.rfind(b"\n", 0, position)
        return b"\r\n" if end > 0 and self.source[end - 1 : end] == b"\r" else b"\n"


class _Edited:
    """The files of a report that are being edited, and those that could not be."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.edits: dict[str, _Edits] = {}
        self.problems: dict[str, str] = {}

    def of(self, file: str) -> _Edits:
        """The edits of a file; edits of one that cannot be read are never applied."""
        if file not in self.edits:
            self.edits[file] = self._read(file)
        return self.edits[file]

    def _read(self, file: str) -> _Edits:
        try:
            self._check(file)
            data = files.read(os.path.join(self.root, file), _GIANT)
        except (files.Unreadable, files.Unwritable) as problem:
            self.problems[file] = str(problem)
            return _Edits(b"")
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self.problems[file] = "is in UTF-16: change it by hand"
            return _Edits(b"")
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        return _Edits(data[len(mark) :], mark)

    def write(self, file: str, data: bytes) -> str:
        """Replace a file; why not, where that cannot be done."""
        try:
            self._check(file)
            files.write(os.path.join(self.root, file), data)
        except files.Unwritable as problem:
            return str(problem)
        return ""

    def _check(self, file: str) -> None:
        if not files.inside(os.path.join(self.root, file), [os.path.realpath(self.root)]):
            raise files.Unwritable("is a link that leaves the audited directory")


def mend(report: Report, *, unsafe: bool = False, write: bool = True) -> list[Change]:
    """The changes of every finding that can be fixed, one per file; written to disk when asked.

    A file that cannot be read again or written is a `Change` with a `problem`; all others are done first.
    """
    edited = _Edited(report.root)
    for finding in report.findings:
        if finding.baselined or not finding.fixable or (finding.fixable == "unsafe" and not unsafe):
            continue
        _edit(finding, edited)
    changes = []
    for file, edits in sorted(edited.edits.items()):
        after = edits.applied()
        if after != edits.source:
            change = Change(file, edits.mark + edits.source, edits.mark + after, len({start for start, _ in edits.spans}))
            change.problem = edited.write(file, change.after) if write else ""
            changes.append(change)
    return changes + [Change(file, b"", b"", 0, problem) for file, problem in sorted(edited.problems.items())]


def _edit(finding: Finding, edited: _Edited) -> None:
    if finding.code in ("FR002", "FR003"):
        for base in {site.base for site in finding.sites if site.base}:
            file, _, line = base.rpartition(":")
            _lock(edited.of(file), int(line))
    elif finding.code == "FR013":
        _drop_line(edited.of(finding.places[0].file), finding.places[0].line)
    elif finding.code == "FR017":
        for place in finding.places:
            _content_type(edited.of(place.file), place.line)


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
        edits.spans[(at, at)] = edits.line_end(at) + indent + package + _LOCK + b","
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
    """Remove the line of a marker, if it is still there."""
    start = _offset(edits.source, line)
    end = edits.source.find(b"\n", start)
    end = len(edits.source) if end < 0 else end + 1
    if b"+kubebuilder:rbac" in edits.source[start:end]:
        edits.spans[(start, end)] = b""


def _content_type(edits: _Edits, line: int) -> None:
    """Adds the content type to the patch call that starts on a line."""
    try:
        tree = ast.parse(edits.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
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
            edits.spans[(len(inside), len(inside))] = b" " + text if alone else edits.line_end(len(inside)) + indent + text + b","
        else:
            edits.spans[(len(inside), len(inside))] = b", " + text
        return


def _is_list(node: ast.Call) -> bool:
    body = next((keyword.value for keyword in node.keywords if keyword.arg == "body"), node.args[-1] if node.args else None)
    return isinstance(body, (ast.List, ast.ListComp))
