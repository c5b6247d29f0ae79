"""Trees: lookups, path copies, typed equality, differences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects import tree
from fiferail.objects.tree import ABSENT, Json, Location

scalars = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([1.0, 0.0, 1.5]) | st.sampled_from(["", "a"])
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=10
)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (["a", 1, "b"], 2),
        (["a", 0], None),
        (["a", 2], ABSENT),
        (["a", -1], ABSENT),
        (["x"], ABSENT),
        (["a", "b"], ABSENT),
        (["c", "d"], ABSENT),
        ([], {"a": [None, {"b": 2}], "c": 1}),
    ],
    ids=str,
)
def test_lookup_finds_the_value_or_absent(at: Location, value: Json) -> None:
    """A null that stands there is None; nothing there is ABSENT."""
    assert tree.lookup({"a": [None, {"b": 2}], "c": 1}, at) == value


def test_a_replacement_copies_the_path_and_shares_the_rest() -> None:
    """The old tree is untouched and everything off the path is the same object."""
    old = {"a": {"b": [1, {"c": 2}]}, "other": {"x": []}}
    new = tree.replaced(old, ["a", "b", 1, "c"], 3)
    assert new == {"a": {"b": [1, {"c": 3}]}, "other": {"x": []}}
    assert old == {"a": {"b": [1, {"c": 2}]}, "other": {"x": []}}
    assert new["other"] is old["other"]


def test_a_replacement_makes_missing_objects_and_appends_at_the_end_of_a_list() -> None:
    """Only objects are made up; an index must be there or be the next one."""
    assert tree.replaced({}, ["a", "b"], 1) == {"a": {"b": 1}}
    assert tree.replaced({"a": [1]}, ["a", 1], 2) == {"a": [1, 2]}
    refused: list[Location] = [["a", 2], ["a", -1], ["b", 0]]
    for at in refused:
        with pytest.raises(LookupError, match="no index"):
            tree.replaced({"a": [1]}, at, 2)


def test_a_removal_copies_the_path_or_gives_the_same_tree() -> None:
    """Removing what is not there changes nothing, not even identity."""
    old = {"a": [1, 2], "b": {"c": 1}}
    assert tree.removed(old, ["a", 0]) == {"a": [2], "b": {"c": 1}}
    assert tree.removed(old, ["b", "c"]) == {"a": [1, 2], "b": {}}
    assert tree.removed(old, ["b", "x"]) is old
    assert old == {"a": [1, 2], "b": {"c": 1}}


@pytest.mark.parametrize(
    ("left", "right"),
    [(True, 1), (False, 0), (1, 1.0), (None, False), ([], {}), ([1], [True]), ({"a": 1}, {"a": 1.0}), ({"a": None}, {}), ("1", 1)],
    ids=str,
)
def test_equality_is_typed(left: Json, right: Json) -> None:
    """What Python calls equal and the server does not is not the same, in either order."""
    assert not tree.same(left, right)
    assert not tree.same(right, left)


def test_differences_name_the_smallest_places_and_take_lists_whole() -> None:
    """Objects are compared member by member, lists as one value, and absence is told from null."""
    old: Json = {"a": {"b": 1, "c": [1]}, "gone": None, "same": [{}]}
    new: Json = {"a": {"b": 1.0, "c": [1, 2]}, "new": None, "same": [{}]}
    assert list(tree.differences(old, new)) == [
        (("a", "b"), 1, 1.0),
        (("a", "c"), [1], [1, 2]),
        (("gone",), None, ABSENT),
        (("new",), ABSENT, None),
    ]


@settings(derandomize=True, max_examples=200, deadline=None)
@given(trees, trees)
def test_two_trees_are_the_same_exactly_when_nothing_differs(left: Json, right: Json) -> None:
    """`same`, `differences` and private copies agree."""
    assert tree.same(left, right) == (not list(tree.differences(left, right)))
    assert tree.same(left, tree.thaw(left))


def test_entries_are_paired_by_place_or_with_themselves() -> None:
    """Lists of one length are compared place by place; otherwise an entry is looked for wherever it stands."""
    a, b, c = {"a": 1}, {"b": 1}, {"c": 1}
    assert list(tree.counterparts([c, b], [a, b])) == [a, b]
    assert list(tree.counterparts([b, c], [a, b, {}])) == [b, ABSENT]
    assert list(tree.counterparts([a], ABSENT)) == [ABSENT]


def test_a_thawed_tree_shares_no_container() -> None:
    """Whoever got the copy may change it."""
    old: Json = {"a": [{}]}
    copy = tree.thaw(old)
    copy["a"][0]["x"] = 1
    assert old == {"a": [{}]}
