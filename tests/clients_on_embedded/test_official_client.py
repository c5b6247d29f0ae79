"""The official Python client, typed and dynamic, against the embedded server."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import kubernetes
import kubernetes.dynamic
import pytest
from kubernetes.client.exceptions import ApiException

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Its annotations call optional what every server answers.
client: Any = kubernetes.client
config: Any = kubernetes.config
dynamic: Any = kubernetes.dynamic
watch: Any = kubernetes.watch

GADGETS = ("example.io", "v1", "default", "gadgets")


@pytest.fixture
def api(kubeconfig: Path) -> Iterator[Any]:
    """The client of this server."""
    made = config.new_client_from_config(str(kubeconfig))
    yield made
    made.close()


def test_typed_objects_go_round(api: Any) -> None:
    """A typed ConfigMap and a typed Deployment come back as they were sent, defaults added."""
    core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
    core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "b"}))
    assert core.read_namespaced_config_map("c", "default").data == {"a": "b"}
    labels = {"app": "web"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="nginx")])
    )
    spec = client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels=labels), template=template)
    made = apps.create_namespaced_deployment("default", client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec))
    assert made.spec.replicas == 1
    assert made.spec.strategy.type == "RollingUpdate"
    assert [item.metadata.name for item in apps.list_namespaced_deployment("default").items] == ["web"]


def test_custom_objects_can_be_patched_in_status(api: Any, gadget: dict[str, Any]) -> None:
    """Custom objects are created, patched on the status subresource, and conflict when their version is stale."""
    custom = client.CustomObjectsApi(api)
    made = custom.create_namespaced_custom_object(*GADGETS, gadget)
    patched = custom.patch_namespaced_custom_object_status(*GADGETS, "g", {"status": {"phase": "Up"}})
    assert patched["status"] == {"phase": "Up"}
    with pytest.raises(ApiException) as refused:
        custom.replace_namespaced_custom_object_status(*GADGETS, "g", {**made, "status": {"phase": "Down"}})
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")


def test_the_dynamic_client_discovers_and_applies(api: Any, gadget: dict[str, Any]) -> None:
    """The dynamic client finds the kind by discovery, applies on the server, and reads it back."""
    gadgets = dynamic.DynamicClient(api).resources.get(api_version="example.io/v1", kind="Gadget")
    gadgets.server_side_apply(body=gadget, field_manager="test")
    found = gadgets.get(name="g", namespace="default")
    assert found.spec.size == 3
    assert [entry.manager for entry in found.metadata.managedFields] == ["test"]
    gadgets.delete(name="g", namespace="default")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        gadgets.get(name="g", namespace="default")


def test_a_watch_gets_every_event(api: Any, gadget: dict[str, Any]) -> None:
    """A watch from the version of a list sees what happens after it, in order."""
    custom = client.CustomObjectsApi(api)
    listed = custom.list_namespaced_custom_object(*GADGETS)

    def work() -> None:
        custom.create_namespaced_custom_object(*GADGETS, gadget)
        custom.patch_namespaced_custom_object(*GADGETS, "g", {"spec": {"size": 7}})
        custom.delete_namespaced_custom_object(*GADGETS, "g")

    thread = threading.Thread(target=work)
    thread.start()
    seen = []
    watching = watch.Watch()
    version = listed["metadata"]["resourceVersion"]
    for event in watching.stream(custom.list_namespaced_custom_object, *GADGETS, resource_version=version, timeout_seconds=30):
        seen.append((event["type"], event["object"]["spec"]["size"]))
        if event["type"] == "DELETED":
            watching.stop()
    thread.join()
    assert seen == [("ADDED", 3), ("MODIFIED", 7), ("DELETED", 7)]


def test_pages_and_errors(api: Any) -> None:
    """Lists come in pages, and an absent object is a 404 with the server's words."""
    core = client.CoreV1Api(api)
    for number in range(5):
        core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"c{number}")))
    page = core.list_namespaced_config_map("default", limit=2)
    assert [item.metadata.name for item in page.items] == ["c0", "c1"]
    rest = core.list_namespaced_config_map("default", limit=9, _continue=page.metadata._continue)
    assert [item.metadata.name for item in rest.items] == ["c2", "c3", "c4"]
    with pytest.raises(ApiException, match='configmaps \\\\"none\\\\" not found'):
        core.read_namespaced_config_map("none", "default")


def test_reviews_say_that_everything_is_allowed(api: Any) -> None:
    """The server says who is asking, and that they may."""
    review = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    assert review.status.user_info.username == "admin"
    spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods"))
    asked = client.AuthorizationV1Api(api).create_self_subject_access_review(client.V1SelfSubjectAccessReview(spec=spec))
    assert asked.status.allowed is True
