"""Drops what the schema does not name, as the CRD handler does to every object it decodes.

Called on each write of a custom resource, and for the stored object when it is read through another version. Never changes the
tree it is given: a tree in which nothing is dropped comes back as it is. Mirrors apiextensions' schema/pruning.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from ..tree import ABSENT, Absent, Json, counterparts

if TYPE_CHECKING:
    from .model import Schema

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def prune(tree: Json, schema: Schema | None, *, root: bool = True, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
    """The pruned tree, and the dropped paths, sorted, as the server prints them.

    `root`: the tree is a whole resource, whose apiVersion, kind and metadata stay whatever the schema says. `clean` is a tree that
    was pruned before under the same schema: what is shared with it is not walked again.
    """
    found = Found()
    pruned = prune_noting(tree, schema, found, root=root, clean=clean)
    return pruned, found.dropped


class Found:
    """What was found on the way."""

    __slots__ = ("dropped", "maybe_nulls")

    def __init__(self) -> None:
        self.dropped: list[str] = []
        #: False: no member that was walked is null, and no part that may hold one was left out.
        self.maybe_nulls = False


def prune_noting(tree: Json, schema: Schema | None, found: Found, *, root: bool = True, clean: Json | Absent = ABSENT) -> Json:
    """The same, with all that was found."""
    pruned = _pruned(tree, schema, root, "", clean, found)
    found.dropped.sort()
    return pruned


def _pruned(tree: Json, schema: Schema | None, root: bool, path: str, clean: Json | Absent, found: Found) -> Json:
    if tree is clean:
        return tree
    if type(tree) is dict:
        if schema is not None and schema.preserve_unknown:
            return _walked(tree, schema, root, path, clean, found, preserve=True)
        if schema is None:
            found.dropped.extend(_member(path, name) for name in tree)
            return {} if tree else tree
        return _walked(tree, schema, root, path, clean, found, preserve=False)
    if type(tree) is list:
        preserve = schema is not None and schema.preserve_unknown
        return _pruned_list(tree, schema.items if schema is not None else None, path, clean, found, preserve)
    return tree


def _walked(
    tree: dict[str, Json], schema: Schema, root: bool, path: str, clean: Json | Absent, found: Found, *, preserve: bool
) -> dict[str, Json]:
    known = clean if type(clean) is dict else {}
    keep_meta = root or schema.embedded_resource
    properties, additional = schema.properties, schema.additional
    changed: dict[str, Json] = {}
    gone: list[str] = []
    for name, member in tree.items():
        if member is known.get(name, ABSENT):
            continue
        if keep_meta and name in META_FIELDS:
            found.maybe_nulls = True
            continue
        if name in properties:
            child: Schema | None = properties[name]
        elif additional is not None:
            child = None if schema.additional_any else additional
        else:
            if not preserve:
                gone.append(name)
                found.dropped.append(_member(path, name))
            continue
        if type(member) is dict or type(member) is list:
            kept = _pruned(member, child, False, _member(path, name), known.get(name, ABSENT), found)
            if kept is not member:
                changed[name] = kept
        elif member is None:
            found.maybe_nulls = True
    if not changed and not gone:
        return tree
    return {name: changed.get(name, member) for name, member in tree.items() if name not in gone}


def _pruned_list(
    tree: list[Json], items: Schema | None, path: str, clean: Json | Absent, found: Found, preserve: bool
) -> list[Json]:
    if preserve and items is None:
        return tree
    # Under preserved unknown fields an entry is kept whole even where its own schema would drop from it; below its known
    # properties pruning begins again.
    changed = [
        entry
        if entry is known
        else _preserved_entry(entry, items, f"{path}[{index}]", found)
        if preserve
        else _pruned(entry, items, False, f"{path}[{index}]", known, found)
        for index, (entry, known) in enumerate(zip(tree, counterparts(tree, clean), strict=True))
    ]
    return tree if all(map(is_, changed, tree)) else changed


def _preserved_entry(entry: Json, items: Schema | None, path: str, found: Found) -> Json:
    if items is None:
        return entry
    if type(entry) is dict:
        return _walked(entry, items, False, path, ABSENT, found, preserve=True)
    if type(entry) is list:
        return _pruned_list(entry, items.items, path, ABSENT, found, True)
    return entry


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
