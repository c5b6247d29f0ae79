"""An embedded server with one CRD per test, and a kubeconfig that points at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fiferail.apiserver.embedded import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

CRD = Path(__file__).with_name("gadgets.yaml")


@pytest.fixture
def gadget() -> dict[str, Any]:
    """A gadget as a client would send it."""
    return {
        "apiVersion": "example.io/v1",
        "kind": "Gadget",
        "metadata": {"name": "g", "namespace": "default", "labels": {"app": "demo"}},
        "spec": {"size": 3, "tags": ["a"]},
    }


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """A server of this test's own; whatever made it stumble fails the test."""
    with EmbeddedServer(crds=[CRD]) as running:
        yield running
        assert running.http.crashes == []


@pytest.fixture
def kubeconfig(server: EmbeddedServer, tmp_path: Path) -> Path:
    """A kubeconfig of the server."""
    path = server.kubeconfig(tmp_path / "kubeconfig.yaml")
    assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == server.url
    return path
