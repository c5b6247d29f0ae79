"""A fixed set of seeds: whatever several writers, hostile clients, faults and cancellations do, nothing is lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from . import cached, tasks, threads
from .judge import judge
from .program import Program, generate
from .records import Record
from .shrink import shrink
from .themes import THEMES

THEMED, SWARM, THREADED, CACHED, REAL = 12, 150, 24, 80, 12
#: Themes whose losses are rare.
RARE = {"plans": 45, "busy-plans": 20, "sharing": 45}


def report(program: Program, record: Record) -> str:
    """Nothing when all is well; else the program, as small as it can be had, and what is wrong with it."""
    violations = judge(record)
    if not violations:
        return ""
    small, found = shrink(program, violations[0].rule, tasks.run)
    return "\n".join(["", str(small if found else program), *map(str, found or violations)])


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
def test_theme(theme: str) -> None:
    """Tasks in an order that the seed decides, about one class of silent losses."""
    for seed in range(RARE.get(theme, THEMED)):
        program = generate(seed, theme)
        assert report(program, tasks.run(program)) == ""


@pytest.mark.parametrize("first", range(1000, 1000 + SWARM, 30))
def test_swarm(first: int) -> None:
    """Tasks in an order that the seed decides, about a random choice of everything."""
    for seed in range(first, first + 30):
        program = generate(seed)
        assert report(program, tasks.run(program)) == ""


@pytest.mark.parametrize("seed", [400127, 401309, 602261, 700821])
def test_found(seed: int) -> None:
    """Seeds of longer searches that found something: a typed object, a contradicted value, a late answer, a shared request."""
    program = generate(seed)
    assert report(program, tasks.run(program)) == ""


def test_threads() -> None:
    """Threads that share writers, in whatever order they run."""
    for seed in range(THREADED):
        record = threads.run(generate(seed, threads=True))
        assert [str(violation) for violation in judge(record)] == [], f"seed {seed}"


@pytest.mark.parametrize("seed", range(CACHED))
async def test_cache(seed: int) -> None:
    """At rest a controller's cache has what the server has, however late the answers to its own writes came."""
    assert await cached.rest(seed) == []


@pytest.fixture(scope="module")
def world(_fiferail_real_world: Any) -> Iterator[Any]:
    """The real server of this worker, with the oracle's kind and watch."""
    from .realserver import World

    found = World(_fiferail_real_world.server)
    yield found
    found.close()


@pytest.mark.xdist_group("real")
@pytest.mark.parametrize("how", ["tasks", "threads", "processes"])
def test_on_the_real_server(world: Any, how: str) -> None:
    """The same programs on a real kube-apiserver: tasks, threads, and processes with writers of their own."""
    for seed in range(REAL):
        program = generate(seed, threads=how != "tasks", suffix=f"-{how}-{seed}")
        assert [str(violation) for violation in judge(world.run(program, how))] == [], f"seed {seed}"


@pytest.mark.parametrize("theme", ["faults", "sharing", "staging"])
def test_a_seed_is_a_run(theme: str) -> None:
    """The same seed gives the same requests, outcomes and versions: a violation can be played again."""
    first, second = (tasks.run(generate(7, theme)) for _ in range(2))
    assert [vars(sent) for sent in first.sent] == [vars(sent) for sent in second.sent]
    assert [(deed.id, deed.result, deed.said) for deed in first.deeds] == [(deed.id, deed.result, deed.said) for deed in second.deeds]
    assert first.history == second.history
