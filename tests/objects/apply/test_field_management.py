"""What surrounds a merge: entries and their times, bodies that speak of managedFields, versions, names, kubectl, the scale."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fiferail.objects.apply import lastapplied, scale
from fiferail.objects.apply.managed import NOBODY, Managed, requested, without_new_times
from fiferail.objects.apply.naming import default_manager, manager_errors
from fiferail.objects.apply.operations import ApplyConflict, ApplyFailed, Version, applied, refused_patch, updated
from fiferail.objects.fieldset import FieldSet
from fiferail.objects.paths import parse, server_text
from fiferail.objects.schema.parse import parse_schema
from fiferail.objects.tree import ABSENT

STRING = {"type": "string"}


def thing(**more: Any) -> Any:
    return parse_schema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": STRING, **more}}}})


SCHEMA = thing(b=STRING, n={"type": "integer"}, l={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"})


def obj(version: str = "v1", labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "o", "uid": "u", **({"labels": labels} if labels else {})}
    return {"apiVersion": f"x.io/{version}", "kind": "Thing", "metadata": metadata, "spec": spec}


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


def write(live: Any, new: Any, managed: Managed, manager: str, second: int, **more: Any) -> Managed:
    return updated(live, new, managed, **{"api_version": "x.io/v1", "schema": SCHEMA, "manager": manager, "time": at(second), **more})


def apply(live: Any, managed: Managed, patch: Any, manager: str, second: int, **more: Any) -> tuple[Any, Managed]:
    return applied(live, managed, patch, **{"api_version": "x.io/v1", "schema": SCHEMA, "manager": manager, "time": at(second), **more})


def shown(managed: Managed) -> list[tuple[str, str, str | None, str]]:
    """Entries in their order: manager, version, time, paths."""
    return [
        (e.get("manager", ""), e["apiVersion"].partition("/")[2], e.get("time"), " ".join(map(server_text, FieldSet.decode(e["fieldsV1"]))))
        for e in managed.encode()
    ]


def created(manager: str = "m1", **spec: Any) -> tuple[Any, Managed]:
    made = obj(**spec)
    return made, write(ABSENT, made, NOBODY, manager, 1)


def test_metadata_of_the_server_is_never_owned() -> None:
    """Names, ids and versions belong to nobody; labels do."""
    made = {**obj(labels={"k": "v"}, a="1")}
    managed = write(ABSENT, made, NOBODY, "m1", 1)
    assert shown(managed) == [("m1", "v1", at(1), ".spec .metadata.labels .metadata.labels.k .spec.a")]


def test_time_moves_only_with_a_change() -> None:
    """A write without effect leaves the time of its manager, a write with effect moves it."""
    live, managed = created(a="1")
    same = write(live, {**live, "spec": {"a": "1"}}, managed, "m1", 2)
    assert shown(same) == shown(managed)
    changed = write(live, obj(a="2"), managed, "m1", 3)
    assert shown(changed) == [("m1", "v1", at(3), ".spec .spec.a")]


def test_owners_that_stay_as_they_were_are_encoded_once() -> None:
    """A writer that changes its own field within a second leaves the very same managedFields; a second later it does not."""
    live, managed = created(a="1")
    encoded = managed.encode()
    assert write(live, obj(a="2"), managed, "m1", 1).encode() is encoded
    later = write(live, obj(a="2"), managed, "m1", 2).encode()
    assert [entry["time"] for entry in encoded + later] == [at(1), at(2)]


def test_entries_are_sorted_by_operation_then_time_then_name() -> None:
    """Appliers come first, then the older entry, then the name."""
    live, managed = created("z", a="1")
    after = obj(a="1", b="1")
    managed = write(live, after, managed, "b", 3)
    third, managed = apply(after, managed, obj(n=1), "late", 9)
    managed = write(third, {**third, "metadata": {**third["metadata"], "labels": {"k": "v"}}}, managed, "a", 3)
    assert [entry[0] for entry in shown(managed)] == ["late", "z", "a", "b"]


def test_unchanged_sets_stay_the_same_object() -> None:
    """A write leaves the sets of managers that lost nothing untouched, and its own when it owned the field before."""
    live, managed = created("m1", a="1")
    after = obj(a="1", b="1")
    managed = write(live, after, managed, "m2", 2)
    again = write(after, obj(a="1", b="2"), managed, "m2", 3)
    for one, entry in managed.entries.items():
        assert again.entries[one].fields is entry.fields


def test_noop_apply_of_a_new_manager_has_no_time() -> None:
    """Sharing ownership without changing the object leaves the new entry without a time, as on the server."""
    live, managed = created(a="1")
    same, managed = apply(live, managed, obj(a="1"), "m2", 2)
    assert same is live
    assert shown(managed) == [("m2", "v1", None, ".spec.a"), ("m1", "v1", at(1), ".spec .spec.a")]


def test_repeated_apply_reverts_to_the_old_times() -> None:
    """Entries that differ in times alone are the old ones when the object did not change, and the new ones when it did."""
    live, managed = created(a="1")
    later = Managed({one: entry._replace(time=at(9)) for one, entry in managed.entries.items()})
    assert without_new_times(managed, later, unchanged=True) is managed
    assert without_new_times(managed, later, unchanged=False) is later
    _, other = apply(live, managed, obj(a="1"), "m2", 2)
    assert without_new_times(managed, other, unchanged=True) is other


def test_eleventh_updater_folds_the_oldest() -> None:
    """Beyond ten updaters the two oldest become ancient-changes; appliers do not count."""
    live, managed = created("m0", a="1")
    labels: dict[str, str] = {}
    for number in range(1, 12):
        labels = {**labels, f"l{number}": "x"}
        after = obj(labels=labels, a="1")
        managed = write(live, after, managed, f"m{number}", number + 1)
        live = after
    names = [entry[0] for entry in shown(managed)]
    assert names == ["ancient-changes", *(f"m{number}" for number in range(3, 12))]
    assert shown(managed)[0] == (
        "ancient-changes", "v1", at(3), ".spec .metadata.labels .metadata.labels.l1 .metadata.labels.l2 .spec.a"
    )  # fmt: skip


def test_without_entries_updates_are_not_tracked() -> None:
    """An existing object without entries stays without; a create always tracks."""
    live = obj(a="1")
    assert not write(live, obj(a="2"), NOBODY, "m1", 2)
    assert write(ABSENT, live, NOBODY, "m1", 2)


def test_first_apply_gives_what_is_there_to_before_first_apply() -> None:
    """Applying to an object without entries invents an updater that owns all of it, and conflicts with it."""
    live = obj(a="1")
    _, managed = apply(live, NOBODY, obj(b="1"), "m1", 2)
    assert shown(managed) == [("m1", "v1", at(2), ".spec.b"), ("before-first-apply", "v1", at(2), ".spec .spec.a")]
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using x.io/v1: .spec.a$'):
        apply(live, NOBODY, obj(a="2"), "m1", 2)


def test_manager_without_a_name_is_unknown() -> None:
    """An empty manager is written as `unknown`."""
    assert shown(write(ABSENT, obj(a="1"), NOBODY, "", 1))[0][0] == "unknown"


def test_conflict_is_data_too() -> None:
    """A conflict lists owner and path of each field as the server's causes do."""
    live, managed = created(a="1", b="1")
    with pytest.raises(ApplyConflict) as caught:
        apply(live, managed, obj(a="2", b="2"), "m2", 2)
    assert [(one.cause, one.path) for one in caught.value.conflicts] == [
        ('conflict with "m1" using x.io/v1', ".spec.a"),
        ('conflict with "m1" using x.io/v1', ".spec.b"),
    ]


