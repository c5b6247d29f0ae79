"""Built-in kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api

POD = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}


def deployment(api: Api, name: str = "d") -> Any:
    return api.of("deployments", "Deployment", "apps").made(name, spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE})


def test_config_map(api: Api) -> None:
    """A ConfigMap keeps data and has no generation."""
    stored = api.of("configmaps", "ConfigMap", "").made("c", data={"a": "1"})
    assert stored["data"] == {"a": "1"}
    assert "generation" not in stored["metadata"]


def test_config_map_put_without_version(api: Api) -> None:
    """A ConfigMap can be replaced without a resourceVersion."""
    maps = api.of("configmaps", "ConfigMap", "")
    maps.made("c", data={"a": "1"})
    assert maps.put("c", maps.obj("c", data={"a": "2"})).ok(200).json["data"] == {"a": "2"}


def test_config_map_put_is_409_when_stale(api: Api) -> None:
    """A ConfigMap with a stale resourceVersion is 409 Conflict."""
    maps = api.of("configmaps", "ConfigMap", "")
    stored = maps.made("c", data={"a": "1"})
    maps.patch("merge", "c", {"data": {"a": "2"}}).ok(200)
    maps.put("c", stored).refused(409, "Conflict")


def test_unknown_field_of_builtin(api: Api) -> None:
    """An unknown field of a built-in kind is dropped with a warning."""
    reply = api.of("configmaps", "ConfigMap", "").create({"metadata": {"name": "c"}, "nosuch": 1}).ok(201)
    assert "nosuch" not in reply.json
    assert reply.warnings == '299 - "unknown field \\"nosuch\\""'


def test_secret_string_data(api: Api) -> None:
    """stringData of a Secret becomes data."""
    stored = api.of("secrets", "Secret", "").made("s", stringData={"a": "hi"})
    assert (stored["data"], stored["type"]) == ({"a": "aGk="}, "Opaque")
    assert "stringData" not in stored


def test_deployment_defaults(api: Api) -> None:
    """A Deployment gets its defaults."""
    spec = deployment(api)["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    container = spec["template"]["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "Always"
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert spec["template"]["spec"]["restartPolicy"] == "Always"


def test_deployment_status_is_reset(api: Api) -> None:
    """A Deployment has an empty status and generation 1 after its create."""
    stored = deployment(api)
    assert (stored["status"], stored["metadata"]["generation"]) == ({}, 1)


def test_deployment_duplicate_conditions(api: Api) -> None:
    """A Deployment accepts a condition type twice."""
    deployments = api.of("deployments", "Deployment", "apps")
    deployment(api)
    conditions = [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]
    answer = deployments.patch("merge", "d", {"status": {"conditions": conditions}}, "status").ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["A", "A"]


def test_deployment_selector_is_immutable(api: Api) -> None:
    """The selector of a Deployment cannot change."""
    deployments = api.of("deployments", "Deployment", "apps")
    deployment(api)
    patch = {"spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {"metadata": {"labels": {"x": "y"}}}}}
    reply = deployments.patch("merge", "d", patch).refused(422, "Invalid")
    assert "field is immutable" in reply.message


def test_deployment_selector_must_match(api: Api) -> None:
    """The selector of a Deployment must match its template."""
    deployments = api.of("deployments", "Deployment", "apps")
    body = deployments.obj("d", spec={"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE})
    reply = deployments.create(body).refused(422, "Invalid")
    assert ("FieldValueInvalid", "spec.template.metadata.labels") in [cause[:2] for cause in reply.causes]


def test_deployment_scale(api: Api) -> None:
    """A Deployment has a scale subresource."""
    deployments = api.of("deployments", "Deployment", "apps")
    deployment(api)
    assert deployments.patch("merge", "d", {"spec": {"replicas": 4}}, "scale").ok(200).json["spec"]["replicas"] == 4
    assert deployments.get("d").json["spec"]["replicas"] == 4


def test_deployment_status_apply(api: Api) -> None:
    """A condition of a Deployment can be applied by type."""
    deployments = api.of("deployments", "Deployment", "apps")
    deployment(api)
    answer = deployments.apply("d", "status", status={"conditions": [{"type": "A", "status": "True"}]}).ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["A"]


def test_pdb_duplicate_conditions(api: Api) -> None:
    """A PodDisruptionBudget refuses a condition type twice."""
    budgets = api.of("poddisruptionbudgets", "PodDisruptionBudget", "policy")
    budgets.made("b", spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}})
    entry = {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    reply = budgets.patch("merge", "b", {"status": {"conditions": [entry, entry]}}, "status").refused(422, "Invalid")
    assert reply.causes == [("FieldValueDuplicate", "status.conditions[1].type", 'Duplicate value: "A"')]


def test_service_gets_an_address(api: Api) -> None:
    """A Service gets a cluster IP and its defaults."""
    spec = api.of("services", "Service", "").made("s", spec={"ports": [{"port": 80}], "selector": {"a": "b"}})["spec"]
    assert spec["clusterIP"].startswith("10.0.0.")
    assert (spec["type"], spec["sessionAffinity"], spec["ports"]) == (
        "ClusterIP",
        "None",
        [{"protocol": "TCP", "port": 80, "targetPort": 80}],
    )


def test_pod_defaults(api: Api) -> None:
    """A Pod starts Pending with its quality of service."""
    stored = api.of("pods", "Pod", "").made("p", spec=POD)
    assert stored["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_pod_name_required(api: Api) -> None:
    """A container without a name is 422 at its field."""
    pods = api.of("pods", "Pod", "")
    reply = pods.create(pods.obj("p", spec={"containers": [{"image": "i"}]})).refused(422, "Invalid")
    assert ("FieldValueRequired", "spec.containers[0].name", "Required value") in reply.causes


def test_namespace_life(api: Api) -> None:
    """A Namespace is Active, has the kubernetes finalizer and its name as a label."""
    stored = api.send("GET", f"/api/v1/namespaces/{api.namespace}").ok(200).json
    assert (stored["status"], stored["spec"]) == ({"phase": "Active"}, {"finalizers": ["kubernetes"]})
    assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": api.namespace}


def test_namespace_terminating(api: Api) -> None:
    """A deleted Namespace is Terminating until its finalizer goes, and takes no new objects."""
    api.send("DELETE", f"/api/v1/namespaces/{api.namespace}").ok(200)
    assert api.send("GET", f"/api/v1/namespaces/{api.namespace}").ok(200).json["status"]["phase"] == "Terminating"
    reply = api.create(api.obj("g", spec={})).refused(403, "Forbidden")
    assert "because it is being terminated" in reply.message


def test_lease(api: Api) -> None:
    """A Lease keeps microseconds."""
    leases = api.of("leases", "Lease", "coordination.k8s.io")
    stored = leases.made("l", spec={"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000000Z"})
    assert stored["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


def test_wrong_kind(api: Api) -> None:
    """A body of another kind is 400."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}
    api.of("configmaps", "ConfigMap", "").create(body).refused(400, "BadRequest")


