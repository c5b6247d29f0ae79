"""What the checker can find: names, and one finding as data. `words` makes a sentence of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..objects.paths import Path
    from ..objects.tree import Json
    from .records import Identity

LOST, STALE_DECISION, FOREIGN, FIGHT, HOT_LOOP, WASTE, DOUBLE, TRAVEL = (
    "lost update", "stale decision", "foreign write", "fight", "hot loop", "waste", "double creation", "time travel",
)  # fmt: skip
#: Findings that mean that somebody's update is not there any more, or stands on something that is not; the others are bad habits.
LOSSES = frozenset({LOST, DOUBLE, STALE_DECISION})

CARRIED, COMPUTED, SELF, DROPPED, LAUNDERED, ABANDONED, INCARNATION = (
    "carried", "computed", "self", "dropped", "laundered", "abandoned", "wrong incarnation",
)  # fmt: skip

#: How sure a loss is. Certain: no other explanation of the requests is possible. Inferred: the values written are old ones, and
#: something else in the same write shows that they were copied. Possible: they are old ones, but their writer may mean them.
CERTAIN, INFERRED, POSSIBLE = "certain", "inferred", "possible"


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
    #: The version that the culprit decided on; 0: none that it had read.
    base: int = 0
    written: int = 0
    overwritten: int = 0
    was: Json = None
    lost: Json = None
    now: Json = None
    #: The request: verb and content type, and through which subresource.
    how: str = ""
    certainty: str = CERTAIN
    #: What the finding rests on, as the end of a sentence; `{base}` stands for the base.
    because: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether an update is gone, or was decided on what is gone: certain or inferred, so that a test must fail."""
        return self.name in LOSSES and self.certainty != POSSIBLE

    @property
    def is_possible(self) -> bool:
        """Whether an update may be gone: to be shown, and to fail a test that asks for it."""
        return self.name in LOSSES and self.certainty == POSSIBLE
