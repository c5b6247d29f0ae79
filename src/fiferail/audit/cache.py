"""The index cache: lowered facts of a file, by the hash of its bytes. One file per audited root, in the user's cache directory.

Called by `golang.load`. Facts depend on nothing but the file's bytes and the version of the lowering, so an entry is never stale. Each
entry carries a digest: a damaged one is dropped and its file parsed again. A cache that cannot be read or written is no cache.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b

import msgspec

from fiferail.audit import files

# Raise it when `golang.lower` changes what it writes.
LOWERING = 7
_DIGEST = 8
_LIMIT = 200_000_000


def directory() -> str:
    base = os.environ.get("FIFERAIL_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fiferail")
    return os.path.join(base, "audit")


def fingerprint(data: bytes, bodies: bool) -> bytes:
    return blake2b(data, digest_size=16, key=b"%d-%d" % (LOWERING, bodies)).digest()


class Cache:
    """Facts by hash. Entries stay encoded until they are asked for."""

    def __init__(self, root: str, enabled: bool = True) -> None:
        name = blake2b(os.fsencode(os.path.abspath(root)), digest_size=12).hexdigest()
        self.path = os.path.join(directory(), f"{name}.msgpack")
        self.enabled = enabled
        self.entries: dict[bytes, bytes] = {}
        self.used: dict[bytes, bytes] = {}
        self.dirty = False
        #: How many entries were damaged, or -1 for a file that is no cache at all.
        self.damaged = 0
        if enabled:
            self._load()

    def _load(self) -> None:
        try:
            data = files.read(self.path, 2 * _LIMIT)
        except files.Unreadable:
            return
        try:
            self.entries = msgspec.msgpack.decode(data, type=dict[bytes, bytes])
        except (msgspec.MsgspecError, ValueError, RecursionError):
            self.damaged = -1

    def get(self, key: bytes) -> bytes | None:
        """The facts under a key; nothing where there are none or they are damaged."""
        found = self.entries.get(key)
        if found is None:
            return None
        facts = found[_DIGEST:]
        if found[:_DIGEST] != _digest(key, facts):
            del self.entries[key]
            self.damaged += 1
            return None
        self.used[key] = found
        return facts

    def put(self, key: bytes, facts: bytes) -> None:
        self.used[key] = _digest(key, facts) + facts
        self.dirty = True

    def save(self) -> None:
        """Writes what this run used, so that the cache holds the current files and no others."""
        if not self.enabled or (not self.dirty and len(self.used) == len(self.entries)):
            return
        if sum(map(len, self.used.values())) > _LIMIT:
            return
        with contextlib.suppress(OSError, files.Unwritable):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            files.write(self.path, msgspec.msgpack.encode(self.used))


def _digest(key: bytes, facts: bytes) -> bytes:
    return blake2b(facts, digest_size=_DIGEST, key=key).digest()
