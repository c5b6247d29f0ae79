"""The servers that the adapters are tested on: the embedded one, and one real kube-apiserver for the suite of all."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fiferail.clients.kubeconfig import connect
from fiferail.errors import ApiError

_names = itertools.count()


class Place:
    """A server with the Gadget CRD: where it is, and fresh objects on it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.client = connect(kubeconfig)

    def gadget(self) -> Any:
        """A fresh object, as the server returned it."""
        name = f"g{next(_names)}"
        obj = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 1}}
        for _ in range(100):  # a real server serves a CRD a moment after it says so
            try:
                return self.client.create(obj)
            except ApiError as error:
                if error.code != 404:
                    raise
                time.sleep(0.1)
        raise AssertionError("the CRD was never served")

    def get(self, obj: Any) -> Any:
        """The object as it is now."""
        return self.client.get("example.io/v1", "Gadget", obj["metadata"]["name"], "default")


@pytest.fixture(scope="session")
def embedded_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The embedded server over HTTP."""
    from fiferail.apiserver.embedded import EmbeddedServer

    with EmbeddedServer(crds=[GADGETS]) as server:
        yield Place(server.kubeconfig(tmp_path_factory.mktemp("embedded") / "kubeconfig"))


@pytest.fixture(scope="session")
def real_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A real kube-apiserver."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    from fiferail.apiserver.real.build import ensure
    from fiferail.apiserver.real.launch import RealServer

    ensure()
    with RealServer() as server:
        place = Place(server.kubeconfig)
        place.client.create(GADGETS)
        yield place


@pytest.fixture(params=["embedded", "real"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each server in turn."""
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message")},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "count": {"type": "integer"},
        "conditions": {
            "type": "array", "items": _CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        },
    },
}  # fmt: skip
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}, "status": _STATUS}}
GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": _SCHEMA}}
        ],
    },
}
