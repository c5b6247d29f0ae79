"""kr8s: async at heart; its sync Api is driven through kr8s's own portal, so that its session stays on one event loop."""

from __future__ import annotations

import queue
import threading
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ..wire import Answer, Request, StreamRefused
from .lines import Lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Kr8sAsyncTransport:
    """Carries requests through kr8s.asyncio's Api."""

    def __init__(self, client: Any) -> None:
        self._api = client

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        async with self._call(request, timeout, stream=False) as response:
            return Answer(response.status_code, response.content, dict(response.headers.items()))

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        async with self._call(request, timeout, stream=True) as response:
            if response.status_code != 200:
                raise StreamRefused(Answer(response.status_code, await response.aread(), {}))
            lines = Lines()
            async for chunk in response.aiter_bytes():
                for line in lines.feed(chunk):
                    yield line

    def _call(self, request: Request, timeout: float | None, stream: bool) -> Any:
        headers = dict(request.headers)
        if request.content_type:
            headers["Content-Type"] = request.content_type
        encoded = request.target.partition("?")[0]  # kr8s joins the parts to a URL: a name with `?` in it would end the path
        base, _, rest = encoded.rpartition("/")
        return self._api.call_api(
            method=request.method, version="", base=base or "/", url=rest, content=request.body or None, headers=headers,
            params=list(request.query), raise_for_status=False, stream=stream, timeout=timeout,
        )  # fmt: skip


class Kr8sTransport:
    """Carries requests through kr8s's sync Api."""

    def __init__(self, client: Any) -> None:
        self._transport = Kr8sAsyncTransport(client)

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        from kr8s._async_utils import as_sync_func

        answer: Answer = as_sync_func(self._transport.send)(request, timeout=timeout)
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch. One task of the portal reads them all: a connection must be closed by the task that opened it."""
        import anyio
        from kr8s._async_utils import Portal

        portal: Any = Portal()  # type: ignore[no-untyped-call]
        scopes: list[anyio.CancelScope] = []
        arrived: queue.SimpleQueue[bytes | BaseException | None] = queue.SimpleQueue()

        async def pump() -> None:
            try:
                with anyio.CancelScope() as scope:
                    scopes.append(scope)
                    async with aclosing(self._transport.stream(request, timeout=timeout)) as lines:  # type: ignore[type-var]
                        async for line in lines:
                            arrived.put(line)
                arrived.put(None)
            except Exception as error:
                arrived.put(error)

        async def cancel() -> None:
            for scope in scopes:
                scope.cancel()

        reader = threading.Thread(target=portal.call, args=(pump,), daemon=True)
        reader.start()
        try:
            while (item := arrived.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            portal.call(cancel)
            reader.join()
