"""Models: `load` reads and `store` stages what the model declares, at every level, and nothing else."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fiferail import StatusWriter
from fiferail.errors import Conflict, FiferailError, NotOwner
from fiferail.objects.paths import render
from fiferail.status.reads import Look
from fiferail.testing.server import ApiServer

from .modelled import STATUS, STEPS, WORKLOADS, DataStatus, each_kind, reads, staged, stored, wanted

SHELF = "models.example.io/v1"


# -- every level


@each_kind
def test_only_declared_leaves_count_as_read(model: Any) -> None:
    """Members of nested models are read one by one; a map or list of models is read as a whole, because its entries are counted."""
    view, stage = staged()
    loaded = view.load(model)
    assert (loaded.network.dns.name, loaded.zones["b"].size, loaded.workloads[0].ready) == ("a.b", 2, True)
    assert reads(stage) == [
        "status.phase", "status.count", "status.network.ip", "status.network.dns.name", "status.network.dns.ttl", "status.zones",
        "status.workloads", "status.steps",
    ]  # fmt: skip


@each_kind
def test_of_a_map_without_any_declared_member_only_its_presence_is_read(model: Any) -> None:
    """The model tells an empty map from none, so that the map is there counts as read, and nothing that it holds."""
    view, stage = staged({"network": {"theirs": "n"}})
    assert view.load(model).network is not None
    assert stage.reads["status", "network"] is Look.THERE


@each_kind
def test_an_object_without_status_loads_as_the_defaults(model: Any) -> None:
    """Each declared member is read as absent, and nothing is staged by storing it again."""
    view, stage = staged(None)
    loaded = view.load(model)
    assert (loaded.phase, loaded.count, loaded.network) == (None, 0, None)
    view.store(loaded)
    assert wanted(stage) == {}


CHANGES: dict[str, tuple[Callable[[Any], object], dict[str, Any]]] = {
    "nothing": (lambda s: None, {}),
    "a member": (lambda s: setattr(s, "phase", "Down"), {"status.phase": "Down"}),
    "a member to None": (lambda s: setattr(s, "phase", None), {"status.phase": "gone"}),
    "a member that was absent": (lambda s: setattr(s, "count", 3), {"status.count": 3}),
    "a nested member": (lambda s: setattr(s.network, "ip", "10.0.0.2"), {"status.network.ip": "10.0.0.2"}),
    "a nested member to None": (lambda s: setattr(s.network, "ip", None), {"status.network.ip": "gone"}),
    "two levels down": (lambda s: setattr(s.network.dns, "ttl", 5), {"status.network.dns.ttl": 5}),
    "a nested model to None": (lambda s: setattr(s, "network", None), {"status.network": "gone"}),
    "an entry of a map": (lambda s: setattr(s.zones["a"], "size", 9), {"status.zones.a.size": 9}),
    "an entry less in a map": (lambda s: s.zones.pop("b"), {"status.zones.b": "gone"}),
    "an entry more in a map": (lambda s: s.zones.update(c=s.zones["b"]), {"status.zones.c.size": 2}),
    "an entry of a keyed list": (lambda s: setattr(s.workloads[0], "ready", None), {"status.workloads[name=a].ready": "gone"}),
    "the first entry of a keyed list": (lambda s: s.workloads.pop(0), {"status.workloads[name=a]": "gone"}),
    "the order of a keyed list": (lambda s: s.workloads.reverse(), {}),
    "the order of a plain list": (lambda s: s.steps.reverse(), {"status.steps": [{"title": "two"}, {"title": "one"}]}),
    "an entry of a plain list": (lambda s: setattr(s.steps[0], "title", "0"), {"status.steps": [{"title": "0"}, {"title": "two"}]}),
}


@each_kind
@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_model_stages_that_leaf(model: Any, change: Callable[[Any], object], expected: dict[str, Any]) -> None:
    """What the model does not declare survives at every level, in entries of maps and keyed lists too."""
    assert stored(STATUS, model, change) == expected


@each_kind
def test_a_new_entry_of_a_keyed_list_is_staged_by_its_key(model: Any) -> None:
    """Its members that are None are left out."""
    change = lambda s: s.workloads.insert(0, WORKLOADS[model](name="c"))  # noqa: E731
    assert stored(STATUS, model, change) == {"status.workloads[name=c]": {"name": "c"}}


@each_kind
def test_a_changed_list_without_keys_and_with_unknown_members_is_refused(model: Any) -> None:
    """The error names the list, the member and what to do, and nothing is staged; an unchanged list is left alone."""
    status = {"phase": "Up", "steps": [{"title": "one"}, {"title": "two", "owner": "them"}]}
    view, stage = staged(status)
    loaded = view.load(model)
    loaded.phase = "Down"
    loaded.steps.append(STEPS[model](title="three"))
    with pytest.raises(FiferailError) as refused:
        view.store(loaded)
    assert str(refused.value) == (
        f"status.steps was changed through {model.__name__}, which does not declare status.steps[1].owner. The entries of the list have "
        "no key to pair them by, so storing the list would remove that member. "
        "Declare the key on the writer, keys={\"steps\": (...)}, or declare 'owner' in the model"
    )  # fmt: skip
    assert stage.tree is stage.base
    assert stored(status, model, lambda s: setattr(s, "phase", "Down")) == {"status.phase": "Down"}


class Unnamed(msgspec.Struct):
    """A workload without the list's key."""

    ready: bool = False


