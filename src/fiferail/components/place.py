"""What a component needs of the reconcile that it runs in: the part of `fiferail.Context` that this room uses.

Stated as a protocol so that it is plain what a component can and cannot do: it stages conditions and never writes status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from ..clients.client import AsyncClient
    from ..controllers.clock import Clock
    from ..controllers.context import Caches
    from ..objects.tree import Json
    from ..status.view import Status


class Place(Protocol):
    """One reconcile, as a component sees it."""

    @property
    def snapshot(self) -> Json:
        """The owner as it was read."""

    @property
    def status(self) -> Status:
        """The owner's staged status."""

    @property
    def client(self) -> AsyncClient:
        """Everything but status."""

    @property
    def cache(self) -> Caches:
        """What is watched."""

    @property
    def clock(self) -> Clock:
        """The time."""

    @property
    def controller(self) -> str:
        """The controller's name, for metrics."""

    def scope(self, name: str) -> Place:
        """The same reconcile, of which a part reads and stages its own."""

    def after_flush(self, action: Callable[[], object]) -> None:
        """Do this once the staged status is written."""

    def stored(self, path: str) -> Any:
        """What the server is known to have of the status."""

    def at_last(self, name: Hashable, action: Callable[[], Awaitable[object]]) -> None:
        """Await this when the reconcile and its flush are over, however they ended."""

    def when_gone(self, name: Hashable, action: Callable[[], object]) -> None:
        """Do this when the owner is gone."""

    async def event(self, reason: str, note: str, *, type: str = "Normal", action: str = "Reconcile") -> None:
        """Record an event on the owner."""


def controller_of(obj: Json) -> dict[str, Any] | None:
    """The owner reference of the object's controller, if it has one."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def is_collected(owner: Json) -> bool:
    """Whether the owner is being deleted after what it owns: whatever is made for it now is deleted again, and holds it up."""
    metadata = owner["metadata"]
    return bool(metadata.get("deletionTimestamp")) and "foregroundDeletion" in (metadata.get("finalizers") or [])
