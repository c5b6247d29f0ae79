"""Media types, strict decoding and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
}
ACCEPTED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
UNCHECKED = (
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def test_review_as_table(api: Api) -> None:
    """A review as a Table is 406."""
    reply = api.send("POST", REVIEWS, REVIEW, headers={"Accept": TABLE})
    reply.refused(406, "NotAcceptable", f"only the following media types are accepted: {ACCEPTED}")


def test_review_as_table_or_json(api: Api) -> None:
    """A review as a Table or else as JSON is JSON, which is how kubectl asks."""
    reply = api.send("POST", REVIEWS, REVIEW, headers={"Accept": f"{TABLE},application/json"}).ok(201)
    assert (reply.json["kind"], reply.json["status"]) == ("SelfSubjectAccessReview", {"allowed": True})


def test_review_as_metadata(api: Api) -> None:
    """A review as PartialObjectMetadata is its metadata alone."""
    reply = api.send("POST", REVIEWS, REVIEW, headers={"Accept": PARTIAL}).ok(201)
    assert (reply.json["kind"], sorted(reply.json)) == ("PartialObjectMetadata", ["apiVersion", "kind", "metadata"])


def test_review_in_yaml(api: Api) -> None:
    """A review is answered in YAML when that is asked for."""
    reply = api.send("POST", REVIEWS, REVIEW, headers={"Accept": "application/yaml"}).ok(201)
    assert reply.text.endswith("status:\n  allowed: true\n")


def test_review_in_html(api: Api) -> None:
    """A review in a media type that the server has not is 406."""
    reply = api.send("POST", REVIEWS, REVIEW, headers={"Accept": "text/html"})
    reply.refused(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {ACCEPTED}")


TWICE = '{"apiVersion":"v1","kind":"ConfigMap","zz":1,"metadata":{"name":"x","name":"c","bb":1},"data":{"a":"1","a":"2"},"aa":1,"zz":2}'


def test_order_of_complaints(api: Api) -> None:
    """Strict complaints about a built-in kind come in the order of the text, unknown and duplicate fields alike."""
    maps = api.of("configmaps", "ConfigMap", "", "v1")
    reply = maps.send("POST", maps.path(), TWICE.encode(), fieldValidation="Strict").refused(400, "BadRequest")
    fields = 'unknown field "zz", duplicate field "metadata.name", unknown field "metadata.bb"'
    fields += ', duplicate field "data.a", unknown field "aa"'
    assert reply.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: {fields}'


def test_order_of_complaints_in_yaml(api: Api) -> None:
    """Of YAML the keys that stand twice come first, then unknown fields in the order of the alphabet."""
    maps = api.of("configmaps", "ConfigMap", "", "v1")
    text = b"apiVersion: v1\nkind: ConfigMap\nzz: 1\nmetadata: {name: x, name: c, bb: 1}\naa: 1\n"
    reply = maps.send("POST", maps.path(), text, type="application/yaml", fieldValidation="Strict").refused(400, "BadRequest")
    twice = 'yaml: unmarshal errors:\n  line 4: key "name" already set in map'
    fields = f'{twice}, unknown field "aa", unknown field "metadata.bb", unknown field "zz"'
    assert reply.message == f'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: {fields}'


def test_order_of_complaints_about_strategic_patches(api: Api) -> None:
    """Unknown fields of a strategic merge patch come in the order of the alphabet."""
    maps = api.of("configmaps", "ConfigMap", "", "v1")
    maps.made("c")
    reply = maps.patch("strategic", "c", {"zz": 1, "metadata": {"bb": 1, "aa": 2}, "aa": 1}, fieldValidation="Strict")
    fields = 'unknown field "aa", unknown field "metadata.aa", unknown field "metadata.bb", unknown field "zz"'
    assert reply.refused(422, "Invalid").message.endswith(f": strict decoding error: {fields}")


def test_dry_run_with_a_version(api: Api) -> None:
    """A create with a resourceVersion is refused, and a rehearsal of it is not."""
    body = api.obj("g", {"resourceVersion": "5"}, spec={})
    assert api.create(body, dryRun="All").ok(201).version == "5"
    assert api.create(body).ok(500).message == "resourceVersion should not be set on objects to be created"


@pytest.mark.parametrize("numbers", [[1], [-1], ["x"]], ids=["valid", "against the rule", "of the wrong type"])
def test_rules_of_nameless_objects(api: Api, numbers: list[Any]) -> None:
    """The rules of an object without a name are not checked, and the answer says so."""
    piles = api.of("piles", "Pile")
    reply = piles.create({"apiVersion": piles.api_version, "kind": "Pile", "metadata": {}, "spec": {"a": numbers}}).refused(422, "Invalid")
    assert reply.causes[0] == ("FieldValueRequired", "metadata.name", "Required value: name or generateName is required")
    assert reply.causes[-1] == UNCHECKED


def test_descriptions_of_columns(api: Api) -> None:
    """The columns of a Table are described, those of custom kinds too."""
    for kind, columns in {("gadgets", "Gadget"): 2, ("configmaps", "ConfigMap"): 3, ("pods", "Pod"): 9}.items():
        of = api.of(*kind) if kind[0] == "gadgets" else api.of(*kind, "", "v1")
        found = of.send("GET", of.path(), headers={"Accept": TABLE}).ok(200).json
        descriptions = [column["description"] for column in found["columnDefinitions"]]
        assert len(descriptions) == columns
        assert all(descriptions)
        assert descriptions[0].startswith("Name must be unique within a namespace.")
        assert "continue" not in found["metadata"]


def test_deleting_a_kind_that_is_not_served(api: Api) -> None:
    """A CRD of which no version is served can be deleted; its last state is the answer."""
    crds = api.of("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io", "v1", cluster=True)
    name = f"ghosts.{api.namespace}.fiferail.dev"
    version = {"name": "v1", "served": False, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "ghosts", "kind": "Ghost"}
    spec = {"group": name.partition(".")[2], "scope": "Namespaced", "names": names, "versions": [version]}
    crds.create(crds.obj(name, spec=spec)).ok(201)
    reply = crds.delete(name).ok(200)
    assert reply.json["metadata"]["name"] == name
    assert "deletionTimestamp" in reply.json["metadata"]
