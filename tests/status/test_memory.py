"""What a writer remembers: its own last answer per object, the newest by number, and no more of them than it may."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.status.memory import Memory


def gadget(uid: str, version: str, phase: str = "") -> dict[str, Any]:
    """An object of that version."""
    return {"metadata": {"uid": uid, "resourceVersion": version}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("mine", "given", "newest"),
    [
        pytest.param("10", "9", "mine", id="10 is more than 9, though not as text"),
        pytest.param("9", "10", "given", id="and 9 is less"),
        pytest.param("10", "10", "given", id="the same version: the caller's"),
        pytest.param("99999999999999999999", "100000000000000000000", "given", id="versions of any length"),
    ],
)
def test_versions_are_compared_as_numbers(mine: str, given: str, newest: str) -> None:
    """A session starts from the writer's own answer only where that is newer."""
    memory = Memory()
    memory.remember(gadget("u", mine, "mine"))
    assert memory.newest(gadget("u", given, "given"))["status"]["phase"] == newest


def test_an_older_answer_does_not_replace_a_newer_one() -> None:
    """Answers may come back in another order than they were stored."""
    memory = Memory()
    for version in ("11", "9"):
        memory.remember(gadget("u", version, version))
    assert memory.newest(gadget("u", "10"))["status"]["phase"] == "11"


def test_the_object_that_was_written_longest_ago_is_forgotten() -> None:
    """No more objects are remembered than the limit says; one that is written again counts as new."""
    memory = Memory(limit=2)
    for uid in ("a", "b", "a", "c"):
        memory.remember(gadget(uid, "7", "mine"))
    known = [uid for uid in "abc" if memory.newest(gadget(uid, "6", "given"))["status"]["phase"] == "mine"]
    assert known == ["a", "c"]
