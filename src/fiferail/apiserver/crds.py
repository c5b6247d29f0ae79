"""CustomResourceDefinitions: the kind, its rules, and the controllers that serve what it defines.

The real server runs three controllers beside the API: one accepts names, one establishes, one cleans up after a delete. Here they run
inside the commit of a CRD, in that order, through the machine's own door with the manager `kube-apiserver`, so that revisions,
conditions and managedFields come out as there; only the second or two in between are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import gotext
from ..objects.fieldset import FieldSet
from ..objects.tree import ABSENT, same
from . import custom, metadata, statuses
from .kinds import Kind, Rules, Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..objects.fielderrors import FieldError
    from ..objects.tree import Absent, Json
    from .call import Call
    from .machine import Machine
    from .store import Entry

GROUP = "apiextensions.k8s.io"
PLURAL = "customresourcedefinitions"
KEY = (GROUP, PLURAL)
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_PATH = f"/apis/{GROUP}/v1/{PLURAL}"


def kind() -> Kind:
    """The kind CustomResourceDefinition."""
    from .builtin import schemas

    version = Version(name="v1", schema=schemas.schema(schemas.name_of(GROUP, "v1", "CustomResourceDefinition")), status=True)
    return Kind(
        group=GROUP,
        kind="CustomResourceDefinition",
        plural=PLURAL,
        singular="customresourcedefinition",
        list_kind="CustomResourceDefinitionList",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        namespaced=False,
        versions={"v1": version},
        storage_version="v1",
        rules=DefinitionRules(),
        name_check=_any_name,
    )


def _any_name(name: str) -> list[str]:
    """The name of a CRD is judged with its spec: it must be made of the plural and the group."""
    del name
    return []


class DefinitionRules(Rules):
    """What a CRD must look like, and what its writers may set."""

    ignored_fields = {"": FieldSet.of(("status",)), "status": FieldSet.of(("metadata",), ("spec",))}  # noqa: RUF012

    def decode(self, obj: Json, version: Version, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
        """Through the Go type of the kind."""
        from .builtin import gotypes

        return gotypes.decode(obj, gotypes.of_kind(GROUP, "v1", "CustomResourceDefinition"))

    def default(self, obj: Json) -> Json:
        """Names and conversion."""
        from ..objects.schema import crd

        return crd.default_crd(obj)

    def prepare_create(self, obj: Json) -> Json:
        """Status starts empty but for the stored version."""
        obj = {**obj, "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}}
        return _with_stored_version(metadata.with_metadata(obj, generation=1))

    def prepare_update(self, new: Json, old: Json, subresource: str) -> Json:
        """Status through /status only; a changed spec is a new generation."""
        if subresource == "status":
            # Finalizers too: the cleanup controller removes its own through /status.
            meta = {**metadata.of(old), "managedFields": metadata.of(new).get("managedFields")}
            finalizers = metadata.of(new).get("finalizers")
            meta["finalizers"] = finalizers
            meta = {name: value for name, value in meta.items() if value}
            return {**old, "metadata": meta, "status": new.get("status") or {}}
        new = {**new, "status": old.get("status") or {}}
        if not same(new.get("spec"), old.get("spec")):
            new = metadata.with_metadata(new, generation=metadata.of(old).get("generation", 0) + 1)
        return _with_stored_version(new)

    def warnings(self, new: Json, old: Json | None, subresource: str) -> list[str]:
        """Formats that nobody checks, where the old definition did not have them already."""
        if subresource:
            return []
        known = set(_unknown_formats(old)) if old is not None else set()
        return [f'unrecognized format "{name}"' for name in dict.fromkeys(_unknown_formats(new)) if name not in known]

    def validate_create(self, obj: Json, beside: Sequence[FieldError] = ()) -> list[FieldError]:
        """Everything that apiextensions says of a CRD."""
        from ..objects.schema import crd

        return crd.validate_crd(obj, ABSENT)

    def validate_update(self, new: Json, old: Json, subresource: str) -> list[FieldError]:
        """The same of a change."""
        if subresource == "status":
            return []
        from ..objects.schema import crd

        return crd.validate_crd(new, old)


def _with_stored_version(obj: Json) -> Json:
    storage = [version["name"] for version in (obj.get("spec") or {}).get("versions") or () if version.get("storage")][:1]
    status = obj["status"]
    stored = status.get("storedVersions") or []
    if not storage or storage[0] in stored:
        return obj
    return {**obj, "status": {**status, "storedVersions": [*stored, storage[0]]}}


def after_commit(call: Call, before: Entry | None, after: Entry | None) -> None:
    """What the controllers do when a CRD came, changed or went."""
    machine = call.machine
    if after is None:
        if before is not None:
            _unserve(machine, before.obj)
            _reconsider_others(machine, before.obj)
        return
    crd = after.obj
    name = crd["metadata"]["name"]
    if "deletionTimestamp" in crd["metadata"]:
        if CLEANUP in crd["metadata"].get("finalizers", ()) and _condition(crd, "Terminating").get("reason") == "InstanceDeletionPending":
            _clean_up(machine, name)
        return
    if not same(_names(crd["spec"]["names"]), _names(crd["status"].get("acceptedNames") or {})) and _accept_names(machine, crd):
        return
    if _condition(crd, "NamesAccepted").get("status") == "True" and _condition(crd, "Established").get("status") != "True":
        _establish(machine, crd)
        return
    _serve(machine, crd, before)


def _names(names: Json) -> Json:
    return {name: value for name, value in names.items() if value not in ("", None, [])}


def _condition(crd: Json, kind: str) -> Json:
    found: Json = next((entry for entry in (crd.get("status") or {}).get("conditions") or () if entry["type"] == kind), {})
    return found


def _with_condition(machine: Machine, crd: Json, kind: str, status: str, reason: str, message: str) -> Json:
    old = _condition(crd, kind)
    time = old["lastTransitionTime"] if old.get("status") == status else machine.now()
    new = {"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}
    conditions = (crd.get("status") or {}).get("conditions") or []
    conditions = [new if entry is old else entry for entry in conditions] if old else [*conditions, new]
    return {**crd, "status": {**(crd.get("status") or {}), "conditions": conditions}}


def _put_status(machine: Machine, crd: Json) -> None:
    from .inprocess import request_of

    machine.internal(request_of("PUT", f"{_PATH}/{crd['metadata']['name']}/status", crd, manager="kube-apiserver"))


def _accept_names(machine: Machine, crd: Json) -> bool:
    """Accepts what no other CRD of the group uses. False: nothing to tell that was not told before."""
    wanted, accepted = crd["spec"]["names"], (crd["status"].get("acceptedNames") or {})
    resources, kinds = _taken(machine, crd)
    new = dict(accepted)
    problem = ("", "")
    for member, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        asked, held = wanted.get(member), accepted.get(member)
        values = (asked or []) if member == "shortNames" else [asked]
        free = (held or []) if member == "shortNames" else [held]
        clashes = [f"{gotext.quoted(value)} is already in use" for value in values if value not in free and value in used]
        if clashes:
            problem = (reason, clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]")
        elif asked:
            new[member] = asked
        else:
            new.pop(member, None)
    if wanted.get("categories"):
        new["categories"] = wanted["categories"]
    named = ("False", *problem) if problem[0] else ("True", "NoConflicts", "no conflicts found")
    held = _condition(crd, "NamesAccepted")
    if same(_names(new), _names(accepted)) and (held.get("status"), held.get("reason"), held.get("message")) == named:
        return False
    changed = _with_condition(machine, {**crd, "status": {**crd["status"], "acceptedNames": new}}, "NamesAccepted", *named)
    established = _condition(crd, "Established")
    if established.get("status") != "True":
        told = ("NotAccepted", "not all names are accepted")
        if named[0] == "True":
            told = ("Installing", "the initial names have been accepted")
        if named[0] == "True" or not established:
            changed = _with_condition(machine, changed, "Established", "False", *told)
    _put_status(machine, changed)
    _reconsider_others(machine, crd)
    return True


def _taken(machine: Machine, crd: Json) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for entry in machine.store.table(KEY).entries.values():
        if entry.obj["spec"]["group"] == crd["spec"]["group"]:
            names = (entry.obj.get("status") or {}).get("acceptedNames") or {}
            resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
            kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _reconsider_others(machine: Machine, crd: Json) -> None:
    """A name may have become free: others of the group that wait for one are looked at again."""
    for entry in list(machine.store.table(KEY).entries.values()):
        other = entry.obj
        waiting = _condition(other, "NamesAccepted").get("status") == "False"
        if waiting and other["spec"]["group"] == crd["spec"]["group"] and other["metadata"]["name"] != crd["metadata"]["name"]:
            _accept_names(machine, other)


def _establish(machine: Machine, crd: Json) -> None:
    changed = _with_condition(machine, crd, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    _put_status(machine, changed)


def _serve(machine: Machine, crd: Json, before: Entry | None) -> None:
    """Serves the kind as the CRD now says; open watches of the old one end."""
    if _condition(crd, "Established").get("status") != "True":
        return
    names = crd["status"]["acceptedNames"]
    key = (crd["spec"]["group"], names["plural"])
    known = machine.kinds.get(key)
    if known is not None and before is not None and same(before.obj["spec"], crd["spec"]) and same(before.obj["status"], crd["status"]):
        return
    if known is not None and not known.custom:
        return
    table = machine.store.table(key)
    if known is None:
        table.born = machine.store.revision
    machine.kinds[key] = custom.kind_of(crd)
    if known is not None:
        for stream in tuple(table.streams):
            stream.close()


def _unserve(machine: Machine, crd: Json) -> None:
    names = (crd.get("status") or {}).get("acceptedNames") or {}
    key = (crd["spec"]["group"], names.get("plural", ""))
    known = machine.kinds.get(key)
    if known is None or not known.custom:
        return
    del machine.kinds[key]
    for stream in tuple(machine.store.table(key).streams):
        stream.close()


def deleted(call: Call, key: str, entry: Entry) -> Json | None:
    """The first delete of a CRD: metadata and status that mark it. None when it is marked already."""
    del key
    crd = entry.obj
    meta = crd["metadata"]
    if "deletionTimestamp" in meta:
        return None
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    marked = _with_condition(call.machine, crd, "Terminating", "True", "InstanceDeletionPending", text)
    finalizers = meta.get("finalizers") or []
    if CLEANUP not in finalizers:
        finalizers = [*finalizers, CLEANUP]
    return {**marked, "metadata": {**meta, "deletionTimestamp": call.machine.now(), "finalizers": finalizers}}


def _clean_up(machine: Machine, name: str) -> None:
    """Deletes the objects of the kind; when none is left the CRD may go."""
    from .inprocess import request_of

    def current() -> Json:
        entry = machine.store.table(KEY).entries.get(name)
        return entry.obj if entry is not None else None

    crd = current()
    text = "CustomResource deletion is in progress"
    _put_status(machine, _with_condition(machine, crd, "Terminating", "True", "InstanceDeletionInProgress", text))
    names = crd["status"].get("acceptedNames") or {}
    key = (crd["spec"]["group"], names.get("plural", ""))
    served = machine.kinds.get(key)
    if served is not None and served.custom:
        whole = custom.kind_of({**crd, "spec": {**crd["spec"], "versions": [{**each, "served": True} for each in crd["spec"]["versions"]]}})
        machine.kinds[key] = whole  # also what no version serves is deleted
        version = next(iter(whole.versions))
        base = f"/apis/{served.group}/{version}"
        for place in _places(machine, served):
            machine.internal(request_of("DELETE", f"{base}{place}/{served.plural}", None, manager="kube-apiserver"))
        if key in machine.kinds:
            machine.kinds[key] = served
    finish_clean_up(machine, name)


def finish_clean_up(machine: Machine, name: str) -> None:
    """Lets the CRD go when its last object has gone."""
    entry = machine.store.table(KEY).entries.get(name)
    if entry is None:
        return
    crd = entry.obj
    if _condition(crd, "Terminating").get("reason") not in ("InstanceDeletionInProgress", "InstanceDeletionCheck"):
        return
    key = (crd["spec"]["group"], (crd["status"].get("acceptedNames") or {}).get("plural", ""))
    if machine.store.table(key).entries:
        return
    done = _with_condition(machine, crd, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
    finalizers = [name for name in crd["metadata"].get("finalizers", ()) if name != CLEANUP]
    _put_status(machine, metadata.with_metadata(done, finalizers=finalizers or None))


def _places(machine: Machine, kind: Kind) -> list[str]:
    keys = machine.store.table(kind.key).keys
    if not kind.namespaced:
        return [""] if keys else []
    return list(dict.fromkeys(f"/namespaces/{key.partition('/')[0]}" for key in keys))


def forbid_new_instances(call: Call, name: str) -> None:
    """Nothing is created of a kind whose CRD is going away."""
    entry = call.machine.store.table(KEY).entries.get(f"{call.kind.plural}.{call.kind.group}")
    if entry is not None and "deletionTimestamp" in entry.obj["metadata"]:
        text = "create not allowed while custom resource definition is terminating"
        raise statuses.forbidden(call.kind.group, call.kind.plural, name, text)


def _unknown_formats(crd: Json) -> Iterator[str]:
    """The formats in the schemas of a CRD that the server ignores."""
    for version in (crd.get("spec") or {}).get("versions") or []:
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema:
            yield from _unknown_formats_below(schema)


def _unknown_formats_below(schema: Json) -> Iterator[str]:
    from ..objects.schema import formats

    name = schema.get("format")
    if name and not formats.effective(name, schema.get("type") or ""):
        yield name
    for member in ("items", "not", "additionalProperties", "additionalItems"):
        if isinstance(schema.get(member), dict):
            yield from _unknown_formats_below(schema[member])
    for member in ("allOf", "anyOf", "oneOf"):
        for below in schema.get(member) or []:
            yield from _unknown_formats_below(below)
    for member in ("properties", "patternProperties", "definitions"):
        for below in (schema.get(member) or {}).values():
            yield from _unknown_formats_below(below)
