"""The operator on the page about components runs as it stands."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from fiferail.controllers.clock import VirtualClock, settle

PAGE = Path(__file__).parents[2] / "docs" / "components.md"


async def test_the_pages_operator_runs(stand: Any) -> None:
    """It waits for the database's host, then for the replicas, and then all three conditions are True."""
    source = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert source is not None
    names: dict[str, Any] = {}
    exec(source.group(1), names)
    await stand.respec({"version": "1.9.0", "debug": True})
    manager = names["operator"](client=stand.client, clock=still(stand), events=False)
    task = asyncio.ensure_future(manager.serve())
    await settle()
    assert await stand.says("InfraReady") == ("False", "Blocked")
    assert await stand.says("WebReady") == ("False", "PrerequisiteNotMet")
    await stand.outside.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db", "namespace": "default"}, "data": {"host": "pg"}}
    )
    await stand.outside.patch(await stand.owner(), {"metadata": {"labels": {"look": "again"}}})
    await settle()
    assert await stand.says("WebReady") == ("False", "Creating")
    [container] = (await stand.get("apps/v1", "Deployment", "web"))["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["env"]) == ("web", [{"name": "LOG", "value": "debug"}])
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 2, "readyReplicas": 2})
    await settle()
    assert [await stand.says(name) for name in ("InfraReady", "WebReady", "Ready")] == [("True", "Healthy")] * 3
    manager.stop()
    await settle()
    await task


def still(stand: Any) -> VirtualClock:
    """A clock that stands still at the stand's time."""
    return VirtualClock(today=stand.clock.today())
