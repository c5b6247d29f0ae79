"""The two operations of field management: `updated` for any write but apply, `applied` for server-side apply.

Called by the API server inside a write, on trees without times or ids of their own. Mirrors apimachinery's managedfields and
the `merge.Updater` of structured-merge-diff. What the caller must see to:

- `new` is the decoded, pruned and defaulted body *before* the kind's strategy resets what this subresource may not change; that
  is what `ignored` is for (CRD with a status subresource: `status` on the main resource, `metadata` and `spec` on /status).
- A create passes live=ABSENT, and `zero`: what an object of the kind is before anything is said. For built-in kinds that is Go's
  zero value as JSON (the decoded empty object), with whole structures in it that a create therefore does not own.
- An update starts from `managed.requested(...)`, which reads what a body says in managedFields; a create says nothing.
- An apply to a missing object passes live=ABSENT and NOBODY. Before: 422 for a bad manager (`naming.manager_errors`); 400 for a
  body of another apiVersion or kind, or with managedFields in it (`refused_patch`).
- After an apply the caller defaults the result, and calls `managed.without_new_times` right before it stores, for every verb.
- `ApplyFailed` is a plain error of the server: a 500, with `str(error)` for its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY, FieldSet, join
from ..tree import ABSENT
from . import lastapplied
from .collect import collect
from .compare import Comparison, compare
from .conflicts import ApplyConflict, ApplyFailed
from .conform import conform
from .managed import APPLY, NOBODY, UPDATE, Entry, Managed, Owner, owner, seconds
from .merge import merge
from .prune import prune
from .reconcile import reconciled
from .values import TypedErrors, equal, prefixed
from .versions import Version, World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.model import Schema
    from ..tree import Json

_MAX_UPDATERS = 10
_BEFORE_FIRST_APPLY = "before-first-apply"
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
    forgets_versions: bool = False,
    zero: Json = ABSENT,
) -> Managed:
    """Who owns what after a create, replace or patch made `new` out of `live`.

    What the write changed belongs to its manager now, what it removed to nobody; entries left with nothing go. An object whose
    entries were all removed stays without until someone applies. `versions` are the other versions of the kind, unserved ones
    too. Of a version that is gone, built-in kinds forget the entries (`forgets_versions`); a custom kind loses all entries.
    """
    before, after = (_bare(live), _bare(new)) if _listed(live) is not _listed(new) else (live, new)
    if live is ABSENT:
        before = {} if zero is ABSENT else zero
    elif not managed and (before.get("metadata") or {}).get("uid"):
        return managed
    world = World(api_version, schema, ignored, versions, forgets_versions)
    try:
        return _capped(_updated(world, before, after, managed, owner(manager, UPDATE, api_version, subresource), time))
    except TypedErrors:
        return NOBODY  # the server logs it, and stores the object without any entry


def applied(
    live: Json,
    managed: Managed,
    patch: Json,
    *,
    manager: str,
    api_version: str,
    subresource: str = "",
    time: str,
    schema: Schema,
    force: bool = False,
    ignored: FieldSet = EMPTY,
    versions: Mapping[str, Version] = {},
    forgets_versions: bool = False,
    zero: Json = ABSENT,
) -> tuple[Json, Managed]:
    """The object that the applied configuration makes of `live`, and who owns what then. `live` itself when nothing changes.

    The applier owns exactly what its configuration names. What it named last time and does not name now is removed, unless
    someone else owns it. A field that others own with another value: ApplyConflict, or with `force` theirs no more.
    """
    nothing = {} if zero is ABSENT else zero
    before = nothing if live is ABSENT else _bare(live)
    world = World(api_version, schema, ignored, versions, forgets_versions)
    who = owner(manager, APPLY, api_version, subresource)
    try:
        if not managed:
            managed = _first(world, nothing, before, owner(_BEFORE_FIRST_APPLY, UPDATE, api_version, subresource), time)
        if manager != lastapplied.MANAGER:
            return _applied(world, before, patch, managed, who, time, force)
        return _applied_by_kubectl(world, before, patch, managed, who, time, force)
    except TypedErrors as error:
        raise ApplyFailed(str(error)) from error


def _first(world: World, nothing: Json, before: Json, who: Owner, time: str) -> Managed:
    """Nobody is known to own anything: all that is there belongs to an updater of old."""
    with prefixed(f"failed to create manager for existing fields: failed to convert new object ({_place(before)}) to smd typed: "):
        return _updated(world, nothing, before, NOBODY, who, time)


def _applied_by_kubectl(
    world: World, before: Json, patch: Json, managed: Managed, who: Owner, time: str, force: bool
) -> tuple[Json, Managed]:
    """An apply that takes over what client-side apply managed, and keeps its annotation up to date."""
    try:
        after, entries = _applied(world, before, patch, managed, who, time, force)
    except ApplyConflict as conflict:
        allowed = lastapplied.taken_over(before, world.type, world.api_version)
        left = {one: fields for one, lost in conflict.lost.items() if (fields := lost.difference(allowed))}
        if left:
            raise ApplyConflict(left) from None
        after, entries = _applied(world, before, patch, managed, who, time, True)
    return lastapplied.renewed(after, patch), entries


def refused_patch(patch: Json, api_version: str, kind: str) -> str | None:
    """Why the server answers 400 to this configuration: its message, or None."""
    given_version, given_kind = patch.get("apiVersion") or "", patch.get("kind") or ""
    if (given_version, given_kind) != (api_version, kind):
        group, _, version = given_version.rpartition("/")
        return f"invalid object type: {group}/{version}, Kind={given_kind}"
    metadata = patch.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        return "metadata.managedFields must be nil"
    return None


def _applied(world: World, before: Json, patch: Json, managed: Managed, who: Owner, time: str, force: bool) -> tuple[Json, Managed]:
    _conforming("patch", patch, world, duplicates=False)
    _conforming("live", before, world, duplicates=True, known=managed.known if managed.settled is world.type else ABSENT)
    entries = _reconciled(world, before, managed)
    with prefixed("failed to merge config: "):
        merged = merge(before, patch, world.type)
    last = entries.get(who)
    claimed = collect(patch, world.type).recursive_difference(world.ignored)
    entries[who] = Entry(world.api_version, claimed, last.time if last is not None else None)
    with prefixed("failed to prune fields: "):
        after = prune(world, merged, entries, last, claimed)
    comparison = compare(before, after, world.type).without(world.ignored)
    rest, lost = _without_changed(world, before, after, entries, comparison, who)
    if lost and not force:
        raise ApplyConflict(lost)
    mine = claimed.difference(_STRIPPED)
    same = equal(before, after)
    if mine:
        rest[who] = Entry(world.api_version, mine, entries[who].time if same else time)
    else:
        rest.pop(who, None)
    stored = before if same else after
    return stored, Managed(rest, settled=world.type, known=stored)


def _conforming(name: str, tree: Json, world: World, *, duplicates: bool, known: Json = ABSENT) -> None:
    with prefixed(f"failed to create typed {name} object ({_place(tree)}): "):
        conform(tree, world.type, duplicates=duplicates, known=known)


def _place(tree: Json) -> str:
    """Which object the server says it is."""
    metadata = tree.get("metadata") or {}
    group, _, version = tree.get("apiVersion", "").rpartition("/")
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {group}/{version}, Kind={tree.get('kind', '')}"


def _listed(tree: Json) -> Json:
    """What the object says in managedFields."""
    return None if tree is ABSENT else (tree.get("metadata") or {}).get("managedFields")


def _bare(tree: Json) -> Json:
    """The object without managedFields: nobody owns those."""
    if tree is ABSENT:
        return {}
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return tree
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _updated(world: World, before: Json, after: Json, managed: Managed, who: Owner, time: str) -> Managed:
    known = managed.known if managed.settled is world.type else ABSENT
    conform(before, world.type, duplicates=True, known=known)
    conform(after, world.type, duplicates=True, known=before)
    entries = _reconciled(world, before, managed)
    comparison = compare(before, after, world.type).without(world.ignored)
    mine = comparison.changed.difference(_STRIPPED)
    # What the writer changed it holds afterwards: to take it away first would only make new sets of what did not change.
    keeps_all = bool(mine) and mine is comparison.changed
    rest, _ = _without_changed(world, before, after, entries, comparison, who if keeps_all else None)
    if mine:
        held = rest[who].fields if who in rest else EMPTY
        rest[who] = Entry(world.api_version, (held.difference(comparison.removed) if keeps_all else held).union(mine), time)
    return Managed(rest, settled=world.type, known=after, like=managed)


def _reconciled(world: World, live: Json, managed: Managed) -> dict[Owner, Entry]:
    """The entries, spelled as the schemas of today demand; those of versions that are gone are dropped."""
    if managed.settled is world.type and not world.versions:
        return dict(managed.entries)
    result: dict[Owner, Entry] = {}
    for one, entry in managed.entries.items():
        if entry.api_version == world.api_version:
            type_ = world.type
        elif world.has(entry.api_version):
            _, type_ = world.at(live, entry.api_version)
        else:
            continue
        fields = reconciled(entry.fields, type_)
        result[one] = entry if fields is entry.fields else entry._replace(fields=fields)
    return result


def _without_changed(
    world: World, before: Json, after: Json, entries: Mapping[Owner, Entry], comparison: Comparison, writer: Owner | None
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
        fields = entry.fields
        taken = fields.intersection(seen.changed)
        if taken:
            lost[one] = taken
            fields = fields.difference(taken)
        if seen.removed:
            fields = fields.difference(seen.removed)
        if fields:
            rest[one] = entry if fields is entry.fields else entry._replace(fields=fields)
    return rest, lost


def _compared_at(world: World, before: Json, after: Json, api_version: str) -> Comparison:
    old, type_ = world.at(before, api_version)
    with prefixed("failed to convert new object: "):
        new, _ = world.at(after, api_version)
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


__all__ = ["ApplyConflict", "ApplyFailed", "Version", "applied", "refused_patch", "updated"]
