"""Every error of fiferail. Imports nothing.

    FiferailError
    ├── Conflict            something this write depended on has changed; `.changes` says what
    ├── Invalid             the server refused the content; `.causes` are the server's own
    ├── NotOwner            a path that another writer of the same registry claims
    ├── Unavailable         no answer could be had within the budget; `__cause__` is the transport's exception, if any
    ├── Unsupported         the embedded API server does not do this exactly, so it refuses; `.feature` names what
    └── ApiError            any other answer of the server, unchanged: `.code`, `.reason`, `.message`, `.causes`
        ├── NotFound
        ├── AlreadyExists
        └── Forbidden
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class FiferailError(Exception):
    """The root: `except fiferail.FiferailError` catches whatever fiferail raises on purpose."""


class Change(NamedTuple):
    """One field that moved under a write: where, what it was, what it is, what this write wanted, and who moved it."""

    path: str
    was: Any
    now: Any
    mine: Any
    written_by: str | None = None


class Conflict(FiferailError):
    """Something this write read, or was about to overwrite, has changed since. The message says whether anything was written."""

    def __init__(self, message: str, changes: Sequence[Change] = ()) -> None:
        super().__init__(message)
        self.changes = tuple(changes)
        #: The parts of the session (components) that were withheld, where the rest was written; empty: all of it.
        self.scopes: tuple[str, ...] = ()
        #: What came of the rest, where there was one.
        self.outcome: Any = None


class Cause(NamedTuple):
    """One entry of the server's `details.causes`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Invalid(FiferailError):
    """The server refused what was sent, and would refuse it again."""

    def __init__(self, message: str, causes: Sequence[Cause] = (), code: int = 422, reason: str = "Invalid") -> None:
        super().__init__(message)
        self.message = message
        self.causes = tuple(causes)
        self.code = code
        self.reason = reason


class NotOwner(FiferailError):
    """The path is claimed by another writer of the same registry."""


class Unavailable(FiferailError):
    """The budget of tries is spent, or the transport failed. Whether the write landed is said in the message."""


class Unsupported(FiferailError):
    """The embedded server would have to guess here, so it refuses. docs/limits lists every such feature."""

    def __init__(self, feature: str, hint: str = "") -> None:
        super().__init__(f"the embedded API server does not support {feature}" + (f": {hint}" if hint else ""))
        self.feature = feature


class ApiError(FiferailError):
    """An answer of the server that is not success and means nothing special to fiferail: passed on unchanged."""

    def __init__(self, code: int, reason: str, message: str, causes: Sequence[Cause] = ()) -> None:
        super().__init__(f"{code} {reason}: {message}" if reason else f"{code}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)


class NotFound(ApiError):
    """404: the object, or its kind, is not there."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists: a create found the name taken."""


class Forbidden(ApiError):
    """403: RBAC or admission said no."""


def missing_extra(extra: str, module: str | None) -> str:
    """Say which extra a feature needs, and how to install it: there is no release yet, so from a checkout."""
    return f"needs the extra `{extra}` ({module} is not installed); in a checkout of fiferail: pip install '.[{extra}]'"
