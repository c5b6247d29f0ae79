"""What the caller saw is what the write stands on: neither the writer's memory nor an answer replaces it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import pytest

import fiferail

from .conftest import World

STRATEGIES = [fiferail.COMPARE, fiferail.LOCKED]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
def test_a_shared_writer_does_not_launder_an_old_object(world: World, strategy: fiferail.Strategy) -> None:
    """A writer that has learned of a newer version through another write still refuses what was decided on the older one."""
    old = world.object(phase="A")
    writer = world.writer(strategy=strategy)
    world.other(phase="B")
    with writer.session(world.get()) as status:
        status["n"] = 1
    with pytest.raises(fiferail.Conflict), writer.session(old) as status:
        status["phase"] = "from " + old["status"]["phase"]
    assert (world.status()["phase"], world.status()["n"]) == ("B", 1)


def test_a_guard_is_compared_with_the_callers_object(world: World) -> None:
    """The guarded spec is the one that the caller passed, whatever the writer has seen since."""
    old = world.object({"size": 1}, phase="A")
    writer = world.writer()
    world.respec(size=2)
    with writer.session(world.get()) as status:
        status["n"] = 1
    with pytest.raises(fiferail.Conflict, match=r"spec\.size"), writer.session(old, guard=["spec.size"]) as status:
        status["summary"] = f"size {old['spec']['size']}"
    assert "summary" not in world.status()


def test_a_flush_in_the_middle_does_not_move_the_base(world: World) -> None:
    """After a flush the session still stands on the object it was given, except where it wrote itself."""
    old = world.object(phase="A")
    writer = world.writer()
    world.other(phase="B")
    with pytest.raises(fiferail.Conflict, match=r'status\.phase  was "A", is now "B"'), writer.session(old) as status:
        status["n"] = 1
        status.flush()
        status["phase"] = "from " + old["status"]["phase"]
    assert (world.status()["phase"], world.status()["n"]) == ("B", 1)


def test_what_was_read_before_a_flush_stays_guarded(world: World) -> None:
    """Read phase, flush n, somebody changes phase, write a summary of the old phase: a conflict."""
    old = world.object(phase="A")
    with pytest.raises(fiferail.Conflict, match=r"status\.phase"), world.writer().session(old) as status:
        phase = status["phase"]
        status["n"] = 1
        status.flush()
        world.other(phase="B")
        status["summary"] = f"it is {phase}"
    assert "summary" not in world.status()


def test_what_is_read_after_a_flush_is_the_answers(world: World) -> None:
    """Whoever looks again after a flush sees what the server answered, and may decide on that."""
    old = world.object(phase="A")
    world.other(phase="B")
    with world.writer().session(old) as status:
        status["n"] = 1
        status.flush()
        status["phase"] = "from " + status["phase"]
    assert world.status()["phase"] == "from B"


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
def test_five_sessions_on_one_body_finish(world: World, strategy: fiferail.Strategy) -> None:
    """A handler's own writes, whose outcomes it was given, are no conflict to it."""
    body = world.object(phase="A")
    writer = world.writer(strategy=strategy)
    for number in range(5):
        with writer.session(body) as status:
            status["phase"] = f"step {number}"
            status.conditions.set("Ready", number % 2 == 0, reason="Step", message=str(number))
    assert world.status()["phase"] == "step 4"
    world.server.assert_nothing_lost()


def test_a_foreign_write_between_own_ones_is_a_conflict(world: World) -> None:
    """An own write is known only as long as every step to what stands there is an own one."""
    body = world.object(phase="A")
    writer = world.writer()
    with writer.session(body) as status:
        status["phase"] = "mine"
    world.other(phase="theirs")
    with pytest.raises(fiferail.Conflict), writer.session(body) as status:
        status["phase"] = "mine again"
    assert world.status()["phase"] == "theirs"


def test_reading_ones_own_old_value_is_a_conflict_that_says_what_to_do(world: World) -> None:
    """The body still shows the value from before the own write: deciding on it is refused, with the way out."""
    body = world.object(n=1)
    writer = world.writer()
    for _ in range(1):
        with writer.session(body) as status:
            status["n"] = status["n"] + 1
    with pytest.raises(fiferail.Conflict, match=r"pass `outcome\.object` of that write"), writer.session(body) as status:
        status["n"] = status["n"] + 1
    assert world.status()["n"] == 2


