"""Who wrote a field, as far as managedFields can tell. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Key, Path, Step, Value
from ..objects.tree import ABSENT, Json, lookup, same

if TYPE_CHECKING:
    from collections.abc import Iterator


def owners(obj: Json, path: Path) -> list[str]:
    """The managers that own the path or something below it, the latest writer first."""
    found = _owning(obj, path)
    found.sort(key=lambda entry: str(entry.get("time") or ""), reverse=True)
    return [entry.get("manager", "") for entry in found]


def last_writer(obj: Json, path: Path) -> str | None:
    """The manager that wrote the path last; None when nobody owns it, or when several wrote in the same second."""
    entries = _owning(obj, path)
    if not entries:
        return None
    latest = max(str(entry.get("time") or "") for entry in entries)
    names = {entry.get("manager", "") for entry in entries if str(entry.get("time") or "") == latest}
    return names.pop() if len(names) == 1 else None


def _owning(obj: Json, path: Path) -> list[Json]:
    """The entries that own the path. An atomic value is owned by who owns it as a leaf, with everything below; but a map of which others
    own members is not atomic: who owns no more than the map itself has no member of it."""
    entries = lookup(obj, ["metadata", "managedFields"])
    if not isinstance(entries, list):
        return []
    depths = [_depth(entry.get("fieldsV1") or {}, path) for entry in entries]
    deepest = max(depths, default=0)
    return [entry for entry, depth in zip(entries, depths, strict=True) if depth and depth == deepest]


def _depth(fields: Json, path: Path) -> int:
    """How many steps of the path lead to what is owned: all, or as many as lead to a leaf above it; 0 where it is not owned."""
    for depth, step in enumerate(path, 1):
        below = next(_below(fields, step), ABSENT)
        if below is ABSENT:
            return 0
        if not below:  # a leaf or an atomic value
            return depth
        fields = below
    return len(path)


def _below(fields: Json, step: Step) -> Iterator[Json]:
    if isinstance(step, str):
        if f"f:{step}" in fields:
            yield fields[f"f:{step}"]
        return
    for name, below in fields.items():
        kind, _, text = name.partition(":")
        if isinstance(step, Key) and kind == "k":
            key = msgspec.json.decode(text)
            if len(key) == len(step.fields) and all(same(key.get(part, ABSENT), value) for part, value in step.fields):
                yield below
        elif (isinstance(step, Value) and kind == "v" and same(msgspec.json.decode(text), step.value)) or (
            isinstance(step, int) and kind == "i" and text == str(step)
        ):
            yield below
