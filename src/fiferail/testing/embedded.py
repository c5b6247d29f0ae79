"""The embedded server as tests want it: in process, or over HTTP on a free port."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fiferail.apiserver.embedded import EmbeddedServer, equip
from fiferail.apiserver.inprocess import Transport
from fiferail.apiserver.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENT = "fiferail"


@contextmanager
def in_process() -> Iterator[Transport]:
    """A machine without sockets."""
    import time

    yield Transport(equip(Machine(clock=time.time)), agent=AGENT)


@contextmanager
def over_http() -> Iterator[str]:
    """The base URL of a server on a free port."""
    with EmbeddedServer() as server:
        yield server.url
