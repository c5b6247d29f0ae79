"""Server-side apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api

A = {"type": "A", "status": "True"}
B = {"type": "B", "status": "True"}


def test_creates(api: Api) -> None:
    """An apply of an object that is not there creates it with 201."""
    answer = api.apply("g", spec={"size": 1}).ok(201).json
    assert (answer["spec"], answer["metadata"]["generation"]) == ({"size": 1}, 1)


def test_again_changes_nothing(api: Api) -> None:
    """The same apply again is 200 and keeps the resourceVersion."""
    first = api.apply("g", spec={"size": 1}).ok(201)
    assert api.apply("g", spec={"size": 1}).ok(200).version == first.version


def test_needs_field_manager(api: Api) -> None:
    """An apply without fieldManager is 422 with FieldValueRequired."""
    reply = api.apply("g", manager=None, spec={"size": 1}).refused(422, "Invalid")
    assert reply.causes == [("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")]
    assert reply.message == 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'


def test_conflict(api: Api) -> None:
    """An apply of another value to a field that another manager owns is 409 with one cause per field."""
    api.apply("g", spec={"size": 1, "mode": "slow"}).ok(201)
    reply = api.apply("g", manager="two", spec={"size": 2, "mode": "fast"}).refused(409, "Conflict")
    assert sorted(reply.causes) == [
        ("FieldManagerConflict", ".spec.mode", 'conflict with "one"'),
        ("FieldManagerConflict", ".spec.size", 'conflict with "one"'),
    ]
    assert reply.message == 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.mode\n- .spec.size'


def test_single_conflict_message(api: Api) -> None:
    """A single conflict is told in one line."""
    api.apply("g", spec={"size": 1}).ok(201)
    api.apply("g", manager="two", spec={"size": 2}).refused(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    )


def test_conflict_with_an_updater(api: Api) -> None:
    """A conflict with a manager that updated through status names subresource and version."""
    api.made("g", spec={})
    api.patch("merge", "g", {"status": {"phase": "x"}}, "status", fieldManager="m").ok(200)
    reply = api.apply("g", "status", status={"phase": "y"}).refused(409, "Conflict")
    message = reply.causes[0][2]
    assert message.startswith(f'conflict with "m" with subresource "status" using {api.api_version}'), message


def test_force_takes_over(api: Api) -> None:
    """With force=true the apply is carried out and ownership moves."""
    api.apply("g", spec={"size": 1}).ok(201)
    answer = api.apply("g", manager="two", query={"force": True}, spec={"size": 2}).ok(200).json
    owners = {entry["manager"]: entry["fieldsV1"] for entry in answer["metadata"]["managedFields"]}
    assert owners == {"two": {"f:spec": {"f:size": {}}}}


def test_same_value_is_shared(api: Api) -> None:
    """An apply of the same value by another manager shares the field, and dropping it by one keeps it."""
    api.apply("g", spec={"size": 1}).ok(201)
    api.apply("g", manager="two", spec={"size": 1}).ok(200)
    answer = api.apply("g", spec={}).ok(200).json
    assert answer["spec"] == {"size": 1}
    owners = {entry["manager"]: entry["fieldsV1"] for entry in answer["metadata"]["managedFields"]}
    assert owners["two"] == {"f:spec": {"f:size": {}}}


def test_omitted_field_is_removed(api: Api) -> None:
    """A field that this manager alone owned is removed when its next apply omits it."""
    api.apply("g", spec={"size": 1, "mode": "slow"}).ok(201)
    assert api.apply("g", spec={"size": 1}).ok(200).json["spec"] == {"size": 1}


def test_omitted_condition_is_removed(api: Api) -> None:
    """A condition that this manager alone owned is removed when its next apply omits it; others stay."""
    api.made("g", spec={})
    api.apply("g", "status", status={"conditions": [A]}).ok(200)
    api.apply("g", "status", manager="two", status={"conditions": [B]}).ok(200)
    answer = api.apply("g", "status", status={}).ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["B"]


def test_keyed_entries_merge(api: Api) -> None:
    """Applies of different conditions by two managers both stay."""
    api.made("g", spec={})
    api.apply("g", "status", status={"conditions": [A]}).ok(200)
    answer = api.apply("g", "status", manager="two", status={"conditions": [B]}).ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["A", "B"]


def test_sets_merge(api: Api) -> None:
    """Elements of a set list applied by two managers are united."""
    api.apply("g", spec={"tags": ["a", "b"]}).ok(201)
    assert api.apply("g", manager="two", spec={"tags": ["b", "c"]}).ok(200).json["spec"]["tags"] == ["a", "b", "c"]


def test_atomic_list_conflicts(api: Api) -> None:
    """An atomic list has one owner."""
    api.apply("g", spec={"words": ["a"]}).ok(201)
    api.apply("g", manager="two", spec={"words": ["b"]}).refused(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .spec.words'
    )


def test_atomic_map_conflicts(api: Api) -> None:
    """An atomic map has one owner, whichever of its members is applied."""
    api.apply("g", spec={"frozen": {"a": "1"}}).ok(201)
    api.apply("g", manager="two", spec={"frozen": {"b": "1"}}).refused(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "one": .spec.frozen'
    )


def test_keys_with_default(api: Api) -> None:
    """An entry whose second key is left out gets the default key, and is the same entry as one that spells it."""
    api.apply("g", spec={"ports": [{"name": "web", "number": 80}]}).ok(201)
    answer = (
        api.apply("g", manager="two", query={"force": True}, spec={"ports": [{"name": "web", "protocol": "TCP", "number": 81}]})
        .ok(200)
        .json
    )
    assert answer["spec"]["ports"] == [{"name": "web", "protocol": "TCP", "number": 81}]


def test_stale_resource_version(api: Api) -> None:
    """An apply with a stale resourceVersion in its body is 409 Conflict."""
    stale = api.apply("g", spec={"size": 1}).ok(201).version
    api.patch("merge", "g", {"spec": {"mode": "slow"}}).ok(200)
    api.apply("g", metadata={"resourceVersion": stale}, spec={"size": 2}).refused(409, "Conflict")


def test_resource_version_on_create(api: Api) -> None:
    """An apply with a resourceVersion creates an object that is not there all the same."""
    api.apply("g", metadata={"resourceVersion": "1"}, spec={"size": 2}).ok(201)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": "x"}, ".spec.size: expected numeric (int or float), got string"),
        ({"nosuch": 1}, ".spec.nosuch: field not declared in schema"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
    ],
    ids=["wrong type", "unknown field", "set with duplicates"],
)
def test_typed_errors(api: Api, spec: dict[str, Any], message: str) -> None:
    """An apply that does not fit the schema is 500 with its path, and nothing is stored."""
    reply = api.apply("g", spec=spec).ok(500)
    assert reply.message == f"failed to create typed patch object (/g; {api.api_version}, Kind=Gadget): {message}"
    api.get("g").refused(404, "NotFound")


def test_entry_without_its_key(api: Api) -> None:
    """An applied entry of a map list without a key that has no default is 422."""
    reply = api.apply("g", spec={"ports": [{"number": 1}]}).refused(422, "Invalid")
    assert reply.causes == [("FieldValueRequired", "spec.ports[0].name", "Required value")]


def test_managed_fields_in_body(api: Api) -> None:
    """An apply whose body has managedFields is 400 BadRequest."""
    api.apply("g", metadata={"managedFields": [{"manager": "x"}]}, spec={"size": 1}).refused(400, "BadRequest")


def test_name_mismatch(api: Api) -> None:
    """An apply whose body has another name is 400 BadRequest."""
    api.send("PATCH", api.path("g"), api.obj("h", spec={}), type="apply", fieldManager="one").refused(400, "BadRequest")


def test_yaml_body(api: Api) -> None:
    """An apply may be YAML."""
    body = f"apiVersion: {api.api_version}\nkind: Gadget\nmetadata: {{name: g}}\nspec: {{size: 3}}\n".encode()
    assert api.send("PATCH", api.path("g"), body, type="apply", fieldManager="one").ok(201).json["spec"] == {"size": 3}


def test_force_needs_apply(api: Api) -> None:
    """force on another kind of patch is 422."""
    api.made("g", spec={})
    reply = api.patch("merge", "g", {}, force=True).refused(422, "Invalid")
    assert reply.causes == [("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")]


def test_status_on_main_is_not_owned(api: Api) -> None:
    """An apply on the main resource neither writes nor owns the status."""
    answer = api.apply("g", spec={"size": 1}, status={"phase": "x"}).ok(201).json
    assert "status" not in answer
    assert answer["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:size": {}}}


def test_apply_status_of_missing(api: Api) -> None:
    """An apply of the status of an object that is not there is 404."""
    api.apply("g", "status", status={"phase": "x"}).refused(404, "NotFound")


def test_labels_are_owned(api: Api) -> None:
    """Labels and annotations are owned one by one."""
    api.apply("g", metadata={"labels": {"a": "1"}}).ok(201)
    answer = api.apply("g", manager="two", metadata={"labels": {"b": "1"}, "annotations": {"c": "1"}}).ok(200).json
    owners = {entry["manager"]: entry["fieldsV1"] for entry in answer["metadata"]["managedFields"]}
    assert owners["one"] == {"f:metadata": {"f:labels": {"f:a": {}}}}
    assert owners["two"] == {"f:metadata": {"f:annotations": {"f:c": {}}, "f:labels": {"f:b": {}}}}


def test_removes_own_label(api: Api) -> None:
    """A label that this manager alone owned goes when its next apply omits it."""
    api.apply("g", metadata={"labels": {"a": "1", "b": "1"}}).ok(201)
    assert api.apply("g", metadata={"labels": {"b": "1"}}).ok(200).json["metadata"]["labels"] == {"b": "1"}
