"""What `ctx` hands out is taken by every verb: `ctx.object` stands for the object as it was read, and naming it reads nothing."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import fiferail
from fiferail import Context, Controller
from fiferail.clients.kubeconfig import connect_async
from fiferail.controllers.manager import Manager
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer

from .conftest import API, World, crd

Verb = Callable[[Context, Any], Awaitable[Any]]


async def _session(ctx: Context, obj: Any) -> None:
    async with ctx.writer.session(obj) as status:
        status["phase"] = "done"


async def _replace(ctx: Context, obj: Any) -> None:
    await ctx.client.replace(obj)
    await _session(ctx, await ctx.client.get(API, "Gadget", ctx.name, ctx.namespace))


async def _create(ctx: Context, obj: Any) -> None:
    with pytest.raises(fiferail.FiferailError, match="resourceVersion should not be set on objects to be created"):
        await ctx.client.create(obj)
    await _session(ctx, obj)


def _phase(status: Any) -> None:
    status["phase"] = "done"


def _label(view: Any) -> None:
    view["metadata"]["labels"] = {"phase": "done"}


VERBS: dict[str, Verb] = {
    "session": _session,
    "mutate": lambda ctx, obj: ctx.writer.mutate(obj, _phase),
    "create_once": lambda ctx, obj: ctx.writer.create_once(obj, "phase", lambda _: "done"),
    "edit": lambda ctx, obj: ctx.writer.edit(obj, _label),
    "add_finalizer": lambda ctx, obj: ctx.writer.add_finalizer(obj, "example.io/done"),
    "remove_finalizer": lambda ctx, obj: ctx.writer.remove_finalizer(obj, "example.io/todo"),
    "patch": lambda ctx, obj: ctx.client.patch(obj, {"status": {"phase": "done"}}, subresource="status"),
    "replace": _replace,
    "delete": lambda ctx, obj: ctx.client.delete(obj),
    "create": _create,
}
#: What a verb leaves behind; the others leave the phase.
TRACES: dict[str, Callable[[Any], Any]] = {
    "edit": lambda obj: obj["metadata"].get("labels") == {"phase": "done"},
    "add_finalizer": lambda obj: obj["metadata"]["finalizers"] == ["example.io/todo", "example.io/done"],
    "remove_finalizer": lambda obj: "finalizers" not in obj["metadata"],
    "delete": lambda obj: "deletionTimestamp" in obj["metadata"],
}
GIVEN: dict[str, Callable[[Context], Any]] = {
    "ctx.object": lambda ctx: ctx.object,
    "ctx.snapshot": lambda ctx: ctx.snapshot,
    "a dict of ctx.object": lambda ctx: dict(ctx.object),
    "from the cache": lambda ctx: ctx.cache.get(API, "Gadget", ctx.name, ctx.namespace),
}


def _left(verb: str, obj: Any) -> bool:
    """Whether the verb has done its work."""
    return bool(TRACES.get(verb, lambda obj: obj.get("status", {}).get("phase") == "done")(obj))


def _once(verb: Verb, given: Callable[[Context], Any], seen: list[Any]) -> Controller:
    """A controller that uses the verb in its first reconcile, and keeps what went wrong and what was read."""

    async def reconcile(ctx: Context) -> None:
        if not seen:
            seen.append(None)
            try:
                await verb(ctx, given(ctx))
            except Exception as error:
                seen[0] = error
            seen.append(list(ctx._stage.reads))

    return Controller(API, "Gadget", reconcile)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_takes_what_ctx_hands_out(world: World, verb: str, given: str) -> None:
    """Through a running controller on the embedded server; naming `ctx.object` counts as no read of its status."""
    world.make("g", metadata={"finalizers": ["example.io/todo"]}, spec={"size": 1})
    seen: list[Any] = []
    await world.start(_once(VERBS[verb], GIVEN[given], seen))
    assert seen[0] is None
    assert _left(verb, world.get("g"))
    if given == "ctx.object":
        assert seen[1] == []


@pytest.fixture
def real(_fiferail_real_world: Any, tmp_path: Path) -> Any:
    """The real server."""
    backend = RealBackend(_fiferail_real_world, tmp_path)
    yield ApiServer(backend)
    backend.close()


@pytest.mark.xdist_group("real")
@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_takes_ctx_object_on_the_real_server(real: ApiServer, verb: str) -> None:
    """The same over HTTP."""
    obj = {"apiVersion": API, "kind": "Gadget", "spec": {"size": 1}}
    name = f"taken-{verb.replace('_', '-')}"
    metadata = {"name": name, "namespace": "default", "finalizers": ["example.io/todo"]}
    await asyncio.to_thread(real.apply, crd("Gadget"), {**obj, "metadata": metadata})
    seen: list[Any] = []
    async with connect_async(real.kubeconfig) as client:
        manager = Manager(_once(VERBS[verb], GIVEN["ctx.object"], seen), client=client, events=False)
        task = asyncio.ensure_future(manager.serve())
        try:
            await asyncio.to_thread(real.wait_for, API, "Gadget", name, lambda obj: _left(verb, obj))
        finally:
            manager.stop()
            await task
    assert seen == [None, []]


async def test_the_base_is_the_object_as_it_was_read(world: World) -> None:
    """A change since is a conflict of the verb that was given `ctx.object`, as with the dict that was read."""
    world.make("g")
    errors: list[Exception] = []

    async def reconcile(ctx: Context) -> None:
        if errors:
            return
        world.client.patch(world.get("g"), {"status": {"phase": "theirs"}}, subresource="status")
        try:
            async with ctx.writer.session(ctx.object) as status:
                status["phase"] = "mine"
        except fiferail.Conflict as error:
            errors.append(error)

    await world.start(Controller(API, "Gadget", reconcile))
    assert [change.now for change in errors[0].changes] == ["theirs"]  # type: ignore[attr-defined]
    assert world.get("g")["status"]["phase"] == "theirs"


async def test_another_writer_takes_ctx_object_too(world: World) -> None:
    """A writer that the operator made itself."""
    world.make("g")
    outcomes: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        writer = fiferail.AsyncStatusWriter(world.line(), field_manager="other")
        outcomes.append(await writer.mutate(ctx.object, _phase))

    await world.start(Controller(API, "Gadget", reconcile))
    assert (outcomes[0].kind, world.get("g")["status"]["phase"]) == ("applied", "done")


async def test_views_may_stand_in_what_is_sent(world: World) -> None:
    """Parts of `ctx.object` and `ctx.status` in the body of a new object, and a deep copy as plain data; each counts as a read."""
    world.client.create(crd("Widget"))
    made = world.make("g", spec={"sizes": [1, 2]})
    world.client.patch(made, {"status": {"phase": "x", "conditions": [{"type": "A", "status": "True"}]}}, subresource="status")
    reads: list[Any] = []

    async def reconcile(ctx: Context) -> None:
        if reads:
            return
        seen = ctx.object["status"]
        spec = {"copied": ctx.object["spec"], "from": seen, "conditions": seen["conditions"], "staged": ctx.status["conditions"]}
        metadata = {"name": "w", "namespace": "default"}
        await ctx.client.create({"apiVersion": API, "kind": "Widget", "metadata": metadata, "spec": spec})
        reads.extend(ctx._stage.reads)
        assert copy.deepcopy(ctx.object) == world.get("g") | {"metadata": ctx.object["metadata"]}

    await world.start(Controller(API, "Gadget", reconcile))
    conditions = [{"type": "A", "status": "True"}]
    assert world.get("w", "Widget")["spec"] == {
        "copied": {"sizes": [1, 2]}, "from": {"phase": "x", "conditions": conditions}, "conditions": conditions, "staged": conditions,
    }  # fmt: skip
    assert ("status",) in reads


def test_what_is_no_json_is_refused_in_a_body(bare: World) -> None:
    """The error names the type."""
    metadata = {"name": "c", "namespace": "default"}
    with pytest.raises(TypeError, match="expected a JSON value, got object"):
        bare.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": object()}})
