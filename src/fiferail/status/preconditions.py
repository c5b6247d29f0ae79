"""The `test` operations that make a patch safe: what was read and what will be overwritten must still be as the snapshot has it.

Mirrors how the server evaluates them (docs/protocol): a failed test refuses the whole patch; null passes for what is absent, as
long as its parent is there; values are compared by their bytes in Go's encoding; a list that contains null must not be tested at
all, because the server panics. Presence has tests of its own, which lock nothing below:

    a map           test a member that nobody has for null: refused where the map is missing or something else
    a list          append an entry and remove it again: refused where there is no list
    one of either   move the first entry, or a member, to where it is: refused where it is not there

Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FiferailError
from ..objects.paths import Key, Path, index_of, outermost, token
from ..objects.tree import ABSENT, Json
from .reads import Look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .shapes import Shapes

#: A member that no status has: testing it for null tells that its map is there.
NOBODY = "fiferail.dev~1nobody"


class Untestable(Exception):
    """A value that no `test` can hold; the resourceVersion stands for it."""


def of_object(snapshot: Json) -> list[Json]:
    """This very object, not a later one of the same name."""
    return [{"op": "test", "path": "/metadata/uid", "value": snapshot["metadata"]["uid"]}]


def of_version(snapshot: Json) -> list[Json]:
    """This very version of the object."""
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version_of(snapshot)}]


def version_of(snapshot: Json) -> str:
    """The resourceVersion; an object without one cannot be locked."""
    version: str | None = snapshot["metadata"].get("resourceVersion")
    if not version:
        raise FiferailError("expected an object with metadata.resourceVersion, got one without: pass the object as the server returned it")
    return version


def of_paths(snapshot: Json, reads: Mapping[Path, Look], written: Iterable[Path], appended: Iterable[Path], shapes: Shapes) -> list[Json]:
    """One test per path, none twice. `appended` are entries that the server itself keeps unique: they, and what was looked for in
    them, need no test of absence."""
    free = set(appended)
    wanted = [*(path for path, look in reads.items() if look is Look.VALUE), *written]
    if free:
        wanted = [p for p in wanted if p not in free and not any(p[:length] in free for length in range(len(p)))]
    tests: dict[str, Json] = {}
    for path in outermost(wanted):
        for at, value in _tests(snapshot, path, shapes):
            tests.setdefault(at, value)
    found: list[Json] = [{"op": "test", "path": at, "value": value} for at, value in tests.items()]
    looks = [(path, look) for path, look in reads.items() if look is not Look.VALUE]
    for path, look in looks:
        found += _presence(snapshot, path, look, shapes, tests)
    return found


def _presence(snapshot: Json, path: Path, look: Look, shapes: Shapes, tests: Mapping[str, Json]) -> list[Json]:
    """What tells that a container is there. Nothing where a test at it, or below it, tells that already."""
    above, at, value = _place(snapshot, path, shapes)
    if any(where == at or where.startswith(f"{at}/") for where in tests):
        return []
    keys: list[Json] = [{"op": "test", "path": where, "value": held} for where, held in above if where not in tests]
    if not isinstance(value, (dict, list)):
        return [*keys, {"op": "test", "path": at, "value": _testable(value)}]
    if look is Look.FILLED and value:
        one = at + token(0 if isinstance(value, list) else next(iter(value)))
        return [*keys, {"op": "move", "from": one, "path": one}]
    if isinstance(value, dict):
        return [*keys, {"op": "test", "path": f"{at}/{NOBODY}", "value": None}]
    return [*keys, {"op": "add", "path": f"{at}/-", "value": None}, {"op": "remove", "path": f"{at}/-1"}]


def _tests(snapshot: Json, path: Path, shapes: Shapes) -> list[tuple[str, Json]]:
    above, at, value = _place(snapshot, path, shapes)
    return [*above, (at, _testable(value))]


def _place(snapshot: Json, path: Path, shapes: Shapes) -> tuple[list[tuple[str, Json]], str, Json]:
    """Where the path leads in this snapshot, what stands there, and the keys of the entries on the way. A path that ends early (its
    parent is missing, its entry is not there) leads to what would have to change for it to exist."""
    tree, at = snapshot, ""
    keys: list[tuple[str, Json]] = []
    for depth, step in enumerate(path):
        if isinstance(step, str):
            if not isinstance(tree, dict):
                return keys, at, tree
            tree, at = tree.get(step), at + token(step)
            if tree is None:
                return keys, at, None
            continue
        index = index_of(tree, step) if isinstance(step, Key) and shapes.keys(path[:depth], tree) is not None else None
        if index is None:
            return keys, at, tree
        tree, at = tree[index], at + token(index)
        if isinstance(step, Key) and depth + 1 < len(path):
            keys += [(at + token(name), value) for name, value in step.fields]
    return keys, at, tree


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
