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


class Outcome:
    """The result of one flush."""

    __slots__ = ("_object", "_raw", "altered", "kind", "repaired", "requests")

    def __init__(
        self, kind: Kind, object: Json = None, requests: int = 0, repaired: tuple[tuple[str, str], ...] = (), altered: tuple[str, ...] = (),
        *, raw: bytes = b"",
    ) -> None:  # fmt: skip
        self.kind = kind
        self.requests = requests
        #: Claimed paths that another manager had changed, and who.
        self.repaired = repaired
        #: Fields that the server did not store as sent (pruned, defaulted, changed by admission).
        self.altered = altered
        self._object = object
        self._raw = raw

    @property
    def object(self) -> Json:
        """The object as the server returned it; what was passed in, when nothing was sent; None when it is gone."""
        if self._raw:  # read when somebody asks: most never do
            self._object, self._raw = msgspec.json.decode(self._raw), b""
        return self._object

    @property
    def raw(self) -> bytes:
        """The answer, where nobody has read it yet."""
        return self._raw

    def but(self, *, kind: Kind | None = None, requests: int | None = None, altered: tuple[str, ...] | None = None) -> Outcome:
        """The same, otherwise. An answer that nobody has read yet is read for each: no two share a tree."""
        return Outcome(
            kind or self.kind, self._object, self.requests if requests is None else requests, self.repaired,
            self.altered if altered is None else altered, raw=self._raw,
        )  # fmt: skip

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}" for name, value in (("repaired", self.repaired), ("altered", self.altered)) if value)
        return f"Outcome({self.kind}, requests={self.requests}{more})"


class Made(msgspec.Struct, frozen=True):
    """The result of create_once: the value that stands, whether this call made it, and the write's outcome."""

    value: Json
    created: bool
    outcome: Outcome
