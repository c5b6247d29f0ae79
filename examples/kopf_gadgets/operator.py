"""A kopf operator whose status is written by fiferail: conditions beside those of other writers, one request per reconcile.

    kubectl apply -f examples/kopf_gadgets/crd.yaml
    kopf run --standalone -n default examples/kopf_gadgets/operator.py

Two handlers write the same status, as they do in any operator that grows: `reconcile` says how many parts are ready, a daemon
per gadget probes it. Neither takes away what the other said, nor what any other controller said.
"""

from __future__ import annotations

import asyncio
from typing import Any

import kopf

import fiferail

RETRY = 1.0


@kopf.on.login()
def login(**given: Any) -> Any:
    """The kubeconfig that kubectl would use."""
    return kopf.login_with_kubeconfig(**given)


@kopf.on.startup()
async def start(memo: kopf.Memo, settings: kopf.OperatorSettings, **_: Any) -> None:
    """One writer for the operator. kopf's own bookkeeping stays out of the status."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="gadgets.example.io")
    memo.client = fiferail.connect_async()
    memo.writer = fiferail.AsyncStatusWriter(memo.client, field_manager="gadgets")


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:
    """Close the connections."""
    await memo.client.close()


@kopf.on.create("example.io", "v1", "gadgets")
@kopf.on.update("example.io", "v1", "gadgets", field="spec")
@fiferail.kopf.requeue_conflicts(delay=RETRY)
async def reconcile(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Say what this generation came to: whatever is staged goes out in one request when the block ends."""
    size = body["spec"].get("size", 1)
    async with memo.writer.session(body, guard=["spec.size"]) as status:
        status["ready"] = size
        status.raise_to("observedGeneration", body["metadata"]["generation"])
        status.conditions.set("Ready", size > 0, reason="AllUp" if size > 0 else "Empty", message=f"{size} of {size} parts are up")


@kopf.daemon("example.io", "v1", "gadgets", cancellation_timeout=10.0)
async def probe(body: kopf.Body, memo: kopf.Memo, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Count the probes. `mutate` runs again on the live object when the number it read has changed meanwhile."""
    while not stopped:
        await memo.writer.mutate(body, probed)
        # Ended by being cancelled: a `stopped.wait` that runs out while kopf stops is an error to kopf.
        await asyncio.sleep(5.0)


def probed(status: fiferail.Status) -> None:
    """One more probe."""
    status["probes"] = status.get("probes", 0) + 1
    status.conditions.set("Probed", True, reason="Answered")
