"""JSON patch: the tables were checked against evanphx/json-patch v4.13.0, and their answers against a real server."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.errors import Unsupported
from fiferail.objects import gojson, jsonpatch
from fiferail.objects.tree import Json, same

APPLIED: dict[str, tuple[str, str, str]] = {
    "add a member": ('{"a":1}', '[{"op":"add","path":"/b","value":2}]', '{"a":1,"b":2}'),
    "add replaces a member": ('{"a":1}', '[{"op":"add","path":"/a","value":2}]', '{"a":2}'),
    "add without a value adds null": ("{}", '[{"op":"add","path":"/a"}]', '{"a":null}'),
    "add inserts": ('{"a":[1,2]}', '[{"op":"add","path":"/a/1","value":9}]', '{"a":[1,9,2]}'),
    "add appends at the dash": ('{"a":[1]}', '[{"op":"add","path":"/a/-","value":9}]', '{"a":[1,9]}'),
    "add appends at the length": ('{"a":[1]}', '[{"op":"add","path":"/a/1","value":9}]', '{"a":[1,9]}'),
    "add at -1 appends": ('{"a":[1,2]}', '[{"op":"add","path":"/a/-1","value":9}]', '{"a":[1,2,9]}'),
    "add at -3 of two goes first": ('{"a":[1,2]}', '[{"op":"add","path":"/a/-3","value":9}]', '{"a":[9,1,2]}'),
    "indices with zeros and signs": ('{"a":[1,2]}', '[{"op":"add","path":"/a/+01","value":9}]', '{"a":[1,9,2]}'),
    "replace of a missing member adds it": ("{}", '[{"op":"replace","path":"/a","value":1}]', '{"a":1}'),
    "replace counts from the end": ('{"a":[1,2]}', '[{"op":"replace","path":"/a/-1","value":9}]', '{"a":[1,9]}'),
    "replace of the whole document": ('{"a":1}', '[{"op":"replace","path":"","value":{"b":[]}}]', '{"b":[]}'),
    "the document may become a list": ('{"a":1}', '[{"op":"replace","path":"","value":[1]},{"op":"add","path":"/-","value":2}]', "[1,2]"),
    "remove a member": ('{"a":1,"b":2}', '[{"op":"remove","path":"/a"}]', '{"b":2}'),
    "remove a null member": ('{"a":null}', '[{"op":"remove","path":"/a"}]', "{}"),
    "remove counts from the end": ('{"a":[1,2,3]}', '[{"op":"remove","path":"/a/-3"}]', '{"a":[2,3]}'),
    "move into a list": ('{"a":[1,2],"b":9}', '[{"op":"move","from":"/b","path":"/a/0"}]', '{"a":[9,1,2]}'),
    "move within a list counts after the removal": ('{"a":[1,2,3]}', '[{"op":"move","from":"/a/0","path":"/a/2"}]', '{"a":[2,3,1]}'),
    "copy": ('{"a":{"x":1}}', '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2}]', '{"a":{"x":1},"b":{"x":2}}'),
    "copy into itself": (
        '{"a":{"x":1}}',
        '[{"op":"add","path":"/a/y","value":2},{"op":"copy","from":"/a","path":"/a/z"}]',
        '{"a":{"x":1,"y":2,"z":{"x":1,"y":2}}}',
    ),
    "copy of a missing member copies null": ('{"a":{}}', '[{"op":"copy","from":"/a/x","path":"/b"}]', '{"a":{},"b":null}'),
    "escaped tokens": ('{"a/b":1,"m~n":2}', '[{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/m~0n"}]', "{}"),
    "the empty member": ('{"":1}', '[{"op":"remove","path":"/"}]', "{}"),
    "what stands before the first slash is ignored": ('{"b":1}', '[{"op":"remove","path":"a/b"}]', "{}"),
    "members that look like indices": ('{"a":{"0":1}}', '[{"op":"replace","path":"/a/0","value":2}]', '{"a":{"0":2}}'),
    "test of a missing member with null": ("{}", '[{"op":"test","path":"/a","value":null}]', "{}"),
    "test of a missing member without a value": ("{}", '[{"op":"test","path":"/a"}]', "{}"),
    "test of an object, whatever the order": (
        '{"a":{"x":1,"y":[{}]}}',
        '[{"op":"test","path":"/a","value":{"y":[{}],"x":1}}]',
        '{"a":{"x":1,"y":[{}]}}',
    ),
    "test with nulls in objects": ('{"a":{"x":null}}', '[{"op":"test","path":"/a","value":{"x":null}}]', '{"a":{"x":null}}'),
    "test of the whole document": ('{"a":1}', '[{"op":"test","path":"","value":{"a":1}}]', '{"a":1}'),
    "test of escaped text in Go's form": (
        '{"a":"<\\u2028>"}',
        '[{"op":"test","path":"/a","value":"\\u003c\\u2028\\u003e"}]',
        '{"a":"<\\u2028>"}',
    ),
    "test of a large number in Go's form": ('{"a":1e21}', '[{"op":"test","path":"/a","value":1e+21}]', '{"a":1e21}'),
    "test of a number that was just added, spelled alike": (
        "{}",
        '[{"op":"add","path":"/a","value":1.0},{"op":"test","path":"/a","value":1.0}]',
        '{"a":1.0}',
    ),
    "test of an added null with null": (
        "{}",
        '[{"op":"add","path":"/a","value":null},{"op":"test","path":"/a","value":null}]',
        '{"a":null}',
    ),
    "a copy escapes what Go escapes": (
        "{}",
        '[{"op":"add","path":"/a","value":"<"},{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/b","value":"\\u003c"}]',
        '{"a":"<","b":"<"}',
    ),
    "a copied null equals an empty object": (
        "{}",
        '[{"op":"add","path":"/a","value":null},{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/b","value":{}}]',
        '{"a":null,"b":null}',
    ),
    "a difference is met before the null in a list": ('{"a":[1,null]}', '[{"op":"test","path":"/a/0","value":1}]', '{"a":[1,null]}'),
    "no operations": ('{"a":1}', "[]", '{"a":1}'),
    "null for a patch": ('{"a":1}', "null", '{"a":1}'),
    "the last twin of an operation counts": ("{}", '[{"op":"remove","op":"add","path":"/a","value":1}]', '{"a":1}'),
}


@pytest.mark.parametrize(("document", "patch", "result"), APPLIED.values(), ids=list(APPLIED))
def test_a_patch_applies(document: str, patch: str, result: str) -> None:
    """The result is the server's, the document is left as it was, and no trace of spelling remains."""
    before = gojson.decode(document.encode())
    assert same(jsonpatch.apply(jsonpatch.parse(patch.encode()), before), gojson.decode(result.encode()))
    assert same(before, gojson.decode(document.encode()))


