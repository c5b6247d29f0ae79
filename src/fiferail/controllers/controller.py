"""A controller: which kind it reconciles, what else makes it look again, and with which rights.

Declarative: `Controller(...).owns(...).watches(...)` says what; the manager brings caches, clock and client, and `running` does it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import msgspec

from ..errors import FiferailError
from ..status.strategies import COMPARE, Strategy
from . import rbac

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence

    from ..objects.tree import Json
    from .cache import ObjectKey
    from .context import Caches, Context

    #: From an object of a watched kind to the keys (namespace, name) of the objects to reconcile. One that takes two arguments gets
    #: the caches too, to find out who uses the object.
    Mapper = Callable[[Json], Iterable[ObjectKey]] | Callable[[Json, Caches], Iterable[ObjectKey]]
    #: From an object to the values by which it is found.
    Indexer = Callable[[Json], Iterable[Hashable]]


class Source(msgspec.Struct, frozen=True):
    """Another kind that makes the controller look again."""

    api_version: str
    kind: str
    mapper: Mapper
    #: What the reconcile does to objects of that kind, beyond reading them.
    verbs: tuple[str, ...] = ()


class Controller:
    """What to reconcile, and how."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        reconcile: Callable[[Context], Awaitable[float | None]],
        *,
        name: str | None = None,
        field_manager: str | None = None,
        concurrency: int = 4,
        timeout: float | None = 600.0,
        claims: Sequence[str] = (),
        keys: Mapping[str, Sequence[str]] | None = None,
        finalizer: str | None = None,
        strategy: Strategy = COMPARE,
    ) -> None:
        if not api_version or not kind:
            raise FiferailError(f"expected an apiVersion and a kind, got {api_version!r} and {kind!r}")
        if not inspect.iscoroutinefunction(reconcile) and not inspect.iscoroutinefunction(getattr(reconcile, "__call__", None)):  # noqa: B004
            raise FiferailError(f"expected reconcile to be an `async def`, got {reconcile!r}")
        if concurrency < 1:
            raise FiferailError(f"expected a concurrency of at least 1, got {concurrency}")
        if timeout is not None and timeout <= 0:
            raise FiferailError(f"expected a timeout of more than 0 seconds, or None for none, got {timeout}")
        if not isinstance(strategy, Strategy):
            raise FiferailError(f"expected a strategy (COMPARE, LOCKED, MERGE or APPLY), got {strategy!r}")
        self.api_version, self.kind = api_version, kind
        self.reconcile = reconcile
        self.name = name or kind.lower()
        self.field_manager = field_manager or f"{self.name}-controller"
        self.concurrency = concurrency
        self.timeout = timeout
        self.claims = tuple(claims)
        self.keys = dict(keys or {})
        #: Said here so that `rbac()` grants the patch of metadata that it needs; the reconcile adds and removes it.
        self.finalizer = finalizer
        #: How its status is sent.
        self.strategy = strategy
        self.sources: list[Source] = []
        self.indexes: list[tuple[str, str, str, Indexer]] = []

    def owns(self, api_version: str, kind: str, *, verbs: Sequence[str] = ("create", "patch", "delete")) -> Controller:
        """Look again when an object of that kind that ours controls changes. `verbs` is what `rbac()` grants beside reading."""
        self.sources.append(Source(api_version, kind, self._owner_of, tuple(verbs)))
        return self

    def watches(self, api_version: str, kind: str, mapper: Mapper, *, verbs: Sequence[str] = ()) -> Controller:
        """Look again when the mapper says so of an object: of what it is now, or of what it was before it changed."""
        self.sources.append(Source(api_version, kind, mapper, tuple(verbs)))
        return self

    def index(self, api_version: str, kind: str, name: str, values: Indexer) -> Controller:
        """Keep objects of a watched kind findable: `ctx.cache.by(api_version, kind, name, value)`."""
        self.indexes.append((api_version, kind, name, values))
        return self

    def rbac(self, *, plurals: Mapping[str, str] | None = None, events: bool = True) -> list[Json]:
        """The least rules that this controller needs: of a Role or a ClusterRole. `plurals` names resources that are not kind + s."""
        return rbac.rules(self, plurals or {}, events=events)

    @property
    def kind_name(self) -> str:
        """Kind and group, as claims name them."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.kind}.{group}" if group else self.kind

    def _owner_of(self, obj: Json) -> Iterable[ObjectKey]:
        group = self.api_version.rpartition("/")[0]
        for reference in obj["metadata"].get("ownerReferences") or []:
            same_group = reference.get("apiVersion", "").rpartition("/")[0] == group
            if reference.get("controller") and same_group and reference.get("kind") == self.kind:
                yield obj["metadata"].get("namespace") or "", reference["name"]
