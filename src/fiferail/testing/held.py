"""A request held at the server: what `apiserver.hold` gives.

A test holds the operator at one request, lets another writer write meanwhile, and lets the operator go on: the race, without luck.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from fiferail.apiserver.aims import asked
from fiferail.apiserver.real.proxy import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from fiferail.apiserver.aims import Aim
    from fiferail.apiserver.holds import Hold, Holds

__tracebackhide__ = True  # pytest shows the test's line instead of this module

#: Seconds until the server must have processed a request that was let go.
PROCESSED_SECONDS = 30.0


class Held:
    """The first matching request waits at the server from the beginning of the block until `release` or the end of the block.

        with apiserver.hold(verb="patch", kind="Gadget") as held:
            held.wait()                # the operator has read, and its patch has arrived
            ...                        # another writer writes
        ...                            # the operator's patch has been processed
    """

    def __init__(self, holds: Holds, hold: Hold, requests: Sequence[Seen], closest: Callable[[Aim, int], str]) -> None:
        self._holds, self._hold, self._requests, self._explain = holds, hold, requests, closest
        self._entered = False
        self._since = 0

    def __enter__(self) -> Held:
        if self._entered:
            raise RuntimeError("a hold serves for one block: call apiserver.hold again")
        self._entered, self._since = True, len(self._requests)
        self._holds.add(self._hold)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._holds.drop(self._hold)
        if error is not None:
            return
        if self._hold.request is None:
            early = f"no request arrived at the hold of {self._hold.aim} before its block ended: {self._closest()}"
            raise AssertionError(f"{early} Call held.wait() inside the block to wait for the request.")
        self._finish()

    @property
    def request(self) -> Seen | None:
        """The request that is or was held; None while none has arrived. Its `code` is 0: it has not been answered."""
        request = self._hold.request
        if request is None:
            return None
        what, agent = asked(request), request.headers.get("user-agent", "")
        return Seen(request.method, request.path, request.query, agent, what.verb if what else "", 0, request.body)

    def wait(self, timeout: float = 10.0) -> Seen:
        """Wait until a request has arrived, and return it: method, path, query, body, agent and verb.

        Raises AssertionError after `timeout` seconds, with the requests that came closest.
        """
        self._check_entered()
        self._hold.arrived.wait(timeout)
        return self._arrived(timeout)

    async def arrived(self, timeout: float = 10.0) -> Seen:
        """Wait without blocking the event loop; otherwise the same as `wait`."""
        self._check_entered()
        loop = asyncio.get_running_loop()
        come = asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(come.set)

        self._hold.arrived.listen(wake)
        with suppress(TimeoutError):
            await asyncio.wait_for(come.wait(), timeout)
        return self._arrived(timeout)

    def release(self) -> None:
        """Let the request go before the block ends, and wait until the server has processed it."""
        self._check_entered()
        self._holds.drop(self._hold)
        if self._hold.request is not None:
            self._finish()

    def _check_entered(self) -> None:
        if not self._entered:
            raise RuntimeError("the hold has not begun: use it as `with apiserver.hold(...) as held:`")

    def _arrived(self, timeout: float) -> Seen:
        request = self.request
        if request is None:
            raise AssertionError(f"no request arrived at the hold of {self._hold.aim} within {timeout:g} s: {self._closest()}")
        return request

    def _closest(self) -> str:
        return self._explain(self._hold.aim, self._since)

    def _finish(self) -> None:
        if not self._hold.wait_processed(PROCESSED_SECONDS):
            late = f"within {PROCESSED_SECONDS:g} s of its release"
            raise AssertionError(f"the server did not process the request held at {self._hold.aim} {late}")