REJECTED: dict[str, tuple[str, str]] = {
    "test of another value": ('{"a":1}', '[{"op":"test","path":"/a","value":2}]'),
    "test of 1 with 1.0": ('{"a":1}', '[{"op":"test","path":"/a","value":1.0}]'),
    "test of 1 with 1e0": ('{"a":1}', '[{"op":"test","path":"/a","value":1e0}]'),
    "test of 0 with -0": ('{"a":0}', '[{"op":"test","path":"/a","value":-0}]'),
    "test of 1 with true": ('{"a":1}', '[{"op":"test","path":"/a","value":true}]'),
    "test of 1e21 in another form": ('{"a":1e21}', '[{"op":"test","path":"/a","value":1e21}]'),
    "test of escaped text sent raw": ('{"a":"<"}', '[{"op":"test","path":"/a","value":"<"}]'),
    "test of raw text sent escaped": ('{"a":"A"}', '[{"op":"test","path":"/a","value":"\\u0041"}]'),
    "test of a slash sent escaped": ('{"a":"/"}', '[{"op":"test","path":"/a","value":"\\/"}]'),
    "test of a value with null": ('{"a":1}', '[{"op":"test","path":"/a","value":null}]'),
    "test of a value without a value": ('{"a":1}', '[{"op":"test","path":"/a"}]'),
    "test of null with a value": ('{"a":null}', '[{"op":"test","path":"/a","value":1}]'),
    "test below a missing parent": ("{}", '[{"op":"test","path":"/a/b","value":null}]'),
    "test below null": ('{"a":null}', '[{"op":"test","path":"/a/b","value":null}]'),
    "test past the end of a list": ('{"a":[]}', '[{"op":"test","path":"/a/0","value":null}]'),
    "test of a list with one that is longer": ('{"a":[null]}', '[{"op":"test","path":"/a","value":[null,1]}]'),
    "test of an object that has more": ('{"a":{"x":1,"y":2}}', '[{"op":"test","path":"/a","value":{"x":1}}]'),
    "test of an added null inside an object": (
        '{"a":{}}',
        '[{"op":"add","path":"/a/x","value":null},{"op":"test","path":"/a","value":{"x":null}}]',
    ),
    "test of a copied null with null": (
        "{}",
        '[{"op":"add","path":"/a","value":null},{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/b","value":null}]',
    ),
    "test of an added number in another form": ("{}", '[{"op":"add","path":"/a","value":1.0},{"op":"test","path":"/a","value":1}]'),
    "a later index shifted": ('{"a":["x","y"]}', '[{"op":"remove","path":"/a/0"},{"op":"test","path":"/a/1","value":"y"}]'),
    "add below a missing parent": ("{}", '[{"op":"add","path":"/a/b","value":1}]'),
    "add below an added null": ("{}", '[{"op":"add","path":"/a","value":null},{"op":"add","path":"/a/b","value":1}]'),
    "add below text": ('{"a":"x"}', '[{"op":"add","path":"/a/b","value":1}]'),
    "add of the whole document": ("{}", '[{"op":"add","path":"","value":{}}]'),
    "add past the end": ('{"a":[]}', '[{"op":"add","path":"/a/1","value":1}]'),
    "add before the start": ('{"a":[]}', '[{"op":"add","path":"/a/-2","value":1}]'),
    "add at no index": ('{"a":[]}', '[{"op":"add","path":"/a/x","value":1}]'),
    "an index with an underscore": ('{"a":[1,2]}', '[{"op":"remove","path":"/a/0_1"}]'),
    "an index in other digits": ('{"a":[1,2]}', '[{"op":"remove","path":"/a/\u0661"}]'),
    "an index past int64": ('{"a":[1,2]}', '[{"op":"remove","path":"/a/99999999999999999999999"}]'),
    "remove of what is missing": ("{}", '[{"op":"remove","path":"/a"}]'),
    "remove at the dash": ('{"a":[1]}', '[{"op":"remove","path":"/a/-"}]'),
    "replace past the end": ('{"a":[1]}', '[{"op":"replace","path":"/a/1","value":1}]'),
    "replace of the whole document by text": ("{}", '[{"op":"replace","path":"","value":"x"}]'),
    "replace of the whole document by null": ("{}", '[{"op":"replace","path":"","value":null}]'),
    "move from what is missing": ("{}", '[{"op":"move","from":"/a","path":"/b"}]'),
    "move into itself": ('{"a":{}}', '[{"op":"move","from":"/a","path":"/a/b"}]'),
    "copy without from": ('{"a":1}', '[{"op":"copy","path":"/b"}]'),
    "a path without a slash": ('{"a":1}', '[{"op":"remove","path":"a"}]'),
    "no path": ('{"a":1}', '[{"op":"remove"}]'),
    "no operation": ("{}", '[{"path":"/a"}]'),
    "an unknown operation": ("{}", '[{"op":"merge","path":"/a"}]'),
    "null for an operation": ("{}", "[null]"),
}


