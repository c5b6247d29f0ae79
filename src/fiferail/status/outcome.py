"""What came of a write."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects.tree import thaw

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

    __slots__ = ("_mine", "_raw", "_tree", "altered", "contradicted", "kind", "repaired", "requests")

    def __init__(
        self, kind: Kind, object: Json = None, requests: int = 0, repaired: tuple[tuple[str, str], ...] = (), altered: tuple[str, ...] = (),
        contradicted: tuple[str, ...] = (), *, raw: bytes = b"",
    ) -> None:  # fmt: skip
        self.kind = kind
        self.requests = requests
        #: Claimed paths that another manager had changed, and who.
        self.repaired = repaired
        #: Fields that the server did not store as sent (pruned, defaulted, changed by admission).
        self.altered = altered
        #: Paths that were assigned the value already read, where the server now has another: they were not written.
        self.contradicted = contradicted
        self._tree = object
        self._mine: Json = None
        self._raw = raw

    @property
    def object(self) -> Json:
        """The object as the server returned it; what was passed in, when nothing was sent; None when it is gone. A copy of its own."""
        if self._mine is None:
            self._mine = msgspec.json.decode(self._raw) if self._raw else thaw(self._tree)
        return self._mine

    @property
    def shared(self) -> Json:
        """The same for the writer itself, which changes no tree: read when somebody asks, most never do."""
        if self._tree is None and self._raw:
            self._tree = msgspec.json.decode(self._raw)
        return self._tree

    @property
    def raw(self) -> bytes:
        """The answer, where the outcome was made of one."""
        return self._raw

    def replaced(self, **members: Any) -> Outcome:
        """A copy with some members replaced."""
        kept = {name: members.pop(name, getattr(self, name)) for name in ("kind", "requests", "repaired", "altered", "contradicted")}
        return Outcome(kept.pop("kind"), self._tree, **kept, raw=self._raw)

    def __repr__(self) -> str:
        shown = ("repaired", "altered", "contradicted")
        more = "".join(f", {name}={getattr(self, name)!r}" for name in shown if getattr(self, name))
        return f"Outcome({self.kind}, requests={self.requests}{more})"


class Made(msgspec.Struct, frozen=True):
    """The result of create_once: the value that stands, whether this call made it, and the write's outcome."""

    value: Json
    #: True: the server acknowledged this call's write. False: it was another's. None: an answer was lost and an equal value is in
    #: place, so nobody can tell; treat it as not created.
    created: bool | None
    outcome: Outcome
