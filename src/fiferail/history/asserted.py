"""Which leaves a request meant to write, with what value, and which part of the object it replaced as a whole.

PUT: everything in its part of the object. Merge patch: its leaves; null means absence; an array means that array. JSON patch: the
paths of its operations, `test` being a precondition. Apply and strategic merge: the leaves given, and for apply also the absence of
what its manager had applied and now leaves out (`applied_before`). Used to separate what was carried along from what was meant; that
something changed at all is read off the object itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..objects.fieldset import FieldSet
from ..objects.paths import find
from ..objects.tree import ABSENT, Json, lookup
from .keys import key_of
from .leaves import BOOKKEEPING, flat, list_key, same_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.paths import Path
    from .keys import Learned
    from .records import Attempt, Commit

_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


def asserted(record: Commit | Attempt, before: Json, learned: Learned | None = None) -> dict[Path, Json]:
    """Path -> value (ABSENT for a removal)."""
    if record.verb == "delete" or record.body is None:
        return {}
    if record.content == "json":
        return dict(_operations(record.body, before, learned))
    if record.content == "merge":
        return {path: value for path, value in _merged(record.body, (), learned) if not _is_kept_by_server(path)}
    part = part_of(record.body, record.subresource)
    given = {path: value for path, value in flat(part, (), learned) if not _is_directive(path) and not _is_kept_by_server(path)}
    if record.content == "strategic":
        return {path: ABSENT if value is None else value for path, value in given.items()}
    return given


def tested(record: Commit, before: Json, learned: Learned | None) -> set[Path]:
    """What a JSON patch compared before it wrote: there it stood on the current value, whatever it had read.

    A `test` behind an operation that changes the same path compares what the patch itself has put there, and guards nothing.
    """
    found: set[Path] = set()
    touched: list[list[str]] = []
    for operation in operations(record.body) if record.content == "json" else ():
        steps = _steps(operation["path"])
        if operation.get("op") != "test":
            touched.append(_touched(operation["op"], steps))
            if operation["op"] == "move":
                touched.append(_touched("remove", _steps(operation.get("from", ""))))
        elif not any(_overlap(steps, other) for other in touched):
            found.add(keyed(steps, before, learned))
    return found


def operations(patch: Json) -> list[dict[str, Any]]:
    """The operations of a JSON patch that are well formed, without those that only test presence.

    A list is there when `add /list/-` and then `remove /list/-1` pass; it has an entry when `move /list/0` onto itself passes.
    """
    found: list[dict[str, Any]] = []
    for operation in patch if isinstance(patch, list) else ():
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str) or not isinstance(operation.get("op"), str):
            continue
        kind, path = operation["op"], operation["path"]
        if kind == "move" and operation.get("from") == path:
            continue
        if kind == "remove" and path.endswith("/-1") and found and (found[-1]["op"], found[-1]["path"]) == ("add", path[:-1]):
            found.pop()
            continue
        found.append(operation)
    return found


def container_of(record: Commit, path: Path, learned: Learned | None = None) -> Path | None:
    """The part of the object around a path that the request replaced as a whole, or None. Only such a part can carry old values."""
    if record.content == "merge":
        array = _array_around(record.body, path)
        # An audit log does not tell a strategic merge patch from a merge patch: the other entries are still there after it.
        return array if array is None or _length(find(record.body, array)) == _length(find(record.after, array)) else None
    if record.content == "json":
        return _value_around(record, path, learned)
    if record.content == "strategic":
        array = _array_around(record.body, path)
        return array if array is not None and same_elements(find(record.body, array), find(record.after, array)) else None
    if record.content == "apply":
        array = _array_around(record.body, path)
        if array is not None and list_key(find(record.body, array), array, learned) is None:
            return array
        return () if find(record.body, path) is not ABSENT else None
    return () if record.verb == "update" else None


def applied_before(record: Commit, path: Path) -> bool:
    """Whether an apply removes the leaf by leaving it out: its manager had applied it before."""
    if record.content != "apply" or not isinstance(record.before, dict):
        return False
    for entry in (record.before.get("metadata") or {}).get("managedFields") or []:
        same_manager = entry.get("manager") == record.manager and entry.get("operation") == "Apply"
        if same_manager and (entry.get("subresource") or "") == record.subresource:
            owned = FieldSet.decode(entry.get("fieldsV1") or {})
            return any(owned.has(path[:length]) for length in range(1, len(path) + 1))
    return False


def names_directives(body: Json) -> bool:
    """Whether a strategic merge patch removes things by directive, so that it names less than it means."""
    if isinstance(body, dict):
        return any(name.startswith(_DIRECTIVES) or names_directives(member) for name, member in body.items())
    return isinstance(body, list) and any(map(names_directives, body))


def named_version(body: Json, content: str) -> int | None:
    """The resourceVersion that a request names, as a lock or as a test."""
    if content == "json":
        found = [o for o in body if isinstance(o, dict)] if isinstance(body, list) else []
        value = next((o.get("value") for o in found if o.get("path") == "/metadata/resourceVersion"), None)
    else:
        value = lookup(body, ["metadata", "resourceVersion"])
    return int(value) if isinstance(value, str) and value.isdigit() else None


def part_of(body: Json, subresource: str) -> Json:
    """The part of an object that a write through this subresource can change."""
    if not isinstance(body, dict):
        return {}
    if subresource == "status":
        return {"status": body["status"]} if "status" in body else {}
    return {name: member for name, member in body.items() if name != "status"}


def keyed(steps: list[str], before: Json, learned: Learned | None = None) -> Path:
    """A JSON pointer as a path: an index becomes the key of the entry that stands there."""
    path: list[object] = []
    tree = before
    for step in steps:
        if isinstance(tree, list):
            index = _index(step, tree)
            entry = tree[index] if index < len(tree) else ABSENT
            names = list_key(tree, tuple(path), learned)  # type: ignore[arg-type]
            path.append(key_of(entry, names) if names and entry is not ABSENT else index)
            tree = entry
        else:
            path.append(step)
            tree = tree.get(step, ABSENT) if isinstance(tree, dict) else ABSENT
    return tuple(path)  # type: ignore[arg-type]


def _steps(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _index(step: str, entries: list[Json]) -> int:
    """Where a step of a pointer leads in a list. The server takes negative indices too; `-` is behind the last."""
    if not step.lstrip("-").isdigit():
        return len(entries)
    index = int(step)
    return index if index >= 0 else max(0, len(entries) + index)


def _touched(kind: str, steps: list[str]) -> list[str]:
    """What an operation may have changed: an entry that comes or goes moves the others, so it is the whole list then."""
    is_entry = bool(steps) and (steps[-1] == "-" or steps[-1].lstrip("-").isdigit())
    return steps[:-1] if kind != "replace" and is_entry else steps


def _overlap(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _length(entries: Json) -> int:
    return len(entries) if type(entries) is list else 0


def _array_around(body: Json, path: Path) -> Path | None:
    """The outermost array in a body at or above a path."""
    tree = body
    for length, step in enumerate(path):
        if type(tree) is list:
            return path[:length]
        if type(tree) is not dict or step not in tree:
            return None
        tree = tree[step]
    return path if type(tree) is list else None


def _value_around(record: Commit, path: Path, learned: Learned | None) -> Path | None:
    """The object or list that a JSON patch put at or above a path."""
    for operation in reversed(operations(record.body)):
        if operation["op"] in ("add", "replace") and isinstance(operation.get("value"), dict | list):
            steps = _steps(operation["path"])
            at = _entered(keyed(steps, record.before, learned), operation["value"], steps, record.before, learned)
            if path[: len(at)] == at:
                return at
    return None


def _merged(patch: Json, at: Path, learned: Learned | None) -> Iterator[tuple[Path, Json]]:
    if isinstance(patch, dict) and patch:
        for name, member in patch.items():
            yield from _merged(member, (*at, name), learned)
    elif patch is None:
        yield at, ABSENT
    else:
        if isinstance(patch, list):
            yield at, patch  # an array means that array: what is not in it shall not be there
        yield from flat(patch, at, learned)


def _operations(patch: Json, before: Json, learned: Learned | None) -> Iterator[tuple[Path, Json]]:
    for operation in operations(patch):
        kind, steps = operation["op"], _steps(operation["path"])
        if kind == "test":
            continue
        if kind == "move" and isinstance(operation.get("from"), str):
            yield keyed(_steps(operation["from"]), before, learned), ABSENT
        if kind == "remove":
            yield keyed(steps, before, learned), ABSENT
        else:
            value = operation.get("value")
            yield from flat(value, _entered(keyed(steps, before, learned), value, steps, before, learned), learned)


def _entered(path: Path, value: Json, steps: list[str], before: Json, learned: Learned | None) -> Path:
    """An appended entry is known by its key."""
    if steps and steps[-1] == "-":
        entries = lookup(before, _concrete(steps[:-1], before))
        together = [*(entries if isinstance(entries, list) else ()), value]
        names = list_key(together, path[:-1], learned) or list_key([value], path[:-1], learned)
        if names is not None:
            return (*path[:-1], key_of(value, names))
    return path


def _concrete(steps: list[str], before: Json) -> list[str | int]:
    found: list[str | int] = []
    tree = before
    for step in steps:
        concrete: str | int = _index(step, tree) if isinstance(tree, list) else step
        found.append(concrete)
        tree = lookup(tree, [concrete])
    return found


def _is_kept_by_server(path: Path) -> bool:
    return not path or path[0] in ("apiVersion", "kind") or (path[0] == "metadata" and path[-1] in BOOKKEEPING)


def _is_directive(path: Path) -> bool:
    return any(isinstance(step, str) and step.startswith(_DIRECTIVES) for step in path)