ENTRY = {
    "manager": "given",
    "operation": "Update",
    "apiVersion": "x.io/v1",
    "time": "2020-01-01T02:00:00.5+01:00",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:a": {}}},
}
REQUESTED: dict[str, tuple[Any, str, str]] = {
    "nothing": (ABSENT, "", "live"),
    "null": (None, "", "live"),
    "empty list resets": ([], "", "nobody"),
    "one empty entry resets": ([{}], "", "nobody"),
    "valid entries": ([ENTRY], "", "given"),
    "unknown operation": ([{**ENTRY, "operation": "X"}], "", "live"),
    "no version": ([{**ENTRY, "apiVersion": ""}], "", "live"),
    "no fieldsType": ([{**ENTRY, "fieldsType": ""}], "", "live"),
    "another fieldsType": ([{**ENTRY, "fieldsType": "FieldsV2"}], "", "live"),
    "broken fields": ([{**ENTRY, "fieldsV1": {"zz": {}}}], "", "live"),
    "broken time": ([{**ENTRY, "time": "zz"}], "", "live"),
    "no list": ("x", "", "live"),
    "a subresource has no say": ([], "status", "live"),
}


@pytest.mark.parametrize(("wanted", "subresource", "result"), REQUESTED.values(), ids=REQUESTED.keys())
def test_what_a_body_says_of_managed_fields(wanted: Any, subresource: str, result: str) -> None:
    """Only valid entries and the two forms of a reset are heeded."""
    _, live = created(a="1")
    start = requested(live, wanted, subresource=subresource)
    if result == "given":
        assert shown(start) == [("given", "v1", "2020-01-01T01:00:00Z", ".spec.a")]
    else:
        assert start is (live if result == "live" else NOBODY)


