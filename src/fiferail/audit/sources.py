"""Which files are read, and why others are not.

Called by `run`. Walks the given paths without following a link twice, leaves out vendored trees, tests and generated code (unless asked
for), and says in one line
each what was skipped because it could not be read. It never raises for a bad file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from fiferail.audit.model import Skipped

_PRUNED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".terraform", ".idea"}
_VENDORED = {"vendor", "third_party"}
_TESTS = {"test", "tests", "testdata", "testing", "testutil", "testutils", "e2e"}
_GIANT = 4_000_000
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


def collect(paths: list[str], *, exclude: tuple[str, ...] = (), roles: list[str] | None = None) -> Sources:
    """Reads everything under the paths. Names are relative to the common directory of the paths."""
    absolute = [os.path.abspath(path) for path in paths]
    existing = [path for path in absolute if os.path.exists(path)]
    root = _root(existing)
    sources = Sources(root)
    for path in absolute:
        if path not in existing:
            sources.skipped.append(Skipped(path, "does not exist"))
    excluded = re.compile("|".join(f"(?:{pattern})" for pattern in exclude)) if exclude else None
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


def _walk(top: str, sources: Sources, seen: set[tuple[int, int]], excluded: re.Pattern[str] | None) -> None:
    below = os.path.relpath(top, sources.root)
    stack = [(top, "" if below == "." else below + os.sep)]
    while stack:
        directory, prefix = stack.pop()
        try:
            known = os.stat(directory)
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as problem:
            sources.skipped.append(Skipped(os.path.relpath(directory, sources.root), f"cannot be listed: {problem.strerror}"))
            continue
        identity = (known.st_dev, known.st_ino)
        if identity in seen:
            sources.skipped.append(Skipped(os.path.relpath(directory, sources.root), "a link to a directory that was already read"))
            continue
        seen.add(identity)
        for entry in entries:
            name = entry.name
            relative = prefix + name
            if excluded is not None and excluded.search(relative):
                continue
            try:
                is_directory = entry.is_dir()
            except OSError:
                continue
            if is_directory:
                if name in _PRUNED:
                    continue
                if name in _VENDORED:
                    sources.skipped.append(Skipped(relative, "vendored"))
                    continue
                stack.append((entry.path, relative + os.sep))
            elif name.endswith((".go", ".py")) or name == "go.mod":
                _take(entry.path, relative, sources, name)


def _take(path: str, relative: str, sources: Sources, name: str) -> None:
    try:
        with open(path, "rb") as handle:
            data = handle.read()
    except OSError as problem:
        sources.skipped.append(Skipped(relative, f"cannot be read: {problem.strerror}"))
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


def _decodable(data: bytes, relative: str, sources: Sources) -> bytes | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            sources.skipped.append(Skipped(relative, "UTF-16 that does not decode"))
            return None
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if b"\0" in data[:4096]:
        sources.skipped.append(Skipped(relative, "binary, not source"))
        return None
    if len(data) > _GIANT:
        sources.skipped.append(Skipped(relative, f"{len(data) // 1_000_000} MB, over the limit of {_GIANT // 1_000_000} MB"))
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
                with open(candidate, "rb") as handle:
                    match = _MODULE.search(handle.read())
            except OSError:
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
        try:
            with open(one, "rb") as handle:
                sources.yaml[os.path.relpath(one, sources.root)] = handle.read()
        except OSError as problem:
            sources.skipped.append(Skipped(one, f"cannot be read: {problem.strerror}"))
