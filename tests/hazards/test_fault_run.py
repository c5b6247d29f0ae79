"""Writers on a server that loses answers, fails and asks to wait, writers that die: nothing lost, nothing twice, all acknowledged there."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.testing.hazards.faultplaces import on_embedded, on_real
from fiferail.testing.hazards.faultrun import Rates, Run, problems


@pytest.mark.parametrize("together", [False, True], ids=["each its own writer", "one writer for all"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_whatever_goes_wrong(seed: int, together: bool) -> None:
    """The versions of the objects and the checker agree that every write is where it belongs, once."""
    run, keeping = on_embedded(writes=500, count=8, seed=seed, rates=Rates(), together=together)
    assert problems(keeping.versions, run, together) == []
    assert keeping.lost_by(run) == []
    assert min(run.faults[name] for name in ("lost", "failed", "busy", "killed")) > 0
    assert run.outcomes["rebased"] + run.outcomes["converged"] > 20, "writers must have met each other"


@pytest.mark.parametrize("together", [False, True], ids=["each its own writer", "one writer for all"])
def test_nothing_is_lost_on_a_real_server_behind_the_fault_proxy(real_server: Any, together: bool) -> None:
    """The same on a real kube-apiserver, its versions as a watch told them."""
    run, versions = on_real(real_server, writes=160, count=8, seed=1, rates=Rates(), together=together)
    assert problems(versions, run, together) == []
    assert min(run.faults["lost"], run.faults["500"]) > 0, "the proxy must have struck"


def test_the_same_seed_gives_the_same_run() -> None:
    """A run that fails can be run again."""
    first, second = (on_embedded(writes=80, count=8, seed=7, rates=Rates())[0] for _ in range(2))
    assert (first.acknowledged, first.requests, first.faults) == (second.acknowledged, second.requests, second.faults)


def test_the_checks_of_the_run_see_what_they_are_for() -> None:
    """A version without a mark, an older mark, and an acknowledged mark that is nowhere are all told."""

    def version(number: int, *entries: tuple[str, str], log: tuple[str, ...] = ()) -> Any:
        conditions = [{"type": writer, "message": mark} for writer, mark in entries]
        return {"metadata": {"resourceVersion": str(number)}, "status": {"conditions": conditions, "references": list(log)}}

    history = [
        version(1), version(2, ("a", "0-1")), version(3, ("a", "0-2"), log=("1-1",)), version(4, ("a", "0-1"), log=("2-1",)), version(5),
    ]  # fmt: skip
    assert problems({"g": history}, Run(acknowledged=[("g", "9-9")])) == [
        "g at 3: one commit wrote ['condition a'] and ['1-1']",
        "g at 4: condition a went back from 0-2 to 0-1",
        "g at 4: the shared list lost something: ['1-1'] became ['2-1']",
        "g at 4: one commit wrote ['condition a'] and ['2-1']",
        "g at 5: condition a is gone, it was 0-1",
        "g at 5: the shared list lost something: ['2-1'] became []",
        "9-9 was acknowledged on g, but no version has it",
        "0-1 was written 2 times on g",
    ]