DECODE_ERRORS = {
    "operation must be `Apply` or `Update`": {**ENTRY, "operation": "X"},
    "apiVersion must not be empty": {**ENTRY, "apiVersion": ""},
    "missing fieldsType in managed fields entry 0": {**ENTRY, "fieldsType": ""},
    'invalid fieldsType "FieldsV2" in managed fields entry 0': {**ENTRY, "fieldsType": "FieldsV2"},
}


@pytest.mark.parametrize(("message", "entry"), DECODE_ERRORS.items())
def test_decode_says_what_is_wrong(message: str, entry: Any) -> None:
    """Entries that cannot be read are refused in the server's words."""
    with pytest.raises(ValueError, match=r"managed|must") as caught:
        Managed.decode([entry])
    assert str(caught.value) == message


V1, V2 = thing(c=STRING, d=STRING), thing(b=STRING, d=STRING)
AT_V2: dict[str, Any] = {"api_version": "x.io/v2", "schema": V2, "versions": {"x.io/v1": Version(V1)}}


def at_v1(**spec: Any) -> tuple[Any, Managed]:
    made = obj(**spec)
    return {**made, "apiVersion": "x.io/v2"}, write(ABSENT, made, NOBODY, "m1", 1, schema=V1)


def test_entries_of_another_version_lose_what_changed() -> None:
    """A change through v2 takes the field from an entry written at v1, and a conflict names that version."""
    live, managed = at_v1(a="1")
    after = write(live, obj("v2", a="2"), managed, "m2", 2, **AT_V2)
    assert shown(after) == [("m1", "v1", at(1), ".spec"), ("m2", "v2", at(2), ".spec.a")]
    with pytest.raises(ApplyConflict, match=r'conflict with "m1" using x.io/v1: .spec.a'):
        apply(live, managed, obj("v2", a="2"), "m2", 2, **AT_V2)


def test_an_applier_keeps_its_entry_across_versions() -> None:
    """The same applier at another version has one entry, and what it left out goes."""
    live, managed = apply(ABSENT, NOBODY, obj("v1", a="1", d="1"), "m1", 1, schema=V1)
    live = {**live, "apiVersion": "x.io/v2"}
    after, moved = apply(live, managed, obj("v2", d="2"), "m1", 2, **AT_V2)
    assert after["spec"] == {"d": "2"}
    assert shown(moved) == [("m1", "v2", at(2), ".spec.d")]
    reason = "failed to prune fields: failed to convert merged object to last applied version: .spec.b: field not declared in schema"
    with pytest.raises(ApplyFailed, match=f"^{re.escape(reason)}$"):
        apply(live, managed, obj("v2", b="1"), "m1", 2, **AT_V2)


