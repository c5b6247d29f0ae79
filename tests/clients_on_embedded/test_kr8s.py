"""kr8s, blocking and awaited, against the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import kr8s
import pytest
from kr8s.asyncio.objects import new_class as new_async_class
from kr8s.objects import ConfigMap, new_class

if TYPE_CHECKING:
    from pathlib import Path

# kr8s names the versions that it was tested with, and this server is newer.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")


def test_objects_and_patches(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """The blocking client creates, reads, patches status, scales and deletes."""
    api: Any = kr8s.api(kubeconfig=str(kubeconfig))
    made = ConfigMap({"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "b"}}, api=api)
    made.create()
    assert ConfigMap.get("c", namespace="default", api=api).data == {"a": "b"}
    kind = new_class(kind="Gadget", version="example.io/v1", namespaced=True, scalable=True, scalable_spec="size")
    one = kind(gadget, api=api)
    one.create()
    one.patch({"status": {"phase": "Up"}}, subresource="status")
    assert one.raw["status"]["phase"] == "Up"
    assert [found.name for found in api.get("gadgets.example.io", namespace="default")] == ["g"]
    one.delete()
    assert not one.exists()


async def test_the_async_client_watches(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """The awaited client waits for a condition that a patch of its own brings."""
    api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
    kind = new_async_class(kind="Gadget", version="example.io/v1", namespaced=True)
    one = await kind(gadget, api=api)
    await one.create()
    await one.patch({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    await one.wait("condition=Ready", timeout=30)
    with pytest.raises(kr8s.NotFoundError):
        await kind.get("none", namespace="default", api=api)
