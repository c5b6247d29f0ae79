"""Time as controllers see it: passed in, so that tests and an explorer can hold it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


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


def stamp(seconds: float) -> str:
    """A time as the API writes it: UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