def test_an_object_that_does_not_fit_an_older_version_loses_all_entries() -> None:
    """Fields that the version of some entry does not know make an update drop every entry, and an apply fail."""
    live, managed = at_v1(a="1")
    assert write(live, obj("v2", a="1", b="1"), managed, "m2", 2, **AT_V2) is NOBODY
    with pytest.raises(ApplyFailed, match=r"^failed to convert new object: .spec.b: field not declared in schema$"):
        apply(live, managed, obj("v2", b="1"), "m2", 2, **AT_V2)


def test_entries_of_a_version_that_is_gone() -> None:
    """A custom kind loses all entries then (apply: 500); a built-in kind forgets just those."""
    live, managed = at_v1(a="1")
    gone: dict[str, Any] = {**AT_V2, "versions": {}}
    new = obj("v2", a="2")
    assert write(live, new, managed, "m2", 2, **gone) is NOBODY
    assert shown(write(live, new, managed, "m2", 2, **gone, forgets_versions=True)) == [("m2", "v2", at(2), ".spec.a")]
    with pytest.raises(ApplyFailed, match=r"^request to convert CR to an invalid group/version: x.io/v1$"):
        apply(live, managed, new, "m2", 2, **gone)


def test_a_list_that_became_atomic_is_owned_as_one() -> None:
    """Entries written when a list was a set are respelled once its schema says atomic."""
    live, managed = created(l=["x", "y"])
    now = thing(l={"type": "array", "items": STRING})
    after = write(live, {**live, "spec": {**live["spec"], "a": "1"}}, managed, "m2", 2, schema=now)
    assert shown(after) == [("m1", "v1", at(1), ".spec .spec.l"), ("m2", "v1", at(2), ".spec.a")]


def test_a_live_object_that_no_longer_fits_loses_all_entries() -> None:
    """When the schema changed under a stored object, an update drops every entry rather than fail."""
    live, managed = created(a="1", n=1)
    assert write(live, {**live, "spec": {"a": "2", "n": 1}}, managed, "m2", 2, schema=thing()) is NOBODY


def test_duplicates_are_one_path_for_updates() -> None:
    """Repeated members of a set are owned as one path; when one is left it is owned anew."""
    live, managed = created(l=["x", "x", "y"])
    assert shown(managed)[0][3] == '.spec .spec.l .spec.l[="x"] .spec.l[="y"]'
    after = write(live, obj(l=["x", "y"]), managed, "m2", 2)
    assert shown(after) == [("m1", "v1", at(1), '.spec .spec.l .spec.l[="y"]'), ("m2", "v1", at(2), '.spec.l[="x"]')]


def test_refused_patch() -> None:
    """Bodies that an apply refuses at once, with the server's text."""
    assert refused_patch(obj(), "x.io/v1", "Thing") is None
    assert refused_patch(obj("v2"), "x.io/v1", "Thing") == "invalid object type: x.io/v2, Kind=Thing"
    assert refused_patch({}, "x.io/v1", "Thing") == "invalid object type: /, Kind="
    entries = {**obj(), "metadata": {"managedFields": []}}
    assert refused_patch(entries, "x.io/v1", "Thing") == "metadata.managedFields must be nil"


AGENTS = {
    "kubectl/v1.36 (linux)": "kubectl",
    "": "",
    "a\tb c": "ab c",
    "é" * 70: "é" * 64,
    "x" * 200 + "/1": "x" * 128,
}


