"""Carries requests to a server over plain HTTP or TLS with the standard library: one kept connection per thread.

Called by the fixture, the conformance suite and the differential fuzzer, on both servers alike. It adds a bearer token and
changes nothing else, never retries, and follows no redirect: a test must see what the server said.
"""

from __future__ import annotations

import http.client
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fiferail.wire import Answer, Request, StreamRefused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

TIMEOUT = 60.0


class HttpTransport:
    """A `fiferail.wire.Transport` to one base URL."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        context: ssl.SSLContext | None = None,
        user_agent: str = "fiferail",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        self.url = url
        self._host, self._port, self._tls = parts.hostname or "127.0.0.1", parts.port, parts.scheme == "https"
        self._context = context
        self._headers = {"User-Agent": user_agent, **({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        self._kept = threading.local()

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request, one answer. A connection that the server closed while it lay idle is opened again once."""
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is not None:
            try:
                return self._exchange(kept, request, timeout)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                if not self._closed_while_idle(request):
                    raise
        self._kept.connection = self._connect(timeout)
        return self._exchange(self._kept.connection, request, timeout)

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch, on a connection of its own that closes with the iterator."""
        connection = self._connect(timeout)
        try:
            connection.request(request.method, request.target, body=request.body or None, headers=self._all_headers(request))
            response = connection.getresponse()
            if response.status != 200:
                raise StreamRefused(Answer(response.status, response.read(), _headers(response)))
            while line := response.readline():
                yield line.rstrip(b"\r\n")
        finally:
            connection.close()

    def close(self) -> None:
        """Closes this thread's connection."""
        kept = getattr(self._kept, "connection", None)
        if kept is not None:
            kept.close()
            self._kept.connection = None

    def _connect(self, timeout: float | None) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self._tls:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout or TIMEOUT, context=self._context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout or TIMEOUT)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _exchange(self, connection: http.client.HTTPConnection, request: Request, timeout: float | None) -> Answer:
        connection.sock.settimeout(timeout or TIMEOUT)
        try:
            connection.request(request.method, request.target, body=request.body or None, headers=self._all_headers(request))
            response = connection.getresponse()
            answer = Answer(response.status, response.read(), _headers(response))
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def _closed_while_idle(self, request: Request) -> bool:
        """Only what cannot have been done twice is sent again: the server may have died while it worked on a write."""
        self.close()
        return request.method == "GET"

    def _all_headers(self, request: Request) -> dict[str, str]:
        typed = {"Content-Type": request.content_type} if request.content_type else {}
        return {**self._headers, **typed, **{name.title(): value for name, value in request.headers.items()}}


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    """Lower-case names; a header sent twice, as Warning is, joined by commas."""
    joined: dict[str, str] = {}
    for name, value in response.getheaders():
        lower = name.lower()
        joined[lower] = f"{joined[lower]}, {value}" if lower in joined else value
    return joined
