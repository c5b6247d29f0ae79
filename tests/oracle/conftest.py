"""The servers that what the oracle found is kept on: the embedded one, and the real one that this worker's tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

from .kind import CRD


@pytest.fixture
def embedded() -> Iterator[ApiServer]:
    """The embedded server."""
    backend = EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


@pytest.fixture
def real(_fiferail_real_world: Any, tmp_path: Any) -> Iterator[ApiServer]:
    """The real one, cleaned up afterwards."""
    backend = RealBackend(_fiferail_real_world, tmp_path)
    yield ApiServer(backend)
    backend.close()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest) -> ApiServer:
    """Each in turn, with the oracle's kind."""
    found: ApiServer = request.getfixturevalue(request.param)
    found.apply(CRD)
    return found
