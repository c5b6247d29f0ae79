"""kopf's operator, as lean as its settings allow: no events, no peering, and its own reading of the kubeconfig."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import kopf

READY = {"type": "Ready", "status": "True", "reason": "AllUp", "message": "everything is up"}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Nothing but the work."""
    settings.posting.enabled = False
    settings.peering.standalone = True


@kopf.on.login()
def login(**arguments: Any) -> Any:
    """Without a Kubernetes client, which would be imported only for this."""
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.resume("example.io", "v1", "gadgets")
@kopf.on.create("example.io", "v1", "gadgets")
@kopf.on.update("example.io", "v1", "gadgets")
async def reconcile(status: Any, patch: Any, **_: Any) -> None:
    """Ready."""
    conditions = status.get("conditions") or []
    if not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        others = [each for each in conditions if each["type"] != "Ready"]
        patch.status["conditions"] = [*others, {**READY, "lastTransitionTime": now}]


if __name__ == "__main__":
    asyncio.run(kopf.operator(clusterwide=True))