class UnnamedStatus(msgspec.Struct):
    """A keyed list whose key the model does not declare."""

    workloads: list[Unnamed] = []


def test_a_keyed_list_whose_key_the_model_does_not_declare_is_refused() -> None:
    """Entries without their key cannot be paired."""
    with pytest.raises(FiferailError, match=r"does not declare status\.workloads\[0\]\.name\."):
        stored(STATUS, UnnamedStatus, lambda s: setattr(s.workloads[0], "ready", False))


# -- what was loaded before


@each_kind
def test_a_fresh_instance_stages_its_defaults_too(model: Any) -> None:
    """Nothing was loaded, so the caller means every member of it."""
    view, stage = staged({"phase": "Up", "theirs": 1})
    view.store(model(phase=None))
    assert stage.tree["status"] == {"theirs": 1, "count": 0, "zones": {}, "workloads": [], "steps": []}


@each_kind
def test_a_member_may_be_set_back(model: Any) -> None:
    """A change is judged against what was stored last, not only against what was loaded."""
    view, stage = staged()
    loaded = view.load(model)
    loaded.phase = "Down"
    view.store(loaded)
    loaded.phase = "Up"
    view.store(loaded)
    assert wanted(stage) == {}


@each_kind
def test_what_was_staged_otherwise_since_the_load_stays(model: Any) -> None:
    """Storing a model that was not touched there does not take back what the session staged by hand."""
    view, stage = staged()
    loaded = view.load(model)
    view["phase"] = "Down"
    view.entry("workloads", name="c")["ready"] = True
    loaded.workloads[0].ready = False
    view.store(loaded)
    assert wanted(stage) == {
        "status.phase": "Down", "status.workloads[name=a].ready": False, "status.workloads[name=c]": {"name": "c", "ready": True},
    }  # fmt: skip


class Condition(msgspec.Struct):
    """A part of a condition."""

    type: str
    status: str


class Conditioned(msgspec.Struct):
    """Members that sessions also stage by other means."""

    conditions: list[Condition] = []
    observedGeneration: int = 0
    phase: str = ""


@pytest.mark.parametrize("status", [{}, {"conditions": [], "observedGeneration": 1}], ids=["absent", "there"])
def test_conditions_and_raised_numbers_stay_what_they_are(status: dict[str, Any]) -> None:
    """A model that declares them and leaves them alone neither removes them nor turns them into plain values."""
    view, stage = staged(status)
    loaded = view.load(Conditioned)
    view.conditions.set("Ready", True, reason="Up")
    view.raise_to("observedGeneration", 5)
    before = sorted(stage.intents(), key=str)
    view.store(loaded)
    assert sorted(stage.intents(), key=str) == before
    loaded.phase = "Up"
    view.store(loaded)
    kinds = {render(intent.path): type(intent).__name__ for intent in stage.intents()}
    assert kinds == {"status.conditions[Ready]": "Condition", "status.observedGeneration": "Raise", "status.phase": "Put"}


