"""What an applier no longer claims. Mirrors the pruning of `merge.Updater`.

Called by `operations.applied` with the merged object. A path goes when this applier claimed it last time, does not claim it
now, and nobody else owns it. Work is done at the version at which the applier applied last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY
from ..paths import from_fields_v1, index_of
from .collect import collect, with_named
from .remove import remove
from .values import prefixed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..fieldset import FieldSet
    from ..tree import Json
    from .managed import Entry, Owner
    from .versions import World


def prune(world: World, merged: Json, entries: Mapping[Owner, Entry], last: Entry | None, claimed: FieldSet) -> Json:
    """The merged object without what was left; `entries` already hold the new claims, `last` the ones before."""
    if last is None or not last.fields or not world.has(last.api_version):
        return merged
    # Entries at other versions are always asked, because the object may not fit them, and that is told.
    alone = all(entry.api_version == world.api_version for entry in entries.values())
    again = last.api_version == world.api_version and not last.fields.difference(claimed)
    if alone and again and not _owns_full_maps(last.fields, merged):
        return merged  # everything is claimed again: whatever were removed now would come back as owned
    with prefixed("failed to convert merged object to last applied version: "):
        at_last, type_ = world.at(merged, last.api_version)
    before = with_named(last.fields, type_)
    pruned = remove(at_last, before, type_)
    if pruned is at_last and alone:
        return merged
    pruned = _with_owned(world, at_last, pruned, last.api_version, entries)
    pruned, _ = world.at(pruned, last.api_version)
    gone = with_named(collect(at_last, type_), type_).difference(with_named(collect(pruned, type_), type_))
    return world.at(remove(at_last, gone.intersection(before), type_), world.api_version)[0]


def _owns_full_maps(fields: FieldSet, tree: Json) -> bool:
    """Whether a map was applied empty and has something in it now. It goes, and does not always come back: a list with keys that is
    empty is no field of its own, so a map that holds nothing else of anybody's counts as not there."""
    if type(tree) is list:
        entries = ((index_of(tree, from_fields_v1(step)), child) for step, child in fields.children.items())  # type: ignore[arg-type]
        return any(index is not None and _owns_full_maps(child, tree[index]) for index, child in entries)
    if type(tree) is not dict:
        return False
    bare = (tree.get(step[2:]) for step in fields.members if step not in fields.children)
    if any(type(value) is dict and value for value in bare):
        return True
    return any(_owns_full_maps(child, tree.get(step[2:])) for step, child in fields.children.items())


def _with_owned(world: World, merged: Json, pruned: Json, first: str, entries: Mapping[Owner, Entry]) -> Json:
    """What was removed comes back where anyone owns it: first at the version of the pruning, then at each other version."""
    owned: dict[str, FieldSet] = {}
    for entry in entries.values():
        owned[entry.api_version] = owned.get(entry.api_version, EMPTY).union(entry.fields)
    for version in sorted(filter(world.has, owned), key=lambda one: (one != first, one)):
        fields = owned[version]
        with prefixed(f"failed add back owned items: failed to convert merged object at version {version}: "):
            merged, type_ = world.at(merged, version)
        pruned, _ = world.at(pruned, version)
        kept = with_named(collect(pruned, type_), type_).union(with_named(fields, type_))
        pruned = remove(merged, with_named(collect(merged, type_), type_).difference(kept), type_)
    return pruned
