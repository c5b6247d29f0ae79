"""Duplicates in lists of type set and map. Called by the API server after the schema's own validation; changes nothing.

An update is judged only when the old object had no duplicate anywhere: `duplicates_introduced`. Mirrors apiextensions'
schema/listtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fielderrors import FieldError, duplicate, invalid
from ..tree import ABSENT, Absent, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model import Schema


def duplicates(tree: Json, schema: Schema) -> list[FieldError]:
    """Every second occurrence in a set or map list of an object."""
    found: list[FieldError] = []
    if _has_unique_lists(schema):
        _walk(tree, schema, "", ABSENT, found)
    return found


def duplicates_introduced(new: Json, old: Json, schema: Schema) -> list[FieldError]:
    """The duplicates of the new object, unless the old one already had some: then none of its lists is checked."""
    if not _has_unique_lists(schema):
        return []
    # Lists that the update shares with the old object count only if the old one is without duplicates, and then they are too.
    found: list[FieldError] = []
    _walk(new, schema, "", old, found)
    return [] if found and duplicates(old, schema) else found


def _has_unique_lists(schema: Schema) -> bool:
    if schema.uniques is None:
        schema.uniques = False
        children = [*schema.properties.values(), *(child for child in (schema.items, schema.additional) if child is not None)]
        schema.uniques = schema.list_type in ("set", "map") or any(map(_has_unique_lists, children))
    return schema.uniques


def _walk(tree: Json, schema: Schema, path: str, known: Json | Absent, found: list[FieldError]) -> None:
    if tree is known:
        return
    if type(tree) is dict:
        before = known if type(known) is dict else {}
        additional = None if schema.additional_any else schema.additional
        if additional is not None and _has_unique_lists(additional):
            for name, member in tree.items():
                _walk(member, additional, f"{path}[{name}]", before.get(name, ABSENT), found)
        for name, member in tree.items():
            if member is before.get(name, ABSENT):
                continue
            child = schema.properties.get(name)
            if child is not None and _has_unique_lists(child):
                _walk(member, child, f"{path}.{name}" if path else name, before.get(name, ABSENT), found)
    elif type(tree) is list:
        _walk_list(tree, schema, path, found)


def _walk_list(tree: list[Json], schema: Schema, path: str, found: list[FieldError]) -> None:
    if schema.list_type == "set":
        found += [duplicate(f"{path}[{index}]", tree[index]) for index in _repeated(tree)]
    elif schema.list_type == "map" and not _differ_by_text(tree, schema.list_map_keys):
        found += _repeated_keys(tree, schema, path)
    if schema.items is not None and _has_unique_lists(schema.items):
        for index, entry in enumerate(tree):
            _walk(entry, schema.items, f"{path}[{index}]", ABSENT, found)


def _differ_by_text(entries: list[Json], keys: tuple[str, ...]) -> bool:
    """The usual case, quickly: one key, all texts, no two the same."""
    if len(keys) != 1:
        return False
    (key,) = keys
    return len({text for entry in entries if type(entry) is dict and type(text := entry.get(key)) is str}) == len(entries)


def _repeated_keys(entries: list[Json], schema: Schema, path: str) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        if entry is not None and type(entry) is not dict:
            yield invalid(f"{path}[{index}]", entry, "must be an object for an array of list-type map")
            return
    keys = [{name: entry[name] for name in schema.list_map_keys if name in entry} if entry is not None else {} for entry in entries]
    for index in _repeated(keys):
        yield duplicate(f"{path}[{index}]", keys[index])


def _repeated(values: list[Json]) -> list[int]:
    """Where a value stands for the second time; further times are not reported."""
    if len(values) < 2:
        return []
    seen: dict[Json, int] = {}
    found = []
    for index, value in enumerate(values):
        key = _identity(value)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            found.append(index)
    return found


def _identity(value: Json) -> Json:
    """Something hashable that is equal exactly when the values are: a scalar with its type, a compound as its JSON."""
    kind = type(value)
    if kind is dict and len(value) == 1:
        ((name, only),) = value.items()
        if type(only) is str:
            return (name, only)
    if kind is dict or kind is list:
        from ..gojson import encode

        return encode(value)
    return (kind, value)
