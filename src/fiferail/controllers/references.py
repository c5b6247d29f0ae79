"""Who refers to an object, written by the one controller that owns the list.

    references(("example.io/v1", "Config"), field="referencingWorkloads", keys=("kind", "name"),
               from_=[("example.io/v1", "Server", "spec.configRef.name"), ("example.io/v1", "Proxy", "spec.configRef.name")])

gives a Controller that watches the referring kinds and recomputes the whole list on every relevant change, additions and removals
alike. The workloads write nothing on the config: a list that many append to is a list that nobody cleans, and an append is a write
that the owner may overwrite. While the list is not empty a finalizer holds up the deletion; it is judged by what the server has at
that moment, not by the cache nor by the stored list, and the watch that shows the last reference going releases it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError
from ..objects.paths import find
from ..objects.paths import parse as parse_path
from .controller import Controller
from .events import WARNING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from ..objects.tree import Json
    from .cache import ObjectKey
    from .context import Context

    #: Where an object says what it refers to: a path to a name or a list of names, or a function that gives names or (namespace, name).
    Where = str | Callable[[Json], Iterable[str | ObjectKey]]

BLOCKED = "DeletionBlocked"
INDEX = "references"
#: How many referrers a message names.
_NAMED = 10
_KEYS: dict[str, Callable[[Json], str]] = {
    "apiVersion": lambda obj: obj["apiVersion"],
    "kind": lambda obj: obj["kind"],
    "name": lambda obj: obj["metadata"]["name"],
    "namespace": lambda obj: obj["metadata"].get("namespace") or "",
    "uid": lambda obj: obj["metadata"]["uid"],
}


def references(
    owner_kind: tuple[str, str],
    *,
    from_: Sequence[tuple[str, str, Where]],
    field: str = "referencingWorkloads",
    keys: Sequence[str] = ("kind", "name"),
    finalizer: str | None = None,
    then: Callable[[Context], Awaitable[float | None]] | None = None,
    **settings: Any,
) -> Controller:
    """A controller that owns `status.<field>` of the owner kind. `then` is reconciled after it, in the same flush; `settings` are
    the Controller's."""
    _check(owner_kind, from_, keys, then)
    api_version, kind = owner_kind
    group = api_version.rpartition("/")[0] or "core"
    sources = [_Source(source, kind_, _finder(where), isinstance(where, str)) for source, kind_, where in from_]
    work = _References(field, tuple(keys), sources, finalizer or f"{group}/{kind.lower()}-in-use", then)
    claims = [field, f"conditions[{BLOCKED}]", *settings.pop("claims", ())]
    controller = Controller(api_version, kind, work.reconcile, finalizer=work.finalizer, claims=claims, **settings)
    for source in sources:
        controller.watches(source.api_version, source.kind, source.find)
        controller.index(source.api_version, source.kind, f"{INDEX} {controller.name}", source.find)
    work.index = f"{INDEX} {controller.name}"
    return controller


class _Source(msgspec.Struct, frozen=True):
    """A kind whose objects refer to ours."""

    api_version: str
    kind: str
    #: The keys of the objects that an object refers to.
    find: Callable[[Json], list[ObjectKey]]
    #: A path names an object of the same namespace; a function may name any.
    local: bool