@pytest.mark.parametrize(("document", "patch"), REJECTED.values(), ids=list(REJECTED))
def test_a_patch_that_does_not_apply_is_rejected_in_one_sentence(document: str, patch: str) -> None:
    """Whatever the cause: 422, the same message, and nothing changed."""
    before = gojson.decode(document.encode())
    with pytest.raises(jsonpatch.PatchError) as refusal:
        jsonpatch.apply(jsonpatch.parse(patch.encode()), before)
    assert (refusal.value.code, refusal.value.message) == (422, "the server rejected our request due to an error in our request")
    assert not refusal.value.panics
    assert refusal.value.detail
    assert same(before, gojson.decode(document.encode()))


CRASHES: dict[str, tuple[str, str]] = {
    "a list with null on both sides": ('{"a":[null]}', '[{"op":"test","path":"/a","value":[null]}]'),
    "a list with null in the document": ('{"a":[null]}', '[{"op":"test","path":"/a","value":[1]}]'),
    "a list with null in the patch": ('{"a":[1]}', '[{"op":"test","path":"/a","value":[null]}]'),
    "null in the patch for an object": ('{"a":[{}]}', '[{"op":"test","path":"/a","value":[null]}]'),
    "an added null in a list": ('{"a":[]}', '[{"op":"add","path":"/a/-","value":null},{"op":"test","path":"/a","value":[null]}]'),
    "the whole document tested without a value": ("{}", '[{"op":"test","path":""}]'),
    "the whole document replaced without a value": ("{}", '[{"op":"replace","path":""}]'),
    "a member added to a copied null": (
        "{}",
        '[{"op":"add","path":"/a","value":null},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/c","value":1}]',
    ),
    "a member replaced in a copied null": (
        "{}",
        '[{"op":"add","path":"/a","value":null},{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/b/c","value":1}]',
    ),
}


