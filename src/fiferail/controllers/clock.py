"""Time as controllers see it: passed in, so that tests and an explorer can hold it.

`RealClock` is the machine's. `VirtualClock` stands still until it is told to move, and then wakes sleepers in the order of their
time: what takes an hour on a cluster takes a millisecond in a test, and happens in the same order each time.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Limit(Protocol):
    """A block that ends after some time."""

    def expired(self) -> bool:
        """Whether it was ended."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...


class Clock(Protocol):
    """What time it is, and letting it pass."""

    def now(self) -> float:
        """Seconds that never go back."""
        ...

    def today(self) -> float:
        """Seconds since 1970, as the cluster's times are written."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let this much time pass."""
        ...

    def timeout(self, seconds: float | None) -> Limit:
        """A block that is cancelled after so many seconds, and then raises TimeoutError; None never ends it."""
        ...


class RealClock:
    """The machine's own."""

    def now(self) -> float:
        """Monotonic."""
        return time.monotonic()

    def today(self) -> float:
        """Wall clock."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """asyncio's."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> Limit:
        """asyncio's."""
        return asyncio.timeout(seconds)


class VirtualClock:
    """Moves when it is told to. `skew` is how far its wall clock is off, as that of another machine may be."""

    def __init__(self, today: float = 1_700_000_000.0, skew: float = 0.0) -> None:
        self._today = today
        self.skew = skew
        self._passed = 0.0
        #: When, in which order, whether anybody still waits for it, and what to do.
        self._alarms: list[tuple[float, int, Callable[[], bool], Callable[[], object]]] = []
        self._ticket = 0

    def now(self) -> float:
        """Seconds since it was made."""
        return self._passed

    def today(self) -> float:
        """Its wall clock."""
        return self._today + self._passed + self.skew

    async def sleep(self, seconds: float) -> None:
        """Until somebody has advanced the clock so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._at(self._passed + seconds, lambda: not woken.done(), lambda: woken.set_result(None))
        await woken

    def timeout(self, seconds: float | None) -> Limit:
        """As asyncio.timeout, in this clock's time."""
        return _VirtualTimeout(self, seconds)

    def next_alarm(self) -> float | None:
        """Seconds until the next sleeper wakes; None when nobody sleeps."""
        while self._alarms and not self._alarms[0][2]():
            heapq.heappop(self._alarms)
        return max(0.0, self._alarms[0][0] - self._passed) if self._alarms else None

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody who wakes on the way do what he does, in order."""
        end = self._passed + seconds
        await settle()
        while (left := self.next_alarm()) is not None and self._passed + left <= end:
            due, _, _, ring = heapq.heappop(self._alarms)
            self._passed = max(self._passed, due)
            ring()
            await settle()
        self._passed = end

    def _at(self, due: float, wanted: Callable[[], bool], ring: Callable[[], object]) -> None:
        self._ticket += 1
        heapq.heappush(self._alarms, (due, self._ticket, wanted, ring))


class _VirtualTimeout:
    """The block that a VirtualClock ends."""

    def __init__(self, clock: VirtualClock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._open = True
        self._expired = False

    async def __aenter__(self) -> _VirtualTimeout:
        task = asyncio.current_task()
        if self._seconds is not None:
            self._clock._at(self._clock.now() + self._seconds, lambda: self._open, lambda: self._expire(task))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open = False
        task = asyncio.current_task()
        if self._expired and task is not None and task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expired(self) -> bool:
        """Whether the clock has ended it."""
        return self._expired

    def _expire(self, task: asyncio.Task[object] | None) -> None:
        if self._open and task is not None:
            self._expired = True
            task.cancel()


async def settle() -> None:
    """Let every task of the loop run until all of them wait for something. For worlds without sockets: nobody else wakes them."""
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    await asyncio.sleep(0)
    for _ in range(100_000):
        if not ready:
            return
        await asyncio.sleep(0)
    raise RuntimeError("the tasks of this loop never come to rest")


def stamp(seconds: float) -> str:
    """A time as the API writes it: UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def micro(seconds: float) -> str:
    """A time with microseconds, as MicroTime wants it."""
    whole, fraction = divmod(round(seconds * 1e6), 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{fraction:06d}Z"


def moment(text: str) -> float:
    """Seconds since 1970 of a time as the API writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
