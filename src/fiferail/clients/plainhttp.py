"""Our own transports over httpx2: what `connect()` uses, `connect_async()` through a proxy, and what lightkube's client is underneath.

A request is sent twice in one case: it was answered 401, and there are new credentials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wire import Answer, Request, StreamRefused
from .credentials import Credentials
from .lines import Lines, lines_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from .credentials import Headers


def _answer(response: Any) -> Answer:
    return Answer(response.status_code, response.content, {name.lower(): value for name, value in response.headers.items()})


class _Arguments:
    """Requests as arguments of httpx2. `tls_name` is the name in the server's certificate, where it is not the host's."""

    def __init__(self, http: Any, credentials: Credentials | None = None, tls_name: str | None = None) -> None:
        self._http = http
        self._credentials = credentials or Credentials()
        self._extensions = {"sni_hostname": tls_name} if tls_name else None

    def _arguments(self, request: Request, credentials: Headers, timeout: float | None) -> dict[str, Any]:
        replaced = {name for name, _ in credentials}
        headers = [(name, value) for name, value in request.headers.items() if name not in replaced]
        if request.content_type:
            headers.append(("Content-Type", request.content_type))
        return {
            "method": request.method, "url": request.target, "content": request.body or None, "headers": [*headers, *credentials],
            "timeout": timeout, "extensions": self._extensions,
        }  # fmt: skip


class HttpxTransport(_Arguments):
    """Carries requests with an httpx2 client that knows the server's address."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        headers = self._credentials.headers()
        response = self._http.request(**self._arguments(request, headers, timeout))
        if response.status_code == 401 and (fresh := self._credentials.renewed(headers)) is not None:
            response = self._http.request(**self._arguments(request, fresh, timeout))
        return _answer(response)

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch."""
        headers: Headers | None = self._credentials.headers()
        while headers is not None:
            with self._http.stream(**self._arguments(request, headers, timeout)) as response:
                headers = self._credentials.renewed(headers) if response.status_code == 401 else None
                if response.status_code == 200:
                    yield from lines_of(response.iter_bytes())
                elif headers is None:
                    response.read()
                    raise StreamRefused(_answer(response))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncHttpxTransport(_Arguments):
    """Carries requests with an async httpx2 client that knows the server's address."""

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        headers = await self._credentials.headers_async()
        response = await self._http.request(**self._arguments(request, headers, timeout))
        if response.status_code == 401 and (fresh := await self._credentials.renewed_async(headers)) is not None:
            response = await self._http.request(**self._arguments(request, fresh, timeout))
        return _answer(response)

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        headers: Headers | None = await self._credentials.headers_async()
        while headers is not None:
            async with self._http.stream(**self._arguments(request, headers, timeout)) as response:
                headers = await self._credentials.renewed_async(headers) if response.status_code == 401 else None
                if response.status_code == 200:
                    lines = Lines()
                    async for chunk in response.aiter_bytes():
                        for line in lines.feed(chunk):
                            yield line
                elif headers is None:
                    await response.aread()
                    raise StreamRefused(_answer(response))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
