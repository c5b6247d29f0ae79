"""The objects that clients hand out, given to the writer as they are: dicts, views, typed models; and the built-in kinds."""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import kopf
import pydantic
import pytest

import fiferail

from .conftest import Place
from .test_adapters import kr8s_sync, lightkube_sync, official

_names = itertools.count()
LABELS = {"app": "x"}
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
TIME = "2026-01-01T00:00:00Z"
THEIRS = {"type": "Theirs", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": TIME}
SPECS: dict[str, tuple[str, Any]] = {
    "Deployment": ("apps/v1", {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": CONTAINERS}}),
    "Pod": ("v1", CONTAINERS),
    "Service": ("v1", {"ports": [{"port": 80}], "clusterIP": "None"}),
}


def made(place: Place, kind: str) -> Any:
    """A fresh object of a built-in kind with a condition of somebody else's."""
    api_version, spec = SPECS[kind]
    metadata = {"name": f"t{next(_names)}", "namespace": "default"}
    obj = place.client.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
    return place.client.patch(obj, {"status": {"conditions": [THEIRS]}}, subresource="status", field_manager="theirs")


def live(place: Place, obj: Any) -> Any:
    """The object as it is now."""
    return place.client.get(obj["apiVersion"], obj["kind"], obj["metadata"]["name"], "default")


def official_model(place: Place, name: str) -> Any:
    """kubernetes: a V1Deployment."""
    from kubernetes import client

    with official(place) as api:
        return client.AppsV1Api(api).read_namespaced_deployment(name, "default")


def lightkube_model(place: Place, name: str) -> Any:
    """lightkube: a Deployment."""
    from lightkube.resources.apps_v1 import Deployment

    with lightkube_sync(place) as client:
        return client.get(Deployment, name, namespace="default")


def kr8s_object(place: Place, name: str) -> Any:
    """kr8s: a Deployment."""
    from kr8s.objects import Deployment

    with kr8s_sync(place) as api:
        return Deployment.get(name, namespace="default", api=api)


def kopf_body(place: Place, name: str) -> Any:
    """kopf: a Body."""
    return kopf.Body(place.client.get("apps/v1", "Deployment", name, "default"))


def dicts_of_another_class(place: Place, name: str) -> Any:
    """OrderedDicts all the way down, as some loaders make them."""
    raw = json.dumps(place.client.get("apps/v1", "Deployment", name, "default"))
    return json.loads(raw, object_pairs_hook=OrderedDict)


MODELS: list[Callable[[Place, str], Any]] = [official_model, lightkube_model, kr8s_object, kopf_body, dicts_of_another_class]


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_a_clients_own_object_is_written_as_it_is(place: Place, make: Callable[[Place, str], Any]) -> None:
    """Its kind, name and version are found; their condition stays; the same again sends nothing."""
    deployment = made(place, "Deployment")
    given = make(place, deployment["metadata"]["name"])
    writer = fiferail.StatusWriter(place.client, field_manager="mine")
    with writer.session(given) as status:
        assert status.conditions.is_true("Theirs")
        status.conditions.set("Mine", True, reason="Ok")
    stored = live(place, deployment)["status"]
    assert {entry["type"]: entry["reason"] for entry in stored["conditions"]} == {"Theirs": "R", "Mine": "Ok"}
    assert next(entry for entry in stored["conditions"] if entry["type"] == "Theirs")["lastTransitionTime"] == TIME
    again = make(place, deployment["metadata"]["name"])
    assert writer.mutate(again, lambda status: status.conditions.set("Mine", True, reason="Ok")).kind == "unchanged"


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_a_container_of_a_clients_own_object_is_edited(place: Place, make: Callable[[Place, str], Any]) -> None:
    """A list of a built-in kind, whose schema the writer does not ask for: the entry is edited and keeps what the server defaulted."""
    deployment = made(place, "Deployment")
    given = make(place, deployment["metadata"]["name"])

    def edit(obj: Any) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = "j"

    fiferail.StatusWriter(place.client, field_manager="mine").edit(given, edit)
    [before] = deployment["spec"]["template"]["spec"]["containers"]
    assert live(place, deployment)["spec"]["template"]["spec"]["containers"] == [{**before, "image": "j"}]


class SmallStatus(pydantic.BaseModel):
    """A model that knows a part of the status."""

    phase: str | None = None


class SmallGadget(pydantic.BaseModel):
    """A model that knows a part of the object."""

    apiVersion: str
    kind: str
    metadata: dict[str, Any]
    status: SmallStatus = SmallStatus()


def test_what_a_model_does_not_know_survives(place: Place) -> None:
    """A pydantic model without conditions and count: the write through it keeps both."""
    gadget = place.gadget()
    stored = place.client.patch(gadget, {"status": {"phase": "a", "count": 3, "conditions": [THEIRS]}}, subresource="status")
    outcome = fiferail.StatusWriter(place.client, field_manager="mine").mutate(
        SmallGadget.model_validate(stored), lambda status: status.update(phase="b")
    )
    assert (outcome.kind, outcome.requests) == ("applied", 2)
    assert place.get(gadget)["status"] == {"phase": "b", "count": 3, "conditions": [THEIRS]}


@pytest.mark.parametrize("kind", SPECS)
def test_a_built_in_kind_never_gets_a_condition_twice(place: Place, kind: str) -> None:
    """These kinds accept duplicates, so a new condition tests the whole list: a stale writer is refused, looks, and is rebased."""
    stale = made(place, kind)
    other = {**THEIRS, "type": "Other"}
    place.client.patch(stale, {"status": {"conditions": [THEIRS, other]}}, subresource="status", field_manager="theirs")
    outcome = fiferail.StatusWriter(place.client, field_manager="mine").mutate(
        stale, lambda status: status.conditions.set("Mine", True, reason="Ok")
    )
    assert outcome.kind == "rebased"
    assert sorted(entry["type"] for entry in live(place, stale)["status"]["conditions"]) == ["Mine", "Other", "Theirs"]


@pytest.mark.parametrize("kind", SPECS)
def test_two_writers_of_the_same_new_condition_of_a_built_in_kind(place: Place, kind: str) -> None:
    """The second one is told of the first, and the list has one entry of the type."""
    stale = made(place, kind)
    mine = {**THEIRS, "type": "Mine", "status": "False"}
    place.client.patch(stale, {"status": {"conditions": [THEIRS, mine]}}, subresource="status", field_manager="theirs")
    writer = fiferail.StatusWriter(place.client, field_manager="mine")
    with pytest.raises(fiferail.Conflict, match=r"status\.conditions\[Mine\]  was absent"), writer.session(stale) as status:
        status.conditions.set("Mine", True, reason="Ok")
    assert [entry["type"] for entry in live(place, stale)["status"]["conditions"]] == ["Theirs", "Mine"]


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_duplicates_that_are_there_are_left_as_one_value(place: Place, kind: str) -> None:
    """A list that holds a type twice has no keys: it is tested and written as a whole, and nothing of it is lost."""
    obj = made(place, kind)
    twice = [THEIRS, {**THEIRS, "reason": "Again"}]
    body = [{"op": "add", "path": "/status/conditions", "value": twice}]
    stored = place.client.patch(obj, body, type="json", subresource="status", field_manager="theirs")
    fiferail.StatusWriter(place.client, field_manager="mine").mutate(stored, lambda s: s.conditions.set("Mine", True, reason="Ok"))
    assert [(c["type"], c["reason"]) for c in live(place, obj)["status"]["conditions"]] == [
        ("Theirs", "R"), ("Theirs", "Again"), ("Mine", "Ok"),
    ]  # fmt: skip
