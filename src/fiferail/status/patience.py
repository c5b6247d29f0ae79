"""How long a call goes on: failures are counted, refusals are bounded by a deadline. Pure: time and chance are arguments.

A refusal says that another writer was first, not that something is wrong. Refused writes are sent again at once, without any
spacing: measured on a real server, every scheme of pacing let one writer capture the object somewhere, and none is needed below some
sixteen writers. Only a write that depends on what it read waits, a random time of at most `SPREAD * CROWD` times the quickest answer,
and it waits before it reads the object again: what was read after a wait is fresh, what was read before one is old.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .answers import Lost, retry_after
from .effects import Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire import Answer

#: So many refusals in one call end it even where no time passes (a test's clock, an explorer's).
REFUSALS = 1000
#: A refused write waits at most so many times the quickest answer, more with each refusal up to a limit.
SPREAD = 2.0
CROWD = 4
#: The quickest answer is believed a little less after each other one, so that a server that became slower is noticed.
FADING = 1.02


class Budget(msgspec.Struct, frozen=True):
    """How long to go on: seconds in all, how many failures, and the backoff after a failure, jittered so that writers do not march in
    step. Refusals are no failures: only the seconds bound them."""

    tries: int = 12
    first: float = 0.01
    factor: float = 1.7
    longest: float = 5.0
    seconds: float = 60.0

    def pause(self, attempt: int, chance: float) -> float:
        """Seconds to wait after this attempt; `chance` in [0, 1)."""
        return float(min(self.longest, self.first * self.factor**attempt) * (0.5 + chance))


class Tempo(msgspec.Struct):
    """How quickly the server answers this writer at its best, whatever it is asked."""

    quickest: float = 0.0

    def answered(self, took: float) -> None:
        """An answer came after so many seconds."""
        self.quickest = min(self.quickest * FADING, took) if self.quickest else took


class Patience(msgspec.Struct):
    """What is left of the budget of one call, over all the runs of its function."""

    budget: Budget
    tempo: Tempo
    chance: Callable[[], float]
    seconds: Callable[[], float]
    deadline: float
    failures: int = 0
    refusals: int = 0

    def spent(self) -> bool:
        """Whether the call must end."""
        return self.failures >= self.budget.tries or self.refusals >= REFUSALS or self.seconds() > self.deadline

    def failed(self, answer: Answer | Lost | None) -> Wait:
        """Count a failure; the wait after it is as long as the server asks, or longer."""
        self.failures += 1
        return Wait(max(self.budget.pause(self.failures - 1, self.chance()), retry_after(answer) or 0.0))

    def refused(self) -> Wait:
        """Count a refusal; returns the wait that comes before the object is read again."""
        self.refusals += 1
        return Wait(SPREAD * self.tempo.quickest * min(CROWD, self.refusals) * self.chance())
