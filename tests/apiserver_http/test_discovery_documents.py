"""Discovery, OpenAPI, versions, health and reviews, asked of a machine without a socket; expected as kube-apiserver 1.36.3 answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fiferail.apiserver import reviews
from fiferail.apiserver.embedded import equip
from fiferail.apiserver.kinds import User
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import load_crds
from fiferail.wire import Answer, Request

CRD = Path(__file__).parent.parent / "clients_on_embedded" / "gadgets.yaml"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.fixture(scope="module")
def machine() -> Machine:
    """A machine with the built-in kinds and one CRD; these tests only read."""
    made = equip(Machine(clock=lambda: 1_800_000_000.0))
    load_crds(made, [CRD])
    return made


def ask(machine: Machine, path: str, *, method: str = "GET", query: tuple[tuple[str, str], ...] = (), **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = machine.handle(Request(method=method, path=path, query=query, headers=named))
    assert isinstance(answer, Answer)
    return answer


def test_the_core_group_is_listed_at_its_own_path(machine: Machine) -> None:
    """/api names v1 and the address by which the client came."""
    document = ask(machine, "/api", host="127.0.0.1:1234").json()
    assert document["kind"] == "APIVersions"
    assert document["versions"] == ["v1"]
    assert document["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:1234"}]


def test_groups_come_in_the_real_order(machine: Machine) -> None:
    """/apis lists the server's own groups in its order, then custom ones."""
    groups = [group["name"] for group in ask(machine, "/apis").json()["groups"]]
    assert groups[:4] == ["apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"]
    assert groups[-1] == "example.io"


def test_a_custom_kind_is_listed_with_its_subresources(machine: Machine) -> None:
    """The resource list of a CRD's group version is the real server's, byte for byte but for spacing."""
    every = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    some = ["get", "patch", "update"]
    assert ask(machine, "/apis/example.io/v1").json() == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "example.io/v1",
        "resources": [
            {
                "name": "gadgets",
                "singularName": "gadget",
                "namespaced": True,
                "kind": "Gadget",
                "verbs": every,
                "shortNames": ["gd"],
                "categories": ["all"],
                "storageVersionHash": "thcNeyKXdDk=",
            },
            {"name": "gadgets/status", "singularName": "", "namespaced": True, "kind": "Gadget", "verbs": some},
            {
                "name": "gadgets/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": some,
            },
        ],
    }


