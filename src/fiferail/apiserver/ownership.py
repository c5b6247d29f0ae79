"""managedFields around a write: which manager writes, with which schemas, and what that makes of the entries.

The verbs call `updated` and `applied`; the sets are worked out in `objects.apply`. Only what a request contributes is here:
the manager's name, the other served versions, and the wording of conflicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import gotext
from ..objects.apply import managed as entries
from ..objects.apply import operations
from ..objects.apply.conflicts import ApplyConflict, ApplyFailed
from ..objects.apply.managed import NOBODY, Managed
from ..objects.fieldset import EMPTY
from ..objects.tree import ABSENT
from . import statuses

if TYPE_CHECKING:
    from ..objects.tree import Json
    from .call import Call
    from .kinds import Kind, Version
    from .options import Options
    from .store import Entry

_BLANKS: dict[Version, Json] = {}
_OTHERS: dict[int, tuple[Kind, dict[tuple[str, str], dict[str, operations.Version]]]] = {}


def manager(call: Call, options: Options) -> str:
    """The manager that the query names, or the User-Agent up to its first slash."""
    if options.field_manager:
        return options.field_manager
    name = call.request.headers.get("user-agent", "").partition("/")[0]
    if name.isascii() and name.isprintable() and len(name) <= 128:
        return name
    kept, size = "", 0
    for char in name:
        if not char.isprintable():
            continue
        size += len(char.encode("utf-8", "replace"))
        if size > 128:
            break
        kept += char
    return kept


def of(entry: Entry) -> Managed:
    """The parsed managedFields of a stored object."""
    if entry.managed is None:
        encoded = entry.obj["metadata"].get("managedFields")
        try:
            entry.managed = Managed.decode(encoded) if encoded else NOBODY
        except ValueError:
            entry.managed = NOBODY
    known: Managed = entry.managed
    return known


def updated(call: Call, options: Options, live: Json, current: Managed, new: Json, subresource: str) -> tuple[Json, Managed]:
    """The new object with its managedFields, after any write but apply. `live` is ABSENT for a create."""
    if new.get("apiVersion") != call.api_version or new.get("kind") != call.kind.kind:
        return with_managed(new, NOBODY), NOBODY  # a type that the server cannot resolve: it gives up tracking
    start = entries.requested(current, new.get("metadata", {}).get("managedFields", ABSENT), subresource=subresource)
    after = operations.updated(
        live,
        new,
        start,
        manager=manager(call, options),
        api_version=call.api_version,
        subresource=subresource,
        time=call.machine.now(),
        schema=call.version.apply_schema,
        ignored=call.kind.rules.ignored_fields.get(subresource, EMPTY),
        versions=_others(call, subresource),
        forgets_versions=not call.kind.custom,
        zero=ABSENT if call.kind.custom else _blank(call),
    )
    return with_managed(new, after), after


def _blank(call: Call) -> Json:
    """A built-in kind's object as its Go type is when nothing was said: its empty members belong to nobody."""
    known = _BLANKS.get(call.version)
    if known is None:
        bare = {"apiVersion": call.api_version, "kind": call.kind.kind}
        known = _BLANKS[call.version] = call.kind.rules.decode(bare, call.version)[0]
    return known


def with_managed(obj: Json, after: Managed) -> Json:
    """The object with these entries; none at all when there are none."""
    encoded = after.encode() if after else None
    meta = obj.get("metadata") or {}
    if meta.get("managedFields") is encoded:
        return obj
    if encoded:
        return {**obj, "metadata": {**meta, "managedFields": encoded}}
    return {**obj, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}


def applied(call: Call, options: Options, live: Json, current: Managed, patch: Json) -> tuple[Json, Managed]:
    """What an apply makes of the live object, ABSENT when there is none, and who owns what then."""
    said = {name: patch[name] if isinstance(patch.get(name), str) else "" for name in ("apiVersion", "kind")}
    refusal = operations.refused_patch({**patch, **said}, api_version=call.api_version, kind=call.kind.kind)
    if refusal:
        raise statuses.bad_request(refusal)
    meta = patch.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        group, _, version = call.api_version.rpartition("/")
        place = f"/; {group}/{version}, Kind={call.kind.kind}"
        text = f".metadata: expected map, got {gotext.pointed(meta)}"
        raise statuses.status(500, "", f"failed to create typed patch object ({place}): {text}")
    subresource = call.route.subresource
    try:
        new, after = operations.applied(
            live,
            current,
            patch,
            manager=options.field_manager,
            api_version=call.api_version,
            subresource=subresource,
            time=call.machine.now(),
            schema=call.version.apply_schema,
            force=bool(options.force),
            ignored=call.kind.rules.ignored_fields.get(subresource, EMPTY),
            versions=_others(call, subresource),
            forgets_versions=not call.kind.custom,
            zero=ABSENT if call.kind.custom else _blank(call),
        )
    except ApplyConflict as conflict:
        raise refused(conflict) from None
    except ApplyFailed as failure:
        raise statuses.status(500, "", str(failure)) from None
    return with_managed(new, after), after


def refused(conflict: ApplyConflict) -> statuses.Refusal:
    """The 409 of an apply that others stand in the way of."""
    causes = [{"reason": "FieldManagerConflict", "message": one.cause, "field": one.path} for one in conflict.conflicts]
    return statuses.apply_conflict(str(conflict), causes)


def _others(call: Call, subresource: str) -> dict[str, operations.Version]:
    """The other served versions of the kind, as apply sees them. Made once per kind record."""
    kind = call.kind
    if len(kind.versions) == 1:
        return {}
    held = _OTHERS.get(id(kind))
    if held is None or held[0] is not kind:
        if len(_OTHERS) > 256:
            _OTHERS.clear()
        held = _OTHERS[id(kind)] = (kind, {})
    cache = held[1]
    found = cache.get((call.version.name, subresource))
    if found is None:
        # What a write to the main resource of a custom kind resets is known to the server for the version of the request alone.
        ignored = EMPTY if kind.custom and not subresource else kind.rules.ignored_fields.get(subresource, EMPTY)
        found = {
            kind.api_version(name): operations.Version(version.apply_schema, ignored)
            for name, version in kind.versions.items()
            if name != call.version.name
        }
        cache[call.version.name, subresource] = found
    return found
