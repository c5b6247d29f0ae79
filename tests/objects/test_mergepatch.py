"""Merge patch: the tables were checked against evanphx/json-patch v4.13.0."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.errors import Unsupported
from fiferail.objects import mergepatch
from fiferail.objects.tree import Json, same, thaw

MERGED: dict[str, tuple[Json, Json, Json]] = {
    "a member is set": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "objects merge": ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
    "null removes": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "null for what is missing": ({"b": 2}, {"a": None}, {"b": 2}),
    "lists are replaced": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "scalar becomes object": ({"a": 1}, {"a": {"x": 1}}, {"a": {"x": 1}}),
    "object becomes scalar": ({"a": {"x": 1}}, {"a": 1}, {"a": 1}),
    "nulls in a new object are dropped": ({}, {"a": {"x": None, "y": {"z": None}}}, {"a": {"y": {}}}),
    "nulls in an object over null are dropped": ({"a": None}, {"a": {"x": None}}, {"a": {}}),
    "nulls in an object over text are dropped": ({"a": "s"}, {"a": {"x": None}}, {"a": {}}),
    "nulls in objects in a new list are dropped": ({}, {"a": [{"x": None}]}, {"a": [{}]}),
    "nulls in objects in a list over a list are dropped": ({"a": [1]}, {"a": [[{"x": None}]]}, {"a": [[{}]]}),
    "nulls in objects in a list over an object stay": ({"a": {}}, {"a": [{"x": None}]}, {"a": [{"x": None}]}),
    "null entries of lists stay": ({}, {"a": [None, 1]}, {"a": [None, 1]}),
    "stored nulls stay": ({"a": None, "b": {"c": None}}, {"b": {"d": 1}}, {"a": None, "b": {"c": None, "d": 1}}),
    "types are told apart": ({"a": 1, "b": 1}, {"a": True, "b": 1.5}, {"a": True, "b": 1.5}),
    "a list for a patch": ({"a": 1}, [{"x": None}, None], [{}, None]),
}


@pytest.mark.parametrize(("target", "patch", "result"), MERGED.values(), ids=list(MERGED))
def test_a_patch_merges(target: Json, patch: Json, result: Json) -> None:
    """The result is the server's; target and patch are left as they were."""
    before = thaw([target, patch])
    assert same(mergepatch.apply(target, patch), result)
    assert same([target, patch], before)


def test_what_the_patch_does_not_touch_is_shared() -> None:
    """Only the path is copied, and a patch that changes nothing gives the same object back."""
    target: Json = {"a": {"x": 1, "deep": {"y": []}}, "b": {"z": [1]}}
    result = mergepatch.apply(target, {"a": {"x": 2}, "b": {"z": [1]}})
    assert result["a"]["deep"] is target["a"]["deep"]
    assert result["b"] is target["b"]
    assert mergepatch.apply(target, {"a": {"x": 1, "none": None, "deep": {}}, "b": {"z": [1]}}) is target


REFUSED: dict[str, tuple[bytes, bool, str]] = {
    "null": (b"null", True, "Invalid JSON Patch"),
    "null, unvalidated": (b"null", False, "Invalid JSON Patch"),
    "a list": (b"[]", True, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    "text": (b'"x"', True, "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
    "a number": (b"1", True, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
    "a truth": (b"true", True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    "text, unvalidated": (b'"x"', False, "Invalid JSON Patch"),
    "broken": (b'{"a"', True, "error decoding patch: unexpected end of JSON input"),
    "broken, unvalidated": (b'{"a"', False, "Invalid JSON Patch"),
    "nothing": (b"", True, "error decoding patch: unexpected end of JSON input"),
    "a number past float64": (
        b'{"a":1e400}',
        True,
        "error decoding patch: json: cannot unmarshal number 1e400 into Go value of type float64",
    ),
}


@pytest.mark.parametrize(("body", "strict", "message"), REFUSED.values(), ids=list(REFUSED))
def test_a_body_that_is_no_merge_patch_is_refused(body: bytes, strict: bool, message: str) -> None:
    """400; with field validation the strict decoder speaks first."""
    with pytest.raises(mergepatch.PatchError) as refusal:
        mergepatch.parse(body, strict=strict)
    assert (refusal.value.code, refusal.value.message) == (400, message)


def test_without_field_validation_a_list_is_taken_and_a_huge_number_refused_by_name() -> None:
    """The one is the server's way, the other is ours."""
    assert mergepatch.parse(b"[1]", strict=False).value == [1]
    with pytest.raises(Unsupported, match="numbers past float64"):
        mergepatch.parse(b'{"a":1e400}', strict=False)


def test_duplicate_members_come_with_the_patch() -> None:
    """The last one counts, and the strict decoder's complaint is kept; without field validation nobody looks."""
    patch = mergepatch.parse(b'{"a":{"b":1,"b":2}}')
    assert (patch.value, patch.strict_errors) == ({"a": {"b": 2}}, ('duplicate field "a.b"',))
    assert mergepatch.parse(b'{"a":{"b":1,"b":2}}', strict=False).strict_errors == ()


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 1.0}, {"a": 1.0}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"s": {"a": 1, "b": {"x": 1}}}, {"s": {"a": 1, "b": {"x": 2}}}, {"s": {"b": {"x": 2}}}),
        ({"l": [1, 2]}, {"l": [1, 3]}, {"l": [1, 3]}),
        ({"a": {"x": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": None}}),
        ({}, {"a": {"x": {}}}, {"a": {"x": {}}}),
    ],
    ids=str,
)
def test_a_diff_is_the_smallest_patch(old: Json, new: Json, patch: Json) -> None:
    """Only what changed is in it."""
    assert same(mergepatch.diff(old, new), patch)


leaves = st.booleans() | st.integers(0, 2) | st.sampled_from([1.5, "", "a"])
objects = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
    ),
    max_size=3,
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(objects, objects)
def test_a_diff_applied_to_the_old_gives_the_new(old: Json, new: Json) -> None:
    """For objects without null, which a merge patch cannot say; and applying it twice changes nothing more."""
    patch = mergepatch.diff(old, new)
    once = mergepatch.apply(old, patch)
    assert same(once, new)
    assert mergepatch.apply(once, patch) is once
    assert (patch == {}) == same(old, new)
