"""Example 8: a plan is made once, written down before it acts, resumed by whoever comes next, and seen once when it is over."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fiferail.controllers.clock import settle
from fiferail.controllers.manager import Manager
from fiferail.controllers.plans import Plan, Plans
from fiferail.errors import FiferailError

from .conftest import World

FOLDER = Path(__file__).parents[2] / "examples" / "plan_executor"
API = "nodes.example.io/v1"
_spec = importlib.util.spec_from_file_location("plan_executor_main", FOLDER / "main.py")
assert _spec is not None
assert _spec.loader is not None
main: Any = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = main
_spec.loader.exec_module(main)


@pytest.fixture
def nodes(bare: World) -> World:
    """A world with the example's CRD."""
    for document in yaml.safe_load_all((FOLDER / "crds.yaml").read_text()):
        bare.client.create(document)
    return bare


def node(world: World, name: str = "n", **spec: Any) -> Any:
    """A new node."""
    return world.client.create({"apiVersion": API, "kind": "ChainNode", "metadata": {"name": name, "namespace": "default"}, "spec": spec})


def status(world: World, name: str = "n") -> Any:
    """The node's status."""
    return world.client.get(API, "ChainNode", name, "default").get("status") or {}


def effects(world: World) -> list[dict[str, str]]:
    """What the steps have done, in order."""
    found = [obj for obj in world.client.list("v1", "ConfigMap", "default") if obj["metadata"]["name"].startswith("n-")]
    return [obj["data"] for obj in sorted(found, key=lambda obj: int(obj["metadata"]["resourceVersion"]))]


def statuses(line: Any) -> list[Any]:
    """The bodies of the status writes that a process sent."""
    return [json.loads(request.body) for request in line.sent if request.method == "PATCH"]


async def test_a_node_is_provisioned_and_upgraded(nodes: World) -> None:
    """Each plan runs its steps once, the phases move, and the plan is cleared with its id left behind."""
    made = node(nodes, version="1")
    await nodes.start(*main.controllers())
    assert (status(nodes)["phase"], status(nodes)["version"], "plan" in status(nodes)) == ("Running", "1", False)
    first = status(nodes)["lastPlan"]
    nodes.client.patch(made, {"spec": {"version": "2"}})
    await settle()
    assert (status(nodes)["version"], effects(nodes)) == ("2", [{"installed": "1"}, {"drained": "n"}, {"installed": "2"}])
    assert status(nodes)["lastPlan"] != first
    assert nodes.watchman.lost() == []


async def test_the_plan_is_stored_before_the_first_step_and_each_reconcile_writes_once(nodes: World) -> None:
    """The order on the wire: the plan, a step, what came of it, the end, the clearing; no other write."""
    node(nodes, version="1")
    line = nodes.line()
    await nodes.start(*main.controllers(), line=line)
    writes = [write.rsplit("/", 2)[-1] if "status" in write else "step" for write in line.writes]
    assert writes == ["status", "step", "status", "status", "status"]
    first = {operation["path"]: operation.get("value") for operation in statuses(line)[0] if operation["op"] != "test"}
    assert "Pending" in json.dumps(first)


async def test_a_step_that_fails_comes_back_with_the_same_id_later_each_time(nodes: World) -> None:
    """5, 10, 20 and 30 seconds; what it waits for may appear meanwhile."""
    node(nodes, version="1", snapshot="backup")
    await nodes.start(*main.controllers())
    seen: dict[int, tuple[int, str]] = {}
    for second in range(40):
        task = status(nodes)["plan"]["tasks"][0]
        seen[task["attempts"]] = seen.get(task["attempts"], (second, task["id"]))
        await nodes.clock.advance(1)
    assert [(tries, second) for tries, (second, _) in seen.items()] == [(1, 0), (2, 5), (3, 15), (4, 35)]
    assert len({identity for _, identity in seen.values()}) == 1
    assert status(nodes)["phase"] == "Provisioning"
    nodes.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "backup", "namespace": "default"}})
    await nodes.clock.advance(40)
    assert (status(nodes)["phase"], effects(nodes)) == ("Running", [{"restored": "backup"}, {"installed": "1"}])


async def test_a_step_that_never_works_fails_the_plan(nodes: World) -> None:
    """After five tries; the condition says which step and why, and the same generation is not planned again."""
    made = node(nodes, version="1", snapshot="backup")
    await nodes.start(*main.controllers())
    await nodes.clock.advance(600)
    assert (status(nodes)["phase"], "plan" in status(nodes)) == ("Failed", False)
    assert status(nodes)["conditions"][0]["message"] == "restore: there is no snapshot backup yet"
    nodes.client.patch(made, {"spec": {"snapshot": None}})
    await nodes.clock.advance(1)
    assert status(nodes)["phase"] == "Running"


async def test_a_step_that_fails_for_good_is_not_tried_again(nodes: World) -> None:
    """The plan ends at once."""
    node(nodes, version="bad1")
    await nodes.start(*main.controllers())
    assert nodes.clock.now() == 0
    assert status(nodes)["conditions"][0]["message"] == "install: there is no version bad1"


