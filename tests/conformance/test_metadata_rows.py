"""Metadata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def test_what_the_server_sets(api: Api) -> None:
    """A create sets uid, creationTimestamp, generation, resourceVersion and namespace."""
    metadata = api.made("g", spec={})["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert (metadata["generation"], metadata["namespace"], metadata["name"]) == (1, api.namespace, "g")
    assert metadata["resourceVersion"].isdigit()


def test_what_a_client_cannot_set(api: Api) -> None:
    """uid, creationTimestamp and deletionTimestamp in the body of a create are replaced."""
    sent = {
        "uid": "11111111-1111-1111-1111-111111111111",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    metadata = api.made("g", sent, spec={})["metadata"]
    assert metadata["uid"] != sent["uid"]
    assert metadata["creationTimestamp"] != sent["creationTimestamp"]
    assert "deletionTimestamp" not in metadata


def test_create_with_resource_version(api: Api) -> None:
    """A create with a resourceVersion is refused."""
    api.create(api.obj("g", {"resourceVersion": "5"}, spec={})).refused(
        500, "", "resourceVersion should not be set on objects to be created"
    )


def test_already_exists(api: Api) -> None:
    """A second create of a name is 409 AlreadyExists."""
    api.made("g", spec={})
    reply = api.create(api.obj("g", spec={})).refused(409, "AlreadyExists", f'{api.plural}.{api.group} "g" already exists')
    assert reply.details == {"name": "g", "group": api.group, "kind": api.plural}


def test_generate_name(api: Api) -> None:
    """generateName gives a name with five characters more."""
    body = api.obj("", {"generateName": "run-"}, spec={})
    del body["metadata"]["name"]
    metadata = api.create(body).ok(201).json["metadata"]
    assert re.fullmatch(r"run-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
    assert metadata["generateName"] == "run-"


def test_no_name(api: Api) -> None:
    """A create without name and generateName is 422."""
    reply = api.create(api.obj("", spec={})).refused(422, "Invalid")
    assert ("FieldValueRequired", "metadata.name", "Required value: name or generateName is required") in reply.causes


@pytest.mark.parametrize(
    "name",
    ["UPPER", "under_score", "a..b", "-a", "a" * 254],
    ids=["upper case", "underscore", "two dots", "leading dash", "254 characters"],
)
def test_invalid_names(api: Api, name: str) -> None:
    """An invalid name is 422 with FieldValueInvalid at metadata.name."""
    reply = api.create(api.obj(name, spec={})).refused(422, "Invalid")
    assert [(reason, field) for reason, field, _ in reply.causes] == [("FieldValueInvalid", "metadata.name")]


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "x"}}, "metadata.labels"),
        ({"labels": {"a": "-x"}}, "metadata.labels"),
        ({"labels": {"a": "x" * 64}}, "metadata.labels"),
        ({"annotations": {"a/b/c": "x"}}, "metadata.annotations"),
        ({"finalizers": ["bad name/x"]}, "metadata.finalizers"),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": ""}]}, "metadata.ownerReferences.uid"),
        ({"ownerReferences": [{"apiVersion": "", "kind": "Pod", "name": "x", "uid": "u"}]}, "metadata.ownerReferences.apiVersion"),
    ],
    ids=["label key", "label value", "long label value", "annotation key", "finalizer", "owner without uid", "owner without version"],
)
def test_invalid_metadata(api: Api, metadata: dict[str, Any], field: str) -> None:
    """Invalid metadata is 422 at its field."""
    reply = api.create(api.obj("g", metadata, spec={})).refused(422, "Invalid")
    assert field in [where for _, where, _ in reply.causes], reply.text


def test_two_controllers(api: Api) -> None:
    """Two owner references with controller true are 422."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in ("x", "y")]
    reply = api.create(api.obj("g", {"ownerReferences": owners}, spec={})).refused(422, "Invalid")
    assert "Only one reference can have Controller set to true" in reply.message


