"""Writers on a server that loses answers, fails and asks to wait, writers that die: nothing lost, nothing twice, all acknowledged there."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from fairlead.apiserver.embedded import equip
from fairlead.apiserver.inprocess import Transport
from fairlead.apiserver.machine import Machine
from fairlead.apiserver.manifests import load_crds
from fairlead.testing.checking import Watchman
from fairlead.testing.hazards.faultrun import Rates, Run, problems, writers
from fairlead.testing.hazards.place import CRD, Place
from fairlead.wire import Answer, Request


class Keeping(Watchman):
    """The checker, and every version of every object."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, list[Any]] = {}

    def committed(self, call: Any, before: Any, after: Any) -> None:
        super().committed(call, before, after)
        if call.kind.kind == "Gadget" and after is not None:
            self.versions.setdefault(after.obj["metadata"]["name"], []).append(after.obj)


def run_embedded(seed: int, writes: int, rates: Rates) -> tuple[Run, Keeping]:
    """A run in this process; who goes next is decided by a seeded chance before each request."""
    keeping = Keeping()
    machine = equip(Machine(clock=lambda: 1_767_225_600.0, recorder=keeping))
    load_crds(machine, [CRD])
    place = Place(lambda actor: Transport(machine, agent=actor))
    names = [place.make(f"g{index}")["metadata"]["name"] for index in range(3)]
    turns = random.Random(seed)

    def connect(actor: str) -> Any:
        transport = Transport(machine, agent=actor)

        async def send(request: Request) -> Answer:
            for _ in range(turns.randrange(4)):
                await asyncio.sleep(0)
            return transport.send(request)

        return send

    return asyncio.run(writers(connect, names, writes=writes, count=8, seed=seed, rates=rates)), keeping


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_whatever_goes_wrong(seed: int) -> None:
    """The versions of the objects and the checker agree that every write is where it belongs, once."""
    run, keeping = run_embedded(seed, 400, Rates())
    assert problems(keeping.versions, run) == []
    assert keeping.lost() == []
    assert min(run.faults[name] for name in ("lost", "failed", "busy", "killed")) > 0
    assert run.outcomes["rebased"] + run.outcomes["converged"] > 20, "writers must have met each other"


def test_the_same_seed_gives_the_same_run() -> None:
    """A run that fails can be run again."""
    first, second = (run_embedded(7, 80, Rates())[0] for _ in range(2))
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
