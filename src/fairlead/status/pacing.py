"""How hard an object is fought over, and how long to hold back before the next write of it. Pure: times and chance are arguments.

The server applies a patch again whenever another write came first, so with many writers of one object each write costs it many
rounds, and all of them get slower together. A writer whose answer took much longer than they usually do lets a random while pass
before its next write of that object, twice as long each time, and goes on at once when answers are quick again: a few write at
full speed at any time, the others wait their turn. A writer that writes now and then never waits.

Where that is not enough, and answers take a second and more, the object is *crowded*: then the writer reads it first and tests
nothing but its version. Such a patch succeeds at once or is refused at once; it never joins the crowd inside the server.
"""

from __future__ import annotations

import msgspec

#: An answer is slow when it takes this many times the quickest one, and at least this long.
SLOW = 3.0
SHORTEST = 0.01
#: From a pause of this many of the quickest answers on, and at least so long, the object is crowded.
CROWD = 50.0
CROWDED = 1.0
#: A writer never holds back longer than this many times what its last answer took.
PATIENCE = 4.0
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
    gap: float = 0.0
    not_before: float = 0.0

    def hold(self, now: float) -> float:
        """Seconds to wait before the next write."""
        return max(0.0, self.not_before - now)

    @property
    def crowded(self) -> bool:
        """Whether to read first, and to test the version only."""
        return self.gap >= max(CROWDED, CROWD * self.tempo.quickest)

    def answered(self, took: float, now: float, chance: float) -> None:
        """Learn from an answer to a write; `chance` in [0, 1)."""
        self.tempo.heard(took)
        if took > max(SHORTEST, SLOW * self.tempo.quickest):
            self.gap = min(PATIENCE * took, max(self.gap * 2, took))
            self.not_before = now + 2 * self.gap * chance  # from at once to twice the gap: the server is never idle
        else:
            self.gap /= 2
