"""Leader election: one works, whatever the clocks say, and nobody after its time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fiferail import Context, Controller
from fiferail.controllers.clock import VirtualClock, settle
from fiferail.controllers.leases import LeaderElection
from fiferail.errors import FiferailError

from .conftest import API, Line, World


class Skewed(VirtualClock):
    """The world's time on a machine whose wall clock is wrong."""

    def __init__(self, world: World, skew: float) -> None:
        super().__init__()
        self._world = world
        self.skew = skew

    def now(self) -> float:
        return self._world.clock.now()

    def today(self) -> float:
        return self._world.clock.today() + self.skew

    async def sleep(self, seconds: float) -> None:
        await self._world.clock.sleep(seconds)

    def timeout(self, seconds: float | None) -> Any:
        return self._world.clock.timeout(seconds)


class Replica:
    """One replica: works while it leads, and notes since when."""

    def __init__(self, world: World, name: str, skew: float = 0.0) -> None:
        self.world, self.line = world, Line(world, name)
        self.election = LeaderElection("operator", identity=name)
        self.working: list[float] = []
        self.finish = asyncio.Event()
        self._clock = Skewed(world, skew)
        self.task = asyncio.ensure_future(self.election.lead(world.async_client(self.line), self._work, self._clock))

    async def _work(self) -> None:
        self.working.append(self.world.clock.now())
        try:
            await self.finish.wait()
        finally:
            self.working.append(self.world.clock.now())

    @property
    def works(self) -> bool:
        return len(self.working) % 2 == 1

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def lease(world: World) -> Any:
    """The lease's spec."""
    return world.client.get("coordination.k8s.io/v1", "Lease", "operator", "default")["spec"]


@pytest.mark.parametrize("skew", [0.0, 3600.0, -3600.0], ids=["clocks agree", "an hour ahead", "an hour behind"])
async def test_one_leads_and_another_takes_over_when_it_is_silent(world: World, skew: float) -> None:
    """Wall clocks do not matter: the other counts how long it has seen no renewal."""
    one = Replica(world, "one")
    await settle()
    two = Replica(world, "two", skew)
    await world.clock.advance(60)
    assert (one.works, two.works) == (True, False)
    one.line.cut = True
    await world.clock.advance(9)
    assert (one.works, two.works) == (True, False)
    await world.clock.advance(4)
    assert (one.works, two.works) == (False, False)
    await world.clock.advance(8)
    assert (one.works, two.works) == (False, True)
    assert (lease(world)["holderIdentity"], lease(world)["leaseTransitions"]) == ("two", 1)
    await one.end()
    await two.end()


async def test_nobody_works_while_another_does(world: World) -> None:
    """Over an hour of cut and healed networks, the times at which the two worked never overlap."""
    one, two = Replica(world, "one"), Replica(world, "two")
    for minute in range(60):
        one.line.cut, two.line.cut = minute % 3 == 1, minute % 5 == 2
        for _ in range(12):
            await world.clock.advance(5)
            assert not (one.works and two.works)
    assert len(one.working) > 4
    assert len(two.working) > 4
    await one.end()
    await two.end()


async def test_slow_answers_do_not_prolong_a_lease(world: World) -> None:
    """A renewal counts from when it was sent: one whose answers take too long stops in time."""
    one = Replica(world, "one")
    await settle()
    one.line.delay = lambda request: 8.0
    await world.clock.advance(11)
    assert not one.works
    await one.end()


async def test_whoever_lost_the_lease_wins_it_back(world: World) -> None:
    """After a cut it works again, once the network is there."""
    one = Replica(world, "one")
    await settle()
    one.line.cut = True
    await world.clock.advance(20)
    assert not one.works
    one.line.cut = False
    await world.clock.advance(2)
    assert one.works
    await one.end()


async def test_work_that_ends_gives_the_lease_up(world: World) -> None:
    """The next one need not wait for it to run out."""
    one = Replica(world, "one")
    await settle()
    two = Replica(world, "two")
    await settle()
    one.finish.set()
    await world.clock.advance(2)
    assert (one.task.done(), two.works) == (True, True)
    await two.end()


async def test_two_who_race_for_a_free_lease(world: World) -> None:
    """The server lets one create it; the other waits."""
    one, two = Replica(world, "one"), Replica(world, "two")
    await settle()
    assert [one.works, two.works] == [True, False]
    await one.end()
    await two.end()


async def test_a_manager_that_does_not_lead_reconciles_nothing_and_takes_over_warm(world: World) -> None:
    """Its caches are filled meanwhile; after the take-over it goes on with what is still to do."""
    reconciled: list[str] = []

    def controller(replica: str) -> Controller:
        async def reconcile(ctx: Context) -> None:
            reconciled.append(f"{replica}:{ctx.name}")

        return Controller(API, "Gadget", reconcile)

    world.make("a")
    first = await world.start(controller("one"), leader_election=LeaderElection("operator", identity="one"))
    await world.start(controller("two"), leader_election=LeaderElection("operator", identity="two"))
    await world.clock.advance(30)
    assert reconciled == ["one:a"]
    await world.crash(first)
    world.make("b")
    await world.clock.advance(20)
    assert sorted(reconciled) == ["one:a", "two:a", "two:b"]


async def test_a_reconcile_that_was_cut_off_is_begun_again(world: World) -> None:
    """The lease is lost in the middle of it: it ends there, writes nothing, and is the first thing to do when the lease is back."""
    begun: list[float] = []

    async def reconcile(ctx: Context) -> None:
        begun.append(world.clock.now())
        ctx.status["phase"] = "Half"
        await world.clock.sleep(30 if len(begun) == 1 else 0)
        ctx.status["phase"] = "Done"

    world.make("a")
    line = world.line()
    controller = Controller(API, "Gadget", reconcile)
    await world.start(controller, line=line, leader_election=LeaderElection("operator", identity="one"))
    line.cut = True
    await world.clock.advance(15)
    assert world.watchman.lost() == []
    assert "status" not in world.get("a")
    line.cut = False
    await world.clock.advance(5)
    assert len(begun) >= 2
    assert world.get("a")["status"] == {"phase": "Done"}


def test_times_that_cannot_work_are_refused() -> None:
    """A lease must outlast its renewals."""
    with pytest.raises(FiferailError) as refused:
        LeaderElection("x", lease=5, renew_deadline=10)
    assert str(refused.value) == "expected lease > renew_deadline > retry > 0 seconds, got 5, 10 and 2"
    with pytest.raises(FiferailError, match="expected a name for the lease, got none"):
        LeaderElection("")
