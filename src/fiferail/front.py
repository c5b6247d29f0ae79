"""Where the writer meets the clients: the writers that users get take any supported client, and its own objects."""

from __future__ import annotations

from typing import Any

from .clients.adapters import async_transport_of, transport_of
from .clients.given import plain_object
from .status import writer


class StatusWriter(writer.StatusWriter):
    """Writes the status of Kubernetes objects with the client you have, and never loses another writer's update."""

    def __init__(self, client: Any, *, field_manager: str, **settings: Any) -> None:
        super().__init__(transport_of(client), field_manager=field_manager, **settings)

    def _plain(self, obj: Any) -> tuple[Any, bool]:
        return plain_object(obj)


class AsyncStatusWriter(writer.AsyncStatusWriter):
    """The same with an async client: `async with writer.session(obj)`, `await writer.mutate(obj, fn)`."""

    def __init__(self, client: Any, *, field_manager: str, **settings: Any) -> None:
        super().__init__(async_transport_of(client), field_manager=field_manager, **settings)

    def _plain(self, obj: Any) -> tuple[Any, bool]:
        return plain_object(obj)