def test_aggregated_discovery_says_everything_at_once(machine: Machine) -> None:
    """The aggregated document nests subresources, names its form, and is not sent again to who has it."""
    answer = ask(machine, "/apis", accept=AGGREGATED)
    assert answer.headers["content-type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    (group,) = (group for group in answer.json()["items"] if group["metadata"]["name"] == "example.io")
    (resource,) = group["versions"][0]["resources"]
    assert resource["responseKind"] == {"group": "example.io", "version": "v1", "kind": "Gadget"}
    assert [part["subresource"] for part in resource["subresources"]] == ["status", "scale"]
    again = ask(machine, "/apis", accept=AGGREGATED, if_none_match=answer.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_a_group_names_its_preferred_version(machine: Machine) -> None:
    """/apis/group gives the versions, the preferred one first."""
    version = {"groupVersion": "example.io/v1", "version": "v1"}
    expected = {"kind": "APIGroup", "apiVersion": "v1", "name": "example.io", "versions": [version], "preferredVersion": version}
    assert ask(machine, "/apis/example.io").json() == expected


@pytest.mark.parametrize("path", ["/api/", "/apis/", "/api/v1/", "/apis/apps/", "/apis/apps/v1/", "/version/"])
def test_a_trailing_slash_makes_no_difference(machine: Machine, path: str) -> None:
    """Discovery and /version are the same with and without a slash at the end."""
    assert ask(machine, path).body == ask(machine, path.rstrip("/")).body


UNKNOWN = {
    "/apis/none": "404 page not found\n",
    "/apis/none/v1": "404 page not found\n",
    "/apis/example.io/v9": "404 page not found\n",
    "/foo": "404 page not found\n",
    "/healthz/": "404 page not found\n",
    "/api/v2": "the server could not find the requested resource",
    "/apis/apps/v9": "the server could not find the requested resource",
}


@pytest.mark.parametrize(("path", "text"), UNKNOWN.items())
def test_what_is_not_served_is_not_found(machine: Machine, path: str, text: str) -> None:
    """Unknown versions of the server's own groups get a Status, everything else plain text."""
    answer = ask(machine, path)
    told = answer.json()["message"] if answer.headers["content-type"] == "application/json" else answer.body.decode()
    assert (answer.status, told) == (404, text)


@pytest.mark.parametrize("path", ["/apis", "/apis/apps"])
def test_the_aggregator_does_not_look_at_the_method(machine: Machine, path: str) -> None:
    """The list of groups, and a group, are given to any method, as the real server's aggregator does."""
    assert ask(machine, path, method="POST").body == ask(machine, path).body


@pytest.mark.parametrize("path", ["/api", "/apis/apps/v1", "/version"])
def test_the_rest_of_discovery_only_reads(machine: Machine, path: str) -> None:
    """Other methods on discovery are refused as the real server refuses them."""
    answer = ask(machine, path, method="POST")
    assert (answer.status, answer.json()["message"]) == (405, "the server does not allow this method on the requested resource")


def test_unknown_media_types_are_not_acceptable(machine: Machine) -> None:
    """A client that takes neither JSON nor YAML is told what there is."""
    answer = ask(machine, "/apis/apps/v1", accept="text/html")
    offered = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert (answer.status, answer.json()["message"]) == (406, f"406: Not Acceptable\n\nAvailable representations: {offered}")


def test_health_and_version(machine: Machine) -> None:
    """The health endpoints say ok, more on request, and /version is parsable by clients."""
    assert [ask(machine, f"/{name}").body for name in ("healthz", "livez", "readyz")] == [b"ok"] * 3
    assert ask(machine, "/readyz", query=(("verbose", ""),)).body.endswith(b"readyz check passed\n")
    version = ask(machine, "/version").json()
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


def _schemas(machine: Machine, path: str) -> dict[str, Any]:
    index = ask(machine, "/openapi/v3").json()["paths"]
    path, _, given = index[path]["serverRelativeURL"].partition("?hash=")
    answer = ask(machine, path, query=(("hash", given),))
    assert answer.headers["cache-control"] == "public, immutable"
    found: dict[str, Any] = answer.json()["components"]["schemas"]
    return found


def test_openapi_publishes_a_crd_as_the_real_server_does(machine: Machine) -> None:
    """A CRD's schema has its identity, the members of every object, and the list types that clients look for."""
    schema = _schemas(machine, "apis/example.io/v1")["io.example.v1.Gadget"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.io", "kind": "Gadget", "version": "v1"}]
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec", "status"}
    conditions = schema["properties"]["status"]["properties"]["conditions"]
    assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])
    assert schema["properties"]["spec"]["properties"]["size"]["default"] == 1


def test_openapi_references_lead_somewhere(machine: Machine) -> None:
    """Every reference of every document names a schema of the same document."""
    for path in ask(machine, "/openapi/v3").json()["paths"]:
        document = ask(machine, f"/openapi/v3/{path}").body.decode()
        named = set(json.loads(document)["components"]["schemas"])
        referred = {part.partition('"')[0] for part in document.split('"#/components/schemas/')[1:]}
        assert referred <= named, path


def test_openapi_tells_of_field_validation(machine: Machine) -> None:
    """kubectl looks for the parameter on PATCH before it leaves validation to the server."""
    document = ask(machine, "/openapi/v3/apis/example.io/v1").json()
    patch = document["paths"]["/apis/example.io/v1/namespaces/{namespace}/gadgets/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "example.io", "version": "v1", "kind": "Gadget"}


def review(machine: Machine, path: str, body: Any, user: User = User(), tokens: dict[str, User] | None = None) -> Answer:  # noqa: B008
    asked = Request(method="POST", path=f"/apis/{path}", body=json.dumps(body).encode(), content_type="application/json")
    answer = reviews.answer(machine, asked, user, tokens or {})
    assert answer is not None
    return answer


def test_reviews_tell_who_asks(machine: Machine) -> None:
    """A SelfSubjectReview names the user, a TokenReview the owner of a token or that it is none."""
    ada = User(name="ada", uid="1", groups=("people",))
    asked = review(machine, "authentication.k8s.io/v1/selfsubjectreviews", {}, ada)
    assert asked.status == 201
    assert asked.json()["status"] == {"userInfo": {"username": "ada", "uid": "1", "groups": ["people"]}}
    known = review(machine, "authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t"}}, tokens={"t": ada}).json()
    assert known["status"]["user"]["username"] == "ada"
    unknown = review(machine, "authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}, tokens={"t": ada}).json()
    assert unknown["status"] == {"user": {}, "error": "invalid bearer token"}


def test_access_reviews_allow_the_asker_and_masters(machine: Machine) -> None:
    """Whoever asks may do everything, as may system:masters; about others the server says no and why."""
    what = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    assert review(machine, "authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": what}).json()["status"] == {"allowed": True}
    path = "authorization.k8s.io/v1/subjectaccessreviews"
    assert review(machine, path, {"spec": {**what, "user": "b", "groups": ["system:masters"]}}).json()["status"] == {"allowed": True}
    assert review(machine, path, {"spec": {**what, "user": "bob"}}).json()["status"]["allowed"] is False


WRONG_REVIEWS = {
    "nothing asked": (
        "authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"spec": {}},
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: '
        "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ),
    "another namespace": (
        "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
        {"spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}}},
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
    ),
}


@pytest.mark.parametrize(("path", "body", "message"), WRONG_REVIEWS.values(), ids=WRONG_REVIEWS)
def test_wrong_reviews_are_invalid(machine: Machine, path: str, body: Any, message: str) -> None:
    """A review that asks nothing, or about another namespace than its path, is refused in the server's words."""
    answer = review(machine, path, body)
    assert (answer.status, answer.json()["message"]) == (422, message)
