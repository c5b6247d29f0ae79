"""Bad input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api

HEAD = '"apiVersion":"conformance.fiferail.dev/v1","kind":"Gadget","metadata":{"name":"g"}'


def body(text: str) -> bytes:
    return text.replace("HEAD", HEAD).encode()


CREATES: dict[str, tuple[bytes, int, str]] = {
    "empty body": (b"", 400, "BadRequest"),
    "broken JSON": (b"{", 400, "BadRequest"),
    "text after the object": (body("{HEAD} x"), 400, "BadRequest"),
    "a list": (b"[]", 400, "BadRequest"),
    "a number": (b"7", 400, "BadRequest"),
    "null": (b"null", 400, "BadRequest"),
    "invalid UTF-8": (b'{"a":"\xff"}', 400, "BadRequest"),
    "no kind": (b'{"apiVersion":"conformance.fiferail.dev/v1"}', 400, "BadRequest"),
    "no apiVersion": (b'{"kind":"Gadget","metadata":{"name":"g"}}', 400, "BadRequest"),
    "another kind": (b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"g"}}', 400, "BadRequest"),
    "another version": (b'{"apiVersion":"conformance.fiferail.dev/v7","kind":"Gadget","metadata":{"name":"g"}}', 400, "BadRequest"),
    "metadata is text": (b'{"apiVersion":"conformance.fiferail.dev/v1","kind":"Gadget","metadata":"g"}', 400, "BadRequest"),
    "name is a number": (b'{"apiVersion":"conformance.fiferail.dev/v1","kind":"Gadget","metadata":{"name":7}}', 400, "BadRequest"),
    "labels are a list": (body('{HEAD,"metadata":{"name":"g","labels":["a"]}}'), 400, "BadRequest"),
    "a label is a number": (
        b'{"apiVersion":"conformance.fiferail.dev/v1","kind":"Gadget","metadata":{"name":"g","labels":{"a":1}}}',
        400,
        "BadRequest",
    ),
    "spec is text": (body('{HEAD,"spec":"x"}'), 422, "Invalid"),
    "spec is a list": (body('{HEAD,"spec":[]}'), 422, "Invalid"),
    "a huge integer": (body('{HEAD,"spec":{"size":99999999999999999999}}'), 422, "Invalid"),
    "a fraction for an integer": (body('{HEAD,"spec":{"size":1.5}}'), 422, "Invalid"),
    "a boolean for an integer": (body('{HEAD,"spec":{"size":true}}'), 422, "Invalid"),
    "an invalid name": (body("{HEAD}").replace(b'"g"', b'"A_b"'), 422, "Invalid"),
    "not a number": (body('{HEAD,"spec":{"size":NaN}}'), 400, "BadRequest"),
    "deep nesting": (body('{HEAD,"spec":{"plain":' + "[" * 11000 + "]" * 11000 + "}}"), 400, "BadRequest"),
}


@pytest.mark.parametrize("case", CREATES)
def test_creates(api: Api, case: str) -> None:
    """A create with a bad body is refused with this code and reason, and nothing is stored."""
    content, code, reason = CREATES[case]
    reply = api.send("POST", api.path(), content, type="application/json")
    assert (reply.code, reply.reason) == (code, reason), reply.text[:500]
    assert api.list().json["items"] == []


@pytest.mark.parametrize("type", ["text/plain", "application/xml", "application/json; charset=latin1", "nonsense"])
def test_content_types(api: Api, type: str) -> None:
    """A create with another media type is answered with the real server's code."""
    expected = {"application/json; charset=latin1": (201, "")}.get(type, (415, "UnsupportedMediaType"))
    reply = api.send("POST", api.path(), api.obj("g", spec={}), type=type)
    got = (reply.code, reply.json.get("reason", ""))
    assert got == expected, reply.text


def test_yaml_create(api: Api) -> None:
    """A create may be YAML."""
    text = f"apiVersion: {api.api_version}\nkind: Gadget\nmetadata: {{name: g}}\nspec: {{size: 2}}\n"
    assert api.send("POST", api.path(), text.encode(), type="application/yaml").ok(201).json["spec"] == {"size": 2}


def test_accept(api: Api) -> None:
    """An Accept header that cannot be met is 406."""
    api.send("GET", api.path(), headers={"Accept": "text/html"}).refused(406, "NotAcceptable")


