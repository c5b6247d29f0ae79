"""Refused writes: which become a loss, and which never were one."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.history.checker import Checker
from fiferail.objects.paths import render

from .story import PROBED, READY, History, cond, start

TEST = [{"op": "test", "path": "/status/phase", "value": "A"}, {"op": "replace", "path": "/status/phase", "value": "B"}]


def conflict() -> History:
    """`two` wants phase B on version 1, but `one` has written its count: 409."""
    return start(phase="A", count=1).puts("one", 1, phase="A", count=2).puts("two", 1, phase="B", count=1)


def race() -> History:
    """`two` wants phase B, but `one` has written a phase of its own: 409."""
    return start(phase="A", count=1).puts("one", 1, phase="C", count=1).puts("two", 1, phase="B", count=1)


#: History, and what is found: how sure, which kind, which path.
CASES: dict[str, tuple[History, list[tuple[str, str, str]]]] = {
    "get, set and update again on conflict": (conflict().reads("two").puts("two", 2, phase="B", count=2), []),
    "get, set and update again over a value of another, with another change of its in the body": (
        start(phase="A", count=1).puts("one", 1, phase="C", count=2).puts("two", 1, phase="B", count=1).reads("two")
        .puts("two", 2, phase="B", count=2),
        [],
    ),
    "get, set and update again over the only change: the same decision, or the same bytes": (
        race().reads("two").puts("two", 2, phase="B", count=1),
        [("possible", "laundered", "status.phase")],
    ),
    "the old status with a fresh resourceVersion": (
        conflict().reads("two").puts("two", 2, phase="B", count=1),
        [("inferred", "laundered", "status.count")],
    ),
    "a list of the refused request again, without what was added meanwhile": (
        start(conditions=[READY]).puts("one", 1, conditions=[READY, PROBED]).puts("two", 1, conditions=[cond("Ready", "False")])
        .reads("two").puts("two", 2, conditions=[cond("Ready", "False")]),
        [("inferred", "laundered", "status.conditions[Probed]")],
    ),
    "a watching author leaves out again what it left out of a refused request: it may have received it": (
        start(phase="A").watches("two").puts("one", 1, phase="A", found="x").puts("two", 1, phase="B").watches("two")
        .puts("two", 2, phase="B"),
        [("possible", "laundered", "status.found")],
    ),
    "refused, and the process says that it decided on the fresh version": (
        race().reads("two").merges("two", {"phase": "B"}, base=2), [],
    ),
    "refused, read again, nothing left to do": (conflict().reads("two"), []),
    "refused and swallowed": (conflict(), [("certain", "abandoned", "status.phase")]),
    "refused and swallowed by one who watches: it may have looked again": (
        start(phase="A").watches("two").puts("one", 1, phase="A", count=1).watches("two").puts("two", 1, phase="B"),
        [("possible", "abandoned", "status.phase")],
    ),
    "refused, and a watching author goes on with other things": (
        start(phase="A").watches("two").puts("one", 1, phase="A", count=1).watches("two").puts("two", 1, phase="B")
        .merges("two", {"size": 1}),
        [],
    ),
    "an older decision, refused after a newer write of its own author": (
        start(phase="A").puts("two", 1, phase="B").puts("two", 1, phase="C"), [],
    ),
    "a lost answer: the own write is refused as outdated, and sent again over what another wrote since": (
        start(phase="A").puts("two", 1, phase="B").reads("one").puts("one", 2, phase="C").puts("two", 1, phase="B").reads("two")
        .puts("two", 3, phase="B"),
        [("possible", "laundered", "status.phase")],
    ),
    "an empty object that the server fills with defaults": (
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="A", options={}).reads("two")
        .merges("two", {"options": {"mode": "default"}}),
        [],
    ),
    "an empty object that was never stored": (
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="A", options={}), [],
    ),
    "null is absence": (
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="A", started=None), [],
    ),
    "a quantity that the server writes in its own form": (
        start(phase="A").merges("two", {"size": "1"}).puts("one", 2, phase="A", size="1", count=1)
        .puts("two", 2, phase="B", size="1000m").reads("two")
        .patches("two", [{"op": "add", "path": "/status/size", "value": "1000m"}, {"op": "add", "path": "/status/phase", "value": "B"}],
                 {"phase": "B", "size": "1", "count": 1}),
        [],
    ),
    "a plain list in another order": (
        start(names=["a", "b"]).puts("one", 1, names=["a", "b"], count=1).puts("two", 1, names=["b", "a"]), [],
    ),
    "a PUT on a version that nobody recorded": (
        start(phase="A").puts("two", 77, phase="A", count=3), [],
    ),
    "our own session: its read explains the conflict, and the caller swallows it": (
        start(phase="A").merges("one", {"phase": "C"}).refused("two", TEST, base=1, once=True).reads("two"),
        [("certain", "abandoned", "status.phase")],
    ),
    "our own session: the caller reads the object again by itself": (
        start(phase="A").merges("one", {"phase": "C"}).refused("two", TEST, base=1, once=True).reads("two").reads("two"), [],
    ),
    "our own mutate: its function ran again on the live object": (
        start(phase="A").merges("one", {"phase": "C"}).refused("two", TEST, base=1).reads("two"), [],
    ),
    "our own session that finds its values there": (
        start(phase="A").merges("one", {"phase": "B"}).refused("two", TEST, base=1, once=True).reads("two"), [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_refused_write_is_judged_by_what_its_author_does_next(name: str) -> None:
    """Exactly these findings, as sure as they can be."""
    history, expected = CASES[name]
    checker = Checker()
    for record in history.records:
        checker.feed(record)
    checker.finish()
    found: list[Any] = [(finding.certainty, finding.kind, render(finding.path)) for finding in checker.findings]
    assert found == expected
