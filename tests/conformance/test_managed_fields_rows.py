"""managedFields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def owners(stored: Any) -> dict[tuple[str, str, str], Any]:
    """(manager, operation, subresource) to fields."""
    entries = stored["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"] for entry in entries}


def test_create(api: Api) -> None:
    """A create gives one Update entry of its manager, with every field that was sent."""
    stored = api.create(api.obj("g", {"labels": {"a": "b"}}, spec={"size": 1}), fieldManager="m").ok(201).json
    assert owners(stored) == {("m", "Update", ""): {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:size": {}}}}
    entry = stored["metadata"]["managedFields"][0]
    assert (entry["apiVersion"], entry["fieldsType"]) == (api.api_version, "FieldsV1")
    assert entry["time"] == stored["metadata"]["creationTimestamp"]


def test_default_manager(api: Api) -> None:
    """Without fieldManager the manager is the User-Agent up to the first slash."""
    stored = api.create(api.obj("g", spec={"size": 1}), headers={"User-Agent": "probe/1.2 (x)"}).ok(201).json
    assert owners(stored).keys() == {("probe", "Update", "")}


def test_status_has_its_own_entry(api: Api) -> None:
    """Writes through status have an entry with the subresource."""
    api.create(api.obj("g", spec={"size": 1}), fieldManager="m").ok(201)
    stored = api.patch("merge", "g", {"status": {"phase": "x"}}, "status", fieldManager="m").ok(200).json
    assert owners(stored)["m", "Update", "status"] == {"f:status": {".": {}, "f:phase": {}}}


def test_keyed_entries(api: Api) -> None:
    """Entries of a map list are owned by key."""
    api.made("g", spec={})
    stored = api.apply("g", "status", status={"conditions": [{"type": "A", "status": "True"}]}).ok(200).json
    fields: dict[str, Any] = {"f:status": {"f:conditions": {'k:{"type":"A"}': {".": {}, "f:status": {}, "f:type": {}}}}}
    assert owners(stored)["one", "Apply", "status"] == fields


def test_two_keys(api: Api) -> None:
    """An entry with two keys is owned by both, sorted."""
    stored = api.apply("g", spec={"ports": [{"name": "web", "number": 80}]}).ok(201).json
    fields: dict[str, Any] = {"f:spec": {"f:ports": {'k:{"name":"web","protocol":"TCP"}': {".": {}, "f:name": {}, "f:number": {}}}}}
    assert owners(stored)["one", "Apply", ""] == fields


def test_set_elements(api: Api) -> None:
    """Elements of a set list are owned by value."""
    stored = api.apply("g", spec={"tags": ["b", "a"]}).ok(201).json
    assert owners(stored)["one", "Apply", ""] == {"f:spec": {"f:tags": {'v:"a"': {}, 'v:"b"': {}}}}


def test_removal_leaves_no_owner(api: Api) -> None:
    """A field that an update removes is owned by nobody."""
    api.create(api.obj("g", spec={"size": 1, "mode": "slow"}), fieldManager="m").ok(201)
    stored = api.patch("merge", "g", {"spec": {"mode": None}}, fieldManager="n").ok(200).json
    assert owners(stored) == {("m", "Update", ""): {"f:spec": {".": {}, "f:size": {}}}}


def test_update_takes_over(api: Api) -> None:
    """A field that an update changes moves to the updater."""
    api.create(api.obj("g", spec={"size": 1, "mode": "slow"}), fieldManager="m").ok(201)
    stored = api.patch("merge", "g", {"spec": {"size": 2}}, fieldManager="n").ok(200).json
    assert owners(stored) == {
        ("m", "Update", ""): {"f:spec": {".": {}, "f:mode": {}}},
        ("n", "Update", ""): {"f:spec": {"f:size": {}}},
    }


def test_same_value_is_not_taken(api: Api) -> None:
    """An update that sends the value a field already has does not own it."""
    api.create(api.obj("g", spec={"size": 1}), fieldManager="m").ok(201)
    stored = api.patch("merge", "g", {"spec": {"size": 1}}, fieldManager="n").ok(200).json
    assert owners(stored).keys() == {("m", "Update", "")}


def test_ten_update_managers(api: Api) -> None:
    """Beyond ten update managers the oldest are folded into ancient-changes."""
    api.create(api.obj("g", spec={"size": 0}), fieldManager="m").ok(201)
    for number in range(12):
        stored = api.patch("merge", "g", {"spec": {"limits": {f"k{number}": "v"}}}, fieldManager=f"m{number}").ok(200).json
    found = owners(stored)
    assert ("ancient-changes", "Update", "") in found
    assert ("m11", "Update", "") in found
    assert len(found) == 10


def test_cleared_by_empty_list(api: Api) -> None:
    """A PUT with an empty managedFields list of one empty entry clears them."""
    stored = api.made("g", spec={"size": 1})
    stored["metadata"]["managedFields"] = [{}]
    assert owners(api.put("g", stored).ok(200).json) == {}


def test_put_without_managed_fields_keeps_them(api: Api) -> None:
    """A PUT without managedFields keeps those that are stored."""
    stored = api.create(api.obj("g", spec={"size": 1}), fieldManager="m").ok(201).json
    del stored["metadata"]["managedFields"]
    assert owners(api.put("g", stored, fieldManager="n").ok(200).json).keys() == {("m", "Update", "")}


def test_before_first_apply(api: Api) -> None:
    """After managedFields were cleared, the first apply finds the rest owned by before-first-apply."""
    stored = api.made("g", spec={"size": 1})
    stored["metadata"]["managedFields"] = [{}]
    api.put("g", stored).ok(200)
    answer = api.apply("g", spec={"mode": "slow"}).ok(200).json
    assert owners(answer)["before-first-apply", "Update", ""] == {"f:spec": {".": {}, "f:size": {}}}


def test_defaults_are_not_owned_by_apply(api: Api) -> None:
    """Defaults of the schema are not owned by the applier, and are owned by whoever creates."""
    shapes = api.of("shapes", "Shape")
    applied = shapes.apply("s", spec={"title": "ok"}).ok(201).json
    assert owners(applied) == {("one", "Apply", ""): {"f:spec": {"f:title": {}}}}
    assert applied["spec"]["color"] == "red"


def test_status_field_of_kind_without_subresource(api: Api) -> None:
    """Without a status subresource status fields are owned by the plain entry."""
    plains = api.of("plains", "Plain")
    stored = plains.create(plains.obj("p", status={"phase": "x"}), fieldManager="m").ok(201).json
    assert owners(stored) == {("m", "Update", ""): {"f:status": {".": {}, "f:phase": {}}}}


def test_version_of_entry(api: Api) -> None:
    """An entry names the version that its manager wrote through."""
    newer, older = api.of("vessels", "Vessel", version="v2"), api.of("vessels", "Vessel", version="v1")
    older.apply("s", spec={"size": 1}).ok(201)
    stored = newer.apply("s", manager="two", metadata={"labels": {"a": "b"}}).ok(200).json
    versions = {entry["manager"]: entry["apiVersion"] for entry in stored["metadata"]["managedFields"]}
    assert versions == {"one": f"{api.group}/v1", "two": f"{api.group}/v2"}


def test_field_unknown_to_an_older_entry(api: Api) -> None:
    """An apply of a field that the version of another manager's entry does not know is 500."""
    newer, older = api.of("vessels", "Vessel", version="v2"), api.of("vessels", "Vessel", version="v1")
    older.apply("s", spec={"size": 1}).ok(201)
    reply = newer.apply("s", manager="two", spec={"depth": 2}).ok(500)
    assert reply.message == "failed to convert new object: .spec.depth: field not declared in schema"