def test_unqualified_finalizer_warns(api: Api) -> None:
    """A finalizer without a domain is accepted for custom resources, with a warning."""
    reply = api.create(api.obj("g", {"finalizers": ["plain"]}, spec={})).ok(201)
    advice = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    assert reply.warnings == f'299 - "metadata.finalizers: \\"plain\\": {advice}"'


def test_immutable_creation_timestamp(api: Api) -> None:
    """A PUT with another creationTimestamp keeps the stored one."""
    stored = api.made("g", spec={})
    changed = {**stored, "metadata": {**stored["metadata"], "creationTimestamp": None}}
    assert api.put("g", changed).ok(200).json["metadata"]["creationTimestamp"] == stored["metadata"]["creationTimestamp"]


def test_put_with_other_uid(api: Api) -> None:
    """A PUT with another uid is 409 Conflict."""
    stored = api.made("g", spec={})
    changed = {**stored, "metadata": {**stored["metadata"], "uid": "11111111-1111-1111-1111-111111111111"}}
    reply = api.put("g", changed).refused(409, "Conflict")
    expected = "Precondition failed: UID in precondition: 11111111-1111-1111-1111-111111111111, UID in object meta: "
    assert expected + stored["metadata"]["uid"] in reply.message


def test_put_of_missing(api: Api) -> None:
    """A PUT of a custom resource that is not there is 404."""
    api.put("g", api.obj("g", {"resourceVersion": "1"}, spec={})).refused(404, "NotFound", f'{api.plural}.{api.group} "g" not found')


def test_name_mismatch(api: Api) -> None:
    """A PUT whose body has another name is 400."""
    stored = api.made("g", spec={})
    changed = {**stored, "metadata": {**stored["metadata"], "name": "h"}}
    api.put("g", changed).refused(400, "BadRequest", "the name of the object (h) does not match the name on the URL (g)")


def test_namespace_mismatch(api: Api) -> None:
    """A create whose body has another namespace is 400."""
    reply = api.create(api.obj("g", {"namespace": "elsewhere"}, spec={})).refused(400, "BadRequest")
    assert reply.message == "the namespace of the provided object does not match the namespace sent on the request"


def test_missing_namespace(api: Api) -> None:
    """A create in a namespace that is not there is 404."""
    api.within("nowhere-at-all").create(api.obj("g", spec={})).refused(404, "NotFound", 'namespaces "nowhere-at-all" not found')


def test_cluster_scope(api: Api) -> None:
    """A cluster-scoped object has no namespace."""
    flags = api.of("flags", "Flag", cluster=True)
    name = f"flag-{api.namespace}"
    assert "namespace" not in flags.made(name, spec={"color": "red"})["metadata"]
    flags.delete(name).ok(200)


def test_same_name_in_two_namespaces(api: Api) -> None:
    """Two namespaces hold the same name as two objects."""
    first = api.made("g", spec={})
    other = f"{api.namespace}-other"
    api.send("POST", "/api/v1/namespaces", {"metadata": {"name": other}}).ok(201)
    second = api.within(other).made("g", spec={})
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_versions_grow(api: Api) -> None:
    """resourceVersions grow across objects and kinds."""
    first = api.made("g", spec={})["metadata"]["resourceVersion"]
    maps = api.of("configmaps", "ConfigMap", "")
    second = maps.made("c")["metadata"]["resourceVersion"]
    third = api.made("h", spec={})["metadata"]["resourceVersion"]
    assert int(first) < int(second) < int(third)


def test_self_link_is_gone(api: Api) -> None:
    """No answer has a selfLink, and one that is sent is dropped."""
    assert "selfLink" not in api.made("g", {"selfLink": "/x"}, spec={})["metadata"]


def test_unknown_metadata_is_dropped(api: Api) -> None:
    """Unknown fields of metadata are dropped."""
    assert "nosuch" not in api.made("g", {"nosuch": "x"}, spec={})["metadata"]


def test_recreated_object_has_another_uid(api: Api) -> None:
    """An object that is deleted and created again has another uid and generation 1."""
    first = api.made("g", spec={"size": 1})
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.delete("g").ok(200)
    second = api.made("g", spec={"size": 1})
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    assert second["metadata"]["generation"] == 1
