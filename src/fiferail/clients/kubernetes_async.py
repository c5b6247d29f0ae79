"""kubernetes.aio (inside kubernetes 37) and kubernetes_asyncio: the same shape over an aiohttp session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wire import Answer, Request, StreamRefused
from .lines import Lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class KubernetesAsyncTransport:
    """Carries requests through an ApiClient's aiohttp session."""

    def __init__(self, client: Any) -> None:
        self._api = client

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        async with await self._request(request, timeout) as response:
            body = await response.read()
            return Answer(response.status, body, {name.lower(): value for name, value in response.headers.items()})

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        async with await self._request(request, timeout) as response:
            if response.status != 200:
                raise StreamRefused(Answer(response.status, await response.read(), {}))
            lines = Lines()
            async for chunk in response.content.iter_any():
                for line in lines.feed(chunk):
                    yield line

    async def _request(self, request: Request, timeout: float | None) -> Any:
        import aiohttp
        from yarl import URL

        configuration = self._api.configuration
        headers = {**self._api.default_headers, **request.headers}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        for setting in (await configuration.auth_settings()).values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        rest = self._api.rest_client
        if rest.pool_manager is None:  # kubernetes.aio makes its session when it is first used
            rest.pool_manager = rest._create_pool_manager()
        return await rest.pool_manager.request(
            request.method, URL(configuration.host + request.target, encoded=True), data=request.body or None, headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout), proxy=rest.proxy, proxy_headers=rest.proxy_headers,
        )  # fmt: skip
