"""The plugin's fixture on each server in turn, and the kind that the tests of faults and holds write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fiferail.testing import ApiServer
from fiferail.testing.plugin import started

API = "faults.fiferail.dev/v1"
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
GADGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.faults.fiferail.dev"},
    "spec": {
        "group": "faults.fiferail.dev",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": _SCHEMA}}
        ],
    },
}


def named(name: str = "g", namespace: str = "default", **members: Any) -> dict[str, Any]:
    """A gadget."""
    return {"apiVersion": API, "kind": "Gadget", "metadata": {"name": name, "namespace": namespace}, "spec": {"size": 1}, **members}


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def both(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """The fixture `apiserver` on both servers."""
    yield from started(request, request.param)


@pytest.fixture
def gadgets(both: ApiServer) -> ApiServer:
    """A server with one gadget."""
    both.apply(GADGETS, named())
    return both


@pytest.fixture
def resize() -> Callable[..., Any]:
    """A patch of the size, by `apiserver.client` or the client that is given."""

    def patch(api: ApiServer, size: int = 2, name: str = "g", client: Any = None, **settings: Any) -> Any:
        return (client or api.client).patch(named(name), {"spec": {"size": size}}, **settings)

    return patch
