"""/healthz, /readyz and /metrics: a few bytes of HTTP on the manager's own loop, so that a loop that hangs does not answer.

Knows GET and nothing else; one answer per connection. Never fails the manager: a malformed request is closed. Nor does it hold up the
end: connections that are open then are closed, whether they have asked or not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Status code and text.
    Page = Callable[[], tuple[int, bytes]]

_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
_LIMIT = 8192
_SECONDS = 5.0


class HealthServer:
    """Answers what the pages say."""

    def __init__(self, address: str, pages: dict[str, Page]) -> None:
        host, separator, port = address.rpartition(":")
        if not separator or not (port.isascii() and port.isdecimal() and int(port) < 65536):
            raise FiferailError(f"expected health to be host:port, such as 0.0.0.0:8081, got {address!r}")
        self._host, self._port = host.strip("[]"), int(port)
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._closing = False

    @property
    def port(self) -> int:
        """The port it listens on, once it does."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server is not None else self._port

    async def __aenter__(self) -> HealthServer:
        try:
            self._server = await asyncio.start_server(self._serve, self._host or None, self._port, limit=_LIMIT)
        except OSError as error:
            raise FiferailError(f"health could not listen on {self._host}:{self._port}: {error.strerror or error}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._closing = True
            self._server.close()
            for writer in self._open:
                writer.transport.abort()
            await self._server.wait_closed()  # since Python 3.12 it waits for the connections

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closing:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            async with asyncio.timeout(_SECONDS):
                line = await reader.readline()
                while (await reader.readline()).strip():
                    pass
                writer.write(self._answer(line))
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # whoever asks like that gets no answer
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, line: bytes) -> bytes:
        method, _, rest = line.decode("latin-1").partition(" ")
        page = self._pages.get(rest.partition(" ")[0].partition("?")[0])
        code, text = (405, b"only GET\n") if method != "GET" else page() if page is not None else (404, b"not here\n")
        head = f"HTTP/1.1 {code} {_REASONS[code]}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + text
