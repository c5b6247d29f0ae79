"""fiferail's operator."""

from __future__ import annotations

import os

from fiferail import Context, Controller, Manager


async def reconcile(ctx: Context) -> None:
    """Ready."""
    ctx.status.conditions.set("Ready", True, reason="AllUp", message="everything is up")


if __name__ == "__main__":
    Manager(Controller("example.io/v1", "Gadget", reconcile, concurrency=int(os.environ["CONCURRENCY"]))).run()
