"""Workers with nothing to do: one wakes for each key, none oversleeps."""

from __future__ import annotations

from fiferail import Context, Controller
from fiferail.controllers.clock import settle
from fiferail.controllers.hooks import ControllerHook

from .conftest import API, World


async def test_a_change_does_not_wake_every_worker(world: World) -> None:
    """Fifty idle workers cost no more than one: a change is looked at by few of them."""
    looks = []

    class Looking(ControllerHook):
        def waiting(self, controller: str, waiting: int, working: int) -> None:
            looks.append(working)

    async def reconcile(ctx: Context) -> None:
        """Nothing to say."""

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile, concurrency=50), hooks=[Looking()])
    looks.clear()
    world.client.patch(world.get("a"), {"spec": {"size": 2}})
    await settle()
    assert 1 in looks
    assert len(looks) <= 4


async def test_keys_that_are_due_at_once_are_worked_on_at_once(world: World) -> None:
    """As many as there are workers, though each of them sleeps for itself."""
    begun: list[tuple[float, str]] = []

    async def reconcile(ctx: Context) -> float:
        begun.append((ctx.clock.now(), ctx.name))
        await ctx.clock.sleep(0 if ctx.clock.now() < 5 else 100)
        return 5 - ctx.clock.now()

    for name in "abc":
        world.make(name)
    await world.start(Controller(API, "Gadget", reconcile, concurrency=3))
    await world.clock.advance(6)
    assert sorted(begun) == [(0, "a"), (0, "b"), (0, "c"), (5, "a"), (5, "b"), (5, "c")]


async def test_a_key_that_is_due_earlier_is_not_slept_over(world: World) -> None:
    """A worker that sleeps until a later key is due wakes for one that comes to be due before, while the others are busy."""
    begun: list[tuple[float, str]] = []

    async def reconcile(ctx: Context) -> float | None:
        begun.append((ctx.clock.now(), ctx.name))
        if ctx.name == "late":
            return 50
        if ctx.name == "long":
            await ctx.clock.sleep(1000)
        return 3 if ctx.name == "soon" and ctx.clock.now() < 3 else None

    world.make("late")
    await world.start(Controller(API, "Gadget", reconcile, concurrency=2))
    world.make("soon")
    world.make("long")
    await settle()
    await world.clock.advance(4)
    assert begun == [(0, "late"), (0, "soon"), (0, "long"), (3, "soon")]


async def test_no_more_are_worked_on_at_once_than_the_controller_says(world: World) -> None:
    """Ten objects and three workers: three at a time, until all are done."""
    working: set[str] = set()
    most: list[int] = []

    async def reconcile(ctx: Context) -> None:
        working.add(ctx.name)
        most.append(len(working))
        await ctx.clock.sleep(1)
        working.remove(ctx.name)

    for number in range(10):
        world.make(f"g{number}")
    await world.start(Controller(API, "Gadget", reconcile, concurrency=3))
    assert len(working) == 3
    await world.clock.advance(4)
    assert (max(most), len(most), working) == (3, 10, set())


async def test_a_change_goes_before_what_was_there_at_the_start(world: World) -> None:
    """The last of a long list is changed by a user while the first is worked on: he does not wait for the rest."""
    order: list[str] = []

    async def reconcile(ctx: Context) -> None:
        order.append(ctx.name)
        if len(order) == 1:
            world.client.patch(world.get("g9"), {"spec": {"size": 2}})
            await ctx.clock.sleep(1)

    for number in range(10):
        world.make(f"g{number}")
    await world.start(Controller(API, "Gadget", reconcile, concurrency=1))
    await world.clock.advance(2)
    assert order == ["g0", "g9", *(f"g{number}" for number in range(1, 9))]
