"""What a reconcile gets: the object as it was when it began, its staged status, and ways to read and write everything else.

Reading the status through `ctx.object` counts as reading it through `ctx.status`: the decision stands on it either way.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..clients.client import AsyncClient
from ..clients.given import plain_object
from ..objects.paths import find
from ..objects.paths import parse as parse_path
from ..objects.tree import ABSENT, thaw
from ..status.scopes import Scope
from ..status.view import SeenMap
from ..status.writer import AsyncStatusWriter

if TYPE_CHECKING:
    import builtins
    from collections.abc import Awaitable, Callable, Hashable

    from ..objects.tree import Json
    from ..status.stage import Stage
    from ..status.writer import AsyncSessionStatus
    from .cache import Cache
    from .clock import Clock
    from .departures import Departures
    from .events import EventRecorder

log = logging.getLogger("fiferail.controllers")


class SeenObject(Mapping[str, Any]):
    """The object as it was read. What is taken from it is the caller's own copy; its status is a view, there or not yet.

    Every verb of `ctx.writer`, `ctx.client` and of any other writer or client takes it for the object as it was read.
    """

    def __init__(self, obj: Json, stage: Stage | Scope) -> None:
        self._obj = obj
        self._stage = stage
        self._taken: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == "status":
            return SeenMap(self._stage, ("status",))
        if name not in self._taken:
            self._taken[name] = thaw(self._obj[name])
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._obj)

    def __len__(self) -> int:
        return len(self._obj)

    def __repr__(self) -> str:
        metadata = self._obj["metadata"]
        return f"<{self._obj.get('kind')} {metadata.get('namespace', '')}/{metadata['name']}>"

    def __fiferail_object__(self) -> Json:
        """Return the object as it was read, for writers and clients: naming the object is no look at its status."""
        return self._obj

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """Return plain data; that reads the status."""
        return {name: self[name].plain() if name == "status" else thaw(member) for name, member in self._obj.items()}


class Caches:
    """What is watched, by kind. Reading from here asks nobody; `ctx.client` reads the server itself."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str, str], Cache] = {}

    def of(self, api_version: str, kind: str) -> Cache:
        """The cache of a kind that the controller watches."""
        try:
            return self._caches[api_version, kind]
        except KeyError:
            hint = "add .owns() or .watches() to the controller, or read it with ctx.client"
            raise LookupError(f"{kind} of {api_version} is not watched: {hint}") from None

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Json | None:
        """The newest version known, or None."""
        return self.of(api_version, kind).get(namespace, name)

    def list(self, api_version: str, kind: str, namespace: str | None = None) -> list[Json]:
        """Every object known, in one namespace or all."""
        found = self.of(api_version, kind)
        return list(found) if namespace is None else [obj for obj in found if (obj["metadata"].get("namespace") or "") == namespace]

    def by(self, api_version: str, kind: str, index: str, value: Any) -> builtins.list[Json]:
        """The objects of which the index says that value."""
        return self.of(api_version, kind).by(index, value)

    def add(self, api_version: str, kind: str, cache: Cache) -> None:
        """Used by the manager."""
        self._caches[api_version, kind] = cache

    def wrote(self, obj: Json) -> None:
        """An own write was answered with this object."""
        cache = self._caches.get((obj.get("apiVersion", ""), obj.get("kind", "")))
        if cache is not None:
            cache.wrote(obj)

    def removed(self, named: Json, answer: Json) -> None:
        """An own deletion was answered: with the object, which may still have to finish something, or with a Status."""
        metadata = answer.get("metadata") or {}
        if metadata.get("deletionTimestamp"):
            self.wrote(answer)
            return
        cache = self._caches.get((named.get("apiVersion", ""), named.get("kind", "")))
        found = metadata.get("uid") or (answer.get("details") or {}).get("uid")
        if cache is not None and found:
            cache.removed({"metadata": {**named["metadata"], "uid": found}})


class KnownClient(AsyncClient):
    """The plain client, whose own writes are seen in the caches at once."""

    def __init__(self, client: AsyncClient, caches: Caches) -> None:
        self.transport = client.transport
        self._calls = client._calls
        self._timeout = client._timeout
        self._caches = caches

    async def create(self, obj: Any, *, field_manager: str | None = None) -> Json:
        """Create; AlreadyExists when the name is taken."""
        made = await super().create(obj, field_manager=field_manager)
        self._caches.wrote(made)
        return made

    async def replace(self, obj: Any, subresource: str | None = None, *, field_manager: str | None = None) -> Json:
        """PUT the whole object, or its subresource."""
        stored = await super().replace(obj, subresource, field_manager=field_manager)
        self._caches.wrote(stored)
        return stored

    async def patch(
        self, obj: Any, body: Any, type: str = "merge", subresource: str | None = None, field_manager: str | None = None,
        force: bool = False,
    ) -> Json:  # fmt: skip
        """merge, json, apply or strategic."""
        stored = await super().patch(obj, body, type, subresource, field_manager, force)
        self._caches.wrote(stored)
        return stored

    async def delete(
        self, obj: Any, uid: str | None = None, resource_version: str | None = None, propagation: str | None = None
    ) -> Json:
        """Delete, with preconditions where given."""
        answer = await super().delete(obj, uid, resource_version, propagation)
        self._caches.removed(plain_object(obj)[0], answer)
        return answer


