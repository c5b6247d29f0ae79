"""lightkube, blocking and awaited, against the embedded server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lightkube import AsyncClient, Client, KubeConfig
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

if TYPE_CHECKING:
    from pathlib import Path

Gadget: Any = create_namespaced_resource("example.io", "v1", "Gadget", "gadgets")


def test_objects_status_and_apply(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """The blocking client creates, applies, patches status, lists and deletes."""
    lk: Any = Client(config=KubeConfig.from_file(kubeconfig), field_manager="test")
    lk.create(ConfigMap(metadata=ObjectMeta(name="c", namespace="default"), data={"a": "b"}))
    assert lk.get(ConfigMap, "c", namespace="default").data == {"a": "b"}
    lk.apply(Gadget(gadget), namespace="default")
    lk.patch(Gadget.Status, "g", {"status": {"phase": "Up"}}, namespace="default", patch_type=PatchType.MERGE)
    found = lk.get(Gadget, "g", namespace="default")
    assert found.status == {"phase": "Up"}
    assert [item.metadata.name for item in lk.list(Gadget, namespace="default")] == ["g"]
    lk.delete(Gadget, "g", namespace="default")
    with pytest.raises(ApiError) as gone:
        lk.get(Gadget, "g", namespace="default")
    assert gone.value.status.message == 'gadgets.example.io "g" not found'


async def test_the_async_client_watches(kubeconfig: Path, gadget: dict[str, Any]) -> None:
    """The awaited client sees its own writes in a watch."""
    lk: Any = AsyncClient(config=KubeConfig.from_file(kubeconfig), field_manager="test")
    await lk.create(Gadget(gadget), namespace="default")
    seen = []
    async for type_, obj in lk.watch(Gadget, namespace="default", server_timeout=30):
        seen.append((type_, obj.spec["size"]))
        if len(seen) == 1:
            await lk.patch(Gadget, "g", {"spec": {"size": 8}}, namespace="default", patch_type=PatchType.MERGE)
        else:
            break
    await lk.close()
    assert seen == [("ADDED", 3), ("MODIFIED", 8)]
