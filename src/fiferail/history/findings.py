"""What the checker can find: names, and one finding as data. `words` makes a sentence of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..objects.paths import Path
    from ..objects.tree import Json
    from .records import Identity

LOST, STALE_DECISION, FOREIGN, FIGHT, HOT_LOOP, DOUBLE, TRAVEL = (
    "lost update", "stale decision", "foreign write", "fight", "hot loop", "double creation", "time travel",
)  # fmt: skip
#: Findings that mean that somebody's update is not there any more, or stands on something that is not; the others are bad habits.
LOSSES = frozenset({LOST, DOUBLE, STALE_DECISION})

CARRIED, COMPUTED, SELF, DROPPED, LAUNDERED, ABANDONED, INCARNATION = (
    "carried", "computed", "self", "dropped", "laundered", "abandoned", "wrong incarnation",
)  # fmt: skip


class Finding(msgspec.Struct, frozen=True):
    """One thing that went wrong."""

    name: str
    object: Identity
    path: Path
    #: Whose update was lost, or who else is involved; and who did it.
    victim: str
    culprit: str
    #: How an update was lost: one of the kinds above.
    kind: str = ""
    base: int = 0
    written: int = 0
    overwritten: int = 0
    was: Json = None
    lost: Json = None
    now: Json = None
    how: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether an update is gone, or was decided on what is gone."""
        return self.name in LOSSES
