"""Our own transports over httpx2: what `connect()` and `connect_async()` use, and what lightkube's client is underneath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wire import Answer, Request, StreamRefused
from .lines import Lines, lines_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def _arguments(request: Request, credentials: Callable[[], dict[str, str]] | None) -> dict[str, Any]:
    headers = dict(request.headers)
    if request.content_type:
        headers["Content-Type"] = request.content_type
    if credentials is not None:
        headers.update(credentials())
    return {"method": request.method, "url": request.target, "content": request.body or None, "headers": headers}


def _answer(response: Any) -> Answer:
    return Answer(response.status_code, response.content, {name.lower(): value for name, value in response.headers.items()})


class HttpxTransport:
    """Carries requests with an httpx2 client that knows the server's address."""

    def __init__(self, http: Any, credentials: Callable[[], dict[str, str]] | None = None) -> None:
        self._http = http
        self._credentials = credentials

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        return _answer(self._http.request(**_arguments(request, self._credentials), timeout=timeout))

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch."""
        with self._http.stream(**_arguments(request, self._credentials), timeout=timeout) as response:
            if response.status_code != 200:
                response.read()
                raise StreamRefused(_answer(response))
            yield from lines_of(response.iter_bytes())

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncHttpxTransport:
    """Carries requests with an async httpx2 client that knows the server's address."""

    def __init__(self, http: Any, credentials: Callable[[], dict[str, str]] | None = None) -> None:
        self._http = http
        self._credentials = credentials

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        return _answer(await self._http.request(**_arguments(request, self._credentials), timeout=timeout))

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        async with self._http.stream(**_arguments(request, self._credentials), timeout=timeout) as response:
            if response.status_code != 200:
                await response.aread()
                raise StreamRefused(_answer(response))
            lines = Lines()
            async for chunk in response.aiter_bytes():
                for line in lines.feed(chunk):
                    yield line

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
