"""The official client (kubernetes 35 to 37), below its generated layer: that one encodes a body twice and guesses content types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wire import Answer, Request, StreamRefused
from .lines import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class KubernetesTransport:
    """Carries requests through an ApiClient's connection pool."""

    def __init__(self, client: Any) -> None:
        self._api = client

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request."""
        response = self._request(request, timeout, preload=True)
        return Answer(response.status, response.data, {name.lower(): value for name, value in response.headers.items()})

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """The lines of a watch."""
        response = self._request(request, timeout, preload=False)
        try:
            if response.status != 200:
                raise StreamRefused(Answer(response.status, response.read(), {}))
            yield from lines_of(response.stream(amt=65536, decode_content=True))
        finally:
            response.close()

    def _request(self, request: Request, timeout: float | None, preload: bool) -> Any:
        configuration = self._api.configuration
        headers = {**self._api.default_headers, **request.headers}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        for setting in configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        return self._api.rest_client.pool_manager.request(
            request.method, configuration.host + request.target, body=request.body or None, headers=headers,
            retries=False, preload_content=preload, timeout=timeout,
        )  # fmt: skip
