"""The two servers of the matrix: the embedded one in process, with the checker listening, and one real server for the session."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.errors import AlreadyExists, FiferailError
from fiferail.testing.checking import Watchman
from fiferail.testing.hazards.place import CRD, NEWER, OLDER, Place, embedded
from fiferail.testing.transport import HttpTransport


@dataclass(frozen=True)
class Watched:
    """A place in this process, and what the checker says of it."""

    place: Place
    watchman: Watchman


@pytest.fixture
def watched() -> Watched:
    """A fresh embedded server."""
    watchman = Watchman()
    return Watched(embedded(watchman), watchman)


@pytest.fixture(scope="session")
def real_server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """One real server for everything here."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    binaries = build.ensure()
    with RealServer(binaries=binaries) as server:
        yield server


@pytest.fixture(scope="session")
def real_place(real_server: RealServer) -> Place:
    """The real server, with the CRD."""
    context = real_server.ssl_context()
    place = Place(lambda actor: HttpTransport(real_server.url, token=real_server.token, context=context, user_agent=actor))
    with contextlib.suppress(AlreadyExists):
        place.maker.create(CRD)
    _wait_until_served(place)
    return place


def _wait_until_served(place: Place) -> None:
    deadline = time.monotonic() + 30
    for version in (OLDER, NEWER):
        while True:
            try:
                place.maker.list(version, "Gadget", namespace="default")
                break
            except FiferailError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
