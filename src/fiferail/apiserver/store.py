"""Where objects are kept: one table per resource, one revision for all, and a log of what happened.

The machine's verbs read and commit here; nothing else does. Objects are immutable trees that carry their resourceVersion.
A table keeps its keys sorted as etcd does ("namespace/name" byte by byte), so a page of a list costs what the page costs, and
a log of events, so that a watch is a position and an old revision can be read back. A fork shares everything: a table is
copied when one of the two worlds first writes to it.

The past is bounded by the number of events of a table and by the bytes of all of them (an old version counts as much as its JSON,
though it shares most of its tree with the next). What falls out is compacted: watches and lists from before are answered 410.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects import gojson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.tree import Json
    from .verbs.watch import Stream

#: How many events a table remembers, and how many bytes of old versions all tables together.
KEEP = 100_000
KEEP_BYTES = 128 * 1024 * 1024
#: How many bytes of JSON of old versions are kept ready for watches that are a little behind.
KEEP_ENCODED = 16 * 1024 * 1024
#: A real server's first user object comes at about this revision; small numbers would hide off-by-ones with generations.
FIRST_REVISION = 200


class Entry(msgspec.Struct, eq=False, gc=False):
    """A stored object at one revision, in its storage version. `views` caches what reads make of it, keyed by version record.

    Neither an entry nor an event is ever part of a reference cycle, so the collector need not look at them: there are many.
    """

    obj: Json
    revision: int
    #: Parsed managedFields of `obj`, shared from write to write.
    managed: Any = None
    #: The rules record (Kind) under which `obj` was last pruned, defaulted and validated.
    kind: Any = None
    views: dict[Any, Json] = {}
    encoded: dict[Any, bytes] = {}
    #: Whether reads may leave what they made here. Not once the object has long been replaced.
    caching: bool = True

    @property
    def size(self) -> int:
        """The bytes of the object in its storage version."""
        version = self.kind.versions.get(self.kind.storage_version) if self.kind is not None else None
        data = self.encoded.get(version)
        return len(gojson.encode(self.obj)) if data is None else len(data)

    def retire(self) -> None:
        """Drop what can be made again."""
        self.caching, self.views, self.encoded = False, {}, {}


class Event(msgspec.Struct, eq=False, frozen=True, gc=False):
    """One commit to one key: what stood there before and after. None: nothing."""

    revision: int
    key: str
    before: Entry | None
    after: Entry | None
    #: For a deletion: the last object, carrying the revision of the deletion.
    tombstone: Entry | None = None
    #: The bytes of `before`, which nothing but the past needs.
    size: int = 0


class Table:
    """All objects of one resource."""

    __slots__ = ("_shared", "born", "entries", "keys", "log", "size", "streams", "trimmed", "trimmed_revision")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.log: list[Event] = []
        #: The bytes of all events in the log.
        self.size = 0
        #: How many events were dropped from the front of the log, and the revision of the last of them.
        self.trimmed = 0
        self.trimmed_revision = 0
        #: The revision at which the resource began to be served: nothing before it can be watched.
        self.born = 0
        #: Open watches, told of each commit.
        self.streams: list[Stream] = []
        self._shared = False

    def fork(self) -> Table:
        """A table with the same content; whoever writes first copies."""
        twin = Table()
        twin.entries, twin.keys, twin.log = self.entries, self.keys, self.log
        twin.trimmed, twin.trimmed_revision, twin.born, twin.size = self.trimmed, self.trimmed_revision, self.born, self.size
        self._shared = twin._shared = True
        return twin

    def objects(self) -> list[Json]:
        """Every object of the resource, in whatever order."""
        return [entry.obj for entry in self.entries.values()]

    def put(self, key: str, entry: Entry | None, revision: int, tombstone: Entry | None = None) -> None:
        """Commits one change: the entry now stands at the key (None: nothing does)."""
        if self._shared:
            self.entries, self.keys, self.log, self._shared = dict(self.entries), list(self.keys), list(self.log), False
        before = self.entries.get(key)
        if entry is None:
            del self.entries[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            self.entries[key] = entry
            if before is None:
                insort(self.keys, key)
        size = 0 if before is None else before.size
        self.size += size
        self.log.append(Event(revision, key, before, entry, tombstone, size))
        for stream in tuple(self.streams):
            stream.notify()

    def forget(self, revision: int) -> None:
        """Drops events up to the revision: compaction."""
        self._cut(self._after(revision))

    def shrink(self, size: int) -> None:
        """Drops the oldest events until the others have at most so many bytes."""
        left, cut = self.size, 0
        while left > size:
            left -= self.log[cut].size
            cut += 1
        self._cut(cut)

    def _cut(self, cut: int) -> None:
        if not cut:
            return
        if self._shared:
            self.entries, self.keys, self._shared = dict(self.entries), list(self.keys), False
        self.trimmed += cut
        self.trimmed_revision = self.log[cut - 1].revision
        self.size -= sum(event.size for event in self.log[:cut])
        self.log = self.log[cut:]

    def position_after(self, revision: int) -> int:
        """The log position of the first event after the revision."""
        return self.trimmed + self._after(revision)

    def events_from(self, position: int) -> list[Event]:
        """Events from a position on. The caller has made sure that they were not trimmed."""
        return self.log[position - self.trimmed :]

    @property
    def end(self) -> int:
        """The position after the last event."""
        return self.trimmed + len(self.log)

    def at(self, revision: int) -> tuple[list[str], dict[str, Entry]]:
        """Keys and entries as they stood at a revision that has not been compacted."""
        later = self.log[self._after(revision) :]
        if not later:
            return self.keys, self.entries
        entries = dict(self.entries)
        for event in reversed(later):
            if event.before is None:
                entries.pop(event.key, None)
            else:
                entries[event.key] = event.before
        return sorted(entries), entries

    def _after(self, revision: int) -> int:
        if not self.log or self.log[-1].revision <= revision:
            return len(self.log)
        return bisect_left(self.log, revision + 1, key=lambda event: event.revision)


def span(keys: list[str], prefix: str, start: str = "") -> Iterator[str]:
    """The keys with the prefix, from `start` on, in order."""
    for index in range(bisect_left(keys, max(prefix, start)), len(keys)):
        key = keys[index]
        if not key.startswith(prefix):
            return
        yield key


def count(keys: list[str], prefix: str, start: str = "") -> int:
    """How many keys `span` would give."""
    first = bisect_left(keys, max(prefix, start))
    if not prefix:
        return len(keys) - first
    return max(0, bisect_left(keys, prefix[:-1] + chr(ord(prefix[-1]) + 1)) - first)


class Store:
    """All tables and the one revision."""

    __slots__ = ("_encoded", "_old", "compacted", "keep", "keep_bytes", "revision", "size", "tables")

    def __init__(self, *, revision: int = FIRST_REVISION, keep: int = KEEP, keep_bytes: int = KEEP_BYTES) -> None:
        self.revision = revision
        #: Everything at or below this revision can no longer be watched or listed.
        self.compacted = 0
        #: How many events a table remembers; a fifth more is let grow before the front is cut.
        self.keep = keep
        #: How many bytes of old versions all tables together remember; a sixteenth more is let grow before the oldest are dropped.
        self.keep_bytes = keep_bytes
        #: The bytes of old versions that are remembered now.
        self.size = 0
        #: Old versions whose JSON is kept, each with its bytes, and the bytes of all.
        self._old: deque[tuple[Entry, int]] = deque()
        self._encoded = 0
        self.tables: dict[tuple[str, str], Table] = {}

    def fork(self) -> Store:
        """The same content; writes on either side stay there. Streams stay with the original."""
        twin = Store(revision=self.revision, keep=self.keep, keep_bytes=self.keep_bytes)
        twin.compacted, twin.size = self.compacted, self.size
        twin.tables = {key: table.fork() for key, table in self.tables.items()}
        return twin

    def table(self, key: tuple[str, str]) -> Table:
        """The table of a resource, made when first asked for."""
        table = self.tables.get(key)
        if table is None:
            table = self.tables[key] = Table()
        return table

    def next_revision(self) -> int:
        """Takes the next revision."""
        self.revision += 1
        return self.revision

    def commit(self, resource: tuple[str, str], key: str, entry: Entry | None, tombstone: Entry | None = None) -> None:
        """Puts the entry, whose revision was taken by the caller, and keeps the log within bounds."""
        table = self.table(resource)
        before = table.entries.get(key)
        table.put(key, entry, self.revision, tombstone)
        if before is not None:
            self._grow(before, table.log[-1].size)
        if len(table.log) > self.keep * 17 // 16:
            self.size -= table.size
            table.forget(table.log[len(table.log) - self.keep - 1].revision)
            self.size += table.size

    def _grow(self, old: Entry, size: int) -> None:
        """Keeps the past within its bytes, now that one more version belongs to it."""
        self._old.append((old, size))
        self._encoded += size
        while self._encoded > KEEP_ENCODED:
            retired, bytes_ = self._old.popleft()
            self._encoded -= bytes_
            retired.retire()
        self.size += size
        while self.size > self.keep_bytes * 17 // 16:
            heaviest = max(self.tables.values(), key=lambda table: table.size)
            self.size -= heaviest.size
            heaviest.shrink(max(0, self.keep_bytes - self.size))
            self.size += heaviest.size

    def compact(self, revision: int | None = None) -> None:
        """Forgets history up to the revision (default: all), as etcd's compaction does."""
        self.compacted = max(self.compacted, self.revision if revision is None else revision)
        for table in self.tables.values():
            table.forget(self.compacted)
        self.size = sum(table.size for table in self.tables.values())
