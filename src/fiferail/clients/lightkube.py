"""lightkube, sync and async: its httpx2 client has the server's address and the credentials built in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .plainhttp import AsyncHttpxTransport, HttpxTransport

if TYPE_CHECKING:
    from ..wire import AsyncTransport, Transport


def sync_transport(client: Any) -> Transport:
    """For lightkube.Client."""
    return HttpxTransport(client._client._client)


def async_transport(client: Any) -> AsyncTransport:
    """For lightkube.AsyncClient."""
    return AsyncHttpxTransport(client._client._client)
