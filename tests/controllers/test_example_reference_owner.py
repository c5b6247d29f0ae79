"""Example 7: one owner of the list. Its history first (the write that was answered and lost), then what holds now."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fiferail import Client
from fiferail.apiserver.inprocess import Transport
from fiferail.controllers.clock import settle
from fiferail.controllers.manager import Manager

from .conftest import World

FOLDER = Path(__file__).parents[2] / "examples" / "reference_owner"
API = "auth.example.io/v1"


def load(name: str) -> Any:
    """A module of the example."""
    spec = importlib.util.spec_from_file_location(f"reference_owner_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


main, before = load("main"), load("before")


@pytest.fixture
def auth(bare: World) -> World:
    """A world with the example's CRDs and one config."""
    for document in yaml.safe_load_all((FOLDER / "crds.yaml").read_text()):
        bare.client.create(document)
    made(bare, "AuthConfig", "sso", issuer="https://sso.example.io")
    return bare


def made(world: World, kind: str, name: str, **spec: Any) -> Any:
    """A new object."""
    return world.client.create({"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})


def workload(world: World, kind: str, name: str, config: str = "sso") -> Any:
    """A workload that refers to a config."""
    return made(world, kind, name, configRef={"name": config})


def config(world: World, name: str = "sso") -> Any:
    """The config as it is."""
    return world.client.get(API, "AuthConfig", name, "default")


def listed(world: World, name: str = "sso") -> list[str]:
    """The list, shortened."""
    return [f"{entry['kind']}/{entry['name']}" for entry in (config(world, name).get("status") or {}).get("referencingWorkloads", [])]


def blocked(obj: Any) -> Any:
    """The DeletionBlocked condition, as (status, message)."""
    found = [(c["status"], c["message"]) for c in obj.get("status", {}).get("conditions", []) if c["type"] == "DeletionBlocked"]
    return found[0] if found else None


# -- the history


def agent(world: World, name: str) -> Client:
    """A blocking client of another process."""
    return Client(Transport(world.machine, agent=name), user_agent=name)


def test_the_first_version_loses_a_write_that_was_answered(auth: World) -> None:
    """The server's entry was stored, acknowledged, and is gone: the owner's patch carried the list from before it."""
    server = before.Workload(agent(auth, "server-controller"), "Server", "a", "sso")
    owner = before.Owner(agent(auth, "config-controller"), "sso")
    owner.read()
    server.read()
    assert server.append()
    assert listed(auth) == ["Server/a"]
    owner.patch([])
    assert listed(auth) == []
    lost = auth.watchman.lost()
    assert len(lost) == 1
    assert "server-controller" in lost[0]
    assert "config-controller" in lost[0]


def test_the_first_version_swallows_the_conflict_of_the_second_workload(auth: World) -> None:
    """Two workloads read the same version; the second is refused, and nobody writes its entry again."""
    one = before.Workload(agent(auth, "server-controller"), "Server", "a", "sso")
    two = before.Workload(agent(auth, "proxy-controller"), "Proxy", "b", "sso")
    one.read()
    two.read()
    assert (one.append(), two.append()) == (True, False)
    assert listed(auth) == ["Server/a"]


# -- what holds now


async def test_the_list_follows_every_change(auth: World) -> None:
    """Added, moved and removed; sorted; workloads that were there before the operator too."""
    workload(auth, "Server", "b")
    await auth.start(*main.controllers())
    workload(auth, "Server", "a")
    moving = workload(auth, "Proxy", "p")
    workload(auth, "Gateway", "g", "other")
    await settle()
    assert listed(auth) == ["Proxy/p", "Server/a", "Server/b"]
    made(auth, "AuthConfig", "other", issuer="http://plain")
    auth.client.patch(moving, {"spec": {"configRef": {"name": "other"}}})
    await settle()
    assert (listed(auth), listed(auth, "other")) == (["Server/a", "Server/b"], ["Gateway/g", "Proxy/p"])
    auth.client.delete(auth.client.get(API, "Server", "a", "default"))
    await settle()
    assert listed(auth) == ["Server/b"]
    assert auth.watchman.lost() == []


async def test_a_foreign_entry_and_a_foreign_condition(auth: World) -> None:
    """An entry that somebody else puts into the list goes; a condition that somebody else owns stays."""
    workload(auth, "Server", "a")
    await auth.start(*main.controllers())
    entries = [{"kind": "Server", "name": "a"}, {"kind": "Server", "name": "ghost"}]
    current = config(auth)
    probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {**current["status"], "referencingWorkloads": entries, "conditions": [*current["status"]["conditions"], probed]}
    auth.client.replace({**current, "status": status}, subresource="status")
    await auth.clock.advance(1)
    assert listed(auth) == ["Server/a"]
    assert probed in config(auth)["status"]["conditions"]


async def test_deletion_waits_for_the_last_reference_and_not_for_a_timer(auth: World) -> None:
    """Blocked by what the server has; the condition and an event say by whom; released when the last one goes, at once."""
    one, two = workload(auth, "Server", "a"), workload(auth, "Proxy", "p")
    await auth.start(*main.controllers(), events=True)
    auth.client.delete(config(auth))
    await settle()
    assert blocked(config(auth)) == ("True", "referenced by Proxy p, Server a")
    auth.client.delete(one)
    await settle()
    assert (blocked(config(auth)), listed(auth)) == (("True", "referenced by Proxy p"), ["Proxy/p"])
    events = auth.client.list("events.k8s.io/v1", "Event", "default")
    notes = sorted(event["note"] for event in events if event["reason"] == "DeletionBlocked")
    assert notes == ["referenced by Proxy p", "referenced by Proxy p, Server a"]
    auth.client.delete(two)
    await settle()
    assert auth.client.list(API, "AuthConfig") == []
    assert auth.clock.now() == 0


async def test_deletion_is_judged_by_the_live_list_not_by_the_cache(auth: World) -> None:
    """The watch of the workloads lags: a workload that it has not shown holds the config all the same."""
    await auth.start(*main.controllers())
    auth.restart()
    auth.faults.next(verb="watch", kind="Server", answer="lagging", behind=1)
    await auth.clock.advance(0.2)
    workload(auth, "Server", "late")
    auth.client.delete(config(auth))
    await settle()
    assert blocked(config(auth)) == ("True", "referenced by Server late")


async def test_another_finalizer_hears_that_nobody_refers_to_it_any_more(auth: World) -> None:
    """Ours goes, the other one stays, and the condition turns."""
    held = config(auth)
    auth.client.patch(held, {"metadata": {"finalizers": ["other.io/f"]}})
    one = workload(auth, "Server", "a")
    await auth.start(*main.controllers())
    auth.client.delete(held)
    await settle()
    auth.client.delete(one)
    await settle()
    assert config(auth)["metadata"]["finalizers"] == ["other.io/f"]
    assert blocked(config(auth)) == ("False", "nobody refers to it")


@pytest.mark.parametrize("kind", main.WORKLOADS)
async def test_no_workload_writes_the_config(auth: World, kind: str) -> None:
    """The guard: a reconcile of a workload leaves the config's version, list and foreign conditions as they are."""
    found = config(auth)
    foreign = {"conditions": [{"type": "Foreign", "status": "True"}], "referencingWorkloads": [{"kind": "Thing", "name": "t"}]}
    kept = auth.client.patch(found, {"status": foreign}, subresource="status")
    workload(auth, kind, "w")
    line = auth.line("workload")
    await auth.start(main.workloads(kind), line=line)
    await auth.clock.advance(60)
    conditions = auth.client.get(API, kind, "w", "default")["status"]["conditions"]
    assert [(c["type"], c["status"]) for c in conditions] == [("ConfigResolved", "True")]
    assert config(auth) == kept
    assert not [write for write in line.writes if "authconfigs" in write]


# -- interleavings


async def test_two_replicas_without_leader_election(auth: World) -> None:
    """Both own the list, from two caches: it ends right, and nothing is lost on the way."""
    for replica in ("one", "two"):
        await auth.start(*main.controllers(), line=auth.line(replica))
    objects = [workload(auth, kind, f"{kind.lower()}{number}") for kind in main.WORKLOADS for number in range(3)]
    await auth.clock.advance(1)
    for obj in objects[::2]:
        auth.client.delete(obj)
    await auth.clock.advance(1)
    left = sorted((obj["kind"], obj["metadata"]["name"]) for obj in objects[1::2])
    assert listed(auth) == [f"{kind}/{name}" for kind, name in left]
    assert auth.watchman.lost() == []


@pytest.mark.parametrize("deleting", [False, True], ids=["in use", "being deleted"])
@pytest.mark.parametrize("number", range(16))
async def test_a_crash_at_any_request_is_recovered_from(auth: World, number: int, deleting: bool) -> None:
    """The n-th request is sent and its answer never read; the next process ends in the same state as one that never crashed."""
    one, two = workload(auth, "Server", "a"), workload(auth, "Proxy", "p")
    auth.client.patch(config(auth), {"metadata": {"finalizers": ["auth.example.io/authconfig-in-use"]}})  # by an earlier process
    line = auth.line("first")
    sent = itertools.count()
    line.after = lambda request: 1e9 if request.path.count("/auth") and next(sent) == number else 0.0
    manager = await auth.start(*main.controllers(), line=line)
    if deleting:
        auth.client.delete(config(auth))
    auth.client.delete(one)
    await settle()
    await auth.crash(manager)
    await auth.start(*main.controllers(), line=auth.line("second"))
    await auth.clock.advance(1)
    assert listed(auth) == ["Proxy/p"]
    auth.client.delete(two)
    await auth.clock.advance(1)
    left = auth.client.list(API, "AuthConfig")
    assert left == [] if deleting else listed(auth) == []
    assert auth.watchman.lost() == []


@pytest.mark.parametrize("number", range(8))
async def test_a_foreign_writer_at_any_point(auth: World, number: int) -> None:
    """Somebody else writes a condition just before the n-th request: his condition survives, and the list is right."""
    workload(auth, "Server", "a")
    line = auth.line()
    sent = itertools.count()

    def meddle(request: Any) -> float:
        if next(sent) == number:
            foreign = auth.client.get(API, "AuthConfig", "sso", "default")
            others = (foreign.get("status") or {}).get("conditions", [])
            probed = {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = {**(foreign.get("status") or {}), "conditions": [*others, probed]}
            auth.client.replace({**foreign, "status": status}, subresource="status")
        return 0.0

    line.delay = meddle
    await auth.start(*main.controllers(), line=line)
    await auth.clock.advance(5)
    assert next(sent) > number
    types = {condition["type"] for condition in config(auth)["status"]["conditions"]}
    assert (types, listed(auth)) == ({"Valid", "Probed"}, ["Server/a"])
    assert auth.watchman.lost() == []


def test_the_rights_in_the_folder_are_the_least() -> None:
    """rbac.yaml is what the controllers declare."""
    manager = Manager(*main.controllers())
    documents = {document["kind"]: document for document in yaml.safe_load_all((FOLDER / "rbac.yaml").read_text())}
    assert documents["ClusterRole"]["rules"] == manager.rbac()
