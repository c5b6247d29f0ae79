"""The contract that is documented for the strategies, each line as a test of its own, on the embedded server with the checker listening."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.status.strategies import COMPARE, LOCKED, MERGE
from fiferail.testing.hazards.scenarios import assign
from fiferail.testing.hazards.ways import BlindApply, Compare, Fiferail, Way, set_condition


def _types(obj: Any) -> list[str]:
    return [entry["type"] for entry in obj["status"]["conditions"]]


def test_a_stale_snapshot_clobbers_conditions_with_merge(watched: Any) -> None:
    """MERGE replaces the list: a condition that was added since the read is gone, and the checker names it."""
    way = Fiferail(MERGE)
    obj = watched.place.make("g")
    one, two = watched.place.actor("one"), watched.place.actor("two")
    mine, theirs = one.get("g"), two.get("g")
    way.write(one, mine, lambda status: set_condition(status, "Ready"))
    way.write(two, theirs, lambda status: set_condition(status, "Probed"))
    assert _types(watched.place.get("g")) == ["Probed"]
    assert len(watched.watchman.lost()) == 1
    assert watched.watchman.lost()[0].startswith("LOST status.conditions[Ready] of gadgets default/g: one wrote")
    assert obj["metadata"]["name"] == "g"


@pytest.mark.parametrize("strategy", [COMPARE, LOCKED, MERGE], ids=lambda strategy: strategy.name)
def test_assigning_the_value_that_was_read_sends_nothing(watched: Any, strategy: Any) -> None:
    """What is there already is no change, so a stale but equal value overwrites nobody."""
    way = Fiferail(strategy)
    one, two = watched.place.actor("one"), watched.place.actor("two")
    watched.place.make("g")
    way.write(one, one.get("g"), assign(phase="Pending"))
    stale, sent = two.get("g"), two.writes
    way.write(one, one.get("g"), assign(phase="Failed"))
    way.write(two, stale, assign(phase="Pending"))
    assert two.writes == sent
    assert watched.place.get("g")["status"]["phase"] == "Failed"


def test_a_stale_computed_value_wins_with_merge(watched: Any) -> None:
    """MERGE does not look: the second writer's value stays, though it was computed from what the first had replaced."""
    way = Fiferail(MERGE)
    one, two = watched.place.actor("one"), watched.place.actor("two")
    watched.place.make("g")
    way.write(one, one.get("g"), assign(phase="Pending"))
    stale = two.get("g")
    way.write(one, one.get("g"), assign(phase="Failed"))
    way.write(two, stale, assign(phase="Running"))
    assert watched.place.get("g")["status"]["phase"] == "Running"
    assert ' one wrote "Failed" (was "Pending")' in watched.watchman.lost()[0]


@pytest.mark.parametrize(
    ("way", "winner", "got"),
    [
        pytest.param(Compare(), "a", "a", id="optimistic concurrency: one winner, and the loser gets the winner's plan"),
        pytest.param(BlindApply(), "b", "b", id="blind apply: the second plan replaces the first, which is being run"),
    ],
)
def test_two_reconciles_that_both_see_no_plan(watched: Any, way: Way, winner: str, got: str) -> None:
    """With optimistic concurrency exactly one plan is made; with blind apply there are two, and the checker says so."""
    one, two = watched.place.actor("one"), watched.place.actor("two")
    watched.place.make("g")
    mine, theirs = one.get("g"), two.get("g")
    assert way.create(one, mine, "a")["plan"]["id"] == "a"
    assert way.create(two, theirs, "b")["plan"]["id"] == got
    assert watched.place.get("g")["status"]["plan"]["id"] == winner
    created_twice = [text for text in watched.watchman.lost() if text.startswith("CREATED TWICE status.plan")]
    assert len(created_twice) == (0 if winner == "a" else 1)
