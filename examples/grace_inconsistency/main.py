"""A Deployment that may take as long as it likes: its grade is always Healthy, so its grace runs out without a fault being called."""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager
from fiferail.components import Component, Deployment, Health, Reason

API = "grace.example.io/v1"


def patient(live: Any) -> Health:
    """Nothing is wrong with a model that is still being loaded."""
    return Health(Reason.HEALTHY, f"{live['metadata']['name']} may still be loading")


def model(app: Any) -> Component:
    """Convergence and grade contradict each other on purpose; without the last option each pass after the grace would warn of it."""
    labels = {"app": app["metadata"]["name"]}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "model", "image": app["spec"]["image"]}]}}
    desired = {"metadata": {"name": app["metadata"]["name"]}, "spec": {"selector": {"matchLabels": labels}, "template": pods}}
    suppress = app["spec"].get("quiet", True)
    return Component("model", condition="ModelReady", grace=5, resources=[
        Deployment(desired, grade=patient, suppress_grace_warning=suppress),
    ])  # fmt: skip


async def reconcile(ctx: Context) -> float | None:
    """Stage ModelReady; come back when the grace is over, and then only when something changes."""
    return await model(ctx.object).reconcile(ctx)


def controllers() -> list[Controller]:
    """One."""
    return [Controller(API, "Model", reconcile, claims=["conditions[ModelReady]"]).owns("apps/v1", "Deployment")]


if __name__ == "__main__":
    Manager(*controllers()).run()
