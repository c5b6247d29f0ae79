"""What is kept about an object is let go when the object is; and what a reconcile wants to be done when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail import Context, Controller
from fiferail.controllers.clock import settle
from fiferail.controllers.departures import Departures

from .conftest import API, World


def thing(name: str, uid: str) -> Any:
    """As much of an object as it takes."""
    return {"metadata": {"name": name, "uid": uid}}


def test_the_last_action_of_a_name_is_done_once() -> None:
    """However often it was asked for, and not again."""
    done: list[str] = []
    departures = Departures()
    departures.expect(thing("a", "1"), "x", lambda: done.append("first"))
    departures.expect(thing("a", "1"), "x", lambda: done.append("x"))
    departures.expect(thing("a", "1"), "y", lambda: done.append("y"))
    departures.expect(thing("b", "2"), "x", lambda: done.append("b"))
    departures.gone(("", "a"))
    departures.gone(("", "a"))
    assert done == ["x", "y"]


def test_another_object_of_the_same_name_means_that_the_first_is_gone() -> None:
    """It is told of before the second is spoken of."""
    done: list[str] = []
    departures = Departures()
    departures.expect(thing("a", "1"), "x", lambda: done.append("1"))
    departures.expect(thing("a", "2"), "x", lambda: done.append("2"))
    assert done == ["1"]
    departures.gone(("", "a"))
    assert done == ["1", "2"]


def test_an_action_that_fails_is_logged_and_the_others_are_done(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody is kept from letting go by somebody who cannot."""
    done: list[str] = []
    departures = Departures()
    departures.expect(thing("a", "1"), "x", lambda: 1 / 0)
    departures.expect(thing("a", "1"), "y", lambda: done.append("y"))
    departures.gone(("", "a"))
    assert done == ["y"]
    assert "failed after a was gone" in caplog.text


async def test_a_reconcile_may_ask_to_hear_when_its_object_is_gone(world: World) -> None:
    """Once, when the watch shows it; not when the manager ends."""
    done: list[str] = []

    async def reconcile(ctx: Context) -> None:
        name = ctx.name
        ctx.when_gone("it", lambda: done.append(name))

    world.make("a")
    world.make("b")
    manager = await world.start(Controller(API, "Gadget", reconcile))
    world.client.delete(world.get("a"))
    await settle()
    assert done == ["a"]
    manager.stop()
    await settle()
    assert done == ["a"]


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [(None, False, [1]), (None, True, [1]), (403, False, [None]), (403, True, [None])],
    ids=["written", "raised and written", "refused", "raised and refused"],
)
async def test_at_last_a_reconcile_hears_what_came_of_it(world: World, answer: int | None, error: bool, told: list[Any]) -> None:
    """`stored` is what the server has, whatever was staged; one action per name, however the reconcile ended."""
    heard: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        async def tell() -> None:
            heard.append(ctx.stored("count"))

        ctx.at_last("count", tell)
        ctx.at_last("count", tell)
        ctx.status["count"] = 1
        assert ctx.stored("count") is None
        if error:
            raise RuntimeError("no")

    world.make("a")
    if answer:
        world.faults.next(verb="patch", kind="Gadget", answer=answer)
    await world.start(Controller(API, "Gadget", reconcile))
    assert heard[:1] == told


async def test_what_fails_at_last_is_logged_and_fails_nothing_else(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The status is written already."""
    heard: list[str] = []

    async def broken() -> None:
        raise RuntimeError("no letter box")

    async def fine() -> None:
        heard.append("fine")

    async def reconcile(ctx: Context) -> None:
        ctx.at_last("broken", broken)
        ctx.at_last("fine", fine)
        ctx.status["count"] = 1

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert "no letter box" in caplog.text
    assert (set(heard), world.get("a")["status"]) == ({"fine"}, {"count": 1})


async def test_what_is_to_be_counted_after_a_flush_is_not_counted_for_an_object_that_is_gone(world: World) -> None:
    """The flush found nobody to write to."""
    counted: list[int] = []

    async def reconcile(ctx: Context) -> None:
        ctx.after_flush(lambda: counted.append(1))
        ctx.status["count"] = 1
        world.client.delete(world.get("a"))

    world.make("a")
    await world.start(Controller(API, "Gadget", reconcile))
    assert counted == []
