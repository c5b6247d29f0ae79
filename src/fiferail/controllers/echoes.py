"""A failing reconcile that says so in the status hears of its own write: that alone must not bring it back before its backoff is over.

Otherwise a message that differs each time would make a loop as fast as the server answers. Whatever else happens to the object, or to
what the controller watches, brings it back at once as ever. The watch may be faster than the answer, so both orders count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cache import ObjectKey

#: Heard for another reason than a version of the object itself.
NO_VERSION = -1


class Echoes:
    """Which versions were heard while a key was worked on, and which one is the echo of a failure."""

    def __init__(self) -> None:
        self._meanwhile: dict[ObjectKey, set[int]] = {}
        self._expected: dict[ObjectKey, int] = {}

    def begin(self, key: ObjectKey) -> None:
        """A reconcile of the key begins."""
        self._meanwhile[key] = set()
        self._expected.pop(key, None)

    def heard(self, key: ObjectKey, version: int) -> bool:
        """Something happened. Whether that is a reason to reconcile the key."""
        if key in self._meanwhile:
            self._meanwhile[key].add(version)
        elif version != NO_VERSION and self._expected.get(key) == version:
            del self._expected[key]
            return False
        return True

    def failed(self, key: ObjectKey, version: int) -> bool:
        """The reconcile failed, and the object is at that version by its own write, if by any. Whether nothing else happened meanwhile."""
        meanwhile = self._meanwhile.pop(key, set())
        if version not in meanwhile:
            self._expected[key] = version
        return meanwhile <= {version}

    def end(self, key: ObjectKey) -> None:
        """The reconcile succeeded, or the object is gone."""
        self._meanwhile.pop(key, None)
        self._expected.pop(key, None)
