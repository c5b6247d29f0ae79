"""kubernetes_asyncio against the embedded server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import kubernetes_asyncio
import pytest
from kubernetes_asyncio.client.exceptions import ApiException

if TYPE_CHECKING:
    from pathlib import Path

# Its annotations leave out arguments that it takes.
client: Any = kubernetes_asyncio.client
config: Any = kubernetes_asyncio.config
watch: Any = kubernetes_asyncio.watch

GADGETS = ("example.io", "v1", "default", "gadgets")


async def test_objects_and_status(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """Typed and custom objects are written and read, status patches land, and stale writes conflict."""
    async with await config.new_client_from_config(str(kubeconfig)) as api:
        core, custom = client.CoreV1Api(api), client.CustomObjectsApi(api)
        await core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "b"}))
        assert (await core.read_namespaced_config_map("c", "default")).data == {"a": "b"}
        made = await custom.create_namespaced_custom_object(*GADGETS, gadget)
        merge = "application/merge-patch+json"
        patched = await custom.patch_namespaced_custom_object_status(*GADGETS, "g", {"status": {"phase": "Up"}}, _content_type=merge)
        assert patched["status"] == {"phase": "Up"}
        with pytest.raises(ApiException) as refused:
            await custom.replace_namespaced_custom_object_status(*GADGETS, "g", made)
        assert refused.value.status == 409


async def test_a_watch_gets_every_event(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """A watch sees an object come, change and go."""
    async with await config.new_client_from_config(str(kubeconfig)) as api:
        custom = client.CustomObjectsApi(api)

        async def work() -> None:
            await custom.create_namespaced_custom_object(*GADGETS, gadget)
            await custom.patch_namespaced_custom_object(*GADGETS, "g", [{"op": "replace", "path": "/spec/size", "value": 7}])
            await custom.delete_namespaced_custom_object(*GADGETS, "g")

        version = (await custom.list_namespaced_custom_object(*GADGETS))["metadata"]["resourceVersion"]
        working = asyncio.create_task(work())
        seen = []
        async with watch.Watch().stream(
            custom.list_namespaced_custom_object, *GADGETS, resource_version=version, timeout_seconds=30
        ) as events:
            async for event in events:
                seen.append((event["type"], event["object"]["spec"]["size"]))
                if event["type"] == "DELETED":
                    break
        await working
        assert seen == [("ADDED", 3), ("MODIFIED", 7), ("DELETED", 7)]
