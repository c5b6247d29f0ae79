"""JSON patch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.testing.api import Api

FAILED = "the server rejected our request due to an error in our request"
READY = {"type": "Ready", "status": "True"}
OTHER = {"type": "Other", "status": "False"}


def op(name: str, path: str, *value: Any, **members: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **members}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([op("add", "/status/note", "n")], {"phase": "x", "count": 3, "note": "n", "refs": ["a", "b"]}),
        ([op("replace", "/status/phase", "y")], {"phase": "y", "count": 3, "refs": ["a", "b"]}),
        ([op("replace", "/status/note", "n")], {"phase": "x", "count": 3, "note": "n", "refs": ["a", "b"]}),
        ([op("remove", "/status/phase")], {"count": 3, "refs": ["a", "b"]}),
        ([op("add", "/status/refs/-", "c")], {"phase": "x", "count": 3, "refs": ["a", "b", "c"]}),
        ([op("add", "/status/refs/0", "c")], {"phase": "x", "count": 3, "refs": ["c", "a", "b"]}),
        ([op("add", "/status/refs/2", "c")], {"phase": "x", "count": 3, "refs": ["a", "b", "c"]}),
        ([op("remove", "/status/refs/-1")], {"phase": "x", "count": 3, "refs": ["a"]}),
        ([op("replace", "/status/refs/00", "c")], {"phase": "x", "count": 3, "refs": ["c", "b"]}),
        ([op("copy", "/status/note", **{"from": "/status/phase"})], {"phase": "x", "count": 3, "note": "x", "refs": ["a", "b"]}),
        ([op("move", "/status/note", **{"from": "/status/phase"})], {"note": "x", "count": 3, "refs": ["a", "b"]}),
        ([op("test", "/status/phase", "x"), op("add", "/status/count", 4)], {"phase": "x", "count": 4, "refs": ["a", "b"]}),
        ([op("test", "/status/note", None), op("add", "/status/count", 4)], {"phase": "x", "count": 4, "refs": ["a", "b"]}),
        ([op("test", "/status/refs", ["a", "b"]), op("remove", "/status/refs")], {"phase": "x", "count": 3}),
        ([op("copy", "/status/note", **{"from": "/status/absent"})], {"phase": "x", "count": 3, "refs": ["a", "b"]}),
        ([], {"phase": "x", "count": 3, "refs": ["a", "b"]}),
        (None, {"phase": "x", "count": 3, "refs": ["a", "b"]}),
    ],
    ids=[
        "add a member",
        "replace a member",
        "replace of a missing member adds it",
        "remove a member",
        "append",
        "insert at the front",
        "insert at the end by index",
        "remove the last by a negative index",
        "an index with leading zeros",
        "copy",
        "move",
        "a test that holds",
        "a test of null where nothing is",
        "a test of a whole list",
        "a copy of what is absent copies null",
        "an empty list of operations",
        "a body of null",
    ],
)
def test_accepted(api: Api, patch: Any, expected: dict[str, Any]) -> None:
    """A JSON patch of status is carried out."""
    api.made("g", spec={}, status={"phase": "x", "count": 3, "refs": ["a", "b"]})
    body = patch if patch is not None else b"null"
    assert api.patch("json", "g", body, "status").ok(200).json["status"] == expected


@pytest.mark.parametrize(
    "patch",
    [
        [op("test", "/status/phase", "y")],
        [op("test", "/status/absent", "y")],
        [op("test", "/status/absent/deeper", None)],
        [op("test", "/metadata/uid", "00000000-0000-0000-0000-000000000001")],
        [op("test", "/metadata/resourceVersion", "1")],
        [op("test", "/status/count", "3")],
        [op("remove", "/status/absent")],
        [op("remove", "/status/refs/9")],
        [op("add", "/status/refs/9", "z")],
        [op("add", "/status/absent/deeper", "z")],
        [op("replace", "/status/absent/deeper", "z")],
        [op("remove", "/status/refs/0"), op("test", "/status/refs/1", "b")],
        [op("add", "/status/refs/x", "z")],
        [op("nosuch", "/status/phase", "z")],
    ],
    ids=[
        "test of another value",
        "test of a missing member",
        "test of null below a missing parent",
        "test of another uid",
        "test of another resourceVersion",
        "test of a number as text",
        "remove of a missing member",
        "remove past the end",
        "add past the end",
        "add below a missing parent",
        "replace below a missing parent",
        "test of an index that has shifted",
        "an index that is no number",
        "an unknown operation",
    ],
)
def test_refused_without_details(api: Api, patch: Any) -> None:
    """A JSON patch that cannot be carried out is 422 Invalid with an empty explanation, and changes nothing."""
    stored = api.made("g", spec={}, status={"phase": "x", "count": 3, "refs": ["a", "b"]})
    reply = api.patch("json", "g", patch, "status").refused(422, "Invalid", FAILED)
    assert reply.details == {}
    assert api.get("g").json == stored


@pytest.mark.parametrize("body", [b"{}", b'"x"', b"7", b"[1]", b"{"], ids=["object", "text", "number", "list of numbers", "broken"])
def test_not_a_patch(api: Api, body: bytes) -> None:
    """A JSON patch body of another shape is 400 BadRequest."""
    api.made("g", spec={})
    api.patch("json", "g", body, "status").refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("value", "spelled"),
    [("<a&b>", b'"<a&b>"'), ("\u2028", '"\u2028"'.encode()), ("é", '"é"'.encode())],
    ids=["html characters unescaped", "line separator raw", "other text raw"],
)
def test_text_compared_as_encoded(api: Api, value: str, spelled: bytes) -> None:
    """A test of text compares bytes in the encoding of Go, so a raw <, >, &, U+2028 does not match and raw UTF-8 does."""
    api.made("g", spec={}, status={"note": value})
    reply = api.patch("json", "g", b'[{"op":"test","path":"/status/note","value":' + spelled + b"}]", "status")
    assert reply.code == (200 if value == "é" else 422), reply.text


def test_escaped_text_matches(api: Api) -> None:
    """A test of text with <, >, & and U+2028 escaped as Go does matches."""
    api.made("g", spec={}, status={"note": "<a&b>\u2028"})
    value = b'"\\u003ca\\u0026b\\u003e\\u2028"'
    api.patch("json", "g", b'[{"op":"test","path":"/status/note","value":' + value + b"}]", "status").ok(200)


@pytest.mark.parametrize(
    ("spelled", "code"),
    [(b"1", 422), (b"1.0", 422), (b"1.5", 200), (b"1.50", 422), (b"15e-1", 422)],
    ids=["1", "1.0", "1.5", "1.50", "15e-1"],
)
def test_numbers_compared_as_written(api: Api, spelled: bytes, code: int) -> None:
    """A test of the number 1.5 compares its spelling."""
    api.made("g", spec={}, status={"ratio": 1.5})
    assert api.patch("json", "g", b'[{"op":"test","path":"/status/ratio","value":' + spelled + b"}]", "status").code == code


def test_replace_stale_resource_version(api: Api) -> None:
    """A JSON patch that replaces the resourceVersion with a stale one is 409 Conflict."""
    stale = api.made("g", spec={"size": 1})["metadata"]["resourceVersion"]
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.patch("json", "g", [op("replace", "/metadata/resourceVersion", stale), op("add", "/status", {"phase": "x"})], "status").refused(
        409, "Conflict"
    )


def test_schema_violation(api: Api) -> None:
    """A JSON patch whose result violates the schema is 422 Invalid with field and reason."""
    api.made("g", spec={})
    reply = api.patch("json", "g", [op("add", "/spec/size", 500)]).refused(422, "Invalid")
    expected = "Invalid value: 500: spec.size in body should be less than or equal to 100"
    assert reply.causes == [("FieldValueInvalid", "spec.size", expected)]
    assert reply.message == f'{api.kind}.{api.group} "g" is invalid: spec.size: {expected}'


def test_duplicate_condition(api: Api) -> None:
    """A condition type twice in a map list is 422 with FieldValueDuplicate at the second entry."""
    api.made("g", spec={}, status={"conditions": [READY]})
    reply = api.patch("json", "g", [op("add", "/status/conditions/-", READY)], "status").refused(422, "Invalid")
    assert [(reason, field) for reason, field, _ in reply.causes] == [("FieldValueDuplicate", "status.conditions[1]")]
    assert reply.causes[0][2] == 'Duplicate value: {"type":"Ready"}'


def test_too_many_operations(api: Api) -> None:
    """More than 10,000 operations are 413."""
    api.made("g", spec={}, status={"phase": "x"})
    patch = [op("test", "/status/phase", "x")]
    api.patch("json", "g", patch * 10_000, "status").ok(200)
    reply = api.patch("json", "g", patch * 10_001, "status").refused(413, "RequestEntityTooLarge")
    assert reply.message == "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"


def test_add_without_value(api: Api) -> None:
    """An add without a value is accepted and adds nothing."""
    api.made("g", spec={}, status={"phase": "x"})
    assert api.patch("json", "g", [{"op": "add", "path": "/status/note"}], "status").ok(200).json["status"] == {"phase": "x"}


def test_escaped_pointer(api: Api) -> None:
    """~1 in a pointer is a slash."""
    api.made("g", {"annotations": {"a/b": "1", "cd": "2"}}, spec={})
    patch = [op("replace", "/metadata/annotations/a~1b", "3")]
    assert api.patch("json", "g", patch).ok(200).json["metadata"]["annotations"] == {"a/b": "3", "cd": "2"}


def test_spec_part_on_status_is_dropped(api: Api) -> None:
    """The part of a JSON patch of status that changes the spec is dropped without a word."""
    api.made("g", spec={"size": 1})
    patch = [op("add", "/spec/size", 9), op("add", "/status", {"phase": "x"})]
    answer = api.patch("json", "g", patch, "status").ok(200).json
    assert (answer["spec"], answer["status"]) == ({"size": 1}, {"phase": "x"})


def test_name_cannot_change(api: Api) -> None:
    """A JSON patch that changes the name is refused."""
    api.made("g", spec={"size": 1})
    api.patch("json", "g", [op("replace", "/metadata/name", "h")]).refused(
        400, "BadRequest", "the name of the object (h) does not match the name on the URL (g)"
    )


def test_conditions_of_two_writers(api: Api) -> None:
    """Two JSON patches of different conditions of one object both land without a resourceVersion."""
    api.made("g", spec={}, status={"conditions": [READY]})
    api.patch(
        "json", "g", [op("test", "/status/conditions/0/type", "Ready"), op("replace", "/status/conditions/0/status", "False")], "status"
    ).ok(200)
    answer = api.patch("json", "g", [op("add", "/status/conditions/-", OTHER)], "status").ok(200).json
    assert [(entry["type"], entry["status"]) for entry in answer["status"]["conditions"]] == [("Ready", "False"), ("Other", "False")]


def test_large_numbers_are_spelled_as_go_does(api: Api) -> None:
    """1e21 is stored and answered as 1e+21, and a test has to spell it so."""
    api.made("g", spec={}, status={"ratio": 1e21})
    assert '"ratio":1e+21' in api.get("g").text
    api.patch("json", "g", b'[{"op":"test","path":"/status/ratio","value":1e21}]', "status").refused(422, "Invalid", FAILED)
    api.patch("json", "g", b'[{"op":"test","path":"/status/ratio","value":1e+21}]', "status").ok(200)


def test_kind_without_status(api: Api) -> None:
    """A JSON patch of the status of a kind that is not served is 404 in plain text."""
    reply = api.of("nosuches", "Nosuch").patch("json", "g", [op("add", "/status", {})], "status").ok(404)
    assert reply.text == "404 page not found\n"


def test_duplicates_that_were_there_already(api: Api) -> None:
    """When the stored object already has a duplicate in a set or map list, a patch that adds another is accepted."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = f"{api.namespace}.fiferail.dev"
    items = {"type": "array", "items": {"type": "string"}}
    status = {"type": "object", "properties": {"names": items, "others": {**items, "x-kubernetes-list-type": "set"}}}
    schema = {"type": "object", "properties": {"status": status}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "dups", "singular": "dup", "kind": "Dup", "listKind": "DupList"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"dups.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    dups = api.of("dups", "Dup", group)
    api.send("POST", crds, crd).ok(201)
    _until(lambda: dups.list().code == 200)
    dups.create(dups.obj("d", status={"names": ["a", "a"]})).ok(201)
    strict = [op("add", "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/names/x-kubernetes-list-type", "set")]
    api.send("PATCH", f"{crds}/dups.{group}", strict, type="json").ok(200)
    _until(lambda: dups.create(dups.obj("e", status={"names": ["b", "b"]}), dryRun="All").code == 422)
    dups.patch("json", "d", [op("add", "/status/others", ["x", "x"])]).ok(200)
    api.send("DELETE", f"{crds}/dups.{group}").ok(200)


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)
