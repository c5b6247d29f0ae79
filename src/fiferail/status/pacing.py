"""When to give way to other writers of an object. Pure: times and chance are arguments.

The server applies a patch again whenever another write came first, so with many writers of one object each write costs it many
rounds, and all of them get slower together. Answers that take much longer than they could say that this is happening.
For a while after that, a writer gives way: it tests the version of its own last answer. Nobody wrote since: the write is stored at
once. Somebody did: it is refused at once, for next to nothing, and waits a turn before it tries as ever, and then gets through.
So a few write at full speed, the others in their turns, and nobody waits for ever. The more often a turn is needed, the longer it is.

A writer that writes now and then never waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

#: Answers are slow when they take this many times the quickest one, and at least this long, on the average of the last dozen or so.
SLOW = 4.0
SHORTEST = 0.012
RECENT = 0.1
#: For how long after a slow answer a writer gives way: so many seconds, or so many times the answer.
GIVES_WAY = 1.0
AS_LONG = 4.0
#: How long a turn is: at first, how it grows when refused again and shrinks with quick answers, and at most.
TURN = 1.0
LONGER = 1.5
SHORTER = 0.9
LONGEST = 6.0
#: Where answers take seconds, very many write at once: then turns are as many times the answer as above, and this long at most.
SPREAD = 15.0
#: The quickest answer is believed a little less after each other one, so that a server that became slower is not taken for contended.
FADING = 1.02


class Tempo(msgspec.Struct):
    """How quickly the server answers this writer at its best, whatever it is asked."""

    quickest: float = float("inf")

    def heard(self, took: float) -> None:
        """An answer came."""
        self.quickest = min(self.quickest * FADING, took)


class Pace(msgspec.Struct):
    """What one writer has seen of one object."""

    tempo: Tempo
    until: float = float("-inf")
    turn: float = TURN
    average: float = 0.0
    #: How long the last write took that did not give way.
    last: float = 0.0

    def gives_way(self, now: float) -> bool:
        """Whether the object is contended: the next write tests the version."""
        return now < self.until

    def answered(self, took: float, now: float, chance: Callable[[], float], *, yielding: bool = False) -> None:
        """Learn from an answer to a write; `chance` gives a number in [0, 1)."""
        self.tempo.heard(took)
        if not yielding:
            self.last = took
        self.average += (took - self.average) * RECENT if self.average else took
        if self.average > SHORTEST and self.average > SLOW * self.tempo.quickest:
            self.until = now + max(GIVES_WAY, AS_LONG * took) * (0.5 + chance())
        elif self.turn > TURN:
            self.turn = max(TURN, self.turn * SHORTER)

    def refused(self, now: float, chance: float) -> float:
        """Somebody else was first: how long to wait for the turn."""
        wait = min(SPREAD, max(self.turn, AS_LONG * self.last)) * (0.5 + chance)
        self.turn = min(LONGEST, self.turn * LONGER)
        self.until = now + wait
        return wait