class ContextWriter(AsyncStatusWriter):
    """The writer of a controller: takes `ctx.object` and clients' own objects as well as dicts."""

    def _plain(self, obj: Any) -> tuple[Json, bool]:
        return plain_object(obj)


class Context:
    """One reconcile."""

    def __init__(
        self,
        *,
        obj: Json,
        stage: Stage,
        status: AsyncSessionStatus,
        client: AsyncClient,
        cache: Caches,
        writer: AsyncStatusWriter,
        clock: Clock,
        events: EventRecorder | None,
        controller: str,
        departures: Departures | None = None,
    ) -> None:
        #: The object as it was read; immutable in effect.
        self.object = SeenObject(obj, stage)
        #: The same as plain data, unrecorded and not to be changed, for who builds other objects from it.
        self.snapshot = obj
        #: Staged; written once when the reconcile returns, also when it raises.
        self.status = status
        #: Reads the server itself; its writes are seen in `cache` at once.
        self.client = client
        self.cache = cache
        #: For finalizers and other objects: `await ctx.writer.add_finalizer(ctx.object, ...)`.
        self.writer = writer
        self.clock = clock
        #: None when the manager records no events; `ctx.event` works either way.
        self.events = events
        self.controller = controller
        self._stage = stage
        self._departures = departures
        self._afterwards: list[Callable[[], object]] = []
        self._at_last: dict[Hashable, Callable[[], Awaitable[object]]] = {}

    def scope(self, name: str) -> Context:
        """This reconcile as one part of it: what is read and staged through the returned context stands or falls on its own.

        When something that the part read has changed, only what it staged is withheld and the object is reconciled again; the rest is
        written. Components have a scope of their own. What is read through the reconcile's own context concerns every part.
        """
        part = copy.copy(self)
        stage = Scope(self._stage, name)
        part.object = SeenObject(self.snapshot, stage)
        part.status = self.status.in_scope(stage)
        return part

    def after_flush(self, action: Callable[[], object]) -> None:
        """Do this when the reconcile has returned and its status is written; not at all when either failed. For metrics."""
        self._afterwards.append(action)

    def settled(self) -> None:
        """Used by the controller: the flush succeeded."""
        for action in self._afterwards:
            try:
                action()
            except Exception:
                log.exception("%r failed after the flush of %r", action, self.object)

    def stored(self, path: str) -> Any:
        """What the server is known to have at that path of the status: as it was read, or as the last flush was answered. Neither what
        is only staged nor a read; None when nothing is there."""
        found = find(self._stage.base, ("status", *parse_path(path)))
        return None if found is ABSENT else thaw(found)

    def at_last(self, name: Hashable, action: Callable[[], Awaitable[object]]) -> None:
        """Await this when the reconcile is over, its flush included, however they ended: `stored` tells what came of it. For events.
        The first one given under a name counts."""
        self._at_last.setdefault(name, action)

    async def over(self) -> None:
        """Used by the controller: the reconcile and its flush have ended."""
        for action in self._at_last.values():
            try:
                await action()
            except Exception:
                log.exception("%r failed after the reconcile of %r", action, self.object)

    def when_gone(self, name: Hashable, action: Callable[[], object]) -> None:
        """Do this when the object is gone, at whatever time; the last one given under a name counts. For what is kept about objects."""
        if self._departures is not None:
            self._departures.expect(self.snapshot, name, action)

    @property
    def namespace(self) -> str:
        """The object's namespace; empty when it has none."""
        namespace: str = self.snapshot["metadata"].get("namespace") or ""
        return namespace

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = self.snapshot["metadata"]["name"]
        return name

    @property
    def deleting(self) -> bool:
        """Whether somebody has asked for the object's deletion."""
        return bool(self.snapshot["metadata"].get("deletionTimestamp"))

    def owner_reference(self) -> dict[str, Any]:
        """What goes into `metadata.ownerReferences` of an object that this one controls."""
        obj = self.snapshot
        return {
            "apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": self.name, "uid": obj["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip

    async def event(self, reason: str, note: str, *, type: str = "Normal", action: str = "Reconcile") -> None:
        """Record an event about the object. Never fails the reconcile."""
        if self.events is not None:
            await self.events.record(self.snapshot, reason, note, type=type, action=action)
