"""Every supported client carries what a write says of its decision: the checker of lost updates reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fiferail
from fiferail.apiserver.embedded import EmbeddedServer

from .conftest import GADGETS, Place
from .test_adapters import AWAITED, BLOCKING


class Listening(EmbeddedServer):
    """An embedded server that notes the headers of patches."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        super().__init__(crds=[GADGETS])

    def handle(self, request: Any, user: Any) -> Any:
        """As ever, and noted."""
        if request.method == "PATCH":
            self.headers.append(dict(request.headers))
        return super().handle(request, user)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[Listening, Place]]:
    """The server, and where it is."""
    server = Listening()
    with server:
        yield server, Place(server.kubeconfig(tmp_path / "kubeconfig"))


def decide(status: Any) -> None:
    """Look at one field, write another."""
    status["phase"] = f"count is {status.get('count')}"


def expected(gadget: Any, headers: dict[str, str]) -> bool:
    """Whether the headers say what the write stood on."""
    return (headers.get("x-fiferail-base"), headers.get("x-fiferail-reads")) == (
        gadget["metadata"]["resourceVersion"], '["status.count"]',
    )  # fmt: skip


@pytest.mark.parametrize("make", BLOCKING, ids=lambda make: make.__name__)
def test_blocking_clients_say_it(listening: tuple[Listening, Place], make: Any) -> None:
    """Base and reads arrive at the server."""
    server, place = listening
    gadget = place.gadget()
    with make(place) as client:
        fiferail.StatusWriter(client, field_manager="tests").mutate(gadget, decide)
    assert expected(gadget, server.headers[-1])


@pytest.mark.parametrize("make", AWAITED, ids=lambda make: make.__name__)
async def test_awaited_clients_say_it(listening: tuple[Listening, Place], make: Any) -> None:
    """Base and reads arrive at the server."""
    server, place = listening
    gadget = place.gadget()
    async with make(place) as client:
        await fiferail.AsyncStatusWriter(client, field_manager="tests").mutate(gadget, decide)
    assert expected(gadget, server.headers[-1])
