"""What is to be done once an object is gone: whoever keeps something about objects hears when to let go of it.

Kept per object, run when its key is looked at and nothing is there, or another object of the same name is. Used through
`ctx.when_gone`; a manager that ends says nothing, because the objects stay.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .cache import key_of, uid

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from ..objects.tree import Json
    from .cache import ObjectKey

log = logging.getLogger("fiferail.controllers")


class Departures:
    """Of one controller."""

    def __init__(self) -> None:
        self._kept: dict[ObjectKey, tuple[str, dict[Hashable, Callable[[], object]]]] = {}

    def expect(self, obj: Json, name: Hashable, action: Callable[[], object]) -> None:
        """Do this when the object is gone; the last one given under a name counts."""
        key = key_of(obj)
        if key in self._kept and self._kept[key][0] != uid(obj):
            self.gone(key)
        self._kept.setdefault(key, (uid(obj), {}))[1][name] = action

    def gone(self, key: ObjectKey) -> None:
        """The object of that key is gone."""
        for action in self._kept.pop(key, ("", {}))[1].values():
            try:
                action()
            except Exception:
                log.exception("%r failed after %s was gone", action, "/".join(part for part in key if part))