@each_kind
def test_a_function_that_runs_again_stages_its_instance_again(model: Any) -> None:
    """On the live object an instance that was kept is compared with what stands there."""
    view, stage = staged()
    loaded = view.load(model)
    loaded.phase = "Down"
    view.store(loaded)
    stage.run_again({**stage.base, "status": {"phase": "Other"}})
    view.store(loaded)
    assert wanted(stage)["status.phase"] == "Down"
    assert "status.count" not in wanted(stage), "a default that stood for an absent member"


@each_kind
def test_an_unchanged_member_needs_no_claim(model: Any) -> None:
    """A member that another claims may be declared, and may not be changed."""

    def may_write(path: Any) -> None:
        if "phase" in path:
            raise NotOwner("phase is theirs")

    view, stage = staged(may_write=may_write)
    loaded = view.load(model)
    loaded.count = 3
    view.store(loaded)
    assert wanted(stage) == {"status.count": 3}
    loaded.phase = "Down"
    with pytest.raises(NotOwner, match="phase is theirs"):
        view.store(loaded)


class Timed(msgspec.Struct):
    """A time that the model writes in another form."""

    since: datetime.datetime | None = None
    count: int = 0


def test_another_form_of_the_same_value_is_no_change() -> None:
    """A time with an offset loads as a datetime, and stays as it stands until it is changed."""
    status = {"since": "2026-01-01T00:00:00+00:00"}
    assert stored(status, Timed, lambda s: setattr(s, "count", 1)) == {"status.count": 1}
    later = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
    assert stored(status, Timed, lambda s: setattr(s, "since", later)) == {"status.since": "2027-01-01T00:00:00Z"}


def test_a_stored_null_is_left_where_the_model_says_none() -> None:
    """A nullable member keeps its null."""
    assert stored({"phase": None}, DataStatus, lambda s: setattr(s, "count", 1)) == {"status.count": 1}


# -- through a session


def _crd() -> Any:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": loose}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    names = {"plural": "shelves", "singular": "shelf", "kind": "Shelf"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shelves.models.example.io"},
        "spec": {"group": "models.example.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


@each_kind
def test_a_session_with_a_model_guards_what_it_declares(server: ApiServer, model: Any) -> None:
    """What the model does not declare survives and may change meanwhile; what it declares may not."""
    server.apply(_crd(), {"apiVersion": SHELF, "kind": "Shelf", "metadata": {"name": "s", "namespace": "default"}})
    writer = StatusWriter(server.client, field_manager="mine", keys={"workloads": ("name",)})
    given = server.client.patch(server.get(SHELF, "Shelf", "s"), {"status": STATUS}, subresource="status")
    server.client.patch(given, {"status": {"network": {"theirs": "changed"}}}, subresource="status")
    with writer.session(given) as status:
        loaded = status.load(model)
        loaded.network.ip = "10.0.0.2"
        loaded.workloads[0].ready = False
        status.store(loaded)
    expected = copy.deepcopy(STATUS)
    expected["network"] |= {"ip": "10.0.0.2", "theirs": "changed"}
    expected["workloads"][0]["ready"] = False
    assert server.get(SHELF, "Shelf", "s")["status"] == expected

    given = server.get(SHELF, "Shelf", "s")
    server.client.patch(given, {"status": {"network": {"dns": {"name": "c.d"}}}}, subresource="status")
    with pytest.raises(Conflict, match=r'status\.network\.dns\.name  was "a\.b", is now "c\.d"'), writer.session(given) as status:
        loaded = status.load(model)
        loaded.network.ip = "10.0.0.3"
        status.store(loaded)


@each_kind
def test_mutate_loads_again_when_what_it_loaded_has_changed(server: ApiServer, model: Any) -> None:
    """The function runs on the live status, and what it stores is computed from that."""
    server.apply(_crd(), {"apiVersion": SHELF, "kind": "Shelf", "metadata": {"name": "s", "namespace": "default"}})
    given = server.client.patch(server.get(SHELF, "Shelf", "s"), {"status": {"count": 1}}, subresource="status")
    server.client.patch(given, {"status": {"count": 5, "theirs": "new"}}, subresource="status")

    def count(status: Any) -> None:
        loaded = status.load(model)
        loaded.count += 1
        status.store(loaded)

    StatusWriter(server.client, field_manager="mine").mutate(given, count)
    assert server.get(SHELF, "Shelf", "s")["status"] == {"count": 6, "theirs": "new"}
