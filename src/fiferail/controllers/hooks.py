"""What an operator may want to see of its reconciles. A hook is any object with these methods; none is needed.

Called after the fact, and only for what was settled: a reconcile whose status could not be written has failed, whatever it returned.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

log = logging.getLogger("fiferail.controllers")

#: How a reconcile may end.
DONE, LATER, CONFLICT, FAILED, GONE = "done", "later", "conflict", "failed", "gone"


class ControllerHook:
    """Everything a hook may hear; override what is of interest."""

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A reconcile ended, its flush included: done, later (it comes back by itself), conflict, failed or gone."""

    def waiting(self, controller: str, keys: int, working: int) -> None:
        """How many keys wait and how many are worked on; told whenever a worker looks."""

    def leading(self, leads: bool) -> None:
        """Leadership was won or lost."""


class ControllerHooks(ControllerHook):
    """Many hooks as one; one that raises is logged and changes nothing."""

    def __init__(self, hooks: Iterable[ControllerHook] = ()) -> None:
        self._hooks = tuple(hooks)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._tell("reconciled", controller, result, seconds)

    def waiting(self, controller: str, keys: int, working: int) -> None:
        self._tell("waiting", controller, keys, working)

    def leading(self, leads: bool) -> None:
        self._tell("leading", leads)

    def _tell(self, event: str, *arguments: object) -> None:
        for hook in self._hooks:
            try:
                getattr(hook, event)(*arguments)
            except Exception:
                log.exception("the hook %r failed on %s", hook, event)
