"""What an operator may want to see of its writes: a hook is a subclass of `Hook` that overrides what it is interested in.

Called by `core`, after the fact: a hook cannot change a write, and one that raises is logged and forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from .outcome import Outcome


def _log() -> logging.Logger:
    """Imported where there is something to say: most writers never do."""
    import logging

    return logging.getLogger("fiferail.status")


class Hook:
    """The events of a writer; override those of interest."""

    def finished(self, kind: str, manager: str, outcome: Outcome, seconds: float) -> None:
        """A write came to an outcome."""

    def failed(self, kind: str, manager: str, error: Exception, seconds: float) -> None:
        """A write was refused for good: Conflict, Invalid, NotOwner, Unavailable, ApiError."""

    def altered(self, kind: str, manager: str, field: str, dropped: bool) -> None:
        """The server stored a field otherwise than sent; called once per kind and field."""


class Hooks(Hook):
    """Many hooks as one."""

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._hooks = tuple(hooks)

    def __bool__(self) -> bool:
        return bool(self._hooks)

    def finished(self, kind: str, manager: str, outcome: Outcome, seconds: float) -> None:
        self._call("finished", kind, manager, outcome, seconds)

    def failed(self, kind: str, manager: str, error: Exception, seconds: float) -> None:
        self._call("failed", kind, manager, error, seconds)

    def altered(self, kind: str, manager: str, field: str, dropped: bool) -> None:
        if dropped:
            _log().warning("%s has no field %s in its schema: the server drops what %s writes there", kind, field, manager)
        self._call("altered", kind, manager, field, dropped)

    def _call(self, event: str, *arguments: object) -> None:
        for hook in self._hooks:
            try:
                getattr(hook, event)(*arguments)
            except Exception:
                _log().exception("the hook %r failed on %s", hook, event)


class LoggingHook(Hook):
    """Every outcome in one line, to `fiferail.status`."""

    def finished(self, kind: str, manager: str, outcome: Outcome, seconds: float) -> None:
        _log().info("%s %s by %s in %d requests, %.0f ms", kind, outcome.kind, manager, outcome.requests, seconds * 1000)

    def failed(self, kind: str, manager: str, error: Exception, seconds: float) -> None:
        _log().info("%s not written by %s after %.0f ms: %s", kind, manager, seconds * 1000, error)
