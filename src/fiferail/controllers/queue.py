"""Which object is reconciled next. A data structure without a clock, without tasks: time is an argument.

Called by the controller's workers and, step by step, by an explorer. A key is in the queue once however often it is added, is
handed out to one worker at a time, and comes back when it was added while being worked on. Fresh changes go before the initial
list; a key that failed waits longer each time.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


Key = TypeVar("Key", bound="Hashable")

#: Something changed just now.
FRESH = 0
#: It was there when the controller started, or is looked at again from time to time.
INITIAL = 1
#: A key that is held back hears of nothing; so not for long.
LONGEST_HOLD = 5.0


class Backoff(msgspec.Struct, frozen=True):
    """How long a key waits after its n-th failure in a row."""

    first: float = 0.005
    factor: float = 2.0
    longest: float = 300.0

    def pause(self, failures: int, chance: float) -> float:
        """Seconds after this many failures; `chance` in [0, 1) spreads them by a tenth."""
        return float(min(self.longest, self.first * self.factor ** min(failures, 60)) * (1.0 + 0.1 * chance))


class Queue(Generic[Key]):
    """Keys that wait, keys that are worked on, keys that are due later."""

    def __init__(self, backoff: Backoff | None = None, chance: Callable[[], float] = lambda: 0.0) -> None:
        self._backoff = backoff or Backoff()
        self._chance = chance
        self._waiting: dict[Key, int] = {}
        self._ready: list[tuple[int, int, Key]] = []
        self._later: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._working: dict[Key, int | None] = {}
        self._failures: dict[Key, int] = {}
        self._held: set[Key] = set()
        self._ticket = 0

    def add(self, key: Key, priority: int = FRESH) -> None:
        """The key wants to be reconciled. A key that is being worked on comes back when that is done."""
        if key in self._working:
            again = self._working[key]
            self._working[key] = priority if again is None else min(priority, again)
            return
        if key in self._held:
            return
        known = self._waiting.get(key)
        if known is None or priority < known:
            self._waiting[key] = priority
            heapq.heappush(self._ready, (priority, self._next(), key))

    def add_at(self, key: Key, due: float) -> None:
        """The key wants to be reconciled at that time, or earlier if it is added earlier."""
        if key not in self._due or due < self._due[key]:
            self._due[key] = due
            heapq.heappush(self._later, (due, self._next(), key))

    def retry(self, key: Key, now: float, *, hold: bool = False) -> float:
        """The key failed: it comes back after its backoff, or sooner when it is added; when held, not sooner. Gives the seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        pause = self._backoff.pause(failures, self._chance())
        if hold:
            pause = min(pause, LONGEST_HOLD)
            self._held.add(key)
        self.add_at(key, now + pause)
        return pause

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure is the first again."""
        self._failures.pop(key, None)
        self._held.discard(key)

    def failures(self, key: Key) -> int:
        """How often the key has failed in a row."""
        return self._failures.get(key, 0)

    def take(self, now: float) -> Key | None:
        """The next key, which is worked on until `done`; None when nothing is due."""
        self._promote(now)
        while self._ready:
            priority, _, key = heapq.heappop(self._ready)
            if self._waiting.get(key) == priority:
                del self._waiting[key]
                self._due.pop(key, None)
                self._working[key] = None
                return key
        return None

    def done(self, key: Key) -> None:
        """The key is no longer worked on."""
        again = self._working.pop(key, None)
        if again is not None:
            self.add(key, again)

    def not_again(self, key: Key) -> None:
        """The key that is being worked on need not come back for what was added meanwhile."""
        if key in self._working:
            self._working[key] = None

    def next_due(self) -> float | None:
        """When the next delayed key is due; None when none is."""
        while self._later and self._due.get(self._later[0][2]) != self._later[0][0]:
            heapq.heappop(self._later)
        return self._later[0][0] if self._later else None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def working(self) -> int:
        """How many keys are being worked on."""
        return len(self._working)

    def _promote(self, now: float) -> None:
        while (due := self.next_due()) is not None and due <= now:
            _, _, key = heapq.heappop(self._later)
            del self._due[key]
            self._held.discard(key)
            self.add(key)

    def _next(self) -> int:
        self._ticket += 1
        return self._ticket
