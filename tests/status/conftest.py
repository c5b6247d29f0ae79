"""The servers that the writer is tested on: the embedded one, and the real one that this worker's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend


@pytest.fixture
def embedded() -> Iterator[ApiServer]:
    """The embedded server."""
    backend = EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


@pytest.fixture
def real(_fiferail_real_world: Any, tmp_path: Any) -> Iterator[ApiServer]:
    """The real one, behind a proxy that can lose answers; cleaned up afterwards."""
    backend = RealBackend(_fiferail_real_world, tmp_path)
    yield ApiServer(backend)
    backend.close()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest) -> ApiServer:
    """Each in turn."""
    found: ApiServer = request.getfixturevalue(request.param)
    return found
