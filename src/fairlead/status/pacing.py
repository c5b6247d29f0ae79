"""How hard an object is fought over, and how long to hold back before the next write of it. Pure: times and chance are arguments.

The server applies a patch again whenever another write came first, so with many writers of one object each write costs it many
rounds, and all of them get slower together. A writer notices that its answers take much longer than they did, holds back for a
random while before its next write of that object, longer as it gets worse, and less again as answers get quicker.
"""

from __future__ import annotations

import msgspec

#: An answer is slow when it takes this many times the quickest one, and at least this much longer.
SLOW = 3.0
SLACK = 0.02
LONGEST = 5.0
#: Seconds after which a writer that has not written forgets what it saw.
FORGET = 30.0


class Pace(msgspec.Struct):
    """What one writer has seen of one object."""

    quickest: float = float("inf")
    gap: float = 0.0
    until: float = 0.0

    def hold(self, now: float, chance: float) -> float:
        """Seconds to wait before a write; `chance` in [0, 1)."""
        if not self.gap or now > self.until:
            return 0.0
        return 2 * self.gap * chance

    def answered(self, took: float, now: float) -> None:
        """Learn from an answer to a write."""
        if now > self.until:
            self.quickest, self.gap = float("inf"), 0.0
        self.quickest = min(self.quickest, took)
        self.until = now + FORGET
        if took > SLOW * self.quickest + SLACK:
            self.gap = min(LONGEST, max(self.gap * 1.5, took))
        else:
            self.gap = 0.0 if self.gap < 0.001 else self.gap * 0.7
