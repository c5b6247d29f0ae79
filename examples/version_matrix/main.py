"""A StatefulSet over many releases: three mutations around one boundary, and golden files that show each regime."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Component, Mutation, PodMutation, StatefulSet, container, set_env

API = "matrix.example.io/v1"
#: The releases that are kept under review.
VERSIONS = ["8.5.0", "8.6.0", "8.7.4", "8.8.0-rc.1", "8.8.0", "8.8.3", "8.9.0"]


def broker(cluster: Any, version: str | None = None) -> Component:
    """Written for 8.8 and later; what came before is taken back."""
    release = version or cluster["spec"]["version"]
    mutations = [
        PodMutation("old-image", old_image(release), versions="<8.8.0-0"),
        PodMutation("old-gateway", old_gateway, versions="<8.8.0-0"),
        Mutation("settle-first", lambda obj: obj["spec"].update(minReadySeconds=10), versions=">=8.6"),
    ]
    resources = [StatefulSet(stateful_set(cluster, release), mutations=mutations)]
    rest = cluster["spec"].get("suspend", False)
    return Component("broker", condition="BrokerReady", version=release, suspend=rest, grace=300, resources=resources)


def stateful_set(cluster: Any, release: str) -> Any:
    """As 8.8 wants it."""
    name, labels = cluster["metadata"]["name"], {"app": cluster["metadata"]["name"]}
    server = {"name": "broker", "image": f"example.io/orchestration:{release}", "env": [{"name": "UNIFIED", "value": "true"}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [server]}}
    spec = {"replicas": cluster["spec"].get("size", 3), "serviceName": name, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def old_image(release: str) -> Any:
    """Before 8.8 the image had another name."""
    return lambda template: container(template, "broker").update(image=f"example.io/broker:{release}")


def old_gateway(template: Any) -> None:
    """Before 8.8 the gateway ran beside the broker, and nothing was unified."""
    set_env(container(template, "broker"), "UNIFIED", "false")
    template["spec"]["containers"].append({"name": "gateway", "image": "example.io/gateway:8"})


async def reconcile(ctx: Context) -> float | None:
    """Stage BrokerReady."""
    return await broker(ctx.object).reconcile(ctx)


def controllers() -> list[Controller]:
    """One."""
    return [Controller(API, "BrokerCluster", reconcile, claims=["conditions[BrokerReady]"]).owns("apps/v1", "StatefulSet")]


if __name__ == "__main__":
    Manager(*controllers()).run()
