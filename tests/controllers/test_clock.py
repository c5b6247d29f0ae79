"""The virtual clock: time moves when it is told to, and wakes sleepers in order."""

from __future__ import annotations

import asyncio

import pytest

from fiferail.controllers.clock import VirtualClock, micro, moment, settle, stamp


async def test_sleepers_wake_in_the_order_of_their_time_and_see_it() -> None:
    """A long way is walked alarm by alarm: who wakes may sleep again on the way."""
    clock = VirtualClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.now()))

    tasks = [asyncio.ensure_future(sleeper("a", 5, 5)), asyncio.ensure_future(sleeper("b", 7))]
    await clock.advance(4.9)
    assert (woken, round(clock.next_alarm() or 0, 3)) == ([], 0.1)
    await clock.advance(10)
    assert woken == [("a", 5), ("b", 7), ("a", 10)]
    assert (clock.now(), clock.next_alarm()) == (14.9, None)
    await asyncio.gather(*tasks)


async def test_a_timeout_ends_its_block_and_nothing_else() -> None:
    """Inside it is a cancellation, outside a TimeoutError; one that is left in time never rings."""
    clock = VirtualClock()

    async def waits(seconds: float, limit: float | None) -> str:
        try:
            async with clock.timeout(limit) as block:
                await clock.sleep(seconds)
        except TimeoutError:
            return "late"
        del block
        await clock.sleep(100)
        return "in time"

    late, in_time, unlimited = (asyncio.ensure_future(waits(*case)) for case in ((9, 5), (3, 5), (9, None)))
    await clock.advance(6)
    assert late.result() == "late"
    await clock.advance(200)
    assert (in_time.result(), unlimited.result()) == ("in time", "in time")


async def test_a_cancellation_from_elsewhere_is_no_timeout() -> None:
    """Who cancels the task gets a cancelled task."""
    clock = VirtualClock()

    async def waits() -> None:
        async with clock.timeout(5):
            await clock.sleep(9)

    task = asyncio.ensure_future(waits())
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_times_are_written_as_the_api_does() -> None:
    """Whole seconds, microseconds, and back."""
    assert (stamp(1.9), micro(1.9), moment("1970-01-01T00:00:02Z")) == ("1970-01-01T00:00:01Z", "1970-01-01T00:00:01.900000Z", 2.0)
    assert micro(0.9999999) == "1970-01-01T00:00:01.000000Z"
