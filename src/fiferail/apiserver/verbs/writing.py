"""What every write has in common: admission, metadata, the kind's rules, no-ops, finalizers, and the commit.

create, update, patch, scale and delete end here. Mirrors the generic registry's Create and Update with `BeforeCreate` and
`BeforeUpdate`: the order of the steps decides which of several errors is told, so it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import fielderrors, gojson
from ...objects.apply import managed as entries
from ...objects.tree import ABSENT, same
from ...wire import APPLY_PATCH
from .. import crds, metadata, names, options, ownership, statuses
from ..call import object_key
from ..custom import CustomRules
from ..store import Entry
from .watch import at_revision

if TYPE_CHECKING:
    from ...objects.apply.managed import Managed
    from ...objects.fielderrors import FieldError
    from ...objects.tree import Absent, Json
    from ..call import Call
    from ..kinds import Kind
    from ..options import Options

#: Objects past this do not fit into one request to etcd (1.5 MiB, less what surrounds the value).
MAX_OBJECT = 1_572_864 - 256
IMMORTAL = ("default", "kube-system", "kube-public")


def admitted(call: Call, name: str) -> None:
    """Namespace lifecycle: nothing is created where there is no namespace, or where one is going away."""
    kind, namespace = call.kind, call.route.namespace
    if kind.refused:
        raise statuses.unsupported(kind.refused)
    if not kind.namespaced:
        if kind.custom:
            crds.forbid_new_instances(call, name)
        return
    entry = call.machine.store.table(("", "namespaces")).entries.get(namespace)
    if entry is None:
        raise statuses.not_found("", "namespaces", namespace)
    if (entry.obj.get("status") or {}).get("phase") == "Terminating":
        text = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated", "field": "metadata.namespace"}
        raise statuses.forbidden(kind.group, kind.plural, name, text, [cause])
    if kind.custom:
        crds.forbid_new_instances(call, name)


def created(call: Call, new: Json, managed: Managed, opts: Options, *, generated: bool = False) -> Entry:
    """Stores a new object whose managedFields are set. `generated`: its name was made from generateName."""
    kind = call.kind
    meta = {**metadata.of(new), "uid": call.machine.ids.uid(), "creationTimestamp": call.machine.now()}
    given = meta.pop("resourceVersion", None)
    new = kind.rules.allocate({**new, "metadata": meta}, None, call.stored)
    new = kind.rules.prepare_create(new)
    errors = _type_errors(call, new, ABSENT, "") or [*_create_errors(call, new)]
    if errors:
        raise statuses.invalid(_group(call, new), new["kind"], metadata.name_of(new), errors)
    for text in kind.rules.warnings(new, None, ""):
        call.warn(text)
    name = new["metadata"]["name"]
    key = object_key(kind, call.route.namespace, name)
    if given and call.route.verb == "create" and not opts.dry_run and _is_version(given):
        raise statuses.status(500, "", "resourceVersion should not be set on objects to be created")
    existing = call.table.entries.get(key)
    if existing is not None:
        deleting = "deletionTimestamp" in existing.obj["metadata"]
        raise statuses.already_exists(kind.group, kind.plural, name, generated=generated, deleting=deleting)
    if given and opts.dry_run:
        new = metadata.with_metadata(new, resourceVersion=given)  # a rehearsal shows it as it came
    return _stored(call, key, None, new, managed, opts)


def _is_version(text: str) -> bool:
    """Whether the text is a resourceVersion other than 0. What is no number at all counts as none."""
    try:
        return options.revision(text) != 0
    except ValueError:
        return False


def _create_errors(call: Call, new: Json) -> list[FieldError]:
    kind, meta = call.kind, new["metadata"]
    if kind.custom:
        found = metadata.validate(meta, namespaced=kind.namespaced, check=names.dns_subdomain)
        return found + kind.rules.validate_create(new, found)
    found = []
    if kind.name_check is not None:
        found = metadata.validate(meta, namespaced=kind.namespaced, check=kind.name_check)
    found = found + kind.rules.validate_create(new)
    return found or metadata.validate(meta, namespaced=kind.namespaced, check=names.path_segment)


def replaced(call: Call, entry: Entry, live: Json, new: Json, managed: Managed, opts: Options, subresource: str) -> Entry:
    """Stores a changed object: checks the lock, lets the kind prepare and judge it, and commits unless nothing changed."""
    kind, rules = call.kind, call.kind.rules
    new = _locked(call, live, new)
    if not subresource:
        new = rules.allocate(new, live, call.stored)
    new = _carried(rules.prepare_update(new, live, subresource), live)
    errors = _update_errors(call, new, live, subresource)
    if errors:
        raise statuses.invalid(_group(call, new), new["kind"], metadata.name_of(new), errors)
    for text in rules.warnings(new, live, subresource):
        call.warn(text)
    before = ownership.of(entry)
    changed = _content_differs(new, live) or not same(ownership.with_managed(new, before) if managed is not before else new, live)
    if managed is not before and not changed and entries.without_new_times(before, managed, unchanged=True) is before:
        new, managed = live, before  # times of managedFields alone are no change
    old_meta, new_meta = live["metadata"], new["metadata"]
    over = "deletionTimestamp" in old_meta and not new_meta.get("finalizers") and not old_meta.get("deletionGracePeriodSeconds")
    if over and _may_go(call, new):
        if not opts.dry_run:
            removed(call, call.key, entry)
        last = Entry(new, entry.revision, managed, kind)
        last.views = {call.version: new}  # it never was in the store: nothing fills in what the store's version lacks
        return last
    return _stored(call, call.key, entry, new, managed, opts, differs=changed and live is entry.obj)


def _content_differs(new: Json, live: Json) -> bool:
    """Whether anything but metadata changed: the usual case, found without building anything."""
    for name, value in new.items():
        if name != "metadata":
            held = live.get(name, ABSENT)
            if value is not held and not same(value, held):
                return True
    return False


def _may_go(call: Call, new: Json) -> bool:
    """A namespace has finalizers of its own, in its spec; other kinds have none but those of metadata."""
    return call.kind.key != ("", "namespaces") or not (new.get("spec") or {}).get("finalizers")


def _locked(call: Call, live: Json, new: Json) -> Json:
    """The new object with the generation of the live one, after its resourceVersion was found to be the live one."""
    meta, held = metadata.of(new), live["metadata"]
    given = meta.get("resourceVersion")
    if given != held["resourceVersion"]:
        try:
            asked = options.revision(given or "")
        except ValueError as error:
            raise statuses.status(500, "", str(error)) from None
        if asked:
            if asked != int(held["resourceVersion"]):
                raise call.conflict(statuses.MODIFIED)
        elif not call.kind.unconditional_update:
            missing = fielderrors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise statuses.invalid(call.kind.group, call.kind.plural, call.route.name, [missing])
        meta = {**meta, "resourceVersion": held["resourceVersion"]}
        new = {**new, "metadata": meta}
    generation = held.get("generation")
    if meta.get("generation") != generation:
        new = metadata.with_metadata(new, generation=generation)
    return new


def _carried(new: Json, live: Json) -> Json:
    """What an update cannot remove or change is taken from the live object."""
    meta, held = metadata.of(new), live["metadata"]
    changes: dict[str, Json] = {}
    if not meta.get("uid"):
        changes["uid"] = held["uid"]
    if meta.get("creationTimestamp") != held.get("creationTimestamp"):
        changes["creationTimestamp"] = held.get("creationTimestamp")
    if "deletionTimestamp" in held and meta.get("deletionTimestamp") != held["deletionTimestamp"]:
        changes["deletionTimestamp"] = held["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in held and meta.get("deletionGracePeriodSeconds") is None:
        changes["deletionGracePeriodSeconds"] = held["deletionGracePeriodSeconds"]
    return {**new, "metadata": {**meta, **changes}} if changes else new


def _update_errors(call: Call, new: Json, live: Json, subresource: str) -> list[FieldError]:
    kind, meta, held = call.kind, new["metadata"], live["metadata"]
    common: list[FieldError] = []
    if not metadata.unchanged(meta, held):
        common = metadata.validate(meta, namespaced=kind.namespaced, check=names.path_segment)
        update = metadata.validate_update(meta, held)
        common += update
    else:
        update = []
    wrong_type = _type_errors(call, new, live, subresource)
    if wrong_type:
        return common + wrong_type
    # Kinds check the metadata once more by themselves, so each of its errors is told twice; budgets do not.
    again = [] if kind.key == ("policy", "poddisruptionbudgets") else update
    return common + again + kind.rules.validate_update(new, live, subresource)


def _type_errors(call: Call, new: Json, live: Json | Absent, subresource: str) -> list[FieldError]:
    """Empty when the object is what its path says; else that, and what is told besides."""
    rules = call.kind.rules
    if not isinstance(rules, CustomRules):
        return []
    errors: list[FieldError] = []
    if new["kind"] != call.kind.kind:
        errors.append(fielderrors.invalid("kind", new["kind"], f"must be {call.kind.kind}"))
    if new["apiVersion"] != call.api_version:
        errors.append(fielderrors.invalid("apiVersion", new["apiVersion"], f"must be {call.api_version}"))
    return errors + rules.flaws_beside_type(new, live, call.version, subresource, errors) if errors else errors


def _group(call: Call, obj: Json) -> str:
    """The group that a refusal names: of what the object says it is, or of the kind that a built-in one is kept as."""
    if call.kind.kept_as is not None:
        return call.kind.kept_as[0]
    group: str = obj["apiVersion"].rpartition("/")[0]
    return group


def _stored(
    call: Call, key: str, entry: Entry | None, new: Json, managed: Managed, opts: Options, *, differs: bool = False
) -> Entry:
    """Commits, unless this is a rehearsal or nothing changed. `differs`: that something did is known already."""
    kind, store = call.kind, call.machine.store
    direct = call.version.name == kind.storage_version
    kept = new if direct else kind.rules.convert(new, kind.storage_version)
    settled, floats = gojson.settled(kept)
    if entry is not None and not (differs and direct and settled is kept) and same(settled, entry.obj):
        return entry
    kept = settled
    if direct and kind.custom and call.request.content_type.startswith(APPLY_PATCH):
        # An apply may leave what every read takes away (empty metadata): it is stored, and the next write finds a difference.
        direct = same(kind.rules.read(kept, call.version), kept)
    if opts.dry_run:
        return Entry(kept, entry.revision if entry else 0, managed, kind if direct else None)
    revision = store.revision + 1
    kept = {**kept, "metadata": {**kept["metadata"], "resourceVersion": str(revision)}}
    # Through another version the object has the defaults of that one: the first read adds those of the storage version.
    after = _fitting(Entry(kept, revision, managed, kind if direct else None), kind, floats)
    store.revision = revision
    store.commit(kind.key, key, after)
    if call.machine.recorder is not None:
        call.machine.recorder.committed(call, entry, after)
    call.machine.after_commit(call, key, entry, after)
    return after


def _fitting(entry: Entry, kind: Kind, floats: bool) -> Entry:
    """The entry with its bytes. One too large for etcd loses its managedFields; if that does not help it is refused."""
    data = gojson.encode(entry.obj, floats=floats)
    if len(data) > MAX_OBJECT:
        slim = ownership.with_managed(entry.obj, entries.NOBODY)
        data = gojson.encode(slim)
        if len(data) > MAX_OBJECT:
            raise statuses.status(500, "", "etcdserver: request is too large")
        entry = Entry(slim, entry.revision, entries.NOBODY, entry.kind)
    version = kind.versions.get(kind.storage_version)
    if version is not None and entry.kind is not None:
        entry.encoded = {version: data}
    return entry


def removed(call: Call, key: str, entry: Entry) -> Entry:
    """Takes an object out of the store. What watchers see carries the revision of the deletion."""
    store = call.machine.store
    revision = store.next_revision()
    tombstone = at_revision(entry, revision)
    store.commit(call.kind.key, key, None, tombstone)
    if call.machine.recorder is not None:
        call.machine.recorder.committed(call, entry, None)
    call.machine.after_commit(call, key, entry, None)
    return tombstone