class _References:
    """The reconcile."""

    def __init__(
        self, field: str, keys: tuple[str, ...], sources: list[_Source], finalizer: str,
        then: Callable[[Context], Awaitable[float | None]] | None,
    ) -> None:  # fmt: skip
        self._field = field
        self._keys = keys
        self._sources = sources
        self.finalizer = finalizer
        self._then = then
        self.index = INDEX

    async def reconcile(self, ctx: Context) -> float | None:
        """Recompute the list; hold up a deletion while somebody refers to the object."""
        if ctx.deleting:
            return await self._leave(ctx)
        if self.finalizer not in (ctx.snapshot["metadata"].get("finalizers") or []):
            await ctx.writer.add_finalizer(ctx.snapshot, self.finalizer)
        mine = (ctx.namespace, ctx.name)
        self._write(ctx, [obj for s in self._sources for obj in ctx.cache.by(s.api_version, s.kind, self.index, mine)])
        return await self._then(ctx) if self._then is not None else None

    async def _leave(self, ctx: Context) -> float | None:
        """The object is to be deleted: judged by what the server has now."""
        holding = ctx.snapshot["metadata"].get("finalizers") or []
        if self.finalizer not in holding:
            return None
        found = await self._live(ctx)
        if not found:
            if len(holding) > 1:  # others hold it still, and may want to know that we do not
                self._write(ctx, [])
                ctx.status.conditions.set(BLOCKED, False, reason="NotReferenced", message="nobody refers to it")
                await ctx.status.flush()
            await ctx.writer.remove_finalizer(ctx.snapshot, self.finalizer)
            return None
        self._write(ctx, found)
        message = _named(found)
        before = _says(ctx)
        ctx.status.conditions.set(BLOCKED, True, reason="Referenced", message=message)

        async def tell() -> None:
            """Once it is on the server: a reconcile that has to run again tells nothing twice."""
            if message != before and message == _says(ctx):
                await ctx.event(BLOCKED, message, type=WARNING, action="Delete")

        ctx.at_last(BLOCKED, tell)
        return None

    async def _live(self, ctx: Context) -> list[Json]:
        """Who refers to it, read past the cache."""
        mine = (ctx.namespace, ctx.name)
        found: list[Json] = []
        for source in self._sources:
            listed = await ctx.client.list(source.api_version, source.kind, ctx.namespace if source.local else None)
            found += [obj for obj in listed if mine in source.find(obj)]
        return found

    def _write(self, ctx: Context, found: list[Json]) -> None:
        """The whole list, sorted, as one value: its owner knows all of it, so an entry that somebody else put there does not belong."""
        entries = {tuple(_KEYS[key](obj) for key in self._keys): obj for obj in found}
        ctx.status.put_whole(self._field, [dict(zip(self._keys, entry, strict=True)) for entry in sorted(entries)])


def _finder(where: Where) -> Callable[[Json], list[ObjectKey]]:
    """From where an object says it to the keys that it refers to."""
    path = parse_path(where) if isinstance(where, str) else None

    def at_path(obj: Json) -> Iterable[str]:
        assert path is not None
        named: Any = find(obj, path)
        return [named] if isinstance(named, str) else named if isinstance(named, list) else ()

    says: Callable[[Json], Iterable[str | ObjectKey]] = at_path if isinstance(where, str) else where

    def keys(obj: Json) -> list[ObjectKey]:
        namespace = obj["metadata"].get("namespace") or ""
        return [(namespace, named) if isinstance(named, str) else named for named in says(obj) if named]

    return keys


def _named(found: list[Json]) -> str:
    names = sorted(f"{obj['kind']} {obj['metadata']['name']}" for obj in found)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"referenced by {', '.join(names[:_NAMED])}{more}"


def _says(ctx: Context) -> str | None:
    """Why the deletion is blocked, as the server has it."""
    entry = ctx.stored(f"conditions[{BLOCKED}]") or {}
    message: str | None = entry.get("message") if entry.get("status") == "True" else None
    return message


def _check(owner_kind: Any, from_: Sequence[Any], keys: Sequence[str], then: Any) -> None:
    if not isinstance(owner_kind, tuple) or len(owner_kind) != 2:
        raise FiferailError(f"expected the owner as (apiVersion, kind), got {owner_kind!r}")
    if not from_:
        raise FiferailError("expected at least one referring kind in from_, got none")
    for source in from_:
        if not isinstance(source, tuple) or len(source) != 3 or not (isinstance(source[2], str) or callable(source[2])):
            raise FiferailError(f"expected each of from_ as (apiVersion, kind, path or function), got {source!r}")
    unknown = [key for key in keys if key not in _KEYS]
    if unknown or not keys:
        raise FiferailError(f"expected keys among {', '.join(_KEYS)}, got {', '.join(unknown) or 'none'}")
    if then is not None and not inspect.iscoroutinefunction(then):
        raise FiferailError(f"expected `then` to be an `async def`, got {then!r}")
