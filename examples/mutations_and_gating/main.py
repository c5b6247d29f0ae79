"""One component whose Deployment follows a version and three flags. The desired object is written for version 2; mutations take it back."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Component, ConfigMap, Deployment, PodMutation, container, set_env

API = "mutations.example.io/v1"


def web(app: Any) -> Component:
    """All there is to it. The debug variable stands before the rename, so it finds the container by its newest name."""
    spec = app["spec"]
    mutations = [
        PodMutation("debug", debug, when=spec.get("debug", False)),
        PodMutation("name-before-2", name_before_2, versions="<2.0.0"),
        PodMutation("tracing", tracing, when=spec.get("tracing", False)),
    ]
    return Component("web", condition="WebReady", version=spec["version"], suspend=spec.get("suspend", False), grace=60, resources=[
        ConfigMap(metrics(app), gated_by=spec.get("metrics", True)),
        Deployment(deployment(app), mutations=mutations),
    ])  # fmt: skip


def deployment(app: Any) -> Any:
    """As version 2 wants it."""
    name, labels = app["metadata"]["name"], {"app": app["metadata"]["name"]}
    ports = [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}]
    server = {"name": "server", "image": f"example.io/web:{app['spec']['version']}", "ports": ports}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [server]}}
    return {"metadata": {"name": name}, "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}}


def metrics(app: Any) -> Any:
    """What the metrics exporter reads."""
    return {"metadata": {"name": f"{app['metadata']['name']}-metrics"}, "data": {"interval": "30s"}}


def debug(template: Any) -> None:
    """A variable that makes the server talk."""
    set_env(container(template, "server"), "LOG_LEVEL", "debug")


def name_before_2(template: Any) -> None:
    """Before 2.0.0 the container was called web and had no metrics port."""
    server = container(template, "server")
    server["name"] = "web"
    server["ports"] = [port for port in server["ports"] if port["name"] != "metrics"]


def tracing(template: Any) -> None:
    """A sidecar."""
    template["spec"]["containers"].append({"name": "tracing", "image": "example.io/tracing:1"})


async def reconcile(ctx: Context) -> float | None:
    """Stage WebReady; come back when its grace is over."""
    return await web(ctx.object).reconcile(ctx)


def controllers() -> list[Controller]:
    """One, which looks again when its Deployment or its ConfigMap changes."""
    claims = ["conditions[WebReady]"]
    return [Controller(API, "WebApp", reconcile, claims=claims).owns("apps/v1", "Deployment").owns("v1", "ConfigMap")]


if __name__ == "__main__":
    Manager(*controllers()).run()
