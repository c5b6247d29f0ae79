"""One reconcile of a component on the embedded server, from the first apply to every reason its condition can have."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.components import Component, ConfigMap, Data, Deployment, Secret


def config(name: str = "config", **data: str) -> Any:
    return {"metadata": {"name": name}, "data": data or {"host": "db"}}


def deployment(name: str = "web", replicas: int = 2) -> Any:
    labels = {"app": name}
    container = {"name": "app", "image": "example.io/app:2"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}}


def web(*resources: Any, **options: Any) -> Component:
    return Component("web", condition="WebReady", resources=resources or (ConfigMap(config()), Deployment(deployment())), **options)


async def test_a_component_converges_from_creating_to_healthy(stand: Any) -> None:
    """Resources are applied in order and the condition follows the Deployment's replicas."""
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("False", "Creating")
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 2, "readyReplicas": 1})
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("False", "Creating")
    assert (await stand.condition("WebReady"))["message"] == "Deployment web: 1 of 2 replicas are ready"
    await stand.set_status("apps/v1", "Deployment", "web", {"readyReplicas": 2})
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert stand.events == [
        ("CreatedConfigMap", "Created ConfigMap config"),
        ("CreatedDeployment", "Created Deployment web"),
        ("Creating", "WebReady went from Unknown to Creating: Deployment web: its controller has not seen generation 1 yet"),
        ("Healthy", "WebReady went from Creating to Healthy: all resources are ready"),
    ]


async def test_resources_belong_to_the_owner_and_to_the_components_field_manager(stand: Any) -> None:
    """What is applied carries the owner as controller and the manager OwnerKind/component."""
    await stand.reconcile(web(ConfigMap(config())).reconcile)
    applied = await stand.get("v1", "ConfigMap", "config")
    [reference] = applied["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("WebApp", "app", True)
    [managed] = applied["metadata"]["managedFields"]
    assert (managed["manager"], managed["operation"]) == ("WebApp/web", "Apply")
