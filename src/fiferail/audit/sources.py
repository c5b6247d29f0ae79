"""Which files are read, and why others are not.

Called by `run`. Walks the given paths without following a link twice or out of them, leaves out vendored trees, tests and generated code
(unless asked for), and says in one line each what was skipped because it could not be read. Only regular files are read, each up to a
limit. It never raises for a bad file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fiferail.audit import files
from fiferail.audit.model import Skipped
from fiferail.audit.patterns import matcher

if TYPE_CHECKING:
    from collections.abc import Callable

_PRUNED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".terraform", ".idea"}
_VENDORED = {"vendor", "third_party"}
_TESTS = {"test", "tests", "testdata", "testing", "testutil", "testutils", "e2e"}
_GIANT = 4_000_000
_GIANT_YAML = 16_000_000
#: All files together: what is read stays in memory.
_ALL = 2_000_000_000
_MODULE = re.compile(rb"^module\s+\"?([^\s\"]+)", re.M)


@dataclass(slots=True)
class Sources:
    """What was found: bytes by path relative to the root."""

    root: str
    go: dict[str, bytes] = field(default_factory=dict)
    python: dict[str, bytes] = field(default_factory=dict)
    yaml: dict[str, bytes] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    tests: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    read: int = 0
    #: The given paths with their links followed: nothing outside of them is read.
    tops: list[str] = field(default_factory=list)

    def skip(self, path: str, why: str) -> None:
        """Note a path that is not read."""
        self.skipped.append(Skipped(path, why))


def collect(paths: list[str], *, exclude: tuple[str, ...] = (), roles: list[str] | None = None) -> Sources:
    """Reads everything under the paths. Names are relative to the common directory of the paths."""
    absolute = [os.path.abspath(path) for path in paths]
    existing = [path for path in absolute if os.path.exists(path)]
    root = _root(existing)
    sources = Sources(root, tops=[os.path.realpath(path) for path in existing])
    for path in absolute:
        if path not in existing:
            sources.skip(path, "does not exist")
    excluded = matcher(exclude) if exclude else None
    seen: set[tuple[int, int]] = set()
    for path in existing:
        if os.path.isdir(path):
            _walk(path, sources, seen, excluded)
        else:
            _take(path, os.path.relpath(path, root), sources, os.path.basename(path))
    _modules_above(root, sources)
    for role in roles or []:
        _roles(role, sources)
    return sources


def _root(existing: list[str]) -> str:
    if not existing:
        return os.getcwd()
    if len(existing) == 1:
        return existing[0] if os.path.isdir(existing[0]) else os.path.dirname(existing[0])
    common = os.path.commonpath(existing)
    return common if os.path.isdir(common) else os.path.dirname(common)


def _walk(top: str, sources: Sources, seen: set[tuple[int, int]], excluded: Callable[[str], bool] | None) -> None:
    below = os.path.relpath(top, sources.root)
    stack = [(top, "" if below == "." else below + os.sep)]
    while stack:
        directory, prefix = stack.pop()
        for entry in _entries(directory, prefix, sources, seen):
            relative = prefix + entry.name
            if excluded is not None and excluded(relative):
                continue
            is_directory = _is_directory(entry)
            if is_directory and entry.name in _PRUNED:
                continue
            if not is_directory and not entry.name.endswith((".go", ".py")) and entry.name != "go.mod":
                continue
            why = _refused(entry, sources, is_directory)
            if why:
                sources.skip(relative, why)
            elif is_directory:
                stack.append((entry.path, relative + os.sep))
            else:
                _take(entry.path, relative, sources, entry.name)


def _entries(directory: str, prefix: str, sources: Sources, seen: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    """What is in a directory, in order; nothing, and a line that says why, where it cannot be listed or already was."""
    name = prefix.rstrip(os.sep) or "."
    try:
        known = os.stat(directory)
        if (known.st_dev, known.st_ino) in seen:
            sources.skip(name, "a link to a directory that was already read")
            return []
        seen.add((known.st_dev, known.st_ino))
        with os.scandir(directory) as listed:
            return sorted(listed, key=lambda entry: entry.name)
    except OSError as problem:
        sources.skip(name, f"cannot be listed: {files.reason(problem)}")
        return []


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _refused(entry: os.DirEntry[str], sources: Sources, is_directory: bool) -> str:
    """Why an entry of the tree is not read, before it is opened."""
    if not _is_text(entry.name):
        return "its name is not UTF-8"
    if is_directory and entry.name in _VENDORED:
        return "vendored"
    if entry.is_symlink() and not files.inside(entry.path, sources.tops):
        return "a link that leaves the audited paths"
    return ""


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _take(path: str, relative: str, sources: Sources, name: str) -> None:
    data = _read(path, relative, sources)
    if data is None:
        return
    if name == "go.mod":
        match = _MODULE.search(data)
        if match:
            directory = os.path.dirname(relative)
            sources.modules[directory or "."] = match.group(1).decode("utf-8", "replace")
        return
    decoded = _decodable(data, relative, sources)
    if decoded is None:
        return
    (sources.go if name.endswith(".go") else sources.python)[relative] = decoded
    if is_test(relative):
        sources.tests.add(relative)


def _read(path: str, relative: str, sources: Sources, limit: int = _GIANT) -> bytes | None:
    """The bytes of a file, or nothing and a line that says why."""
    try:
        data = files.read(path, limit)
    except files.Unreadable as problem:
        sources.skip(relative, str(problem))
        return None
    sources.read += len(data)
    if sources.read > _ALL:
        sources.skip(relative, f"not read: all files together are over the limit of {_ALL // 1_000_000} MB")
        return None
    return data


def _decodable(data: bytes, relative: str, sources: Sources) -> bytes | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            sources.skip(relative, "UTF-16 that does not decode")
            return None
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if b"\0" in data[:4096]:
        sources.skip(relative, "binary, not source")
        return None
    return data


def is_test(relative: str) -> bool:
    """Test code by Go's and Python's own conventions."""
    parts = relative.split(os.sep)
    name = parts[-1]
    if name.endswith(("_test.go", "_test.py")) or name.startswith("test_") or name == "conftest.py":
        return True
    return any(part in _TESTS for part in parts[:-1])


def _modules_above(root: str, sources: Sources) -> None:
    """A path inside a module: the module file may be above it."""
    if any(directory == "." for directory in sources.modules):
        return
    directory, below = os.path.dirname(root), [os.path.basename(root)]
    for _ in range(12):
        candidate = os.path.join(directory, "go.mod")
        if os.path.isfile(candidate):
            try:
                match = _MODULE.search(files.read(candidate, _GIANT))
            except files.Unreadable:
                return
            if match:
                sources.modules["."] = "/".join([match.group(1).decode("utf-8", "replace"), *reversed(below)])
            return
        parent = os.path.dirname(directory)
        if parent == directory or os.path.isdir(os.path.join(directory, ".git")):
            return
        below.append(os.path.basename(directory))
        directory = parent


def _roles(path: str, sources: Sources) -> None:
    paths = [path]
    if os.path.isdir(path):
        paths = [
            os.path.join(directory, name)
            for directory, _, names in os.walk(path)
            for name in sorted(names)
            if name.endswith((".yaml", ".yml"))
        ]
    for one in paths:
        name = os.path.relpath(one, sources.root)
        if not _is_text(name):
            sources.skip(name, "its name is not UTF-8")
            continue
        data = _read(one, name, sources, _GIANT_YAML)
        if data is not None:
            sources.yaml[name] = data
