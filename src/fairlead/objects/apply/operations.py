"""The two operations of field management: `updated` for any write but apply, `applied` for server-side apply.

Called by the API server inside a write, on trees without times or ids of their own. Mirrors apimachinery's managedfields and
the `merge.Updater` of structured-merge-diff. What the caller must see to:

- `new` is the decoded, pruned and defaulted body *before* the kind's strategy resets what this subresource may not change; that
  is what `ignored` is for (CRD with a status subresource: `status` on the main resource, `metadata` and `spec` on /status).
- A create passes live=ABSENT. Entries start from `managed.requested(...)`, which reads what a body says in managedFields.
- An apply to a missing object passes live=ABSENT and NOBODY. Before: 422 without fieldManager, its length and characters
  (`naming.manager_errors`); 400 for a body of another apiVersion or kind, or with managedFields in it (`refused_patch`).
- After an apply the caller defaults the result, and calls `managed.without_new_times` right before it stores, for every verb.
- `TypedErrors` out of `applied` is a plain error of the server: 500 without reason, `str(ApplyFailed)` is its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..fieldset import EMPTY, FieldSet, join
from ..tree import ABSENT
from .compare import Comparison, compare
from .conform import conform
from .managed import APPLY, NOBODY, UPDATE, Entry, Managed, Owner, owner, seconds
from .reconcile import reconciled
from .types import root_type
from .values import TypedErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.model import Schema
    from ..tree import Json
    from .types import Type

_MAX_UPDATERS = 10
_STRIPPED = FieldSet.of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class Version(msgspec.Struct, frozen=True):
    """Another version of the same kind that entries may have been written at: its schema, and what a write resets in it."""

    schema: Schema
    ignored: FieldSet = EMPTY


def updated(
    live: Json,
    new: Json,
    managed: Managed,
    *,
    manager: str,
    api_version: str,
    subresource: str = "",
    time: str,
    schema: Schema,
    ignored: FieldSet = EMPTY,
    versions: Mapping[str, Version] = {},
) -> Managed:
    """Who owns what after a create, replace or patch made `new` out of `live`.

    What the write changed belongs to its manager now, what it removed to nobody; entries left with nothing go. An object whose
    entries were all removed stays without until someone applies.
    """
    before, after = _bare(live), _bare(new)
    if not managed and before.get("metadata", {}).get("uid"):
        return managed
    world = _World(api_version, schema, ignored, versions)
    try:
        return _capped(_updated(world, before, after, managed, owner(manager, UPDATE, api_version, subresource), time))
    except TypedErrors:
        return NOBODY  # the server logs it, and stores the object without any entry


class _World:
    """The versions of one kind, as types; and what a write through this version and subresource cannot own."""

    def __init__(self, api_version: str, schema: Schema, ignored: FieldSet, versions: Mapping[str, Version]) -> None:
        self.api_version = api_version
        self.type = root_type(schema)
        self.ignored = ignored
        self.versions = versions

    def has(self, api_version: str) -> bool:
        return api_version == self.api_version or api_version in self.versions

    def converted(self, tree: Json, api_version: str) -> tuple[Json, Type]:
        """The tree at another version: conversion strategy None, so only apiVersion changes; but it must fit the schema there."""
        type_ = root_type(self.versions[api_version].schema)
        tree = {**tree, "apiVersion": api_version}
        conform(tree, type_)
        return tree, type_


def _bare(tree: Json) -> Json:
    """The object without managedFields: nobody owns those."""
    if tree is ABSENT:
        return {}
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _updated(world: _World, before: Json, after: Json, managed: Managed, who: Owner, time: str) -> Managed:
    known = managed.known if managed.settled is world.type else ABSENT
    conform(before, world.type, duplicates=True, known=known)
    conform(after, world.type, duplicates=True, known=before)
    entries = _reconciled(world, before, managed)
    comparison = compare(before, after, world.type).without(world.ignored)
    changed = comparison.modified.union(comparison.added)
    mine = changed.difference(_STRIPPED)
    previous = entries.get(who)
    rest, _ = _without_changed(world, before, after, entries, comparison, None)
    if mine:
        held = _still_held(rest.get(who), previous, comparison, mine is changed)
        rest[who] = Entry(world.api_version, held.union(mine), time)
    return Managed(rest, settled=world.type, known=after)


def _still_held(left: Entry | None, previous: Entry | None, comparison: Comparison, is_whole: bool) -> FieldSet:
    """What this manager held and keeps. Computed from before the change where that comes to the same: unchanged sets stay shared."""
    if previous is not None and is_whole:
        return previous.fields.difference(comparison.removed)
    return left.fields if left is not None else EMPTY


def _reconciled(world: _World, live: Json, managed: Managed) -> dict[Owner, Entry]:
    """The entries, spelled as the schemas of today demand; those of versions that are gone are dropped."""
    if managed.settled is world.type and not world.versions:
        return dict(managed.entries)
    result: dict[Owner, Entry] = {}
    for one, entry in managed.entries.items():
        if entry.api_version == world.api_version:
            type_ = world.type
        elif entry.api_version in world.versions:
            _, type_ = world.converted(live, entry.api_version)
        else:
            continue
        fields = reconciled(entry.fields, type_)
        result[one] = entry if fields is entry.fields else entry._replace(fields=fields)
    return result


def _without_changed(
    world: _World, before: Json, after: Json, entries: Mapping[Owner, Entry], comparison: Comparison, writer: Owner | None
) -> tuple[dict[Owner, Entry], dict[Owner, FieldSet]]:
    """The entries after others lost what was changed or removed, and what each lost by change; the writer's own is kept."""
    comparisons = {world.api_version: comparison}
    rest: dict[Owner, Entry] = {}
    lost: dict[Owner, FieldSet] = {}
    for one, entry in entries.items():
        if one == writer:
            rest[one] = entry
            continue
        seen = comparisons.get(entry.api_version)
        if seen is None:
            if not world.has(entry.api_version):
                continue
            seen = comparisons[entry.api_version] = _compared_at(world, before, after, entry.api_version)
        taken = entry.fields.intersection(seen.modified.union(seen.added))
        if taken:
            lost[one] = taken
        fields = entry.fields.difference(taken).difference(seen.removed)
        if fields:
            rest[one] = entry if fields is entry.fields else entry._replace(fields=fields)
    return rest, lost


