"""What a reconcile gets: the object as it was when it began, its staged status, and ways to read and write everything else.

Reading the status through `ctx.object` counts as reading it through `ctx.status`: the decision stands on it either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..objects.tree import thaw
from ..status.view import MapView

if TYPE_CHECKING:
    from ..clients.client import AsyncClient
    from ..objects.tree import Json
    from ..status.stage import Stage
    from ..status.writer import AsyncSessionStatus, AsyncStatusWriter
    from .cache import Cache
    from .clock import Clock
    from .events import EventRecorder


class SeenStatus(MapView):
    """The status as part of the object: it can be read, and that counts; it is changed through `ctx.status`."""

    __slots__ = ()

    def __setitem__(self, name: str, value: Any) -> NoReturn:
        raise TypeError("ctx.object is what was read; stage changes on ctx.status")

    def __delitem__(self, name: str) -> NoReturn:
        raise TypeError("ctx.object is what was read; stage changes on ctx.status")


class SeenObject(Mapping[str, Any]):
    """The object as it was read. What is taken from it is the caller's own copy."""

    def __init__(self, obj: Json, stage: Stage) -> None:
        self._obj = obj
        self._stage = stage
        self._taken: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == "status":
            if "status" not in self._obj:
                raise KeyError(name)
            return SeenStatus(self._stage, ("status",))
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
        return [obj for obj in self.of(api_version, kind) if namespace is None or obj["metadata"].get("namespace") == namespace]

    def add(self, api_version: str, kind: str, cache: Cache) -> None:
        """Used by the manager."""
        self._caches[api_version, kind] = cache


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
    ) -> None:
        #: The object as it was read; immutable in effect.
        self.object = SeenObject(obj, stage)
        #: The same as plain data, unrecorded, for who builds other objects from it.
        self.snapshot = obj
        #: Staged; written once when the reconcile returns, also when it raises.
        self.status = status
        self.client = client
        self.cache = cache
        self.writer = writer
        self.clock = clock
        self.events = events
        self.controller = controller

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
