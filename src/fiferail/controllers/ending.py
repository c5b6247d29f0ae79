"""How a program ends: the first signal asks it to stop, the second ends it at once, and so does a stop that takes too long.

Used by `Manager.run()` only: a program that calls `serve()` has its own signals. The handlers are plain ones, not those of the event
loop: a reconcile that blocks the loop, swallows its cancellation or waits in a thread must not keep the process.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("fiferail.controllers")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: The exit code of a forced end; controller-runtime's.
FORCED = 1
#: Seconds for the last line of the log.
_LAST_WORDS = 1.0


class Ending:
    """A context in which SIGINT and SIGTERM call `stop`, once. After another signal, or `seconds` later, the process ends."""

    def __init__(self, stop: Callable[[], None], seconds: float) -> None:
        self._stop = stop
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Ending:
        if threading.current_thread() is not threading.main_thread():
            raise FiferailError("run() handles signals, which needs the main thread: in another one, await serve()")
        self._before = {number: signal.signal(number, self._signalled) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        if self._timer is not None:
            self._timer.cancel()

    def _signalled(self, number: int, _: object) -> None:
        if self._timer is not None:
            end_now(f"{signal.Signals(number).name} came a second time")
        self._timer = threading.Timer(self._seconds, end_now, [f"the program had not ended {self._seconds:g} s after the signal"])
        self._timer.daemon = True
        self._timer.start()
        self._stop()


def end_now(why: str) -> NoReturn:
    """End the process without waiting for anything, with the reason as the last line of the log."""
    # Whoever holds the lock of the log, or does not read what it writes, must not keep the process either.
    guard = threading.Timer(_LAST_WORDS, os._exit, [FORCED])
    guard.daemon = True
    guard.start()
    try:
        log.error("%s: the process ends at once, and what it was doing is cut off", why)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(FORCED)
