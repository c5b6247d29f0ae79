"""Reads and lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def names(reply: object) -> list[str]:
    return [item["metadata"]["name"] for item in reply.json["items"]]  # type: ignore[attr-defined]


def three(api: Api) -> None:
    api.made("a", {"labels": {"tier": "x"}}, spec={})
    api.made("b", {"labels": {"tier": "y", "role": "z"}}, spec={})
    api.made("c", spec={})


def test_shape(api: Api) -> None:
    """A list has kind, apiVersion, resourceVersion and items in name order, each with its own kind and apiVersion."""
    api.made("b", spec={})
    api.made("a", spec={})
    answer = api.list().ok(200).json
    assert (answer["kind"], answer["apiVersion"]) == ("GadgetList", api.api_version)
    assert [(item["kind"], item["apiVersion"], item["metadata"]["name"]) for item in answer["items"]] == [
        ("Gadget", api.api_version, "a"),
        ("Gadget", api.api_version, "b"),
    ]
    assert int(answer["metadata"]["resourceVersion"]) >= int(answer["items"][0]["metadata"]["resourceVersion"])


def test_builtin_items_have_no_kind(api: Api) -> None:
    """The items of a list of a built-in kind carry neither kind nor apiVersion."""
    maps = api.of("configmaps", "ConfigMap", "")
    maps.made("c")
    assert "kind" not in maps.list().ok(200).json["items"][0]


def test_empty(api: Api) -> None:
    """An empty list has an empty array, not null."""
    assert api.list().ok(200).json["items"] == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=x", ["a"]),
        ("tier==x", ["a"]),
        ("tier!=x", ["b", "c"]),
        ("tier in (x,y)", ["a", "b"]),
        ("tier notin (x)", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier=y,role=z", ["b"]),
        ("tier=y,role!=z", []),
        ("", ["a", "b", "c"]),
    ],
)
def test_label_selectors(api: Api, selector: str, expected: list[str]) -> None:
    """A label selector chooses."""
    three(api)
    assert names(api.list(labelSelector=selector).ok(200)) == expected


@pytest.mark.parametrize("selector", ["=", "tier in", "tier in (x", "a b", "tier=-bad-", "x/y/z=1"])
def test_bad_label_selectors(api: Api, selector: str) -> None:
    """A bad label selector is 400 BadRequest."""
    api.list(labelSelector=selector).refused(400, "BadRequest")


def test_bad_label_selector_message(api: Api) -> None:
    """The message of a bad label selector says where the parser stopped."""
    message = "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
    api.list(labelSelector="a b").refused(400, "BadRequest", message)
    api.list(labelSelector="=").refused(400, "BadRequest", "found '=', expected: !, identifier, or 'end of string'")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [("metadata.name=a", ["a"]), ("metadata.name!=a", ["b", "c"]), ("metadata.namespace=nowhere", [])],
)
def test_field_selectors(api: Api, selector: str, expected: list[str]) -> None:
    """Name and namespace are selectable fields of every kind."""
    three(api)
    assert names(api.list(fieldSelector=selector).ok(200)) == expected


def test_unknown_field_selector(api: Api) -> None:
    """A field selector on another field of a custom resource is 400."""
    api.list(fieldSelector="spec.size=1").refused(400, "BadRequest", "field label not supported: spec.size")


def test_selectable_fields(api: Api) -> None:
    """A field that the CRD declares selectable can be selected on."""
    treaties = api.of("treaties", "Treaty")
    treaties.made("a", spec={"side": "red"})
    treaties.made("b", spec={"side": "blue"})
    assert names(treaties.list(fieldSelector="spec.side=red").ok(200)) == ["a"]
    assert names(treaties.list(fieldSelector="spec.side!=red").ok(200)) == ["b"]


def test_pages(api: Api) -> None:
    """limit and continue walk the list in pages that share one resourceVersion."""
    three(api)
    first = api.list(limit=2).ok(200).json
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    api.made("d", spec={})
    second = api.list(limit=2, **{"continue": first["metadata"]["continue"]}).ok(200).json
    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert second["metadata"]["continue"] == ""


def test_bad_continue(api: Api) -> None:
    """A continue token that the server did not make is 400."""
    api.list(limit=1, **{"continue": "nonsense"}).refused(400, "BadRequest")


def test_no_remaining_count_with_selector(api: Api) -> None:
    """With a selector the number of remaining items is not told."""
    three(api)
    metadata = api.list(limit=1, labelSelector="tier").ok(200).json["metadata"]
    assert metadata["continue"]
    assert "remainingItemCount" not in metadata


def test_version_ahead(api: Api) -> None:
    """A GET with a resourceVersion ahead of the server is 504 Timeout with retryAfterSeconds 1."""
    stored = api.made("g", spec={})
    ahead = str(int(stored["metadata"]["resourceVersion"]) + 100_000)
    reply = api.get("g", resourceVersion=ahead).refused(504, "Timeout")
    assert reply.details["retryAfterSeconds"] == 1
    assert reply.causes == [("ResourceVersionTooLarge", "", "Too large resource version")]
    assert reply.answer.headers.get("retry-after") == "1"


def test_exact_list(api: Api) -> None:
    """resourceVersionMatch=Exact lists an older state."""
    api.made("a", spec={})
    version = api.list().json["metadata"]["resourceVersion"]
    api.made("b", spec={})
    assert names(api.list(resourceVersion=version, resourceVersionMatch="Exact").ok(200)) == ["a"]


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "1", "resourceVersionMatch": "Nearly"},
    ],
    ids=["match without version", "exact zero", "unknown match"],
)
def test_invalid_version_match(api: Api, query: dict[str, str]) -> None:
    """An impossible combination of resourceVersion and resourceVersionMatch is 422."""
    reply = api.list(**query).refused(422, "Invalid")
    assert reply.causes[0][1] == "resourceVersionMatch"


def test_bad_resource_version(api: Api) -> None:
    """A resourceVersion that is no number is 400."""
    message = 'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    api.list(resourceVersion="abc").refused(400, "BadRequest", message)


def test_all_namespaces(api: Api) -> None:
    """The collection without a namespace lists all of them."""
    api.made("g", spec={})
    found = api.within("").list().ok(200).json["items"]
    assert (api.namespace, "g") in [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in found]


def test_missing_object(api: Api) -> None:
    """A GET of what is not there is 404 and tells name, group and resource."""
    reply = api.get("absent").refused(404, "NotFound", f'{api.plural}.{api.group} "absent" not found')
    assert reply.details == {"name": "absent", "group": api.group, "kind": api.plural}


def test_table(api: Api) -> None:
    """A list asked for as a Table has the printer columns of the CRD."""
    treaties = api.of("treaties", "Treaty")
    treaties.made("a", spec={"side": "red"})
    table = treaties.list(headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).ok(200).json
    assert table["kind"] == "Table"
    assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [("Name", 0), ("Side", 0), ("Low", 1)]
    assert table["rows"][0]["cells"] == ["a", "red", 0]


def test_partial_metadata(api: Api) -> None:
    """A list asked for as PartialObjectMetadataList has metadata only."""
    api.made("g", spec={"size": 1})
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    answer = api.list(headers=accept).ok(200).json
    assert answer["kind"] == "PartialObjectMetadataList"
    assert answer["items"][0].keys() == {"kind", "apiVersion", "metadata"}
    assert answer["items"][0]["kind"] == "PartialObjectMetadata"