def test_an_own_write_of_another_flow_of_control_is_anybodys(world: World) -> None:
    """Two tasks or threads that share a writer do not know each other's decisions."""
    body = world.object(phase="A")
    writer = world.writer()

    def elsewhere() -> None:
        with writer.session(body) as status:
            status["phase"] = "from elsewhere"

    contextvars.Context().run(elsewhere)
    with pytest.raises(fiferail.Conflict), writer.session(body) as status:
        status["phase"] = "from here"
    assert world.status()["phase"] == "from elsewhere"


# -- functions that run again


def test_a_closure_that_holds_the_old_object_is_a_conflict(world: World) -> None:
    """The function runs again and writes what it computed from the old object: it never looked at what is there."""
    old = world.object(phase="A")
    world.other(phase="B")
    with pytest.raises(fiferail.Conflict, match=r'status\.phase  was "A", is now "B"'):
        world.writer().mutate(old, lambda status: status.__setitem__("phase", "from " + old["status"]["phase"]))
    assert world.status()["phase"] == "B"


def test_a_guard_of_mutate_that_has_changed_is_a_conflict(world: World) -> None:
    """The function cannot see the guard again, so it is not run again."""
    old = world.object({"size": 1}, phase="A")
    world.respec(size=2)
    runs: list[int] = []

    def summarize(status: fiferail.Status) -> None:
        runs.append(1)
        status["summary"] = f"size {old['spec']['size']}"

    with pytest.raises(fiferail.Conflict, match=r"spec\.size"):
        world.writer().mutate(old, summarize, guard=["spec.size"])
    assert (len(runs), "summary" in world.status()) == (1, False)


def test_what_is_read_of_the_object_is_seen_again(world: World) -> None:
    """`status.object` shows the live object to a function that runs again, the spec too, and guards what is read of it."""
    old = world.object({"size": 1}, phase="A")
    world.respec(size=2)
    outcome = world.writer().mutate(old, lambda status: status.__setitem__("summary", f"size {status.object['spec']['size']}"))
    assert (world.status()["summary"], outcome.requests > 1) == ("size 2", True)


def test_a_claimed_path_is_repaired_by_a_function_that_does_not_look(world: World) -> None:
    """Who owns a path may put it back, and the outcome says who had changed it."""
    old = world.object(phase="A", n=1)
    writer = world.writer(claims={"Probe.adversary.example.io": ["phase", "n"]})
    world.other(phase="B", n=2)

    def say(status: fiferail.Status) -> None:
        status["summary"] = f"n is {status['n']}"
        status["phase"] = "mine"

    outcome = writer.mutate(old, say)
    assert (world.status()["phase"], outcome.repaired) == ("mine", (("status.phase", "other"),))


def test_increments_by_a_function_that_looks_are_all_counted(world: World) -> None:
    """The ordinary use: the function reads what it changes, runs again when that has moved, and nothing is lost."""
    old = world.object(n=5)
    writers = [world.writer(f"w{number}") for number in range(3)]
    for writer in writers:
        writer.mutate(old, lambda status: status.__setitem__("n", status["n"] + 1))
    assert world.status()["n"] == 8
    world.server.assert_nothing_lost()


# -- what is assigned as it was read


def test_an_assignment_that_the_server_contradicts_is_named(world: World, interrupt: Callable[..., None]) -> None:
    """A value that was assigned as it was read is not sent; when the answer shows another, the outcome names it."""
    old = world.object(phase="A", n=1)
    writer = world.writer()
    interrupt(writer, "PATCH", lambda: world.other(phase="B"))
    with writer.session(old) as status:
        status["phase"] = "A"
        status["n"] = 2
    assert status.outcome is not None
    assert (status.outcome.kind, status.outcome.contradicted) == ("applied", ("status.phase",))


def test_what_outcomes_hand_out_is_the_callers_own(world: World) -> None:
    """Changing an outcome's object, or a made value, changes neither the caller's object nor a later session."""
    old = world.object(phase="A", plan={"id": "p"})
    writer = world.writer()
    with writer.session(old) as status:
        status["phase"] = "A"
    assert status.outcome is not None
    status.outcome.object["status"]["phase"] = "scribbled"
    made: Any = writer.create_once(old, "plan", lambda _: {"id": "q"})
    made.value["id"] = "scribbled"
    assert (old["status"]["phase"], old["status"]["plan"]) == ("A", {"id": "p"})
