"""The garbage collector of `fiferail serve`: young objects between requests, everything only when there are none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from fiferail.cli.collecting import IDLE, YOUNG, Collector, calm


@pytest.fixture
def collected() -> Iterator[list[int]]:
    """The generations that are collected meanwhile; afterwards the collector is as it was."""
    generations: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    calm()
    gc.callbacks.append(note)
    yield generations
    gc.callbacks.remove(note)
    gc.unfreeze()
    gc.enable()


def test_under_load_only_young_objects_are_looked_at(collected: list[int]) -> None:
    """However many objects requests leave behind, no look walks more than what came since the last one."""
    requests = iter(range(10**6))
    kept: list[list[list[int]]] = []
    collector = Collector(lambda: next(requests))
    for _ in range(2 * IDLE):
        kept.append([[] for _ in range(2 * YOUNG)])
        collector.look()
    assert set(collected) == {0}
    assert len(collected) == 2 * IDLE
    assert gc.get_freeze_count() > 2 * IDLE * YOUNG


def test_a_quiet_server_collects_everything_once(collected: list[int]) -> None:
    """After 30 s without a request a full collection finds what the young ones missed, and then there is no other."""
    collector = Collector(lambda: 7)
    kept: list[list[int]] = [[] for _ in range(2 * YOUNG)]
    for _ in range(5 * IDLE):
        collector.look()
    assert collected == [0, 2]
    assert len(kept) == 2 * YOUNG


def test_nothing_is_collected_without_need(collected: list[int]) -> None:
    """Few new objects are not worth a look."""
    requests = iter(range(10**6))
    collector = Collector(lambda: next(requests))
    for _ in range(IDLE):
        collector.look()
    assert collected == []
