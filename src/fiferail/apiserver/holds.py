"""Requests that are held at the server before it processes them, until a test lets them go.

Used by the fixture's embedded server and by the proxy of the real one. A hold catches one request: the first that fits its aim.
The server thread that met the request either blocks (`blocked`, the proxy: one thread per connection) or parks the connection and
serves the request again after `on_release` (the embedded server: one loop for all). Nothing here knows how a request is answered.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .aims import asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire import Request
    from .aims import Aim


class Hold:
    """Catches the first matching request, after letting `after` pass."""

    def __init__(self, aim: Aim, after: int = 0) -> None:
        self.aim, self._left = aim, after
        self.request: Request | None = None
        self.arrived, self._released, self._processed = Latch(), Latch(), Latch()

    def catches(self, request: Request) -> bool:
        """Whether the request stays here; called by one server thread at a time."""
        what = asked(request)
        if what is None or self.request is not None or self._released.open or self.aim.misses(what):
            return False
        self._left -= 1
        if self._left >= 0:
            return False
        self.request = request
        return True

    def release(self) -> None:
        """Let the request go, or whatever would have come."""
        self._released.set()

    def on_release(self, wake: Callable[[], None]) -> None:
        """Call back when the request may go on, from the thread that releases it."""
        self._released.listen(wake)

    def blocked(self) -> None:
        """Wait in the server's thread until the request may go on."""
        self._released.wait(None)

    def processed(self) -> None:
        """The server has processed the request, or its client has gone."""
        self._processed.set()

    def wait_processed(self, timeout: float) -> bool:
        """Whether the server processes the request in time."""
        return self._processed.wait(timeout)


class Holds:
    """The holds of one server."""

    def __init__(self) -> None:
        self._holds: list[Hold] = []
        self._lock = threading.Lock()

    def add(self, hold: Hold) -> None:
        """Catch the next request that fits."""
        with self._lock:
            self._holds.append(hold)

    def drop(self, hold: Hold) -> None:
        """Catch nothing more with this hold, and let go what it has."""
        hold.release()
        with self._lock:
            if hold in self._holds and hold.request is None:
                self._holds.remove(hold)

    def clear(self) -> None:
        """Let everything go."""
        for hold in tuple(self._holds):
            self.drop(hold)

    def catch(self, request: Request) -> Hold | None:
        """The hold at which this request has to stay. A request that was let go is not caught again."""
        if not self._holds:
            return None
        with self._lock:
            if any(hold.request is request for hold in self._holds):
                return None
            caught = next((hold for hold in self._holds if hold.catches(request)), None)
        if caught is not None:
            caught.arrived.set()
        return caught

    def processed(self, request: Request) -> None:
        """The request has been processed, or its client has gone: whoever released it may go on."""
        if not self._holds:
            return
        with self._lock:
            done = [hold for hold in self._holds if hold.request is request]
            self._holds = [hold for hold in self._holds if hold.request is not request]
        for hold in done:
            hold.processed()


class Latch:
    """Something that happens once: threads wait for it, callbacks are called when it happens or at once afterwards."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def open(self) -> bool:
        """Whether it has happened."""
        return self._event.is_set()

    def set(self) -> None:
        """It happens now."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back when it happens; at once where it has."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, timeout: float | None) -> bool:
        """Whether it happens in time."""
        return self._event.wait(timeout)
