"""DELETE of an object or of a collection: preconditions, propagation policies, finalizers, grace.

Mirrors the generic registry's Delete. An object with finalizers, or one whose policy asks for the garbage collector, is only
marked; whoever removes the last finalizer lets it go (`writing.replaced`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...objects import gojson, gotext
from ...objects.tree import same
from .. import crds, ownership, statuses
from .. import options as query
from ..metadata import FOREGROUND, ORPHAN
from ..store import Entry as Stored
from . import listing, preconditions, writing
from .bodies import media, not_an_object
from .selecting import Selection

if TYPE_CHECKING:
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..options import DeleteOptions


_GRACEFUL = {("", "pods")}
_KEEPS_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def handle(call: Call) -> Answer:
    """Deletes one object."""
    _ = call.output
    how = query.deleting(call.request, _body(call))
    if call.kind.key == ("batch", "jobs") and how.propagation_policy is None and how.orphan_dependents is None:
        call.warn(_KEEPS_PODS)
    entry, gone = deleted(call, call.key, how)
    code = 202 if not gone and how.orphan_dependents is False else 200
    if gone and not call.kind.delete_returns_object:
        meta = entry.obj["metadata"]
        details = {"name": call.route.name, "group": call.kind.group, "kind": call.kind.plural, "uid": meta["uid"]}
        return call.answer(code, statuses.success({name: value for name, value in details.items() if value}))
    return call.entry_answer(code, entry)


def handle_collection(call: Call) -> Answer:
    """Deletes what a list would show, and answers with that list."""
    _ = call.output
    options = query.checked_list(query.reading(call.request), watch=False)
    selection = Selection(call, options)
    how = query.deleting(call.request, _body(call))
    page = listing.read(call, options, selection)
    answer = call.answer(200, listing.as_list(call, page))
    for entry in page.entries:
        meta = entry.obj["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if call.kind.namespaced else meta["name"]
        if key in call.table.entries:
            deleted(call, key, how)
    return answer


def deleted(call: Call, key: str, how: DeleteOptions) -> tuple[Stored, bool]:
    """The object as the delete left it, and whether it is gone."""
    entry = call.table.entries.get(key)
    if entry is None:
        if call.kind.key == ("", "namespaces") and key in writing.IMMORTAL:
            raise statuses.forbidden("", "namespaces", key, "this namespace may not be deleted")
        raise call.not_found(key.rpartition("/")[2])
    _preconditions(call, entry, how)
    if call.kind.key == ("", "namespaces"):
        return _namespace_deleted(call, key, entry, how)
    if call.kind.key == crds.KEY:
        marked = crds.deleted(call, key, entry)
        if marked is not None:
            return commit_metadata(call, key, entry, marked["metadata"], dry_run=how.dry_run, status=marked["status"]), False
    meta = entry.obj["metadata"]
    finalizers = _finalizers(call, meta, how)
    grace = 0
    if "deletionTimestamp" in meta:
        if meta.get("deletionGracePeriodSeconds"):
            shortened = _shortened(call, key, entry, how)
            if shortened is not None:
                return shortened
            entry = _ended(call, entry)
    else:
        grace = call.kind.rules.grace(call.view(entry), how.grace_period_seconds)
    if grace > 0 or finalizers:
        return _marked(call, key, entry, finalizers, grace, how), False
    if call.kind.key in _GRACEFUL and "deletionTimestamp" not in meta:
        # A grace period of nothing is still written down before the object goes.
        entry = _marked(call, key, entry, finalizers, 0, how)
    if how.dry_run:
        if meta.get("finalizers") and call.kind.custom:
            # The rehearsal of an update that turns into a removal shows an object that nobody filled in.
            return Stored({"apiVersion": call.api_version, "kind": call.kind.kind}, entry.revision, None, call.kind), False
        return entry, True
    if how.resource_version is not None and meta.get("finalizers"):
        # The delete took the finalizers away and meant to hold the removal to the new resourceVersion, but never wrote one.
        raise preconditions.failed(call, key, "ResourceVersion", "", meta["resourceVersion"])
    return writing.removed(call, key, entry), True


def _preconditions(call: Call, entry: Stored, how: DeleteOptions) -> None:
    meta = entry.obj["metadata"]
    kind, name = call.kind, meta["name"]
    if kind.key == crds.KEY:
        _definition_preconditions(call, meta, how)
    if how.uid is not None and how.uid != meta["uid"]:
        text = f"the UID in the precondition ({how.uid}) does not match the UID in record ({meta['uid']})"
        raise statuses.conflict(kind.group, kind.kind, name, f"{text}. The object might have been deleted and then recreated")
    if how.resource_version is not None and how.resource_version != meta["resourceVersion"]:
        text = f"the ResourceVersion in the precondition ({how.resource_version}) does not match the ResourceVersion in record"
        raise statuses.conflict(kind.group, kind.kind, name, f"{text} ({meta['resourceVersion']}). The object might have been modified")


def _definition_preconditions(call: Call, meta: Json, how: DeleteOptions) -> None:
    """CRDs check by themselves, and word it their own way."""
    for name, wanted, found in (("UID", how.uid, meta["uid"]), ("ResourceVersion", how.resource_version, meta["resourceVersion"])):
        if wanted is not None and wanted != found:
            text = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {found}"
            raise statuses.conflict(crds.GROUP, crds.PLURAL, meta["name"], text)


def _finalizers(call: Call, meta: Json, how: DeleteOptions) -> list[str]:
    """The finalizers that the delete leaves: the object's own, and the collector's as the policy says."""
    current: list[str] = meta.get("finalizers") or []
    kept = [name for name in current if name not in (ORPHAN, FOREGROUND)]
    if how.orphan_dependents is not None:
        orphan, foreground = how.orphan_dependents, False
    elif how.propagation_policy is not None:
        orphan, foreground = how.propagation_policy == "Orphan", how.propagation_policy == "Foreground"
    else:
        orphan = next((name == ORPHAN for name in current if name in (ORPHAN, FOREGROUND)), call.kind.orphan_by_default)
        foreground = next((name == FOREGROUND for name in current if name in (ORPHAN, FOREGROUND)), False)
    wanted = [*kept, *([ORPHAN] if orphan else []), *([FOREGROUND] if foreground else [])]
    return current if set(wanted) == set(current) else wanted


def _marked(call: Call, key: str, entry: Stored, finalizers: list[str], grace: int, how: DeleteOptions) -> Stored:
    """The object with a deletion timestamp. Marking twice changes nothing."""
    meta = entry.obj["metadata"]
    changed = {**meta}
    if "deletionTimestamp" not in meta:
        if meta.get("generation", 0) > 0:
            changed["generation"] = meta["generation"] + 1
        changed["deletionTimestamp"] = _later(call, grace)
        changed["deletionGracePeriodSeconds"] = grace
    if finalizers:
        changed["finalizers"] = finalizers
    else:
        changed.pop("finalizers", None)
    return commit_metadata(call, key, entry, changed, dry_run=how.dry_run)


def _shortened(call: Call, key: str, entry: Stored, how: DeleteOptions) -> tuple[Stored, bool] | None:
    """A grace period that is running may only be made shorter; None: it is over, the object goes."""
    meta = entry.obj["metadata"]
    running = meta["deletionGracePeriodSeconds"]
    asked = how.grace_period_seconds
    if asked is None or asked >= running:
        return entry, False
    if asked == 0 and not meta.get("finalizers"):
        return None
    began = datetime.fromisoformat(meta["deletionTimestamp"]).timestamp() - running
    seconds = max(began + asked, call.machine.clock())
    changed = {**meta, "deletionTimestamp": _time(seconds), "deletionGracePeriodSeconds": asked}
    return commit_metadata(call, key, entry, changed, dry_run=how.dry_run), False


def _ended(call: Call, entry: Stored) -> Stored:
    """The object as the answer shows it when its grace period was cut to nothing."""
    meta = {**entry.obj["metadata"], "deletionTimestamp": _later(call, 0), "deletionGracePeriodSeconds": 0}
    return Stored({**entry.obj, "metadata": meta}, entry.revision, ownership.of(entry), entry.kind)


def commit_metadata(call: Call, key: str, entry: Stored, meta: Json, *, dry_run: bool = False, **members: Json) -> Stored:
    """Commits changed metadata (and other members) past the rules of updates: what the server itself may write."""
    written = _as_written(call, entry)
    # Through another version the storage version's own fields are gone: their defaults come back with the first read.
    settled = entry.kind if written is entry.obj else None
    obj = {**written, "metadata": meta, **members}
    managed = ownership.of(entry)
    if dry_run:
        return Stored(obj, entry.revision, managed, settled)
    if same(obj, entry.obj):
        return entry
    store = call.machine.store
    revision = store.next_revision()
    after = Stored({**obj, "metadata": {**meta, "resourceVersion": str(revision)}}, revision, managed, settled)
    store.commit(call.kind.key, key, after)
    if call.machine.recorder is not None:
        call.machine.recorder.committed(call, entry, after)
    call.machine.after_commit(call, key, entry, after)
    return after


def _as_written(call: Call, entry: Stored) -> Json:
    """The object as a write through the version of the request stores it, which may prune and add defaults."""
    kind, live = call.kind, call.view(entry)
    if not kind.custom or live is entry.obj:
        return entry.obj
    return live if call.version.name == kind.storage_version else kind.rules.convert(live, kind.storage_version)


def _namespace_deleted(call: Call, key: str, entry: Stored, how: DeleteOptions) -> tuple[Stored, bool]:
    """A namespace is marked as terminating; it goes when its own finalizers and those of its metadata are gone."""
    if key in writing.IMMORTAL:
        raise statuses.forbidden("", "namespaces", key, "this namespace may not be deleted")
    obj, meta = entry.obj, entry.obj["metadata"]
    if "deletionTimestamp" not in meta:
        changed = {**meta, "deletionTimestamp": call.machine.now()}
        finalizers = _finalizers(call, meta, how)
        if finalizers:
            changed["finalizers"] = finalizers
        status = {**(obj.get("status") or {}), "phase": "Terminating"}
        return commit_metadata(call, key, entry, changed, dry_run=how.dry_run, status=status), False
    if (obj.get("spec") or {}).get("finalizers") or meta.get("finalizers"):
        return entry, False
    if not how.dry_run:
        writing.removed(call, key, entry)
    return entry, True


def _later(call: Call, seconds: int) -> str:
    return _time(call.machine.clock() + seconds) if seconds else call.machine.now()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _body(call: Call) -> Json:
    """The DeleteOptions in the body, or None when there is no body."""
    data = call.request.body
    if not data:
        return None
    media(call)
    try:
        tree = gojson.decode(data)
    except gojson.DecodeError as error:
        raise statuses.bad_request(f"couldn't get version/kind; json parse error: {error.message}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise statuses.bad_request(not_an_object(tree))
    for name in ("apiVersion", "kind"):
        if not isinstance(tree.get(name) or "", str):
            found = gotext.type_name(tree[name])
            shown = {"[]interface {}": "array", "map[string]interface {}": "object", "bool": "bool"}.get(found, "number")
            text = f"json: cannot unmarshal {shown} into Go struct field .{name} of type string"
            raise statuses.bad_request(f"couldn't get version/kind; json parse error: {text}")
    kind, version = tree.get("kind") or "DeleteOptions", tree.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        text = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        raise statuses.bad_request(text)
    return tree