@pytest.mark.parametrize(("agent", "manager"), AGENTS.items())
def test_default_manager(agent: str, manager: str) -> None:
    """The User-Agent up to its first slash, printable, at most 128 bytes."""
    assert default_manager(agent) == manager


def test_manager_errors() -> None:
    """A manager is required for apply, short, and printable; positions count bytes."""
    assert [e.full for e in manager_errors("", apply=True)] == ["fieldManager: Required value: is required for apply patch"]
    assert not manager_errors("", apply=False)
    assert [e.full for e in manager_errors("é\n", apply=True)] == [
        'fieldManager: Invalid value: "é\\n": invalid character U+000A (at position 2)'
    ]
    assert [e.full for e in manager_errors("x" * 129, apply=False)] == ["fieldManager: Too long: may not be more than 128 bytes"]


def client_side() -> tuple[Any, Managed]:
    """An object of client-side apply, of which another manager has changed n since."""
    sent = '{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"o"},"spec":{"a":"1","n":1}}\n'
    made = obj(a="1", n=1)
    made["metadata"]["annotations"] = {lastapplied.ANNOTATION: sent}
    managed = write(ABSENT, made, NOBODY, "kubectl-client-side-apply", 1)
    after = {**made, "spec": {"a": "1", "n": 5}}
    return after, write(made, after, managed, "other", 2)


def test_kubectl_takes_over_what_client_side_apply_managed() -> None:
    """The manager kubectl does not conflict over fields that are as client-side apply last sent them; the annotation is renewed."""
    live, managed = client_side()
    after, managed = apply(live, managed, obj(a="2"), "kubectl", 3)
    assert after["spec"] == {"a": "2", "n": 5}
    assert [entry[0] for entry in shown(managed)] == ["kubectl", "kubectl-client-side-apply", "other"]
    renewed = '{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"o","uid":"u"},"spec":{"a":"2"}}\n'
    assert after["metadata"]["annotations"] == {lastapplied.ANNOTATION: renewed}


def test_kubectl_conflicts_over_the_rest() -> None:
    """What another changed since is a conflict for kubectl too, and only that; any other manager conflicts over all."""
    live, managed = client_side()
    with pytest.raises(ApplyConflict, match=r'^Apply failed with 1 conflict: conflict with "other" using x.io/v1: .spec.n$'):
        apply(live, managed, obj(a="2", n=2), "kubectl", 3)
    with pytest.raises(ApplyConflict, match=r"^Apply failed with 2 conflicts"):
        apply(live, managed, obj(a="2", n=2), "else", 3)


def test_scale_has_the_owners_of_replicas() -> None:
    """Owners of the replicas own them in the scale; who loses them there loses them in the object."""
    live, managed = created(a="1", n=3)
    live, managed = apply(live, managed, obj(n=3), "applier", 2)
    places = {"x.io/v1": parse("spec.n")}
    of_scale = scale.to_scale(managed, places)
    assert [(e["manager"], e["apiVersion"], e["fieldsV1"]) for e in of_scale.encode()] == [
        ("applier", "autoscaling/v1", {"f:spec": {"f:replicas": {}}}),
        ("m1", "autoscaling/v1", {"f:spec": {"f:replicas": {}}}),
    ]
    taken = Managed.decode(
        [{**ENTRY, "manager": "hpa", "apiVersion": "autoscaling/v1", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
    )
    back = scale.from_scale(managed, taken, places, "x.io/v1")
    assert shown(back) == [("hpa", "v1", None, ".spec.n"), ("m1", "v1", at(1), ".spec .spec.a")]


def test_failed_apply_changes_nothing() -> None:
    """A refused apply leaves the entries and the live object as they were."""
    live, managed = created(a="1")
    before = (repr(live), managed.encode())
    with pytest.raises(ApplyConflict):
        apply(live, managed, obj(a="2"), "m2", 2)
    with pytest.raises(ApplyFailed):
        apply(live, managed, obj(zz="2"), "m2", 2)
    assert (repr(live), managed.encode()) == before
