"""The objects of one kind as the watch has shown them, with the own writes laid over until the watch has caught up.

Without that overlay a reconcile that follows its own write would see the object before it, and decide on what it has itself
changed: so what was created, changed or deleted through `ctx` is seen at once, in `get`, in lists and in indexes. Objects are
shared, never copied, never changed. Resource versions are compared as numbers.

Answers and events arrive in any order, so nothing old may come back. An answer that is no newer than what the watch has passed is
no news: the watch has shown that version, or the deletion after it. An object that was deleted stays deleted: its uid is kept for a
while (a tombstone), and another object of the same name has another uid.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from ..objects.tree import Json

#: (namespace, name); the namespace is empty for cluster-scoped kinds.
ObjectKey = tuple[str, str]
#: How many deleted objects of a kind are remembered. Answers that are still on their way belong to the latest of them.
TOMBSTONES = 4096


class Cache:
    """One kind."""

    def __init__(self) -> None:
        #: The newest version known, the watch's or our own: what readers get.
        self._shown: dict[ObjectKey, Json] = {}
        #: Where we are ahead of the watch: the version that we wrote, and what the watch has shown below it.
        self._own: dict[ObjectKey, tuple[int, Json | None]] = {}
        #: What the watch still shows of objects that we deleted.
        self._dead: dict[ObjectKey, Json] = {}
        #: The uids of deleted objects, the latest last, and the version of the deletion (infinite until the watch has shown it).
        self._deleted: OrderedDict[str, float] = OrderedDict()
        #: By key: the newest version that we knew when we deleted the object. What the watch shows up to there is older than that.
        self._hidden: OrderedDict[ObjectKey, int] = OrderedDict()
        #: By namespace (None: all of them): the version up to which the watch has shown everything.
        self._reached: dict[str | None, int] = {}
        self._indexers: dict[str, Callable[[Json], Iterable[Hashable]]] = {}
        self._indexes: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {}
        self.synced = False

    # -- reading

    def get(self, namespace: str, name: str) -> Json | None:
        """The newest version known, or None."""
        return self._shown.get((namespace, name))

    def __iter__(self) -> Iterator[Json]:
        return iter(list(self._shown.values()))

    def __len__(self) -> int:
        return len(self._shown)

    def keys(self) -> list[ObjectKey]:
        """Every object's key."""
        return list(self._shown)

    def index(self, name: str, values: Callable[[Json], Iterable[Hashable]]) -> None:
        """Keep objects findable by what the function says of them."""
        self._indexers[name] = values
        self._indexes[name] = {}
        for key, obj in self._shown.items():
            self._enter(name, key, obj)

    def by(self, index: str, value: Hashable) -> list[Json]:
        """The objects of which the index says that value."""
        if index not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise LookupError(f"there is no index {index!r} here, known: {known}; add it with .index()")
        return [self._shown[key] for key in self._indexes[index].get(value, ())]

    # -- what the watch says

    def witnessed(self, key: ObjectKey) -> Json | None:
        """What the watch itself has shown last, whatever we wrote since."""
        if key in self._own:
            return self._own[key][1]
        return self._dead[key] if key in self._dead else self._shown.get(key)

    def reached(self, version: int, namespace: str | None = None) -> None:
        """Note that the watch of the namespace (None: of all) has shown everything up to this version."""
        self._reached[namespace] = version

    def saw(self, obj: Json) -> Json | None:
        """Take a version that the watch, or a list, has shown; one older than an own write stays below it.

        Returns what the watch had shown before.
        """
        key = key_of(obj)
        before = self.witnessed(key)
        if before is not None and version(obj) < version(before):
            return before
        if key in self._own and version(obj) < self._own[key][0]:
            self._own[key] = (self._own[key][0], obj)
        elif self._is_deleted(obj) or version(obj) <= self._hidden.get(key, -1):
            if self._deleted.get(uid(obj), math.inf) == math.inf and key not in self._shown:
                self._dead[key] = obj  # our deletion is ahead of the watch
        else:
            self._take(key, obj)
        return before

    def saw_gone(self, obj: Json) -> Json | None:
        """Take a deletion that the watch has shown. Returns what it had shown before."""
        key = key_of(obj)
        before = self.witnessed(key)
        self._bury(uid(obj), version(obj))
        if key in self._dead and uid(self._dead[key]) == uid(obj):
            del self._dead[key]
        if version(obj) >= self._hidden.get(key, -1):
            self._hidden.pop(key, None)
        shown = self._shown.get(key)
        if shown is not None and uid(shown) == uid(obj):
            self._forget(key)
        elif key in self._own:
            self._own[key] = (self._own[key][0], None)
        return before

    def replace_all(self, objects: Iterable[Json], namespace: str | None = None, at: int = -1) -> list[Json]:
        """Take a fresh list of that version: what is not in it is gone, except own writes that are newer. Returns what is gone.

        With a namespace only its objects are judged: other lists speak of the others. A list that is older than what the watch has
        shown comes from a server that was restored from a backup: then only the list counts.
        """
        fresh = {key_of(obj): obj for obj in objects}
        restored = 0 <= at < self._reached.get(namespace, -1)
        if restored:
            self._deleted.clear()
        for key in [key for key, known in self._hidden.items() if _in(namespace, key) and (restored or at < 0 or known <= at)]:
            del self._hidden[key]
        known = dict.fromkeys([*self._shown, *self._dead])
        missing = [key for key in known if key not in fresh and _in(namespace, key)]
        gone = [before for key in missing if (before := self.witnessed(key)) is not None]
        for before in gone:
            self._bury(uid(before), max(at, version(before)))
        for key in missing:
            self._dead.pop(key, None)
            if key in self._own and self._own[key][0] > at and not restored:
                self._own[key] = (self._own[key][0], None)
            elif key in self._shown:
                self._bury(uid(self._shown[key]), max(at, version(self._shown[key])))
                self._forget(key)
        for key, obj in fresh.items():
            if restored:
                self._take(key, obj)
            else:
                self.saw(obj)
        self.reached(at, namespace)
        self.synced = True
        return gone

    # -- what we did ourselves

    def wrote(self, obj: Json) -> None:
        """Take the answer to an own write, or a read past the cache: it stands until the watch shows it, or something newer.

        Ignored when the watch has passed that version, and when the object is known to be deleted.
        """
        key = key_of(obj)
        shown = self._shown.get(key)
        known = max(self._passed(key), self._hidden.get(key, -1), version(shown) if shown is not None else -1)
        if version(obj) <= known or self._is_deleted(obj):
            return
        self._own[key] = (version(obj), self.witnessed(key))
        self._dead.pop(key, None)
        self._show(key, obj)

    def removed(self, obj: Json) -> None:
        """Take the answer to an own deletion: nobody sees the object any more, whatever the watch still shows of it."""
        key = key_of(obj)
        if uid(obj) not in self._deleted:
            self._bury(uid(obj), math.inf)
        shown = self._shown.get(key)
        if shown is None or uid(shown) != uid(obj):
            return
        witnessed = self.witnessed(key)
        self._forget(key)
        _remember(self._hidden, key, version(shown))
        if witnessed is not None:
            self._dead[key] = witnessed

    # -- the parts

    def _passed(self, key: ObjectKey) -> int:
        """The version up to which the watch has shown everything where the object is; -1 before the first list."""
        if not key[0]:
            return max(self._reached.values(), default=-1)
        return max(self._reached.get(None, -1), self._reached.get(key[0], -1))

    def _bury(self, deleted: str, at: float) -> None:
        """Remember a deleted object."""
        if deleted:
            _remember(self._deleted, deleted, at)

    def _is_deleted(self, obj: Json) -> bool:
        return uid(obj) in self._deleted and version(obj) <= self._deleted[uid(obj)]

    def _take(self, key: ObjectKey, obj: Json) -> None:
        """Show what the watch has shown; another object of that name is deleted then."""
        before = self._shown.get(key)
        if before is not None and uid(before) != uid(obj):
            self._bury(uid(before), version(obj))
        self._own.pop(key, None)
        self._dead.pop(key, None)
        self._hidden.pop(key, None)
        self._show(key, obj)

    def _show(self, key: ObjectKey, obj: Json) -> None:
        before = self._shown.get(key)
        for name in self._indexers:
            if before is not None:
                self._leave(name, key, before)
            self._enter(name, key, obj)
        self._shown[key] = obj

    def _forget(self, key: ObjectKey) -> None:
        before = self._shown.pop(key)
        self._own.pop(key, None)
        for name in self._indexers:
            self._leave(name, key, before)

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


def _remember(places: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Put it last; the oldest is forgotten where there are too many."""
    places[key] = value
    places.move_to_end(key)
    while len(places) > TOMBSTONES:
        places.popitem(last=False)


def _in(namespace: str | None, key: ObjectKey) -> bool:
    """Whether a list of the namespace (None: of all) would show the object."""
    return namespace is None or key[0] in (namespace, "")


def key_of(obj: Json) -> ObjectKey:
    """The object's key."""
    metadata = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def version(obj: Json) -> int:
    """The resourceVersion as a number."""
    text = obj["metadata"].get("resourceVersion") or ""
    return int(text) if text.isdigit() else -1


def uid(obj: Json) -> str:
    """The object's uid."""
    found: str = obj["metadata"].get("uid") or ""
    return found
