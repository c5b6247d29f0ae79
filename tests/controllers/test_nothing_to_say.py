"""A reconcile that changes nothing sends nothing: after a restart, a foreign change, a pause, an error."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fiferail import Context, Controller
from fiferail.controllers.clock import settle

from .conftest import API, Line, World, crd

OBJECTS = [f"g{index:02d}" for index in range(30)]


class Saying:
    """Says the same of every object, whatever happens, and counts how often it was asked."""

    def __init__(self, after: float | None = None, error: str = "") -> None:
        self.seen: Counter[str] = Counter()
        self._after, self._error = after, error

    async def __call__(self, ctx: Context) -> float | None:
        """One reconcile: it reads what it says, too."""
        self.seen[ctx.name] += 1
        ctx.status.conditions.set("Ready", True, reason="AllUp", message="everything is up")
        ctx.status["phase"] = ctx.object["status"].get("phase", "Running")
        if self._error:
            raise RuntimeError(self._error)
        return self._after


async def _ready(world: World, saying: Saying, answers_after: float = 0.0) -> Line:
    """Every object is there, and the operator has said of each what there is to say, as soon as its requests are answered."""
    for name in OBJECTS:
        world.make(name)
    line = world.line()
    line.delay = lambda request: answers_after
    await world.start(Controller(API, "Gadget", saying, concurrency=10), line=line)
    return line


def _asked(line: Line) -> Counter[str]:
    """What was asked, by kind of question."""
    return Counter(_question(request.method, request.path, dict(request.query)) for request in line.sent)


def _question(method: str, path: str, query: dict[str, Any]) -> str:
    if path.startswith("/openapi"):
        return "schema"
    if path.endswith("/gadgets"):
        return "watch" if "watch" in query else "list"
    return "discovery" if path == f"/apis/{API}" else f"{method} {path.rpartition('/')[2]}"


async def test_a_start_costs_one_write_per_object_and_four_questions(world: World) -> None:
    """However many workers begin at once, and wait for the same answers; where the kind is, the writer has from the watch."""
    line = await _ready(world, Saying(), answers_after=0.1)
    await world.clock.advance(10)
    assert _asked(line) == {"discovery": 1, "list": 1, "watch": 1, "schema": 1, "PATCH status": len(OBJECTS)}


async def test_several_controllers_of_one_group_find_their_kinds_with_one_question(world: World) -> None:
    """Each has a writer of its own, and all know what any of them was told."""
    world.client.create(crd("Widget"))
    world.make("g")
    world.make("w", "Widget")
    line, saying = world.line(), Saying()
    await world.start(Controller(API, "Gadget", saying), Controller(API, "Widget", saying), line=line)
    assert saying.seen.keys() == {"g", "w"}
    assert _asked(line)["discovery"] == 1


async def test_a_kind_that_came_after_the_question_is_asked_for_again(world: World) -> None:
    """What one was told is not taken for all there is: a reconcile that edits an object of a newer kind finds it."""
    world.make("g")

    async def reconcile(ctx: Context) -> None:
        world.client.create(crd("Widget"))
        widget = world.make("w", "Widget")
        await ctx.writer.mutate(widget, lambda status: status.update(phase="Found"))

    line = world.line()
    await world.start(Controller(API, "Gadget", reconcile), line=line)
    assert world.get("w", "Widget")["status"] == {"phase": "Found"}
    assert _asked(line)["discovery"] == 2


async def test_an_operator_that_starts_on_what_it_has_said_writes_nothing(world: World) -> None:
    """It finds the kind, lists it and watches it: three requests, and every object was reconciled."""
    await _ready(world, Saying())
    saying, line = Saying(), world.line("successor")
    await world.start(Controller(API, "Gadget", saying, field_manager="gadget-controller"), line=line)
    assert sorted(saying.seen) == OBJECTS
    assert _asked(line) == {"discovery": 1, "list": 1, "watch": 1}


async def test_a_foreign_change_that_leaves_nothing_to_say_costs_nothing(world: World) -> None:
    """Each object is reconciled again, and no request is sent."""
    saying = Saying()
    line = await _ready(world, saying)
    before, sent = Counter(saying.seen), len(line.sent)
    for name in OBJECTS:
        world.client.patch(world.get(name), {"metadata": {"annotations": {"example.io/note": "seen"}}})
    await settle()
    assert all(saying.seen[name] > before[name] for name in OBJECTS)
    assert line.sent[sent:] == []


async def test_coming_back_after_a_pause_costs_nothing(world: World) -> None:
    """A reconcile that asks to come back every minute is called every minute, and sends nothing."""
    saying = Saying(after=60.0)
    line = await _ready(world, saying)
    before, sent = Counter(saying.seen), len(line.sent)
    for _ in range(3):
        await world.clock.advance(61)
    assert all(saying.seen[name] - before[name] == 3 for name in OBJECTS)
    assert [request for request in line.sent[sent:] if dict(request.query).get("watch") is None] == []


async def test_failing_again_with_the_same_words_costs_nothing(world: World) -> None:
    """An operator that fails on every object says so once, however often it tries."""
    saying = Saying(error="the disk is full")
    line = await _ready(world, saying)
    before = Counter(saying.seen)
    for _ in range(5):
        await world.clock.advance(1)
    assert all(saying.seen[name] > before[name] for name in OBJECTS)
    assert _asked(line)["PATCH status"] == len(OBJECTS)
