"""The text that patches leave behind: checked against evanphx/json-patch v4.13.0."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects import gojson, jsonpatch, mergepatch, patchtext
from fiferail.objects.tree import Json, same

JSON_PATCHED: dict[str, tuple[str, str, str]] = {
    "the document is sorted": ('{"b":1,"a":2}', "[]", '{"a":2,"b":1}'),
    "null for a patch": ('{"a":1}', " null ", '{"a":1}'),
    "a value stands as it was sent": (
        "{}",
        '[{"op":"add","path":"/a","value":{ "z":1.0, "b":[1e0, "\\u0041"] }}]',
        '{"a":{"z":1.0,"b":[1e0,"\\u0041"]}}',
    ),
    "doubled members stay": ("{}", '[{"op":"add","path":"/a","value":{"q":1,"q":2}}]', '{"a":{"q":1,"q":2}}'),
    "until somebody looks": (
        "{}",
        '[{"op":"add","path":"/a","value":{"z":1,"q":1,"q":{"d":1,"d":2}}},{"op":"add","path":"/a/b","value":0}]',
        '{"a":{"b":0,"q":{"d":1,"d":2},"z":1}}',
    ),
    "a test looks at everything": (
        "{}",
        '[{"op":"add","path":"/a","value":{"z":[{"d":1,"d":2}]}},{"op":"test","path":"/a","value":{"z":[{"d":2}]}}]',
        '{"a":{"z":[{"d":2}]}}',
    ),
    "text is escaped for HTML": ("{}", '[{"op":"add","path":"/a","value":"<\u2028>"}]', '{"a":"\\u003c\\u2028\\u003e"}'),
    "no value is null": ("{}", '[{"op":"add","path":"/a"}]', '{"a":null}'),
    "spaces in strings stay": ("{}", '[{"op":"add","path":"/a","value":{"k v" : "x  y, [z]"}}]', '{"a":{"k v":"x  y, [z]"}}'),
    "a copy is taken after the way to its place was looked into": (
        "{}",
        '[{"op":"add","path":"/a","value":{"z":1,"b":2}},{"op":"copy","from":"/a","path":"/a/c"}]',
        '{"a":{"b":2,"c":{"b":2,"z":1},"z":1}}',
    ),
    "a move carries what it moves": (
        "{}",
        '[{"op":"add","path":"/a","value":{"z":1,"b":2}},{"op":"move","from":"/a","path":"/l"}]',
        '{"l":{"z":1,"b":2}}',
    ),
    "lists": (
        '{"a":[1,2]}',
        '[{"op":"add","path":"/a/1","value":1.0},{"op":"replace","path":"/a/-1","value":null},{"op":"remove","path":"/a/0"}]',
        '{"a":[1.0,null]}',
    ),
    "the whole document": ('{"a":1}', '[{"op":"replace","path":"","value":[ {"z":1,"a":2} ]}]', '[{"z":1,"a":2}]'),
    "the whole document tested": ('{"a":1}', '[{"op":"test","path":"","value":{"a":1}}]', '{"a":1}'),
}


@pytest.mark.parametrize(("document", "patch", "text"), JSON_PATCHED.values(), ids=list(JSON_PATCHED))
def test_the_text_after_a_json_patch(document: str, patch: str, text: str) -> None:
    """As the library leaves it, and with the same meaning as the fast way."""
    before = gojson.decode(document.encode())
    assert patchtext.after_json_patch(patch.encode(), before).decode() == text
    assert same(gojson.decode(text.encode()), jsonpatch.apply(jsonpatch.parse(patch.encode()), before))


MERGED: dict[str, tuple[str, str, str]] = {
    "objects are looked into, numbers keep their spelling": (
        "{}",
        '{"b":1.0,"a":{"z":1e0,"y":null,"b":2}}',
        '{"a":{"b":2,"z":1e0},"b":1.0}',
    ),
    "a list over an object stands as it was sent": ('{"a":{}}', '{"a":[{"z":null,"a":1, "a":2}]}', '{"a":[{"z":null,"a":1,"a":2}]}'),
    "a list over a list is looked into": ('{"a":[]}', '{"a":[{"z":null,"b":1,"a":2},null]}', '{"a":[{"a":2,"b":1},null]}'),
    "removal": ('{"a":1,"b":{"c":1,"d":2}}', '{"a":null,"b":{"c":null}}', '{"b":{"d":2}}'),
    "a list for a patch": ('{"a":1}', "[{}, null]", "[{},null]"),
}


@pytest.mark.parametrize(("document", "patch", "text"), MERGED.values(), ids=list(MERGED))
def test_the_text_after_a_merge_patch(document: str, patch: str, text: str) -> None:
    """As the library leaves it, and with the same meaning as the fast way."""
    before = gojson.decode(document.encode())
    assert patchtext.after_merge_patch(patch.encode(), before).decode() == text
    assert same(gojson.decode(text.encode()), mergepatch.apply(before, gojson.decode(patch.encode())))


def test_duplicate_members_of_the_result_can_be_named() -> None:
    """The server warns about them twice: in the patch, and in what it made of the object."""
    patch = b'[{"op":"add","path":"/status","value":{"q":1,"q":2}}]'
    assert gojson.duplicates(patchtext.after_json_patch(patch, {"spec": {}})) == ['duplicate field "status.q"']


trees = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "<", "a, b", '"{', 1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b c", '"']), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("ab"), trees, max_size=2), st.dictionaries(st.sampled_from("ab"), trees, max_size=2))
def test_text_and_values_agree_on_merge_patches(document: Json, patch: Json) -> None:
    """Two ways, one meaning."""
    text = patchtext.after_merge_patch(gojson.encode(patch), document)
    assert same(gojson.decode(text), gojson.normalised(mergepatch.apply(document, patch)))
