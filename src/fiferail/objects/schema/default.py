"""Fills in defaults, and drops nulls that may not stand, as the CRD handler does after pruning.

Called on each write and each read of a custom resource. The tree is not changed: where nothing is missing the same tree comes
back. Defaults are shared by every object that gets them, which is safe because trees are immutable. Mirrors apiextensions'
schema/defaulting.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from ..tree import ABSENT, Absent, Json, counterparts

if TYPE_CHECKING:
    from .model import Schema


def default(tree: Json, schema: Schema | None, *, clean: Json | Absent = ABSENT) -> Json:
    """The tree with every default filled in. What is shared with `clean`, a tree defaulted before under the same schema, is not walked."""
    if schema is None or tree is clean or not has_defaults(schema):
        return tree
    if type(tree) is dict:
        return _defaulted_object(tree, schema, clean)
    if type(tree) is list and schema.items is not None:
        return _defaulted_list(tree, schema.items, clean)
    return tree


def drop_nulls(tree: Json, schema: Schema | None, *, clean: Json | Absent = ABSENT) -> Json:
    """The tree without members that are null although their schema is neither nullable nor has a default. Runs before `default`."""
    if schema is None or tree is clean:
        return tree
    if type(tree) is dict:
        known = clean if type(clean) is dict else {}
        changed: dict[str, Json | Absent] = {}
        for name, member in tree.items():
            if member is known.get(name, ABSENT):
                continue
            child = _child(schema, name)
            if member is None:
                if child is not None and not child.nullable and child.default is ABSENT:
                    changed[name] = ABSENT
            elif child is not None and (type(member) is dict or type(member) is list):
                kept = drop_nulls(member, child, clean=known.get(name, ABSENT))
                if kept is not member:
                    changed[name] = kept
        if not changed:
            return tree
        return {name: member for name, old in tree.items() if (member := changed.get(name, old)) is not ABSENT}
    if type(tree) is list and schema.items is not None:
        items = schema.items
        entries = [
            entry if entry is known else drop_nulls(entry, items, clean=known)
            for entry, known in zip(tree, counterparts(tree, clean), strict=True)
        ]
        return tree if all(map(is_, entries, tree)) else entries
    return tree


def _child(schema: Schema, name: str) -> Schema | None:
    child = schema.properties.get(name)
    if child is None and not schema.additional_any:
        return schema.additional
    return child


def _defaulted_object(tree: dict[str, Json], schema: Schema, clean: Json | Absent) -> dict[str, Json]:
    known = clean if type(clean) is dict else {}
    changed: dict[str, Json] = {}
    for name, child in defaulted_members(schema):
        member = tree.get(name, ABSENT)
        if member is ABSENT or (member is None and not child.nullable):
            changed[name] = default(child.default, child)
    for name, member in tree.items():
        if name in changed or member is known.get(name, ABSENT):
            continue
        found = _child(schema, name)
        if found is None:
            continue
        if member is None and name not in schema.properties and not found.nullable and found.default is not ABSENT:
            member = found.default
        filled = default(member, found, clean=known.get(name, ABSENT)) if type(member) is dict or type(member) is list else member
        if filled is not tree[name]:
            changed[name] = filled
    return {**tree, **changed} if changed else tree


def _defaulted_list(tree: list[Json], items: Schema, clean: Json | Absent) -> list[Json]:
    filled = [
        entry if entry is known else _defaulted_entry(entry, items, known)
        for entry, known in zip(tree, counterparts(tree, clean), strict=True)
    ]
    return tree if all(map(is_, filled, tree)) else filled


def _defaulted_entry(entry: Json, items: Schema, clean: Json | Absent) -> Json:
    if entry is None and not items.nullable and items.default is not ABSENT:
        entry = items.default
    return default(entry, items, clean=clean)


def has_defaults(schema: Schema) -> bool:
    """Whether a default may be filled in anywhere in such a value; worked out once per schema."""
    if schema.defaults is None:
        schema.defaults = False
        children = [*schema.properties.values(), *(child for child in (schema.items, schema.additional) if child is not None)]
        schema.defaults = any(child.default is not ABSENT or has_defaults(child) for child in children)
    return schema.defaults


def defaulted_members(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    """The properties that have a default; worked out once per schema."""
    found: tuple[tuple[str, Schema], ...] | None = schema.defaulted
    if found is None:
        found = schema.defaulted = tuple((name, child) for name, child in schema.properties.items() if child.default is not ABSENT)
    return found
