"""A function whose calls are writes: it writes what it is given, or what its receiver holds.

Made by `frontend`, asked by `dispatch`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.golang.purpose import is_short

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func
    from fiferail.audit.model import Site

WRITER_NAME = re.compile(
    r"(?i)^(?:update|patch|write|flush|persist|save|apply|set|sync|commit|mutate|record|report|publish|store|retry|try|do|ensure|mark|"
    r"transition|change|move|advance|clear|reset|init|refresh|add|remove|bump)\w*(?:status|condition|phase|state)"
    r"|^(?:update|patch|flush|persist|save)\w*$|^\w*(?:status|condition)\w*$"
)


class Wrapper:
    """A function that writes what it is given: the position of the object, and what it does with it."""

    __slots__ = ("apart", "around", "asks", "func", "position", "sites")

    def __init__(self, func: Func, position: int, sites: list[Site], apart: bool = False, asks: bool = False) -> None:
        self.func = func
        # For a closure: the function that it stands in, and the identity of its writes there.
        self.around: tuple[Func, set[int]] | None = None
        self.apart = apart
        self.asks = asks
        self.position = position
        self.sites = sites

    @property
    def speaks(self) -> bool:
        """Its name or its shortness says that it writes. What is for writing by its purpose says nothing of others that have its name."""
        return bool(WRITER_NAME.search(self.func.name)) or is_short(self.func) or self.chief.polymorphic or self.position < 0

    @property
    def chief(self) -> Site:
        """The write that counts for its callers: of status, where there is one, and not where something failed; the least safe one."""
        order = {"update": 0, "merge-patch": 1, "ssa": 2, "json-patch": 3, "merge-patch-locked": 4, "helper": 5, "create": 6, "delete": 7}
        return min(self.sites, key=lambda site: (site.target != "status", site.failing, order.get(str(site.way), 9)))
