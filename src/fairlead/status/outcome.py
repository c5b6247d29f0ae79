"""What came of a write."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..objects.tree import Json


class Kind(StrEnum):
    """`applied`: stored at once. `unchanged`: nothing to say, nothing sent. `rebased`: stored after others had moved other fields.
    `converged`: the server has it already. `gone`: the object is no more, or is another one of the same name."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REBASED = "rebased"
    CONVERGED = "converged"
    GONE = "gone"

    def __str__(self) -> str:
        return self.value


class Outcome(msgspec.Struct, frozen=True):
    """The result of one flush."""

    kind: Kind
    #: The object as the server returned it; what was passed in, when nothing was sent; None when it is gone.
    object: Json
    requests: int = 0
    #: Claimed paths that another manager had changed, and who.
    repaired: tuple[tuple[str, str], ...] = ()
    #: Fields that the server did not store as sent (pruned, defaulted, changed by admission).
    altered: tuple[str, ...] = ()


class Made(msgspec.Struct, frozen=True):
    """The result of create_once: the value that stands, whether this call made it, and the write's outcome."""

    value: Json
    created: bool
    outcome: Outcome
