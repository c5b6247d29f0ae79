"""Which leaves a request meant to write, and with what value.

PUT: everything in its part of the object. Merge patch: its leaves; null means absence; an array means that array. JSON patch: the
paths of its operations, `test` being a precondition. Apply and strategic merge: the leaves given, and for apply also the absence of
what its manager had applied and now leaves out (`applied_before`). Used to tell what was carried along from what was meant; that
something changed at all is read off the object itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.fieldset import FieldSet
from ..objects.tree import ABSENT, Json, lookup
from .leaves import BOOKKEEPING, flat, key_names, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.paths import Path
    from .records import Attempt, Commit

_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


def asserted(record: Commit | Attempt, before: Json) -> dict[Path, Json]:
    """Path -> value (ABSENT for a removal)."""
    if record.verb == "delete" or record.body is None:
        return {}
    if record.content == "json":
        return dict(_operations(record.body, before))
    if record.content == "merge":
        return {path: value for path, value in _merged(record.body, ()) if not _is_kept_by_server(path)}
    part = _part(record.body, record.subresource)
    given = {path: value for path, value in flat(part) if not _is_directive(path) and not _is_kept_by_server(path)}
    if record.content == "strategic":
        return {path: ABSENT if value is None else value for path, value in given.items()}
    return given


def tested(record: Commit, before: Json) -> set[Path]:
    """What a JSON patch compared before it wrote: there it stood on the current value, whatever it had read."""
    if record.content != "json" or not isinstance(record.body, list):
        return set()
    tests = (operation for operation in record.body if isinstance(operation, dict) and operation.get("op") == "test")
    return {keyed(_steps(test["path"]), before) for test in tests if isinstance(test.get("path"), str)}


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


def named_version(body: Json, content: str) -> int | None:
    """The resourceVersion that a request names, as a lock or as a test."""
    if content == "json":
        operations = [o for o in body if isinstance(o, dict)] if isinstance(body, list) else []
        value = next((o.get("value") for o in operations if o.get("path") == "/metadata/resourceVersion"), None)
    else:
        value = lookup(body, ["metadata", "resourceVersion"])
    return int(value) if isinstance(value, str) and value.isdigit() else None


def _steps(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _part(body: Json, subresource: str) -> Json:
    """The part of an object that a write through this subresource can change."""
    if not isinstance(body, dict):
        return {}
    if subresource == "status":
        return {"status": body["status"]} if "status" in body else {}
    return {name: member for name, member in body.items() if name != "status"}


def _merged(patch: Json, at: Path) -> Iterator[tuple[Path, Json]]:
    if isinstance(patch, dict) and patch:
        for name, member in patch.items():
            yield from _merged(member, (*at, name))
    elif patch is None:
        yield at, ABSENT
    else:
        if isinstance(patch, list):
            yield at, patch  # an array means that array: what is not in it shall not be there
        yield from flat(patch, at)


def _operations(patch: Json, before: Json) -> Iterator[tuple[Path, Json]]:
    for operation in patch if isinstance(patch, list) else []:
        kind = operation.get("op") if isinstance(operation, dict) else "test"
        if kind == "test" or not isinstance(operation.get("path"), str):
            continue
        steps = _steps(operation["path"])
        if kind == "move" and isinstance(operation.get("from"), str):
            source = _steps(operation["from"])
            yield keyed(source, before), ABSENT
        if kind == "remove":
            yield keyed(steps, before), ABSENT
        else:
            value = operation.get("value")
            yield from flat(value, _entered(keyed(steps, before), value, steps, before))


def _entered(path: Path, value: Json, steps: list[str], before: Json) -> Path:
    """An appended entry is known by its key."""
    if steps and steps[-1] == "-":
        entries = lookup(before, _concrete(steps[:-1], before))
        names = key_names([value], entries if isinstance(entries, list) else ABSENT)
        if names is not None:
            return (*path[:-1], key_of(value, names))
    return path


def keyed(steps: list[str], before: Json) -> Path:
    """A JSON pointer as a path: an index becomes the key of the entry that stands there."""
    path: list[object] = []
    tree = before
    for step in steps:
        if isinstance(tree, list):
            index = int(step) if step.isdigit() else len(tree)
            entry = tree[index] if index < len(tree) else ABSENT
            names = key_names(tree)
            path.append(key_of(entry, names) if names and entry is not ABSENT else index)
            tree = entry
        else:
            path.append(step)
            tree = tree.get(step, ABSENT) if isinstance(tree, dict) else ABSENT
    return tuple(path)  # type: ignore[arg-type]


def _concrete(steps: list[str], before: Json) -> list[str | int]:
    found: list[str | int] = []
    tree = before
    for step in steps:
        concrete: str | int = int(step) if isinstance(tree, list) and step.isdigit() else step
        found.append(concrete)
        tree = lookup(tree, [concrete])
    return found


def _is_kept_by_server(path: Path) -> bool:
    return not path or path[0] in ("apiVersion", "kind") or (path[0] == "metadata" and path[-1] in BOOKKEEPING)


def _is_directive(path: Path) -> bool:
    return any(isinstance(step, str) and step.startswith(_DIRECTIVES) for step in path)