@pytest.mark.parametrize(("document", "patch"), CRASHES.values(), ids=list(CRASHES))
def test_what_crashes_the_real_server_is_told_apart(document: str, patch: str) -> None:
    """The error carries the mark, so that nobody takes it for an answer."""
    with pytest.raises(jsonpatch.PatchError, match=r"^the real server closes the connection here: ") as refusal:
        jsonpatch.apply(jsonpatch.parse(patch.encode()), gojson.decode(document.encode()))
    assert refusal.value.panics


UNREADABLE: dict[str, tuple[bool, int, str]] = {
    "": (True, 400, "error decoding patch: unexpected end of JSON input"),
    "[": (True, 400, "error decoding patch: unexpected end of JSON input"),
    "[] x": (True, 400, "error decoding patch: invalid character 'x' after top-level value"),
    "{}": (True, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
    '"x"': (True, 400, "error decoding patch: json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
    "1.0": (True, 400, "error decoding patch: json: cannot unmarshal number into Go value of type []handlers.jsonPatchOp"),
    "true": (True, 400, "error decoding patch: json: cannot unmarshal bool into Go value of type []handlers.jsonPatchOp"),
    "[[]]": (True, 400, "error decoding patch: json: cannot unmarshal array into Go value of type handlers.jsonPatchOp"),
    '[{"path":[1],"op":1}]': (
        True,
        400,
        "error decoding patch: json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string",
    ),
    '[{"from":true}]': (
        True,
        400,
        "error decoding patch: json: cannot unmarshal bool into Go struct field jsonPatchOp.from of type string",
    ),
    '[{"op":1,"op":"add"}]': (
        True,
        400,
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
    ),
    '[{"value":[1e400]}]': (
        True,
        400,
        "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field jsonPatchOp.value of type float64",
    ),
    "[ ": (False, 400, "unexpected end of JSON input"),
    "{ }": (False, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
    '[{}, "x"]': (False, 400, "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
}


@pytest.mark.parametrize(
    ("body", "strict", "code", "message"), [(body, *answer) for body, answer in UNREADABLE.items()], ids=list(UNREADABLE)
)
def test_a_body_that_is_no_patch_is_refused_in_go_words(body: str, strict: bool, code: int, message: str) -> None:
    """With field validation the strict decoder speaks first, without it the library."""
    with pytest.raises(jsonpatch.PatchError) as refusal:
        jsonpatch.parse(body.encode(), strict=strict)
    assert (refusal.value.code, refusal.value.message) == (code, message)


@pytest.mark.parametrize("body", ['[{"op":1}]', '[{"path":[1]}]', '[{"op":"add","path":1,"value":2}]'])
def test_without_field_validation_wrong_types_are_found_only_on_applying(body: str) -> None:
    """Then they are rejected as any patch that does not apply."""
    patch = jsonpatch.parse(body.encode(), strict=False)
    with pytest.raises(jsonpatch.PatchError, match=jsonpatch.REJECTED):
        jsonpatch.apply(patch, {})


def test_a_number_that_no_tree_can_hold_is_refused_by_name() -> None:
    """Without field validation the server would store the text; we cannot."""
    with pytest.raises(Unsupported, match="numbers past float64 in a patch with fieldValidation=Ignore"):
        jsonpatch.parse(b'[{"op":"add","path":"/a","value":1e400}]', strict=False)


@pytest.mark.parametrize(
    ("body", "complaints"),
    [
        ('[{"op":"test","path":"/a","value":1}]', []),
        ('[ {"op": "test", "path": "/a", "value": {"a": 1.0}} ]', []),
        ('[{"op":"test","path":"/a","x":1,"x":{"y":1,"y":2}}]', ['json patch unknown field "[0].x"']),
        ('[{},{"path":"/a","op":"test","op":"test","OP":1}]', ['json patch duplicate field "[1].op"', 'json patch unknown field "[1].OP"']),
        (
            '[{"value":[{"q":{"r":1,"r":2}}],"value":1}]',
            ['json patch duplicate field "[0].value[0].q.r"', 'json patch duplicate field "[0].value"'],
        ),
    ],
)
def test_unknown_and_duplicate_members_are_reported_with_the_patch(body: str, complaints: list[str]) -> None:
    """In the order and the words of the strict decoder; without field validation nobody looks."""
    assert list(jsonpatch.parse(body.encode()).strict_errors) == complaints
    assert jsonpatch.parse(body.encode(), strict=False).strict_errors == ()


def test_ten_thousand_operations_are_allowed_and_one_more_is_not() -> None:
    """413, with both numbers."""
    operation = b'{"op":"test","path":"/a","value":1}'
    assert jsonpatch.apply(jsonpatch.parse(b"[" + b",".join([operation] * 10000) + b"]"), {"a": 1}) == {"a": 1}
    with pytest.raises(jsonpatch.PatchError) as refusal:
        jsonpatch.parse(b"[" + b",".join([operation] * 10001) + b"]")
    assert (refusal.value.code, refusal.value.message) == (413, "The allowed maximum operations in a JSON patch is 10000, got 10001")


def test_copies_may_not_add_up_to_more_than_three_mebibytes() -> None:
    """The sum over all copies counts, quotes included."""
    document = {"a": "x" * (1024 * 1024 - 2)}
    copy = '{"op":"copy","from":"/a","path":"/b"}'
    assert jsonpatch.apply(jsonpatch.parse(f"[{copy},{copy},{copy}]".encode()), document)["b"] is document["a"]
    with pytest.raises(jsonpatch.PatchError) as refusal:
        jsonpatch.apply(jsonpatch.parse(f"[{copy},{copy},{copy},{copy}]".encode()), document)
    assert refusal.value.detail == "copy: 4194304 bytes copied, the limit is 3145728"


def test_only_the_path_is_copied() -> None:
    """Everything off the path is the very same object, whatever the operation."""
    document: Json = {"status": {"conditions": [{"type": "A"}, {"type": "B"}], "deep": {"x": []}}, "spec": {"y": {}}}
    body = json.dumps(
        [
            {"op": "test", "path": "/status/conditions/0/type", "value": "A"},
            {"op": "add", "path": "/status/conditions/1/reason", "value": "\u00e9<"},
            {"op": "add", "path": "/status/conditions/-", "value": {"type": "C"}},
            {"op": "replace", "path": "/status/phase", "value": None},
        ]
    ).encode()
    result = jsonpatch.apply(jsonpatch.parse(body), document)
    assert result["status"]["conditions"] == [{"type": "A"}, {"type": "B", "reason": "\u00e9<"}, {"type": "C"}]
    assert result["status"]["conditions"][0] is document["status"]["conditions"][0]
    assert result["status"]["deep"] is document["status"]["deep"]
    assert result["spec"] is document["spec"]


def test_a_patch_that_only_tests_gives_the_same_document_back() -> None:
    """So that `is` tells that nothing changed."""
    document = {"a": {"b": 1}}
    assert jsonpatch.apply(jsonpatch.parse(b'[{"op":"test","path":"/a/b","value":1}]'), document) is document


def test_a_parsed_patch_can_be_applied_again() -> None:
    """Nothing of one result is shared with the next but what came from the patch, and that is not changed."""
    patch = jsonpatch.parse(b'[{"op":"add","path":"/a","value":{"l":[]}},{"op":"add","path":"/a/l/-","value":1}]')
    assert jsonpatch.apply(patch, {}) == jsonpatch.apply(patch, {}) == {"a": {"l": [1]}}


values = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "<", "\u00e9", "\u2028", 'q"', 1.5, 1e21]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/c", "~"]), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(values, values)
def test_a_value_in_go_form_tests_equal_to_itself_and_to_nothing_else(stored: Json, sent: Json) -> None:
    """Passing is exactly typed equality, for values without null that are sent as Go writes them."""
    body = b'[{"op":"test","path":"/a","value":' + gojson.encode(sent) + b"}]"
    try:
        passed = jsonpatch.apply(jsonpatch.parse(body), {"a": stored}) == {"a": stored}
    except jsonpatch.PatchError:
        passed = False
    assert passed == same(stored, sent)