@pytest.mark.parametrize(
    ("method", "where", "code"),
    [
        ("POST", "object", 400),
        ("PUT", "collection", 400),
        ("PATCH", "collection", 400),
        ("POST", "status", 405),
        ("DELETE", "status", 405),
        ("TRACE", "object", 405),
    ],
)
def test_methods(api: Api, method: str, where: str, code: int) -> None:
    """A method that the path does not take is refused with this code."""
    api.made("g", spec={})
    path = {"object": api.path("g"), "collection": api.path(), "status": api.path("g", "status")}[where]
    reply = api.send(method, path, {} if method != "TRACE" else None, type="merge" if method == "PATCH" else "")
    assert reply.code == code, reply.text


def test_unknown_subresource(api: Api) -> None:
    """An unknown subresource is 404."""
    api.made("g", spec={})
    assert api.get("g", "nosuch").code == 404


@pytest.mark.parametrize("path", ["/nosuch", "/api/v9", "/apis/nosuch.example.com/v1", "/api/v1/nosuches", "//"])
def test_paths(api: Api, path: str) -> None:
    """A path that names nothing is 404: in JSON below a served group, else in plain text."""
    reply = api.send("GET", path).ok(404)
    if path.startswith("/api/"):
        reply.refused(404, "NotFound", "the server could not find the requested resource")
    else:
        assert reply.text.startswith("404 page not found") or "/healthz" in reply.json["paths"]


def test_body_over_three_mebibytes(api: Api) -> None:
    """A body over 3 MiB is 413."""
    content = body('{HEAD,"spec":{"mode":"' + "x" * 3_200_000 + '"}}')
    reply = api.send("POST", api.path(), content)
    assert reply.code == 413, reply.text[:300]
    assert reply.message == "Request entity too large: limit is 3145728"


def test_object_over_the_store_limit(api: Api) -> None:
    """An object over about 1.5 MiB is 500 and says that the request is too large."""
    shapes = api.of("shapes", "Shape")
    reply = shapes.create(shapes.obj("s", spec={"title": "ok", "open": {"blob": "x" * 2_000_000}}))
    assert (reply.code, "request is too large" in reply.message) == (500, True), reply.text[:300]


GONE = "the server rejected our request due to an error in our request"
PATCHES: dict[str, tuple[str, Any, int, str, str]] = {
    "merge patch that is broken JSON": ("merge", b"{", 400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
    "merge patch that is empty": ("merge", b"", 400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
    "JSON patch that is broken JSON": ("json", b"[", 400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
    "JSON patch without op": ("json", [{"path": "/spec"}], 422, "Invalid", GONE),
    "JSON patch without path": ("json", [{"op": "remove"}], 422, "Invalid", GONE),
    "JSON patch with a path that is no pointer": ("json", [{"op": "add", "path": "spec", "value": 1}], 422, "Invalid", GONE),
    "apply that is broken YAML": ("apply", b"{a: [", 400, "BadRequest", "error decoding YAML: error converting YAML to JSON: yaml: "),
    "apply without a kind": ("apply", {"metadata": {"name": "g"}}, 400, "BadRequest", "invalid object type: /, Kind="),
    "apply that is a list": (
        "apply",
        [],
        400,
        "BadRequest",
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type",
    ),
    "merge patch of kind": (
        "merge",
        {"kind": "Other"},
        422,
        "Invalid",
        'Other.conformance.fiferail.dev "g" is invalid: kind: Invalid value: "Other": must be Gadget',
    ),
    "merge patch of the group": (
        "merge",
        {"apiVersion": "other.example.com/v1"},
        422,
        "Invalid",
        'Gadget.other.example.com "g" is invalid: apiVersion: Invalid value: "other.example.com/v1": must be conformance.fiferail.dev/v1',
    ),
    "merge patch of metadata to text": ("merge", {"metadata": "x"}, 422, "Invalid", ' "" is invalid: patch: Invalid value: '),
    "merge patch of labels to a number": ("merge", {"metadata": {"labels": 5}}, 422, "Invalid", ' "" is invalid: patch: Invalid value: '),
    "merge patch of the name": (
        "merge",
        {"metadata": {"name": "other"}},
        400,
        "BadRequest",
        "the name of the object (other) does not match the name on the URL (g)",
    ),
}


@pytest.mark.parametrize("case", PATCHES)
def test_patches(api: Api, case: str) -> None:
    """A bad patch is refused with this code, reason and beginning of a message, and nothing is stored."""
    kind, content, code, reason, message = PATCHES[case]
    stored = api.made("g", spec={"size": 1})
    reply = api.send("PATCH", api.path("g"), content, type=kind, fieldManager="one").refused(code, reason)
    assert reply.message.startswith(message), reply.message
    assert api.get("g").json == stored
