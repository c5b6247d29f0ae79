"""A keyed list written as one value: for the owner of all of it, who knows what belongs there."""

from __future__ import annotations

from typing import Any

from fiferail import StatusWriter
from fiferail.objects.paths import render
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.view import Status
from fiferail.testing.server import ApiServer

KEYED = Shapes(keyed={("status", "users"): ("name",), ("status", "deep", "users"): ("name",)})


def staged(status: Any) -> tuple[Status, Stage]:
    """A view of a status whose lists are keyed."""
    obj = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g", "uid": "u"}, "status": status}
    stage = Stage(obj, shapes=KEYED, now=lambda: "")
    return Status(stage, ("status",)), stage


def test_a_whole_list_is_one_change_where_an_assigned_one_is_one_per_entry() -> None:
    """Only for that list, and only in that session."""
    for place, whole in (("users", True), ("users", False), ("deep.users", True)):
        status, stage = staged({"users": [{"name": "a"}], "deep": {"users": [{"name": "a"}]}})
        if whole:
            status.put_whole(place, [{"name": "b"}])
        else:
            status[place] = [{"name": "b"}]
        paths = [render(intent.path) for intent in stage.intents()]
        assert paths == ([f"status.{place}"] if whole else ["status.users[name=b]", "status.users[name=a]"])
    assert staged({})[1].shapes is KEYED


def test_what_is_there_already_is_no_change() -> None:
    """As with any value."""
    status, stage = staged({"users": [{"name": "a"}]})
    status.put_whole("users", [{"name": "a"}])
    assert stage.intents() == []


def _crd() -> Any:
    entry = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    users = {"type": "array", "items": entry, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    condition = {"type": "object", "required": ["type"], "x-kubernetes-preserve-unknown-fields": True}
    condition["properties"] = {"type": {"type": "string"}}
    conditions = {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    status = {"type": "object", "properties": {"users": users, "conditions": conditions}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    names = {"plural": "teams", "singular": "team", "kind": "Team"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    spec = {"group": "whole.example.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "teams.whole.example.io"},
        "spec": spec,
    }  # fmt: skip


def test_an_entry_that_came_meanwhile_goes_and_a_condition_stays(server: ApiServer) -> None:
    """The owner takes out what it did not put in, also when the schema is asked for on the way; with assigned entries it would stay."""
    team = {"apiVersion": "whole.example.io/v1", "kind": "Team", "metadata": {"name": "t", "namespace": "default"}}
    server.apply(_crd(), team)
    obj = server.get("whole.example.io/v1", "Team", "t")
    owner = StatusWriter(server.client, field_manager="owner", keys={"users": ("name",)})
    with owner.session(obj) as status:
        status.put_whole("users", [{"name": "a"}])
    seen = server.get("whole.example.io/v1", "Team", "t")
    foreign = {"users": [{"name": "a"}, {"name": "ghost"}], "conditions": [{"type": "Probed", "status": "True"}]}
    server.client.patch(seen, {"status": foreign}, subresource="status")

    def decide(status: Status) -> None:
        status.conditions.set("Ready", True, reason="Counted")
        status.put_whole("users", [{"name": "a"}, {"name": "b"}])

    owner.mutate(seen, decide)
    stored = server.get("whole.example.io/v1", "Team", "t")["status"]
    assert [entry["name"] for entry in stored["users"]] == ["a", "b"]
    assert sorted(entry["type"] for entry in stored["conditions"]) == ["Probed", "Ready"]
