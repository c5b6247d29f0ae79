"""The objects of one kind as the watch has shown them, with the own writes laid over until the watch has caught up.

Without that overlay a reconcile that follows its own write would see the object before it, and decide on what it has itself
changed. Objects are shared, never copied, never changed. Resource versions are compared as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from ..objects.tree import Json

#: (namespace, name); the namespace is empty for cluster-scoped kinds.
ObjectKey = tuple[str, str]


class Cache:
    """One kind."""

    def __init__(self) -> None:
        self._seen: dict[ObjectKey, Json] = {}
        self._own: dict[ObjectKey, Json] = {}
        self._indexers: dict[str, Callable[[Json], Iterable[Hashable]]] = {}
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {}
        self.synced = False

    def get(self, namespace: str, name: str) -> Json | None:
        """The newest version known, or None."""
        key = (namespace, name)
        own = self._own.get(key)
        return own if own is not None else self._seen.get(key)

    def __iter__(self) -> Iterator[Json]:
        return (self.get(*key) for key in list(self._seen))

    def __len__(self) -> int:
        return len(self._seen)

    def keys(self) -> list[ObjectKey]:
        """Every object's key."""
        return list(self._seen)

    def index(self, name: str, values: Callable[[Json], Iterable[Hashable]]) -> None:
        """Keep objects findable by what the function says of them."""
        self._indexers[name] = values
        self._indexes[name] = {}
        for key, obj in self._seen.items():
            self._enter(name, key, obj)

    def by(self, index: str, value: Hashable) -> list[Json]:
        """The objects of which the index says that value."""
        found = (self.get(*key) for key in self._indexes[index].get(value, ()))
        return [obj for obj in found if obj is not None]

    def saw(self, obj: Json) -> Json | None:
        """The watch, or a list, has shown this version. Gives the version that was known before; an older one changes nothing."""
        key = key_of(obj)
        before = self._seen.get(key)
        if before is not None and _same_object(before, obj) and version(obj) < version(before):
            return before
        self._replace(key, before, obj)
        own = self._own.get(key)
        if own is not None and (not _same_object(own, obj) or version(obj) >= version(own)):
            del self._own[key]
        return before

    def saw_gone(self, obj: Json) -> None:
        """The watch has shown that the object is deleted."""
        key = key_of(obj)
        before = self._seen.get(key)
        if before is not None and _same_object(before, obj):
            self._replace(key, before, None)
        own = self._own.get(key)
        if own is not None and (_same_object(own, obj) or before is None):
            del self._own[key]

    def wrote(self, obj: Json) -> None:
        """An own write was answered with this version: it stands until the watch shows it, or something newer."""
        key = key_of(obj)
        seen = self._seen.get(key)
        if seen is not None and _same_object(seen, obj) and version(seen) >= version(obj):
            return
        self._own[key] = obj

    def replace_all(self, objects: Iterable[Json]) -> list[ObjectKey]:
        """A fresh list: what is not in it is gone. Gives the keys that are."""
        fresh = {key_of(obj): obj for obj in objects}
        gone = [key for key in self._seen if key not in fresh]
        for key in gone:
            self.saw_gone(self._seen[key])
        for obj in fresh.values():
            self.saw(obj)
        self.synced = True
        return gone

    def _replace(self, key: ObjectKey, before: Json | None, after: Json | None) -> None:
        for name in self._indexers:
            if before is not None:
                self._leave(name, key, before)
            if after is not None:
                self._enter(name, key, after)
        if after is None:
            self._seen.pop(key, None)
        else:
            self._seen[key] = after

    def _enter(self, name: str, key: ObjectKey, obj: Json) -> None:
        for value in self._indexers[name](obj):
            self._indexes[name].setdefault(value, {})[key] = None

    def _leave(self, name: str, key: ObjectKey, obj: Json) -> None:
        for value in self._indexers[name](obj):
            found = self._indexes[name].get(value)
            if found is not None:
                found.pop(key, None)
                if not found:
                    del self._indexes[name][value]


def key_of(obj: Json) -> ObjectKey:
    """The object's key."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def version(obj: Json) -> int:
    """The resourceVersion as a number."""
    text = obj["metadata"].get("resourceVersion") or ""
    return int(text) if text.isdigit() else -1


def _same_object(one: Json, other: Json) -> bool:
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))
