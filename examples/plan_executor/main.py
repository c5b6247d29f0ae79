"""A ChainNode that is provisioned and upgraded step by step, by a plan in its status: `kubectl get chainnode -w` shows it.

The plan is written down before its first step runs; a step that fails is tried again with the same id; when the plan is over, the
phase moves and the plan is cleared, in one write. The steps' side effects are objects named after the step's id, so that a step
that runs twice makes nothing twice.
"""

from __future__ import annotations

import contextlib
from typing import Any

from fiferail import Context, Controller, Manager, Plan, Plans, TaskFailed
from fiferail.errors import AlreadyExists

API = "nodes.example.io/v1"


def decide(node: Any) -> Plan | None:
    """What is to be done for a node as it is now; None when it is as it should be."""
    status = node.get("status") or {}
    wanted = node["spec"]["version"]
    if node["metadata"].get("deletionTimestamp") or status.get("version") == wanted:
        return None
    if "version" in status:
        return Plan("upgrade", ["drain", "install"])
    return Plan("provision", ["restore", "install"] if node["spec"].get("snapshot") else ["install"])


async def restore(ctx: Context, task: str) -> None:
    """A step that may need several tries: the snapshot appears when somebody uploads it."""
    name = ctx.object["spec"]["snapshot"]
    if ctx.cache.get("v1", "ConfigMap", name, ctx.namespace) is None:
        raise RuntimeError(f"there is no snapshot {name} yet")
    await record(ctx, task, "restored", name)


async def drain(ctx: Context, task: str) -> None:
    """A step with a side effect."""
    await record(ctx, task, "drained", ctx.name)


async def install(ctx: Context, task: str) -> None:
    """A step that can fail for good."""
    version = ctx.object["spec"]["version"]
    if version.startswith("bad"):
        raise TaskFailed(f"there is no version {version}")
    await record(ctx, task, "installed", version)


async def record(ctx: Context, task: str, what: str, value: str) -> None:
    """The side effect, idempotent by the task's id."""
    metadata = {"name": f"{ctx.name}-{task}", "namespace": ctx.namespace, "ownerReferences": [ctx.owner_reference()]}
    with contextlib.suppress(AlreadyExists):  # this very step, at an earlier try
        await ctx.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {what: value}})


def ended(ctx: Context, plan: Any) -> None:
    """What the end of a plan means for the node; staged with the clearing of the plan, in one write."""
    if plan["phase"] == "Complete":
        ctx.status["phase"] = "Running"
        ctx.status["version"] = ctx.object["spec"]["version"] if plan["generation"] == ctx.object["metadata"]["generation"] else "unknown"
        ctx.status.conditions.set("Ready", True, reason="PlanComplete", message=f"{plan['purpose']} {plan['id']}")
        return
    failed = next(task for task in plan["tasks"] if task["state"] == "Failed")
    ctx.status["phase"] = "Failed"
    ctx.status.conditions.set("Ready", False, reason="PlanFailed", message=f"{failed['name']}: {failed['message']}")


PLANS = Plans({"restore": restore, "drain": drain, "install": install}, build=decide, ended=ended)


async def reconcile(ctx: Context) -> float | None:
    """One step of the plan, or the making of one."""
    plan = ctx.status.get("plan")
    if plan is not None and plan["phase"] == "Running":
        ctx.status["phase"] = "Provisioning" if plan["purpose"] == "provision" else "Upgrading"
    return await PLANS.reconcile(ctx)


def controllers() -> list[Controller]:
    """All of the operator."""
    return [Controller(API, "ChainNode", reconcile).owns("v1", "ConfigMap", verbs=["create"])]


if __name__ == "__main__":
    Manager(*controllers(), health="0.0.0.0:8081").run()
