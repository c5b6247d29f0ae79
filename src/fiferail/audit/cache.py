"""The index cache: lowered facts of a file, by the hash of its bytes. One file per audited root, in the user's cache directory.

Called by `golang.load`. Facts depend on nothing but the file's bytes and the version of the lowering, so an entry is never stale. A
cache that cannot be read or written is
no cache: the audit goes on without it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from hashlib import blake2b

import msgspec

# Raise it when `golang.lower` changes what it writes.
LOWERING = 6
_LIMIT = 200_000_000


def directory() -> str:
    base = os.environ.get("FIFERAIL_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fiferail")
    return os.path.join(base, "audit")


def fingerprint(data: bytes, bodies: bool) -> bytes:
    return blake2b(data, digest_size=16, key=b"%d-%d" % (LOWERING, bodies)).digest()


class Cache:
    """Facts by hash. Entries stay encoded until they are asked for."""

    def __init__(self, root: str, enabled: bool = True) -> None:
        name = blake2b(os.path.abspath(root).encode(), digest_size=12).hexdigest()
        self.path = os.path.join(directory(), f"{name}.msgpack")
        self.enabled = enabled
        self.entries: dict[bytes, bytes] = {}
        self.used: dict[bytes, bytes] = {}
        self.dirty = False
        if enabled:
            with contextlib.suppress(OSError, msgspec.MsgspecError), open(self.path, "rb") as handle:
                self.entries = msgspec.msgpack.decode(handle.read(), type=dict[bytes, bytes])

    def get(self, key: bytes) -> bytes | None:
        found = self.entries.get(key)
        if found is not None:
            self.used[key] = found
        return found

    def put(self, key: bytes, facts: bytes) -> None:
        self.used[key] = facts
        self.dirty = True

    def save(self) -> None:
        """Writes what this run used, so that the cache holds the current files and no others."""
        if not self.enabled or (not self.dirty and len(self.used) == len(self.entries)):
            return
        if sum(map(len, self.used.values())) > _LIMIT:
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.path))
            with os.fdopen(handle, "wb") as out:
                out.write(msgspec.msgpack.encode(self.used))
            os.replace(temporary, self.path)
