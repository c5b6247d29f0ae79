"""The `test` operations that make a patch safe: what was read and what will be overwritten must still be as the snapshot has it.

Mirrors how the server evaluates them (SEMANTICS in docs/protocol): a failed test refuses the whole patch; null passes for what
is absent, as long as its parent is there; values are compared by their bytes in Go's encoding; a list that contains null
must not be tested at all, because the server does not survive it. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Key, Path, index_of, outermost, token
from ..objects.tree import ABSENT, Json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .shapes import Shapes


class Untestable(Exception):
    """A value that no `test` can hold; the resourceVersion stands for it."""


def of_object(snapshot: Json) -> list[Json]:
    """This very object, not a later one of the same name."""
    return [{"op": "test", "path": "/metadata/uid", "value": snapshot["metadata"]["uid"]}]


def of_version(snapshot: Json) -> list[Json]:
    """This very version of the object."""
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": snapshot["metadata"]["resourceVersion"]}]


def of_paths(snapshot: Json, paths: Iterable[Path], appended: Iterable[Path], shapes: Shapes) -> list[Json]:
    """One test per path, none twice. `appended` are entries that the server itself keeps unique: they, and what was looked for in
    them, need no test of absence."""
    free = set(appended)
    wanted = paths if not free else [p for p in paths if p not in free and not any(p[:length] in free for length in range(len(p)))]
    tests: dict[str, Json] = {}
    for path in outermost(wanted):
        for at, value in _tests(snapshot, path, shapes):
            tests.setdefault(at, value)
    return [{"op": "test", "path": at, "value": value} for at, value in tests.items()]


def _tests(snapshot: Json, path: Path, shapes: Shapes) -> list[tuple[str, Json]]:
    tree, at = snapshot, ""
    tests: list[tuple[str, Json]] = []
    for depth, step in enumerate(path):
        if isinstance(step, str):
            if not isinstance(tree, dict):
                return [*tests, (at, _testable(tree))]
            tree, at = tree.get(step), at + token(step)
            if tree is None:
                return [*tests, (at, None)]
            continue
        index = index_of(tree, step) if isinstance(step, Key) and shapes.keys(path[:depth], tree) is not None else None
        if index is None:
            return [*tests, (at, _testable(tree))]
        tree, at = tree[index], at + token(index)
        if isinstance(step, Key) and depth + 1 < len(path):
            tests += [(at + token(name), value) for name, value in step.fields]
    return [*tests, (at, _testable(tree))]


def _testable(value: Json) -> Json:
    if value is ABSENT:
        return None
    if _has_null_in_list(value):
        raise Untestable
    return value


def _has_null_in_list(value: Json) -> bool:
    if type(value) is dict:
        for member in value.values():
            if (type(member) is dict or type(member) is list) and _has_null_in_list(member):
                return True
    elif type(value) is list:
        return any(member is None or _has_null_in_list(member) for member in value)
    return False
