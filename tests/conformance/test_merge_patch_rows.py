"""Merge patch and strategic merge patch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"limits": {"b": "2"}}, {"limits": {"a": "1", "b": "2"}, "words": ["x"]}),
        ({"limits": {"a": None}}, {"limits": {}, "words": ["x"]}),
        ({"limits": None}, {"words": ["x"]}),
        ({"words": ["y", "z"]}, {"limits": {"a": "1"}, "words": ["y", "z"]}),
        ({"absent": None}, {"limits": {"a": "1"}, "words": ["x"]}),
        ({"plain": [{"a": "1", "b": None}]}, {"limits": {"a": "1"}, "words": ["x"], "plain": [{"a": "1"}]}),
    ],
    ids=[
        "members merge",
        "null removes a member",
        "null removes an object",
        "a list replaces a list",
        "null of what is absent",
        "nulls in lists are dropped",
    ],
)
def test_merging(api: Api, patch: dict[str, Any], expected: dict[str, Any]) -> None:
    """A merge patch of spec is carried out."""
    api.made("g", spec={"limits": {"a": "1"}, "words": ["x"]})
    assert api.patch("merge", "g", {"spec": patch}).ok(200).json["spec"] == expected


def test_null_in_list_that_replaces_an_object(api: Api) -> None:
    """Nulls inside a list stay where the list replaces an object."""
    shapes = api.of("shapes", "Shape")
    shapes.made("s", spec={"title": "ok", "open": {"x": {"y": 1}}})
    answer = shapes.patch("merge", "s", {"spec": {"open": {"x": [{"a": None, "b": 1}]}}}).ok(200).json
    assert answer["spec"]["open"]["x"] == [{"a": None, "b": 1}]


def test_stale_resource_version(api: Api) -> None:
    """A merge patch with a stale resourceVersion in its body is 409 Conflict."""
    stale = api.made("g", spec={"size": 1})["metadata"]["resourceVersion"]
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.patch("merge", "g", {"metadata": {"resourceVersion": stale}, "spec": {"size": 3}}).refused(409, "Conflict")
    api.patch("merge", "g", {"metadata": {"resourceVersion": stale}, "status": {"phase": "x"}}, "status").refused(409, "Conflict")


def test_current_resource_version(api: Api) -> None:
    """A merge patch with the current resourceVersion in its body is carried out."""
    version = api.made("g", spec={"size": 1})["metadata"]["resourceVersion"]
    api.patch("merge", "g", {"metadata": {"resourceVersion": version}, "status": {"phase": "x"}}, "status").ok(200)


@pytest.mark.parametrize("type", ["strategic", "application/json", "text/plain", "application/yaml"])
def test_unsupported_types(api: Api, type: str) -> None:
    """A patch of a custom resource with another media type is 415 and names the accepted ones."""
    api.made("g", spec={"size": 1})
    accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml, application/apply-patch+cbor"
    reply = api.patch(type, "g", {"spec": {"size": 2}}).refused(415, "UnsupportedMediaType")
    assert reply.message.startswith("the body of the request was in an unknown format - accepted media types include: "), reply.message
    assert set(reply.message.split(": ")[1].split(", ")) <= set(accepted.split(", "))


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"7"], ids=["list", "text", "number"])
def test_not_an_object(api: Api, body: bytes) -> None:
    """A merge patch that is not an object is 400 BadRequest."""
    api.made("g", spec={"size": 1})
    api.patch("merge", "g", body).refused(400, "BadRequest")


def test_whole_list_is_replaced(api: Api) -> None:
    """A merge patch of conditions erases the conditions it does not name."""
    api.made("g", spec={}, status={"conditions": [{"type": "A", "status": "True"}]})
    answer = api.patch("merge", "g", {"status": {"conditions": [{"type": "B", "status": "True"}]}}, "status").ok(200).json
    assert [entry["type"] for entry in answer["status"]["conditions"]] == ["B"]


def test_strategic_merges_by_key(api: Api) -> None:
    """A strategic merge patch of a built-in kind merges containers by name."""
    deployments = api.of("deployments", "Deployment", "apps")
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:2"}]},
    }
    deployments.made("d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "i:3"}]}}}}
    answer = deployments.patch("strategic", "d", patch).ok(200).json
    containers = answer["spec"]["template"]["spec"]["containers"]
    assert sorted((entry["name"], entry["image"]) for entry in containers) == [("one", "i:1"), ("two", "i:3")]


def test_strategic_delete_directive(api: Api) -> None:
    """`$patch: delete` in a strategic merge patch removes the entry with that key."""
    deployments = api.of("deployments", "Deployment", "apps")
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:2"}]},
    }
    deployments.made("d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "two", "$patch": "delete"}]}}}}
    answer = deployments.patch("strategic", "d", patch).ok(200).json
    assert [entry["name"] for entry in answer["spec"]["template"]["spec"]["containers"]] == ["one"]


def test_strategic_delete_from_primitive_list(api: Api) -> None:
    """`$deleteFromPrimitiveList/finalizers` removes single finalizers."""
    maps = api.of("configmaps", "ConfigMap", "")
    maps.made("c", {"finalizers": ["fiferail.dev/a", "fiferail.dev/b"]})
    answer = maps.patch("strategic", "c", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["fiferail.dev/a"]}}).ok(200).json
    assert answer["metadata"]["finalizers"] == ["fiferail.dev/b"]
