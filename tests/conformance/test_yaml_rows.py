"""YAML bodies and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api, Reply

YAML = "application/yaml"
TOO_DEEP = "yaml: exceeded max depth of 10000"
ALIASING = "yaml: document contains excessive aliasing"


def bombs(first: bytes, line: bytes) -> bytes:
    """Nine levels of nine aliases each."""
    texts = [line % (level, level, b",".join([b"*a%d" % (level - 1)] * 9)) for level in range(1, 9)]
    return first + b"".join(texts)


HOSTILE = {
    "50,000 dashes": (b"- " * 50_000, TOO_DEEP),
    "50,000 brackets": (b"[" * 50_000, TOO_DEEP),
    "aliases of aliases": (bombs(b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n", b"a%d: &a%d [%s]\n"), ALIASING),
    "merge keys of merge keys": (bombs(b"a0: &a0 {x: 1}\n", b"a%d: &a%d\n  <<: [%s]\n"), ALIASING),
    "an anchor that contains itself": (b"a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    "a syntax error": (b"a: 1\nb: [", "yaml: line 2: did not find expected node content"),
    "a tab": (b"a:\n\tb: 1", "yaml: line 2: found character that cannot start any token"),
}


def create(api: Api, text: str, **query: Any) -> Reply:
    """Creates what the text describes, below the type of the kind."""
    body = f"apiVersion: {api.api_version}\nkind: {api.kind}\n{text}"
    return api.send("POST", api.path(), body.encode(), type=YAML, **query)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_create(api: Api, case: str) -> None:
    """A create in YAML that would exhaust the reader is 400 with its text."""
    text, message = HOSTILE[case]
    reply = api.send("POST", api.path(), text, type=YAML).refused(400, "BadRequest")
    assert f": {message} (" in reply.message


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_apply(api: Api, case: str) -> None:
    """An apply that would exhaust the reader is 400 with its text."""
    text, message = HOSTILE[case]
    reply = api.send("PATCH", api.path("g"), text, type="apply", fieldManager="m")
    reply.refused(400, "BadRequest", f"error decoding YAML: error converting YAML to JSON: {message}")


def test_flow_apply(api: Api) -> None:
    """An apply in YAML's flow style is carried out, duplicate keys and all."""
    text = f"{{apiVersion: {api.api_version}, kind: Gadget, metadata: {{name: g}}, spec: {{size: 1,\n size: 2}}}}"
    reply = api.send("PATCH", api.path("g"), text.encode(), type="apply", fieldManager="m").ok(201)
    assert reply.json["spec"] == {"size": 2}
    assert reply.warnings == '299 - "line 2: key \\"size\\" already set in map"'


def test_strict_apply(api: Api) -> None:
    """A strict apply with a key that stands twice is 400 and names the line."""
    text = f'{{"apiVersion": "{api.api_version}", "kind": "Gadget",\n"metadata": {{"name": "g"}}, "spec": {{"size": 1,\n"size": 2}}}}'
    reply = api.send("PATCH", api.path("g"), text.encode(), type="apply", fieldManager="m", fieldValidation="Strict")
    problem = 'yaml: unmarshal errors:\n  line 3: key "size" already set in map'
    reply.refused(400, "BadRequest", f"error strict decoding YAML: error converting YAML to JSON: {problem}")


def test_strict_create(api: Api) -> None:
    """A strict create in YAML with a key that stands twice is 400, before unknown fields."""
    reply = create(api, "metadata: {name: g}\nspec:\n  size: 1\n  size: 2\n  nosuch: 1\n", fieldValidation="Strict")
    problem = 'yaml: unmarshal errors:\n  line 6: key "size" already set in map, unknown field "spec.nosuch"'
    reply.refused(400, "BadRequest", f'Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: {problem}')


def test_warned_create(api: Api) -> None:
    """A create in YAML with a key that stands twice warns of it, and the last one counts."""
    reply = create(api, "metadata: {name: g}\nspec:\n  size: 1\n  size: 2\n").ok(201)
    assert reply.json["spec"] == {"size": 2}
    assert reply.warnings == '299 - "line 6: key \\"size\\" already set in map"'


@pytest.mark.parametrize("word", ["y", "n", "yes", "off", "~", "0x10", "1_000", "1.5"])
def test_names_that_are_not_text(api: Api, word: str) -> None:
    """A name without quotes that YAML takes for something else is refused."""
    assert create(api, f"metadata: {{name: {word}}}\n").code == (422 if word == "~" else 400)


def test_several_documents(api: Api) -> None:
    """Of several documents in a body the first counts, whatever follows."""
    assert create(api, "metadata: {name: g}\n---\nb: [").ok(201).json["metadata"]["name"] == "g"


def test_numbers(api: Api) -> None:
    """Numbers are what YAML says: hexadecimal, octal, with underscores, or a float that is whole."""
    text = "metadata: {name: s}\nspec: {title: long enough, open: {a: 0x10, b: 010, c: 1_000, d: 1.0, e: 1e3, f: '1', g: 2026-01-01}}\n"
    reply = create(api.of("shapes", "Shape"), text).ok(201)
    assert reply.json["spec"]["open"] == {"a": 16, "b": 8, "c": 1000, "d": 1, "e": 1000, "f": "1", "g": "2026-01-01"}


def test_answers(api: Api) -> None:
    """An answer in YAML quotes what would be read as something else, folds long texts and sorts numbers in names by value."""
    words = " ".join(["word"] * 30)
    shapes = api.of("shapes", "Shape")
    members = {"a10": "y", "a9": "1", "b": "a: b", "c": words, "d": "x\ny\n", "e": [], "f": [{"g": 1}]}
    shapes.made("g", spec={"title": "long enough", "open": members})
    text = shapes.send("GET", shapes.path("g"), headers={"Accept": YAML}).ok(200).text
    assert 'open:\n    a9: "1"\n    a10: "y"\n    b: \'a: b\'\n' in text
    folded = "c: word word word word word word word word word word word word word word word\n      word word"
    assert folded in text
    assert "    d: |\n      x\n      y\n    e: []\n    f:\n    - g: 1\n" in text


@pytest.mark.parametrize("text", ["{}", "null", "\n", "b: 1\na: y"], ids=["an empty map", "null", "nothing", "two members"])
def test_bodies_without_a_kind(api: Api, text: str) -> None:
    """A body in YAML that names no kind is quoted as it was sent."""
    reply = api.send("POST", api.path(), text.encode(), type=YAML).refused(400, "BadRequest")
    assert f": Object 'Kind' is missing in '{text}' (" in reply.message
