"""The queue: once, one at a time, fresh before initial, later each time it fails."""

from __future__ import annotations

from fiferail.controllers.queue import FRESH, INITIAL, Backoff, Queue


def test_a_key_added_twice_is_handed_out_once() -> None:
    """The queue holds keys, not events."""
    queue: Queue[str] = Queue()
    queue.add("a")
    queue.add("a")
    assert (queue.take(0), queue.take(0)) == ("a", None)


def test_a_key_added_while_worked_on_comes_back_when_done() -> None:
    """One worker per key at any time, and no change is missed."""
    queue: Queue[str] = Queue()
    queue.add("a")
    assert queue.take(0) == "a"
    queue.add("a")
    assert queue.take(0) is None
    queue.done("a")
    assert queue.take(0) == "a"


def test_fresh_changes_go_before_the_initial_list() -> None:
    """And a key of the initial list that changes moves up."""
    queue: Queue[str] = Queue()
    for key in ("old1", "old2", "old3"):
        queue.add(key, INITIAL)
    queue.add("new", FRESH)
    queue.add("old3", FRESH)
    assert [queue.take(0) for _ in range(5)] == ["new", "old3", "old1", "old2", None]


def test_a_delayed_key_is_due_at_its_time_and_not_before() -> None:
    """next_due tells a worker how long to wait."""
    queue: Queue[str] = Queue()
    queue.add_at("a", 10.0)
    queue.add_at("a", 5.0)
    assert (queue.next_due(), queue.take(4.9), queue.take(5.0)) == (5.0, None, "a")
    queue.done("a")
    assert queue.next_due() is None


def test_an_earlier_event_takes_the_place_of_a_delay() -> None:
    """What was reconciled meanwhile need not come back for the old delay."""
    queue: Queue[str] = Queue()
    queue.add_at("a", 10.0)
    queue.add("a")
    assert queue.take(0) == "a"
    queue.done("a")
    assert (queue.next_due(), queue.take(11)) == (None, None)


def test_failures_wait_longer_each_time_and_success_forgets() -> None:
    """Exponential backoff per key, bounded."""
    queue: Queue[str] = Queue(Backoff(first=1.0, factor=2.0, longest=5.0))
    assert [queue.retry("a", 0.0) for _ in range(4)] == [1.0, 2.0, 4.0, 5.0]
    queue.forget("a")
    assert (queue.failures("a"), queue.retry("a", 0.0)) == (0, 1.0)


def test_a_held_key_does_not_come_back_before_its_time() -> None:
    """What is added meanwhile waits too, while it is worked on or not; afterwards all is as ever."""
    queue: Queue[str] = Queue(Backoff(first=1.0))
    queue.add("a")
    assert queue.take(0.0) == "a"
    queue.add("a")
    queue.retry("a", 0.0, hold=True)
    queue.done("a")
    queue.add("a")
    assert (queue.take(0.9), queue.take(1.0)) == (None, "a")
    queue.done("a")
    queue.add("a")
    assert queue.take(1.0) == "a"
