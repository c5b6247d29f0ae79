"""References: where objects may say what they refer to, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail import Context, Controller, references
from fiferail.controllers.clock import settle
from fiferail.errors import FiferailError

from .conftest import API, World, crd

OWNER = (API, "Config")


@pytest.fixture
def configs(world: World) -> World:
    """Configs beside the Gadgets that refer to them."""
    entry = {"type": "object", "properties": {name: {"type": "string"} for name in ("kind", "name", "namespace", "apiVersion")}}
    world.client.create(crd("Config", {name: {"type": "array", "items": entry} for name in ("users", "referencingWorkloads")}))
    return world


@pytest.mark.parametrize(
    ("where", "spec"),
    [
        ("spec.config", {"config": "c"}),
        ("spec.configs", {"configs": ["a", "c"]}),
        (lambda obj: [obj["spec"]["deep"]["name"]], {"deep": {"name": "c"}}),
        (lambda obj: [("default", "c")], {}),
    ],
    ids=["a path to a name", "a path to names", "a function to a name", "a function to a key"],
)
async def test_where_a_reference_may_stand(configs: World, where: Any, spec: Any) -> None:
    """A name, a list of names, or whatever a function finds."""
    configs.make("c", "Config")
    configs.make("g", spec=spec)
    await configs.start(references(OWNER, from_=[(API, "Gadget", where)]))
    assert configs.get("c", "Config")["status"]["referencingWorkloads"] == [{"kind": "Gadget", "name": "g"}]


async def test_a_reference_from_another_namespace_with_other_keys(configs: World) -> None:
    """A function may name objects of any namespace; the entries have the members that are asked for."""
    configs.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far"}})
    configs.make("c", "Config")
    far = configs.make("g", metadata={"namespace": "far"})
    source = (API, "Gadget", lambda obj: [("default", "c")])
    await configs.start(references(OWNER, from_=[source], field="users", keys=("apiVersion", "namespace", "name")))
    assert configs.get("c", "Config")["status"]["users"] == [{"apiVersion": API, "namespace": "far", "name": "g"}]
    configs.client.delete(configs.get("c", "Config"))
    await settle()
    assert configs.get("c", "Config")["status"]["conditions"][0]["message"] == "referenced by Gadget g"
    configs.client.delete(far)
    await settle()
    assert configs.gone("c", "Config")


async def test_nobody_refers_to_it_and_nothing_is_said_twice(configs: World) -> None:
    """The empty list is written once; a path that leads nowhere is no reference."""
    configs.make("c", "Config")
    configs.make("g", spec={"config": {"wrong": "shape"}})
    line = configs.line()
    await configs.start(references(OWNER, from_=[(API, "Gadget", "spec.config")]), line=line)
    await configs.clock.advance(3600)
    assert configs.get("c", "Config")["status"] == {"referencingWorkloads": []}
    assert len(line.writes) == 2


async def test_a_blocked_deletion_is_told_when_it_is_written_and_once(configs: World) -> None:
    """The first write is refused: the event waits for the second."""
    configs.make("c", "Config")
    configs.make("g", spec={"config": "c"})
    await configs.start(references(OWNER, from_=[(API, "Gadget", "spec.config")]), events=True)
    configs.faults.next(verb="patch", kind="Config", answer=403)
    configs.client.delete(configs.get("c", "Config"))
    await settle()
    assert configs.client.list("events.k8s.io/v1", "Event", "default") == []
    await configs.clock.advance(1)
    [event] = configs.client.list("events.k8s.io/v1", "Event", "default")
    assert (event["note"], event.get("series")) == ("referenced by Gadget g", None)


@pytest.mark.parametrize("how", ["session", "client"])
async def test_a_deleted_workload_does_not_come_back_with_a_late_answer(configs: World, how: str) -> None:
    """A write on a workload is answered after the watch has shown its deletion: the list stays without it."""
    configs.make("c", "Config")
    configs.make("g", spec={"config": "c"})
    line = configs.line()
    line.after = lambda request: 5.0 if request.method == "PATCH" and "/gadgets/" in request.path else 0.0

    async def report(ctx: Context) -> None:
        if how == "session":
            ctx.status["phase"] = "Seen"
        else:
            await ctx.client.patch(ctx.object, {"metadata": {"labels": {"seen": "yes"}}})

    manager = await configs.start(
        references(OWNER, from_=[(API, "Gadget", "spec.config")]), Controller(API, "Gadget", report), line=line
    )
    configs.client.delete(configs.get("g"))
    await settle()
    assert configs.get("c", "Config")["status"]["referencingWorkloads"] == []
    await configs.clock.advance(6)
    assert manager.caches.list(API, "Gadget") == []
    configs.client.patch(configs.get("c", "Config"), {"metadata": {"labels": {"look": "again"}}})
    await configs.clock.advance(60)
    assert configs.get("c", "Config")["status"]["referencingWorkloads"] == []


async def _then(ctx: Any) -> None: ...


@pytest.mark.parametrize(
    ("owner", "settings", "text"),
    [
        ("Config", {}, "expected the owner as (apiVersion, kind), got 'Config'"),
        (OWNER, {"from_": []}, "expected at least one referring kind in from_, got none"),
        (OWNER, {"from_": [("v1", "Pod")]}, "expected each of from_ as (apiVersion, kind, path or function), got ('v1', 'Pod')"),
        (OWNER, {"keys": ("kind", "colour")}, "expected keys among apiVersion, kind, name, namespace, uid, got colour"),
        (OWNER, {"keys": ()}, "expected keys among apiVersion, kind, name, namespace, uid, got none"),
        (OWNER, {"then": print}, "expected `then` to be an `async def`, got <built-in function print>"),
    ],
    ids=["no apiVersion", "nobody refers", "no path", "an unknown key", "no key", "not async"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(owner: Any, settings: Any, text: str) -> None:
    """When the controller is made."""
    given = {"from_": [(API, "Gadget", "spec.config")], "then": _then, **settings}
    with pytest.raises(FiferailError) as refused:
        references(owner, **given)
    assert str(refused.value) == text
