"""Carries the events of one watch from the machine to its socket.

Made by `connection.py` when a request is answered with a stream. Takes events in portions and only while the client reads them, so that
a client that does not read costs no more than one portion. Commits may wake it from another thread; it writes on the loop only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .messages import LAST_CHUNK, chunk

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from .connection import Lines

#: How many bytes of events are made ready at a time.
PORTION = 256 * 1024


class Feed:
    """Carries the events of one watch to its socket, a chunk per event, for as long as both last."""

    def __init__(
        self, lines: Lines, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, chunked: bool, done: Callable[[], None]
    ) -> None:
        self._lines, self._transport, self._loop, self._chunked, self._done = lines, transport, loop, chunked, done
        self._timers: list[asyncio.TimerHandle] = []
        self._scheduled = False
        self._stopped = False
        self.paused = False

    def start(self) -> None:
        """Sends what is there and waits for more."""
        if self._lines.lifetime is not None:
            self._timers.append(self._loop.call_later(self._lines.lifetime, self._expire))
        if self._lines.bookmark_every is not None:
            self._timers.append(self._loop.call_later(self._lines.bookmark_every, self._bookmark))
        self._lines.listen(self._wake)
        self.flush()

    def _wake(self) -> None:
        if not self._scheduled and not self._stopped:
            self._scheduled = True
            # The loop may be closed by now if the commit came from another thread while the server was stopping.
            try:
                self._loop.call_soon_threadsafe(self.flush)
            except RuntimeError:
                self._stopped = True

    def flush(self) -> None:
        """Writes what is ready."""
        self._scheduled = False
        if self._stopped or self.paused:
            return
        lines = self._lines.take(PORTION)
        if lines:
            data = b"".join(map(chunk, lines)) if self._chunked else b"".join(lines)
            self._transport.write(data)
            if len(data) >= PORTION and not self.paused:
                self._wake()  # there may be more, after whatever else waits for the loop
                return
        if self._lines.ended and not self.paused:
            self._finish()

    def _bookmark(self) -> None:
        self._lines.bookmark()
        self.flush()
        if not self._stopped and self._lines.bookmark_every is not None:
            self._timers.append(self._loop.call_later(self._lines.bookmark_every, self._bookmark))

    def _expire(self) -> None:
        self.flush()
        if not self._stopped:
            self._finish()

    def _finish(self) -> None:
        self.stop()
        if self._chunked:
            self._transport.write(LAST_CHUNK)
        self._done()

    def stop(self) -> None:
        """Lets go of the machine and of all timers."""
        if not self._stopped:
            self._stopped = True
            for timer in self._timers:
                timer.cancel()
            self._lines.close()
