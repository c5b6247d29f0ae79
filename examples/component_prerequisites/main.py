"""Two components of one object, the second after the first: one controller, one write of the status for both and for their sum."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Aggregate, Component, ConfigMap, Deployment, soonest

API = "platform.example.io/v1"


def infra(platform: Any) -> Component:
    """The database."""
    return Component("infra", condition="InfraReady", grace=120, resources=[
        ConfigMap({"metadata": placed(platform, "settings"), "data": {"version": platform["spec"]["version"]}}),
        Deployment(deployment(platform, "database")),
    ])  # fmt: skip


def app(platform: Any) -> Component:
    """What needs the database to begin. Once it has begun, an upgrade of the database does not stop it."""
    return Component("app", condition="AppReady", requires=["InfraReady"], grace=60, resources=[Deployment(deployment(platform, "app"))])


def deployment(platform: Any, part: str) -> Any:
    """One replica of a part."""
    labels = {"platform": platform["metadata"]["name"], "part": part}
    server = {"name": part, "image": f"example.io/{part}:{platform['spec']['version']}"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [server]}}
    return {"metadata": placed(platform, part), "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods}}


def placed(platform: Any, part: str) -> Any:
    """Beside its owner; or, where the owner belongs to the whole cluster, in the namespace that it names."""
    namespace = platform["metadata"].get("namespace") or platform["spec"]["namespace"]
    return {"name": f"{platform['metadata']['name']}-{part}", "namespace": namespace}


async def reconcile(ctx: Context) -> float | None:
    """Stage InfraReady, AppReady and Ready."""
    components = [infra(ctx.object), app(ctx.object)]
    seconds = [await component.reconcile(ctx) for component in components]
    await Aggregate("Ready", components).stage(ctx)
    return soonest(*seconds)


def controllers() -> list[Controller]:
    """One for the namespaced kind, one for the cluster-scoped: the same reconcile."""
    claims = ["conditions[InfraReady]", "conditions[AppReady]", "conditions[Ready]"]
    return [
        Controller(API, kind, reconcile, claims=claims).owns("apps/v1", "Deployment").owns("v1", "ConfigMap")
        for kind in ("Platform", "ClusterPlatform")
    ]


if __name__ == "__main__":
    Manager(*controllers()).run()
