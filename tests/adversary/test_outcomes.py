"""Outcomes and errors that say what is so."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import fiferail

from .conftest import API, CONDITIONS, STATUS, World, crd


def dead(world: World, writer: Any, monkeypatch: pytest.MonkeyPatch, *, lands: bool) -> None:
    """The writer's first patch gets no answer; then another writer changes the phase."""
    send = writer._transport.send
    left = [1]

    def losing(request: Any, /, timeout: float | None = None) -> Any:
        if request.method == "PATCH" and left:
            left.pop()
            if lands:
                send(request, timeout=timeout)
            world.other(phase="theirs")
            raise TimeoutError
        return send(request, timeout=timeout)

    monkeypatch.setattr(writer._transport, "send", losing)


@pytest.mark.parametrize("lands", [True, False])
def test_a_conflict_after_a_lost_answer_does_not_say_that_nothing_was_written(
    world: World, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    """Nobody knows: the message says so."""
    old = world.object(phase="A")
    writer = world.writer(sleep=lambda _: None)
    dead(world, writer, monkeypatch, lands=lands)
    with pytest.raises(fiferail.Conflict) as caught, writer.session(old) as status:
        status["phase"] = "mine after " + status["phase"]
    assert "an answer was lost, so this write may have landed" in str(caught.value)
    assert "did not write anything" not in str(caught.value)


def test_a_repair_whose_answer_was_lost_is_reported(world: World) -> None:
    """The write is found to have landed: the outcome says whose value it replaced, as it does when the answer comes."""
    old = world.object(phase="A", n=1)
    writer = world.writer(claims={"Probe.adversary.example.io": ["phase"]}, sleep=lambda _: None)
    world.other(phase="B", n=2)
    with writer.session(world.get()) as status:
        status["summary"] = "the writer knows of B since"
    world.server.faults.next(verb="patch", kind="Probe", answer="lost")
    with writer.session(old) as status:
        status["phase"] = "mine"
    assert status.outcome is not None
    assert (status.outcome.kind, status.outcome.repaired) == ("converged", (("status.phase", "other"),))
    assert world.status()["phase"] == "mine"


def test_a_converged_outcome_names_what_the_server_contradicts(world: World) -> None:
    """One field is there already, another was assigned as it was read and has changed: the outcome names the second."""
    old = world.object(phase="A")
    world.other(phase="C", n=1)
    with world.writer().session(old) as status:
        status["phase"] = "A"
        status["n"] = 1
    assert status.outcome is not None
    assert (status.outcome.kind, status.outcome.contradicted) == ("converged", ("status.phase",))
    assert world.status() == {"phase": "C", "n": 1}


def test_the_writer_of_a_member_is_not_the_owner_of_its_map(world: World) -> None:
    """Who made the status and lost its field to another still owns the map in managedFields: the error names the other, in any second."""
    old = world.object(phase="A")
    with world.writer("second").session(old) as status:
        status["phase"] = "B"
    with pytest.raises(fiferail.Conflict) as caught, world.writer().session(old) as status:
        status["phase"] = "C"
    assert 'status.phase  was "A", is now "B" (written by second), this write wanted "C"' in str(caught.value)


def test_a_flush_that_failed_is_not_followed_by_another(world: World) -> None:
    """The error says that nothing was written, and leaving the block does not make that untrue."""
    old = world.object(phase="A")
    world.server.faults.next(verb="patch", kind="Probe", answer=500, times=2)
    writer = world.writer(sleep=lambda _: None, budget=fiferail.Budget(tries=1))
    with pytest.raises(fiferail.Unavailable), writer.session(old) as status:
        status["phase"] = "B"
        status.flush()
    world.server.faults.clear()
    assert world.status()["phase"] == "A"


def test_a_caught_conflict_does_not_keep_the_session_from_writing(world: World) -> None:
    """Whoever catches the error and goes on has the rest written."""
    old = world.object(phase="A")
    world.other(phase="B")
    with world.writer().session(old) as status:
        status["phase"] = "mine"
        with pytest.raises(fiferail.Conflict):
            status.flush()
        del status["phase"]
        status["phase"] = "A"  # as it was read: no change
        status["n"] = 1
    assert (world.status()["phase"], world.status()["n"]) == ("B", 1)


def test_a_version_that_is_served_no_more_is_not_gone(world: World) -> None:
    """The object is there, under another version: an error that names the version."""
    two = crd(plural="twins")
    second = copy.deepcopy(two["spec"]["versions"][0]) | {"name": "v2", "storage": False}
    two["spec"]["versions"].append(second)
    world.server.apply(two)
    metadata = {"generateName": "t-", "namespace": "default"}
    obj = world.client.create({"apiVersion": "adversary.example.io/v2", "kind": "Twin", "metadata": metadata, "spec": {}})
    writer = world.writer(sleep=lambda _: None)
    with writer.session(obj) as status:
        status["n"] = 1
    live = world.client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", two["metadata"]["name"])
    live["spec"]["versions"][1]["served"] = False
    world.client.replace(live)
    unserved(world)
    with pytest.raises(fiferail.FiferailError, match=r"not served as adversary\.example\.io/v2 any more"), writer.session(obj) as status:
        status["n"] = 2


def unserved(world: World) -> None:
    """Wait until the server has taken the version away."""
    import time

    from fiferail.wire import Request

    transport: Any = world.client.transport
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        answer = transport.send(Request(method="GET", path="/apis/adversary.example.io/v2/namespaces/default/twins"))
        if answer.status == 404:
            return
    raise AssertionError("the version is still served")


def test_an_object_without_its_namespace_is_refused(world: World) -> None:
    """Not reported as gone: nothing is sent."""
    old = world.object(phase="A")
    del old["metadata"]["namespace"]
    with pytest.raises(fiferail.FiferailError, match=r"to have metadata\.namespace"), world.writer().session(old) as status:
        status["phase"] = "B"


@pytest.mark.parametrize("strategy", [fiferail.COMPARE, fiferail.LOCKED, fiferail.MERGE, fiferail.APPLY], ids=lambda s: s.value)
def test_an_object_without_a_version_is_read_first(world: World, strategy: fiferail.Strategy) -> None:
    """No KeyError: the live object is what it is compared with."""
    old = world.object(phase="A")
    del old["metadata"]["resourceVersion"]
    if strategy is fiferail.LOCKED:
        with pytest.raises(fiferail.Conflict), world.writer(strategy=strategy).session(old) as status:
            status["n"] = 1
        return
    with world.writer(strategy=strategy).session(old) as status:
        status["n"] = 1
    assert (world.status()["phase"], world.status()["n"]) == ("A", 1)


def test_apply_keeps_own_fields_without_managed_fields(world: World) -> None:
    """A cache that drops managedFields does not make APPLY remove what is not staged this time."""
    old = world.object(n=1)
    writer = world.writer(strategy=fiferail.APPLY)
    with writer.session(old) as status:
        status["phase"] = "A"
        status["summary"] = "kept"
    cached = world.get()
    del cached["metadata"]["managedFields"]
    with world.writer(strategy=fiferail.APPLY).session(cached) as status:
        status["phase"] = "B"
    assert (world.status()["phase"], world.status()["summary"]) == ("B", "kept")


def test_a_list_that_is_no_longer_keyed_gets_no_second_entry(world: World, interrupt: Callable[..., None]) -> None:
    """The CRD drops listType=map while the writer still believes in it: the writer notices, and another's condition is a conflict."""
    kind = crd(plural="boards")
    world.server.apply(kind)
    metadata = {"generateName": "b-", "namespace": "default"}
    board = world.client.create({"apiVersion": API, "kind": "Board", "metadata": metadata, "spec": {}})
    seed = {"type": "Seed", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    board = world.client.patch(board, {"status": {"conditions": [seed]}}, subresource="status", field_manager="seed")
    writer = world.writer(sleep=lambda _: None)
    with writer.session(board) as status:
        status.conditions.set("First", True, reason="Known")
    atomic(world, kind)
    board = world.client.get(API, "Board", board["metadata"]["name"], namespace="default")
    theirs = {**seed, "type": "Ready", "reason": "Theirs"}
    both = [*board["status"]["conditions"], theirs]
    interrupt(writer, "PATCH", lambda: world.client.patch(board, {"status": {"conditions": both}}, subresource="status"))
    with pytest.raises(fiferail.Conflict, match=r"status\.conditions\[Ready\]"), writer.session(board) as status:
        status.conditions.set("Ready", True, reason="Mine")
    stored = world.client.get(API, "Board", board["metadata"]["name"], namespace="default")["status"]["conditions"]
    assert [(entry["type"], entry["reason"]) for entry in stored if entry["type"] == "Ready"] == [("Ready", "Theirs")]


def atomic(world: World, kind: Any) -> None:
    """The CRD makes its conditions one value; wait until the server validates by that."""
    import time

    live = world.client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", kind["metadata"]["name"])
    conditions = {name: value for name, value in CONDITIONS.items() if not name.startswith("x-kubernetes")}
    live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"] = conditions
    world.client.replace(live)
    metadata = {"generateName": "probe-", "namespace": "default"}
    probe = world.client.create({"apiVersion": API, "kind": "Board", "metadata": metadata, "spec": {}})
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            world.client.patch(probe, {"status": {"conditions": [{"type": "A"}, {"type": "A"}]}}, subresource="status")
        except fiferail.Invalid:
            continue
        return
    raise AssertionError("the list is still keyed")


def test_a_field_that_the_schema_gains_is_written(world: World) -> None:
    """A field that the server dropped is tried again soon: a CRD may have gained it."""
    now = [0.0]
    properties = {name: STATUS["properties"][name] for name in ("n",)}
    kind = crd({"type": "object", "properties": properties}, plural="growers")
    world.server.apply(kind)
    metadata = {"generateName": "g-", "namespace": "default"}
    obj = world.client.create({"apiVersion": API, "kind": "Grower", "metadata": metadata, "spec": {}})
    writer = world.writer(seconds=lambda: now[0])
    first = writer.mutate(obj, lambda status: status.update(n=1, phase="A"))
    assert first.altered == ("status.phase",)
    live = world.client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", kind["metadata"]["name"])
    live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["phase"] = {"type": "string"}
    world.client.replace(live)
    grown(world, obj)
    now[0] = 61.0
    writer.mutate(first.object, lambda status: status.update(n=1, phase="A"))
    assert world.client.get(API, "Grower", obj["metadata"]["name"], namespace="default")["status"]["phase"] == "A"


def grown(world: World, obj: Any) -> None:
    """Wait until the server keeps the new field."""
    import time

    metadata = {"generateName": "probe-", "namespace": "default"}
    probe = world.client.create({"apiVersion": API, "kind": obj["kind"], "metadata": metadata, "spec": {}})
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if "phase" in world.client.patch(probe, {"status": {"n": 1, "phase": "X"}}, subresource="status").get("status", {}):
            return
    raise AssertionError("the field is still dropped")


@pytest.mark.parametrize("answer", [503, 429, "lost"])
def test_discovery_that_fails_once_does_not_fail_the_write(world: World, monkeypatch: pytest.MonkeyPatch, answer: int | str) -> None:
    """It has the budget of the write."""
    from fiferail.wire import Answer

    old = world.object(phase="A")
    writer = world.writer(sleep=lambda _: None)
    send, left = writer._transport.send, [1]

    def failing(request: Any, /, timeout: float | None = None) -> Any:
        if request.path == "/apis/adversary.example.io/v1" and left:
            left.pop()
            if answer == "lost":
                raise TimeoutError
            return Answer(int(answer), b'{"kind":"Status","message":"busy"}', {"retry-after": "1"})
        return send(request, timeout=timeout)

    monkeypatch.setattr(writer._transport, "send", failing)
    with writer.session(old) as status:
        status["phase"] = "B"
    assert world.status()["phase"] == "B"


def test_a_function_that_has_not_run_is_refused(world: World) -> None:
    """A coroutine function or a generator given to the blocking writer is an error, not `unchanged`."""
    old = world.object(phase="A")

    async def later(status: Any) -> None:
        status["phase"] = "B"

    def pieces(status: Any) -> Any:
        status["phase"] = "B"
        yield

    with pytest.raises(TypeError, match="got one that returns a coroutine: use AsyncStatusWriter, or a plain function"):
        world.writer().mutate(old, later)
    with pytest.raises(TypeError, match="must not contain `yield`"):
        world.writer().mutate(old, pieces)
    assert world.status()["phase"] == "A"


def test_a_closed_client_fails_at_once(world: World) -> None:
    """Trying again would not help: no wait, and the client's own error is the cause."""
    waits: list[float] = []
    old = world.object(phase="A")
    writer = world.writer(sleep=waits.append)

    class Closed:
        def send(self, request: Any, /, timeout: float | None = None) -> Any:
            raise RuntimeError("Cannot send a request, as the client has been closed.")

        def stream(self, request: Any, /, timeout: float | None = None) -> Any:
            raise AssertionError

    writer._transport = Closed()
    with pytest.raises(fiferail.Unavailable, match="the client cannot send") as caught, writer.session(old) as status:
        status["phase"] = "B"
    assert (waits, type(caught.value.__cause__)) == ([], RuntimeError)


def test_a_budget_of_seconds_ends_a_write_that_is_always_refused(world: World) -> None:
    """Refusals are no failures, but they end: the error says how often it was tried, and that nothing was written."""
    old = world.object(phase="A", n=0)
    now = [0.0]
    writer = world.writer(budget=fiferail.Budget(seconds=10.0), seconds=lambda: now[0], sleep=lambda _: None)
    send = writer._transport.send

    def racing(request: Any, /, timeout: float | None = None) -> Any:
        if request.method == "PATCH":
            now[0] += 3.0
            world.other(n=int(now[0]))
        return send(request, timeout=timeout)

    writer._transport.send = racing  # type: ignore[method-assign]
    with pytest.raises(fiferail.Conflict, match=r"status\.n"):
        writer.mutate(old, lambda status: status.__setitem__("summary", f"n is {status['n']}"))
    assert (now[0] < 20, "summary" in world.status()) == (True, False)


@pytest.mark.parametrize(("field", "value"), [("name", "a/b"), ("name", ".."), ("name", "%2e"), ("namespace", "x/../y")])
def test_a_name_that_is_no_path_segment_is_refused(world: World, field: str, value: str) -> None:
    """A name must never reach another path than its own."""
    old = world.object(phase="A")
    old["metadata"][field] = value
    with pytest.raises(fiferail.FiferailError, match=rf"invalid metadata\.{field}"), world.writer().session(old) as status:
        status["phase"] = "B"