def test_self_subject_review(api: Api) -> None:
    """A SelfSubjectAccessReview is answered, and stored nowhere."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    assert api.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body).ok(201).json["status"]["allowed"] is True


@pytest.mark.parametrize(
    ("plural", "kind", "group"), [("serviceaccounts", "ServiceAccount", ""), ("roles", "Role", "rbac.authorization.k8s.io")]
)
def test_plain_kinds(api: Api, plural: str, kind: str, group: str) -> None:
    """Kinds without a spec are created, listed and deleted."""
    objects = api.of(plural, kind, group)
    extra: dict[str, Any] = {"rules": []} if kind == "Role" else {}
    objects.made("x", **extra)
    assert [item["metadata"]["name"] for item in objects.list().ok(200).json["items"]] == ["x"]
    objects.delete("x").ok(200)
    assert objects.list().json["items"] == []


JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}


@pytest.mark.parametrize(
    ("plural", "kind", "group", "spec"),
    [("pods", "Pod", "", POD), ("services", "Service", "", {"ports": [{"port": 80}]}), ("jobs", "Job", "batch", JOB)],
    ids=["Pod", "Service", "Job"],
)
def test_duplicate_conditions(api: Api, plural: str, kind: str, group: str, spec: dict[str, Any]) -> None:
    """A built-in kind accepts a condition type twice."""
    objects = api.of(plural, kind, group)
    objects.made("x", spec=spec)
    conditions = [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]
    answer = objects.patch("merge", "x", {"status": {"conditions": conditions}}, "status").ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["A", "A"]


def test_namespaces_that_stay(api: Api) -> None:
    """The namespaces of the system cannot be deleted."""
    reply = api.send("DELETE", "/api/v1/namespaces/kube-system").refused(403, "Forbidden")
    assert reply.message == 'namespaces "kube-system" is forbidden: this namespace may not be deleted'