# -- interleavings


@pytest.mark.parametrize("offset", range(6))
async def test_two_replicas_never_run_two_plans(nodes: World, offset: int) -> None:
    """Both reconcile every object, one some requests behind the other: one plan, each step once, nothing lost."""
    for replica in ("one", "two"):
        line = nodes.line(replica)
        if replica == "two":
            sent = itertools.count()
            line.delay = lambda request, sent=sent: 0.5 if next(sent) % 6 == offset else 0.0  # type: ignore[misc]
        await nodes.start(*main.controllers(), line=line)
    plans = set()
    made = node(nodes, version="1")
    nodes.client.patch(made, {"spec": {"version": "2"}})
    for _ in range(100):
        await nodes.clock.advance(0.1)
        if "plan" in status(nodes):
            plans.add(status(nodes)["plan"]["id"])
    assert (status(nodes)["phase"], status(nodes)["version"]) == ("Running", "2")
    assert len(plans) <= 1
    assert effects(nodes) == [{"installed": "2"}]
    assert nodes.watchman.lost() == []


@pytest.mark.parametrize("answered", [False, True], ids=["before it is done", "after it is done"])
@pytest.mark.parametrize("number", range(10))
async def test_a_crash_at_any_request_is_resumed(nodes: World, number: int, answered: bool) -> None:
    """The next process ends the same plan: no step's effect is there twice, none is missing."""
    node(nodes, version="1")
    line = nodes.line("first")
    sent = itertools.count()

    def late(request: Any) -> float:
        return 1e9 if next(sent) == number else 0.0

    line.delay, line.after = (line.delay, late) if answered else (late, line.after)
    manager = await nodes.start(*main.controllers(), line=line)
    crashed = status(nodes).get("plan", {}).get("id")
    await nodes.crash(manager)
    await nodes.start(*main.controllers(), line=nodes.line("second"))
    await nodes.clock.advance(60)
    assert (status(nodes)["phase"], effects(nodes)) == ("Running", [{"installed": "1"}])
    assert crashed in (None, status(nodes)["lastPlan"]["id"])
    assert nodes.watchman.lost() == []


@pytest.mark.parametrize("number", range(8))
async def test_a_foreign_writer_at_any_point(nodes: World, number: int) -> None:
    """A reporter writes its condition before the n-th request: it survives, and the plan runs to its end."""
    made = node(nodes, version="1")
    line = nodes.line()
    sent = itertools.count()

    def meddle(request: Any) -> float:
        if next(sent) == number:
            probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            part = {"apiVersion": API, "kind": "ChainNode", "metadata": {"name": "n"}, "status": {"conditions": [probed]}}
            nodes.client.patch(made, part, type="apply", subresource="status", field_manager="reporter")
        return 0.0

    line.delay = meddle
    await nodes.start(*main.controllers(), line=line)
    await nodes.clock.advance(10)
    assert next(sent) > number
    assert {condition["type"] for condition in status(nodes)["conditions"]} == {"Ready", "Probed"}
    assert (status(nodes)["phase"], effects(nodes)) == ("Running", [{"installed": "1"}])
    assert nodes.watchman.lost() == []


# -- bad input


async def test_a_plan_of_another_version_of_the_operator_fails_with_the_name_of_the_step(nodes: World) -> None:
    """A stored plan may name a step that this version does not have."""
    made = node(nodes, version="1")
    task = {"id": "x-0", "name": "defrag", "state": "Pending", "attempts": 0}
    plan = {"id": "x", "purpose": "old", "generation": 1, "phase": "Running", "tasks": [task]}
    nodes.client.patch(made, {"status": {"plan": plan}}, subresource="status")
    line = nodes.line()
    await nodes.start(*main.controllers(), line=line)
    assert "this version of the operator has no step 'defrag'" in json.dumps(statuses(line)[0])


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Plan("x", ["install", "polish"]), "expected a plan of restore, drain, install, got polish"),
        (Plan("x", []), "expected a plan of restore, drain, install, got no task at all"),
    ],
    ids=["an unknown step", "no step"],
)
async def test_a_plan_that_cannot_run_is_never_stored(
    nodes: World, plan: Plan, text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The error names the steps that there are."""
    monkeypatch.setattr(main.PLANS, "_build", lambda obj: plan)
    node(nodes, version="1")
    await nodes.start(*main.controllers())
    assert text in caplog.text
    assert status(nodes) == {}


def test_steps_that_cannot_be_awaited_are_refused() -> None:
    """When the plans are made, not when the step is due."""
    with pytest.raises(FiferailError) as refused:
        Plans({"a": lambda ctx, task: None}, build=lambda obj: None)  # type: ignore[dict-item, return-value]
    assert str(refused.value).startswith("expected the step 'a' to be an `async def`, got")


def test_the_rights_in_the_folder_are_the_least() -> None:
    """rbac.yaml is what the controllers declare."""
    documents = {document["kind"]: document for document in yaml.safe_load_all((FOLDER / "rbac.yaml").read_text())}
    assert documents["ClusterRole"]["rules"] == Manager(*main.controllers()).rbac()
