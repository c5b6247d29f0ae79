"""Sets of paths: the algebra, the server's order, sharing, and FieldsV1 in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects.fieldset import EMPTY, FieldSet, join
from fiferail.objects.paths import Key, Path, Step, Value, parse

steps: st.SearchStrategy[Step] = st.one_of(
    st.sampled_from(["a", "b", "status", "a.b/c"]),
    st.integers(0, 2),
    st.sampled_from([Key.of(type="A"), Key.of(type="B"), Key.of(name="x", port=1), Key.of(name='<"&">')]),
    st.sampled_from([Value(1), Value(True), Value("1"), Value(1.5), Value("x")]),
)
some_paths = st.lists(st.lists(steps, min_size=1, max_size=4).map(tuple), max_size=12)
repeatable = settings(derandomize=True, max_examples=100, deadline=None)


def spelled(paths: list[Path]) -> set[str]:
    """Python takes 1 and true for equal, so the model compares what paths look like."""
    return set(map(repr, paths))


def members(fields: FieldSet) -> set[str]:
    return spelled(list(fields))


@repeatable
@given(some_paths, some_paths)
def test_algebra_is_that_of_sets(left: list[Path], right: list[Path]) -> None:
    """Union, difference and intersection are those of plain sets of paths."""
    a, b = FieldSet.of(*left), FieldSet.of(*right)
    assert members(a.union(b)) == spelled(left) | spelled(right)
    assert members(a.difference(b)) == spelled(left) - spelled(right)
    assert members(a.intersection(b)) == spelled(left) & spelled(right)
    assert len(a) == len(spelled(left))
    assert all(a.has(path) for path in left)


@repeatable
@given(some_paths, some_paths)
def test_recursive_difference_takes_what_is_below_too(left: list[Path], right: list[Path]) -> None:
    """Recursive difference drops each path that is in the other set or has a prefix there."""
    gone = spelled(right)
    kept = {repr(path) for path in left if not any(repr(path[:end]) in gone for end in range(1, len(path) + 1))}
    assert members(FieldSet.of(*left).recursive_difference(FieldSet.of(*right))) == kept


@repeatable
@given(some_paths)
def test_leaves_have_nothing_below(paths: list[Path]) -> None:
    """Leaves are the members that no other member goes through."""
    prefixes = {repr(path[:end]) for path in paths for end in range(1, len(path))}
    assert members(FieldSet.of(*paths).leaves()) == {repr(path) for path in paths if repr(path) not in prefixes}


@repeatable
@given(some_paths)
def test_fields_v1_round_trip(paths: list[Path]) -> None:
    """What a set encodes to decodes to the same set, and encodes to the same text again."""
    fields = FieldSet.of(*paths)
    again = FieldSet.decode(fields.encode())
    assert again == fields
    assert repr(again.encode()) == repr(fields.encode())


@repeatable
@given(some_paths, some_paths)
def test_operations_share_what_they_do_not_change(left: list[Path], right: list[Path]) -> None:
    """An operation without effect returns its left operand itself."""
    a, b = FieldSet.of(*left), FieldSet.of(*right)
    both = a.union(b)
    assert both.union(a) is both
    assert both.intersection(both.union(b)) is both
    assert a.difference(b.difference(a)) is a


def test_a_change_copies_only_its_path() -> None:
    """Adding one leaf leaves every subtree off its path the same object."""
    fields = FieldSet.of(parse("spec.a"), parse("spec.deep.b"), parse("status.phase"))
    more = fields.union(FieldSet.of(parse("status.reason")))
    assert more.children["f:spec"] is fields.children["f:spec"]
    assert more.children["f:status"] is not fields.children["f:status"]


def test_order_is_the_servers() -> None:
    """Members, then keyed entries, set members and indices; numbers before text before booleans; ends before what goes on."""
    fields = FieldSet.of(
        (0,), (Value(True),), (Value("b"),), (Value(10),), (Value(9),), (Key.of(type="B"),), (Key.of(type="A"),), ("z",), ("a", "x"), ("a",)
    )
    assert list(fields.encode()) == ["f:a", "f:z", 'k:{"type":"A"}', 'k:{"type":"B"}', "v:9", "v:10", 'v:"b"', "v:true", "i:0"]
    assert next(iter(fields)) == ("a",)
    assert list(fields)[-1] == ("a", "x")


FIELDS_V1 = {
    "member and more below": ({"f:a": {".": {}, "f:b": {}}}, "FieldSet(.a, .a.b)"),
    "only below": ({"f:a": {"f:b": {}}}, "FieldSet(.a.b)"),
    "null is an end": ({"f:a": None}, "FieldSet(.a)"),
    "only itself": ({"f:a": {".": {}}}, "FieldSet(.a)"),
    "unknown kinds are dropped": ({"f:a": {}, "x:b": {"f:c": {}}}, "FieldSet(.a)"),
    "nothing known below is an end": ({"f:a": {"x:b": {}}}, "FieldSet(.a)"),
    "keys in any order and spacing": ({'k:{"b": 1, "a": "x"}': {}}, 'FieldSet([a="x",b=1])'),
    "null": (None, "FieldSet()"),
    "empty": ({}, "FieldSet()"),
}


@pytest.mark.parametrize(("fields", "text"), FIELDS_V1.values(), ids=FIELDS_V1.keys())
def test_decode(fields: object, text: str) -> None:
    """Each form of FieldsV1 is read as the server reads it."""
    assert repr(FieldSet.decode(fields)) == text


BROKEN = {
    "too short": ({"f": {}}, "key must be 2 characters long:"),
    "no colon": ({"fa": {}}, "missing colon: fa"),
    "no number": ({"i:x": {}}, 'strconv.Atoi: parsing "x": invalid syntax'),
    "no object": ({"f:a": 1}, "expected an object of fields, got int"),
    "a key that is no object": ({"k:1": {}}, "expected an object after k:, got 1"),
}


@pytest.mark.parametrize(("fields", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_decode_refuses(fields: object, text: str) -> None:
    """What is no FieldsV1 is refused with a reason."""
    with pytest.raises(ValueError, match="^" + text.replace(".", r"\.")):
        FieldSet.decode(fields)


def test_html_is_escaped_in_keys() -> None:
    """Keys are spelled with Go's JSON escapes."""
    assert FieldSet.of((Key.of(type="a<b"),)).encode() == {'k:{"type":"a\\u003cb"}': {}}


def test_below_and_join() -> None:
    """`below` is what goes on from a path; `join` unites many sets."""
    fields = join([FieldSet.of(parse("a.b.c")), FieldSet.of(parse("a.b")), EMPTY])
    assert list(fields.below(parse("a"))) == [("b",), ("b", "c")]
    assert fields.below(parse("x")) is EMPTY
    assert EMPTY.empty
    assert not fields.empty
    assert not EMPTY.has(())
