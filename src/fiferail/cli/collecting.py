"""Python's garbage collector in a process that serves: many objects that live long, no cycles among them, and no time for pauses.

A full collection walks every stored object and stops all requests meanwhile: 0.8 s with a large history. A request leaves no cycles
behind, so there is next to nothing to find. `Collector` takes over from the automatic collector: what was made in the last
quarter of a second is looked at once and then never again, except while nobody asks for anything. Only for a process that is ours:
`fiferail serve` uses it, an embedded server in a test process leaves the collector alone.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

#: Seconds between two looks at young objects, and how many of those make a look worth while.
EVERY = 0.25
YOUNG = 2_000
#: After so many looks without a request everything is collected, once.
IDLE = 120


class Collector:
    """Collects young objects between requests, and everything when there are none. `requests` counts the requests so far."""

    def __init__(self, requests: Callable[[], int]) -> None:
        self._requests = requests
        self._seen = self._quiet = 0
        self._dirty = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take over from the automatic collector, and look from time to time."""
        calm()
        loop.call_later(EVERY, self._again, loop)

    def _again(self, loop: asyncio.AbstractEventLoop) -> None:
        self.look()
        loop.call_later(EVERY, self._again, loop)

    def look(self) -> None:
        """Collect what is young; everything after a quiet time."""
        requests = self._requests()
        self._quiet = self._quiet + 1 if requests == self._seen else 0
        self._seen = requests
        if gc.get_count()[0] > YOUNG:
            self._dirty = True
            gc.collect(0)
            gc.freeze()
        if self._dirty and self._quiet >= IDLE:
            self._dirty = False
            gc.unfreeze()
            calm()


def calm() -> None:
    """Collect everything once, and from now on nothing by itself."""
    gc.collect()
    gc.freeze()
    gc.disable()
