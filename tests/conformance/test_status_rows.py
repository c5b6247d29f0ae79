"""Status and the main resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def test_create_drops_status(api: Api) -> None:
    """A status in the body of a create is dropped."""
    assert "status" not in api.create(api.obj("g", spec={"size": 1}, status={"phase": "x"})).ok(201).json


def test_put_on_main_ignores_status(api: Api) -> None:
    """A PUT of the main resource leaves the status as it is."""
    stored = api.made("g", spec={"size": 1}, status={"phase": "x"})
    answer = api.put("g", {**stored, "spec": {"size": 2}, "status": {"phase": "y"}}).ok(200).json
    assert (answer["spec"]["size"], answer["status"]["phase"]) == (2, "x")


def test_put_on_main_without_status_keeps_it(api: Api) -> None:
    """A PUT of the main resource that has no status keeps the stored one."""
    stored = api.made("g", spec={"size": 1}, status={"phase": "x"})
    del stored["status"]
    assert api.put("g", {**stored, "spec": {"size": 2}}).ok(200).json["status"] == {"phase": "x"}


def test_put_status_without_resource_version(api: Api) -> None:
    """A PUT of status without resourceVersion is 422 Invalid with its cause."""
    stored = api.made("g", spec={"size": 1})
    del stored["metadata"]["resourceVersion"]
    reply = api.put("g", {**stored, "status": {"phase": "x"}}, "status").refused(422, "Invalid")
    assert reply.causes == [("FieldValueInvalid", "metadata.resourceVersion", "Invalid value: 0: must be specified for an update")]


def test_put_main_without_resource_version(api: Api) -> None:
    """A PUT of a custom resource without resourceVersion is 422 Invalid on the main resource too."""
    stored = api.made("g", spec={"size": 1})
    del stored["metadata"]["resourceVersion"]
    api.put("g", stored).refused(
        422,
        "Invalid",
        f'{api.plural}.{api.group} "g" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )


@pytest.mark.parametrize("sub", ["", "status"], ids=["main", "status"])
def test_put_with_stale_version(api: Api, sub: str) -> None:
    """A PUT with a stale resourceVersion is 409 Conflict."""
    stored = api.made("g", spec={"size": 1})
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.put("g", stored, sub).refused(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {api.plural}.{api.group} "g": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )


def test_put_status_ignores_spec_and_labels(api: Api) -> None:
    """A PUT of status that also changes spec and labels changes only the status."""
    stored = api.made("g", {"labels": {"a": "1"}}, spec={"size": 1})
    changed = {**stored, "metadata": {**stored["metadata"], "labels": {"a": "2"}}, "spec": {"size": 9}, "status": {"phase": "x"}}
    answer = api.put("g", changed, "status").ok(200).json
    assert (answer["spec"]["size"], answer["metadata"]["labels"], answer["status"]) == (1, {"a": "1"}, {"phase": "x"})


def test_put_status_ignores_annotations_and_finalizers(api: Api) -> None:
    """A PUT of status cannot change annotations, finalizers or owner references."""
    stored = api.made("g", spec={"size": 1})
    metadata = {**stored["metadata"], "annotations": {"n": "1"}, "finalizers": ["fiferail.dev/x"]}
    answer = api.put("g", {**stored, "metadata": metadata, "status": {"phase": "x"}}, "status").ok(200).json["metadata"]
    assert "annotations" not in answer
    assert "finalizers" not in answer


def test_merge_patch_status_ignores_wrong_uid(api: Api) -> None:
    """A merge patch of status with a wrong metadata.uid is carried out: the uid is ignored."""
    api.made("g", spec={"size": 1})
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000001"}, "status": {"phase": "x"}}
    assert api.patch("merge", "g", body, "status").ok(200).json["status"]["phase"] == "x"


def test_merge_patch_main_refuses_wrong_uid(api: Api) -> None:
    """A merge patch of the main resource with a wrong metadata.uid is 422: the uid is immutable."""
    api.made("g", spec={"size": 1})
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000001"}, "spec": {"size": 2}}
    causes = api.patch("merge", "g", body).refused(422, "Invalid").causes
    expected = 'Invalid value: "00000000-0000-0000-0000-000000000001": field is immutable'
    assert causes == [("FieldValueInvalid", "metadata.uid", expected)] * 2


@pytest.mark.parametrize(
    ("sub", "body"),
    [
        ("status", {"spec": {"size": 5}}),
        ("", {"status": {"phase": "y"}}),
        ("", {}),
        ("", {"spec": {"size": 1}}),
        ("status", {"status": {"phase": "x"}}),
    ],
    ids=["only spec on status", "only status on main", "empty", "same spec", "same status"],
)
def test_patch_that_changes_nothing(api: Api, sub: str, body: object) -> None:
    """A merge patch that changes nothing is 200 and keeps the resourceVersion."""
    stored = api.made("g", spec={"size": 1}, status={"phase": "x"})
    answer = api.patch("merge", "g", body, sub).ok(200).json
    assert answer["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
    assert (answer["spec"], answer["status"]) == (stored["spec"], stored["status"])


def test_put_that_changes_nothing(api: Api) -> None:
    """A PUT of the object as read keeps the resourceVersion."""
    stored = api.made("g", spec={"size": 1}, status={"phase": "x"})
    assert api.put("g", stored).ok(200).version == stored["metadata"]["resourceVersion"]
    assert api.put("g", stored, "status").ok(200).version == stored["metadata"]["resourceVersion"]


def test_generation(api: Api) -> None:
    """A change of spec raises the generation by one; status, labels and annotations do not."""
    assert api.made("g", spec={"size": 1})["metadata"]["generation"] == 1
    assert api.patch("merge", "g", {"spec": {"size": 2}}).ok(200).json["metadata"]["generation"] == 2
    assert api.patch("merge", "g", {"status": {"phase": "x"}}, "status").ok(200).json["metadata"]["generation"] == 2
    metadata = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
    assert api.patch("merge", "g", metadata).ok(200).json["metadata"]["generation"] == 2


def test_generation_cannot_be_set(api: Api) -> None:
    """A generation in a body is ignored."""
    stored = api.made("g", {"generation": 7}, spec={"size": 1})
    assert stored["metadata"]["generation"] == 1
    changed = {**stored, "metadata": {**stored["metadata"], "generation": 40}}
    assert api.put("g", changed).ok(200).json["metadata"]["generation"] == 1


def test_generation_without_status_subresource(api: Api) -> None:
    """Without a status subresource a change of status raises the generation like any other."""
    plains = api.of("plains", "Plain")
    plains.create(plains.obj("p", spec={"size": 1}, status={"phase": "x"})).ok(201)
    assert plains.get("p").json["status"] == {"phase": "x"}
    assert plains.patch("merge", "p", {"status": {"phase": "y"}}).ok(200).json["metadata"]["generation"] == 2


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
def test_no_status_subresource(api: Api, method: str) -> None:
    """The status path of a kind without a status subresource is 404, told as for an absent object."""
    plains = api.of("plains", "Plain")
    plains.made("p", spec={"size": 1})
    reply = api.send(method, plains.path("p", "status"), None if method == "GET" else {}, type="merge" if method == "PATCH" else "")
    reply.refused(404, "NotFound", f'plains.{api.group} "p" not found')


def test_get_status_is_the_whole_object(api: Api) -> None:
    """GET of the status subresource returns the whole object."""
    api.made("g", spec={"size": 1}, status={"phase": "x"})
    assert api.get("g", "status").ok(200).json == api.get("g").ok(200).json


def test_status_null_removes(api: Api) -> None:
    """A merge patch with null removes one field, or the whole status."""
    api.made("g", spec={}, status={"phase": "x", "note": "n"})
    assert api.patch("merge", "g", {"status": {"phase": None}}, "status").ok(200).json["status"] == {"note": "n"}
    assert "status" not in api.patch("merge", "g", {"status": None}, "status").ok(200).json


def test_status_of_missing_object(api: Api) -> None:
    """A status patch of an object that is not there is 404 and names the resource."""
    reply = api.patch("merge", "absent", {"status": {"phase": "x"}}, "status").refused(
        404, "NotFound", f'{api.plural}.{api.group} "absent" not found'
    )
    assert reply.details == {"name": "absent", "group": api.group, "kind": api.plural}


def test_older_version_erases(api: Api) -> None:
    """A patch through an older version of a CRD without conversion erases what only the newer one has, in spec and status."""
    newer, older = api.of("vessels", "Vessel", version="v2"), api.of("vessels", "Vessel", version="v1")
    newer.made("s", spec={"size": 1, "depth": 2}, status={"phase": "x", "newer": "kept?"})
    assert older.get("s").ok(200).json["status"] == {"phase": "x"}
    older.patch("merge", "s", {"status": {"phase": "y"}}, "status").ok(200)
    assert newer.get("s").ok(200).json["status"] == {"phase": "y"}
    assert newer.get("s").json["spec"] == {"size": 1}


def test_deprecated_version_warns(api: Api) -> None:
    """Every request through a deprecated version carries its warning."""
    older = api.of("vessels", "Vessel", version="v1")
    assert older.list().ok(200).warnings == '299 - "conformance.fiferail.dev/v1 Vessel is old"'


def test_merge_patch_to_unserved_version_wipes_status(api: Api) -> None:
    """A merge patch that names an unserved version of the same group in its body is 200 and wipes the status."""
    newer = api.of("vessels", "Vessel", version="v2")
    newer.made("s", spec={"size": 1}, status={"phase": "x"})
    body = {"apiVersion": f"{api.group}/v0", "status": {"phase": "y"}}
    assert newer.patch("merge", "s", body, "status").ok(200).json.get("status", {}) == {}
