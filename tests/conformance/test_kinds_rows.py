"""CustomResourceDefinitions, scale, discovery."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api, Reply

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(api: Api, name: str, **changes: Any) -> dict[str, Any]:
    """A small CRD in a group of its own."""
    group = f"{api.namespace}.fiferail.dev"
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": f"{name}s", "kind": name.capitalize()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        **changes,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.{group}"},
        "spec": spec,
    }


def until(api: Api, path: str, code: int, seconds: float = 20) -> Reply:
    """The reply once it has that code."""
    deadline = time.monotonic() + seconds
    while (reply := api.send("GET", path)).code != code:
        assert time.monotonic() < deadline, f"{path}: {reply.code} {reply.text[:300]}"
        time.sleep(0.05)
    return reply


def test_defaults_of_a_definition(api: Api) -> None:
    """A CRD gets singular, listKind, conversion None and an empty stored-versions list of its own."""
    stored = api.send("POST", CRDS, definition(api, "nut"), dryRun="All").ok(201).json
    assert stored["spec"]["names"] == {"plural": "nuts", "singular": "nut", "kind": "Nut", "listKind": "NutList"}
    assert stored["spec"]["conversion"] == {"strategy": "None"}
    assert stored["status"]["storedVersions"] == ["v1"]


def test_life_of_a_definition(api: Api) -> None:
    """A CRD becomes NamesAccepted and Established, is served, and after its deletion is not."""
    crd = definition(api, "bolt")
    api.send("POST", CRDS, crd).ok(201)
    path = f"/apis/{crd['spec']['group']}/v1/namespaces/{api.namespace}/bolts"
    until(api, path, 200)
    stored = api.send("GET", f"{CRDS}/{crd['metadata']['name']}").ok(200).json
    conditions = {entry["type"]: (entry["status"], entry["reason"]) for entry in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    assert stored["status"]["acceptedNames"] == {"plural": "bolts", "singular": "bolt", "kind": "Bolt", "listKind": "BoltList"}
    api.send("DELETE", f"{CRDS}/{crd['metadata']['name']}").ok(200)
    until(api, path, 404)


def test_deleting_a_definition_deletes_its_objects(api: Api) -> None:
    """Objects go with their CRD."""
    crd = definition(api, "screw")
    api.send("POST", CRDS, crd).ok(201)
    path = f"/apis/{crd['spec']['group']}/v1/namespaces/{api.namespace}/screws"
    until(api, path, 200)
    body = {"apiVersion": f"{crd['spec']['group']}/v1", "kind": "Screw", "metadata": {"name": "s"}}
    api.send("POST", path, body).ok(201)
    api.send("DELETE", f"{CRDS}/{crd['metadata']['name']}").ok(200)
    until(api, f"{CRDS}/{crd['metadata']['name']}", 404)
    api.send("POST", CRDS, crd).ok(201)
    assert until(api, path, 200).json["items"] == []
    api.send("DELETE", f"{CRDS}/{crd['metadata']['name']}").ok(200)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"group": ""}, "spec.group"),
        ({"scope": "Sideways"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
        ({"names": {"plural": "nuts", "kind": "bad kind"}}, "spec.names.kind"),
        (
            {"versions": [{"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
            "spec.versions",
        ),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]}, "spec.versions[0].schema.openAPIV3Schema"),
        (
            {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "string"}}}]},
            "spec.validation.openAPIV3Schema.type",
        ),
    ],
    ids=["no group", "bad scope", "no versions", "bad kind", "no storage version", "no schema", "root is no object"],
)
def test_invalid_definitions(api: Api, changes: dict[str, Any], field: str) -> None:
    """An invalid CRD is 422 at its field."""
    reply = api.send("POST", CRDS, definition(api, "nut", **changes), dryRun="All").refused(422, "Invalid")
    assert field in [where for _, where, _ in reply.causes], reply.causes


def test_name_must_match(api: Api) -> None:
    """The name of a CRD must be plural and group."""
    crd = definition(api, "nut")
    crd["metadata"]["name"] = "other.example.com"
    reply = api.send("POST", CRDS, crd, dryRun="All").refused(422, "Invalid")
    assert ("FieldValueInvalid", "metadata.name") in [cause[:2] for cause in reply.causes]


def test_unserved_version(api: Api) -> None:
    """A version that is not served is 404."""
    assert api.of("vessels", "Vessel", version="v0").list().code == 404


def test_unknown_kind(api: Api) -> None:
    """An unknown resource is 404 in plain text."""
    reply = api.of("nosuches", "Nosuch").list().ok(404)
    assert (reply.text, reply.answer.headers["content-type"]) == ("404 page not found\n", "text/plain; charset=utf-8")


def test_unknown_group(api: Api) -> None:
    """An unknown group is 404 in plain text."""
    assert api.of("x", "X", "nosuch.example.com").list().ok(404).text == "404 page not found\n"


def test_scale_get(api: Api) -> None:
    """GET of scale gives spec, status and selector from the paths of the CRD."""
    scalers = api.of("scalers", "Scaler")
    scalers.made("s", spec={"replicas": 3}, status={"replicas": 2, "selector": "a=b"})
    scale = scalers.get("s", "scale").ok(200).json
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})


def test_scale_patch(api: Api) -> None:
    """A patch of scale changes the replicas of the object and owns them through the subresource."""
    scalers = api.of("scalers", "Scaler")
    scalers.made("s", spec={"replicas": 3, "image": "x"})
    scalers.patch("merge", "s", {"spec": {"replicas": 5}}, "scale", fieldManager="m").ok(200)
    stored = scalers.get("s").json
    assert (stored["spec"], stored["metadata"]["generation"]) == ({"replicas": 5, "image": "x"}, 2)
    entry = next(entry for entry in stored["metadata"]["managedFields"] if entry["manager"] == "m")
    assert (entry["subresource"], entry["fieldsV1"]) == ("scale", {"f:spec": {"f:replicas": {}}})


def test_scale_put(api: Api) -> None:
    """A PUT of scale changes the replicas."""
    scalers = api.of("scalers", "Scaler")
    scalers.made("s", spec={"replicas": 3})
    scale = scalers.get("s", "scale").ok(200).json
    answer = scalers.put("s", {**scale, "spec": {"replicas": 4}}, "scale").ok(200).json
    assert answer["spec"] == {"replicas": 4}


def test_scale_negative(api: Api) -> None:
    """A negative number of replicas is 422."""
    scalers = api.of("scalers", "Scaler")
    scalers.made("s", spec={"replicas": 3})
    scalers.patch("merge", "s", {"spec": {"replicas": -1}}, "scale").refused(422, "Invalid")


def test_no_scale(api: Api) -> None:
    """The scale path of a kind without scale is 404."""
    api.made("g", spec={})
    assert api.get("g", "scale").code == 404


def test_discovery_of_a_group(api: Api) -> None:
    """The resource list of a group names plural, singular, kind, short names, categories and verbs."""
    resources = {entry["name"]: entry for entry in api.send("GET", f"/apis/{api.group}/v1").ok(200).json["resources"]}
    gadgets = resources["gadgets"]
    assert (gadgets["singularName"], gadgets["kind"], gadgets["namespaced"]) == ("gadget", "Gadget", True)
    assert (gadgets["shortNames"], gadgets["categories"]) == (["gd"], ["all"])
    assert gadgets["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert resources["gadgets/status"]["verbs"] == ["get", "patch", "update"]
    assert resources["scalers/scale"]["kind"] == "Scale"


def test_group_versions(api: Api) -> None:
    """A group lists its versions with the preferred one first."""
    group = api.send("GET", f"/apis/{api.group}").ok(200).json
    assert (group["kind"], [version["version"] for version in group["versions"]]) == ("APIGroup", ["v2", "v1"])
    assert group["preferredVersion"]["version"] == "v2"


def test_aggregated_discovery(api: Api) -> None:
    """/apis can be had as one aggregated document."""
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    document = api.send("GET", "/apis", headers=accept).ok(200).json
    assert document["kind"] == "APIGroupDiscoveryList"
    groups = {entry["metadata"]["name"]: entry for entry in document["items"]}
    assert "gadgets" in [entry["resource"] for version in groups[api.group]["versions"] for entry in version["resources"]]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
def test_health(api: Api, path: str) -> None:
    """The health paths say ok."""
    assert api.send("GET", path).ok(200).text == "ok"


def test_version(api: Api) -> None:
    """/version tells the version of Kubernetes."""
    version = api.send("GET", "/version").ok(200).json
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


def test_openapi(api: Api) -> None:
    """OpenAPI v3 of the group describes the kind with its list types."""
    index = api.send("GET", "/openapi/v3").ok(200).json["paths"]
    url = index[f"apis/{api.group}/v1"]["serverRelativeURL"].split("?")[0]
    schemas = api.send("GET", url).ok(200).json["components"]["schemas"]
    gadget = next(schema for name, schema in schemas.items() if name.endswith(".Gadget"))
    conditions = gadget["properties"]["status"]["properties"]["conditions"]
    assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])


def test_conflicting_names(api: Api) -> None:
    """A CRD whose kind another CRD of the group has already is not established."""
    first, second = definition(api, "cog"), definition(api, "cam")
    second["spec"]["names"].update(kind="Cog", listKind="CamList")
    for crd in (first, second):
        api.send("POST", CRDS, crd).ok(201)
        deadline = time.monotonic() + 20
        path = f"{CRDS}/{crd['metadata']['name']}"
        while not (stored := api.send("GET", path).json).get("status", {}).get("conditions"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    conditions = {entry["type"]: (entry["status"], entry["reason"]) for entry in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": ("False", "KindConflict"), "Established": ("False", "NotAccepted")}
    for crd in (first, second):
        api.send("DELETE", f"{CRDS}/{crd['metadata']['name']}").ok(200)
