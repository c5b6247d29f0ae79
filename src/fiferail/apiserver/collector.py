"""The garbage collector and the namespace lifecycle: what the controller manager does on a whole cluster. Off by default.

Runs inside the commit that gives it something to do, until nothing is left to do, through the machine's own door. Dependents go when all
their owners are gone; `foregroundDeletion` waits for blocking dependents; `orphan` takes the owner's name off its dependents; a
terminating namespace is emptied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inprocess import request_of
from .metadata import FOREGROUND, ORPHAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.tree import Json
    from .kinds import Kind
    from .machine import Machine
    from .store import Entry

_COLLECTOR = "garbage-collector"


def after_commit(machine: Machine, kind: Kind, key: str, before: Entry | None, after: Entry | None) -> None:
    """Reacts to one commit."""
    if after is None:
        if before is not None:
            _owner_gone(machine, before.obj)
            _empty_further(machine, before.obj)
        return
    meta = after.obj["metadata"]
    if kind.key == ("", "namespaces"):
        if "deletionTimestamp" in meta:
            _empty(machine, meta["name"])
        return
    if "deletionTimestamp" in meta:
        finalizers = meta.get("finalizers", ())
        if ORPHAN in finalizers:
            _orphan_dependents(machine, after.obj)
            _remove_finalizer(machine, kind, key, ORPHAN)
        elif FOREGROUND in finalizers:
            _delete_dependents(machine, kind, key, after.obj)
    elif before is None and meta.get("ownerReferences"):
        _collect(machine, kind, after.obj)


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    version = kind.storage_version if kind.storage_version in kind.versions else next(iter(kind.versions))
    base = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    place = f"/namespaces/{namespace}" if kind.namespaced else ""
    return "/".join(part for part in (f"{base}{place}/{kind.plural}", name, subresource) if part)


def _path_of(kind: Kind, obj: Json) -> str:
    meta = obj["metadata"]
    return _path(kind, meta.get("namespace", ""), meta["name"])


def _all(machine: Machine) -> Iterator[tuple[Kind, Entry]]:
    for kind in list(machine.kinds.values()):
        if kind.kept_as is None:
            for entry in list(machine.store.table(kind.key).entries.values()):
                yield kind, entry


def _dependents(machine: Machine, uid: str) -> list[tuple[Kind, Entry]]:
    return [
        (kind, entry)
        for kind, entry in _all(machine)
        if any(owner.get("uid") == uid for owner in entry.obj["metadata"].get("ownerReferences") or ())
    ]


def _owner_gone(machine: Machine, owner: Json) -> None:
    uid = owner["metadata"]["uid"]
    for kind, entry in _dependents(machine, uid):
        _collect(machine, kind, entry.obj)
    for reference in owner["metadata"].get("ownerReferences") or ():
        _waiting_owner(machine, reference)


def _waiting_owner(machine: Machine, reference: Json) -> None:
    """An owner in foreground deletion may go when its last blocking dependent went."""
    for kind, entry in _all(machine):
        meta = entry.obj["metadata"]
        if meta["uid"] == reference.get("uid") and FOREGROUND in (meta.get("finalizers") or ()):
            key = f"{meta['namespace']}/{meta['name']}" if kind.namespaced else meta["name"]
            _delete_dependents(machine, kind, key, entry.obj)


def _exists(machine: Machine, uid: str) -> Json:
    return next((entry.obj for _, entry in _all(machine) if entry.obj["metadata"]["uid"] == uid), None)


def _collect(machine: Machine, kind: Kind, obj: Json) -> None:
    """Deletes an object whose owners are all gone; takes gone owners off one that has others."""
    owners = obj["metadata"].get("ownerReferences") or []
    solid = [owner for owner in owners if _exists(machine, owner.get("uid", "")) is not None]
    if not solid:
        meta = obj["metadata"]
        body = {"preconditions": {"uid": meta["uid"]}, "propagationPolicy": _policy(meta)}
        machine.internal(request_of("DELETE", _path_of(kind, obj), body, manager=_COLLECTOR))
    elif len(solid) < len(owners):
        _set_owners(machine, kind, obj, solid)


def _policy(meta: Json) -> str:
    finalizers = meta.get("finalizers") or ()
    return "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"


def _set_owners(machine: Machine, kind: Kind, obj: Json, owners: list[Json]) -> None:
    patch = {"metadata": {"uid": obj["metadata"]["uid"], "ownerReferences": owners or None}}
    request = request_of("PATCH", _path_of(kind, obj), patch, manager=_COLLECTOR, content_type="application/merge-patch+json")
    machine.internal(request)


def _orphan_dependents(machine: Machine, owner: Json) -> None:
    uid = owner["metadata"]["uid"]
    for kind, entry in _dependents(machine, uid):
        kept = [reference for reference in entry.obj["metadata"]["ownerReferences"] if reference.get("uid") != uid]
        _set_owners(machine, kind, entry.obj, kept)


def _delete_dependents(machine: Machine, kind: Kind, key: str, owner: Json) -> None:
    uid = owner["metadata"]["uid"]
    for dependent, entry in _dependents(machine, uid):
        if "deletionTimestamp" not in entry.obj["metadata"]:
            body = {"preconditions": {"uid": entry.obj["metadata"]["uid"]}, "propagationPolicy": "Foreground"}
            machine.internal(request_of("DELETE", _path_of(dependent, entry.obj), body, manager=_COLLECTOR))
    blocking = [
        entry
        for _, entry in _dependents(machine, uid)
        for reference in entry.obj["metadata"]["ownerReferences"]
        if reference.get("uid") == uid and reference.get("blockOwnerDeletion")
    ]
    if not blocking:
        _remove_finalizer(machine, kind, key, FOREGROUND)


def _remove_finalizer(machine: Machine, kind: Kind, key: str, name: str) -> None:
    entry = machine.store.table(kind.key).entries.get(key)
    if entry is None:
        return
    left = [finalizer for finalizer in entry.obj["metadata"].get("finalizers") or () if finalizer != name]
    patch = {"metadata": {"uid": entry.obj["metadata"]["uid"], "finalizers": left or None}}
    path = _path_of(kind, entry.obj)
    machine.internal(request_of("PATCH", path, patch, manager=_COLLECTOR, content_type="application/merge-patch+json"))


def _empty(machine: Machine, namespace: str) -> None:
    """Deletes what is in a terminating namespace; when nothing is left the namespace goes too."""
    for kind in list(machine.kinds.values()):
        if kind.namespaced and kind.kept_as is None:
            for key in list(machine.store.table(kind.key).keys):
                if key.startswith(f"{namespace}/"):
                    path = _path(kind, namespace, key.partition("/")[2])
                    machine.internal(request_of("DELETE", path, None, manager="namespace-controller"))
    _let_go(machine, namespace)


def _empty_further(machine: Machine, gone: Json) -> None:
    namespace = gone["metadata"].get("namespace")
    if not namespace:
        return
    entry = machine.store.table(("", "namespaces")).entries.get(namespace)
    if entry is not None and "deletionTimestamp" in entry.obj["metadata"]:
        _let_go(machine, namespace)


def _let_go(machine: Machine, namespace: str) -> None:
    for kind in machine.kinds.values():
        if kind.namespaced and any(key.startswith(f"{namespace}/") for key in machine.store.table(kind.key).keys):
            return
    entry = machine.store.table(("", "namespaces")).entries.get(namespace)
    if entry is None:
        return
    machine.finalize_namespace(namespace)
