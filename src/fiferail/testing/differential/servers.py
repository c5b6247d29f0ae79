"""The two servers of a run: the embedded one in this process, and the real one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fiferail.apiserver.real.launch import RealServer
from fiferail.testing.differential.runner import Server
from fiferail.testing.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def real() -> Iterator[Server]:
    """A real server of its own."""
    with RealServer() as server:
        yield Server("real", HttpTransport(server.url, token=server.token, context=server.ssl_context()))


@contextmanager
def embedded() -> Iterator[Server]:
    """The embedded one, without HTTP."""
    from fiferail.testing.embedded import in_process

    with in_process() as transport:
        yield Server("embedded", transport)