def _compared_at(world: _World, before: Json, after: Json, api_version: str) -> Comparison:
    old, type_ = world.converted(before, api_version)
    new, _ = world.converted(after, api_version)
    return compare(old, new, type_).without(world.versions[api_version].ignored)


def _capped(managed: Managed) -> Managed:
    """At most ten updaters: the oldest of a version are folded into one bucket, with the time of the youngest of them."""
    updaters = [one for one in managed.entries if one.operation == UPDATE]
    if len(updaters) <= _MAX_UPDATERS:
        return managed
    entries = dict(managed.entries)
    updaters.sort(key=lambda one: (seconds(entries[one].time), one.identifier))
    first_of: dict[str, Owner] = {}
    count = len(updaters)
    for one in updaters:
        if count <= _MAX_UPDATERS:
            break
        entry = entries[one]
        first = first_of.setdefault(entry.api_version, one)
        if first is one:
            continue
        bucket = Owner("ancient-changes", UPDATE, entry.api_version)
        if bucket not in entries:
            entries[bucket] = entries.pop(first)
        folded = Entry(entry.api_version, join([entry.fields, entries[bucket].fields]), entry.time)
        entries[bucket] = folded
        del entries[one]  # even when it is the bucket itself: so does the server
        count -= 1
    return Managed(entries, settled=managed.settled, known=managed.known)


__all__ = ["APPLY", "Version", "updated"]
