"""Which leaves differ between two versions of an object."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.history.leaves import changed_objects
from fiferail.history.places import Place
from fiferail.objects.paths import render
from fiferail.objects.tree import ABSENT


def entry(type_: str, **members: Any) -> dict[str, Any]:
    """An entry of a keyed list."""
    return {"type": type_, **members}


A, B = entry("A", v="1"), entry("B", v="1")

CASES: dict[str, tuple[Any, Any, list[tuple[str, Any, Any]]]] = {
    "a text": ({"x": "1"}, {"x": "2"}, [("status.x", "1", "2")]),
    "the same text, another object": ({"x": "".join(["a", "b"])}, {"x": "ab"}, []),
    "one is not one point nothing": ({"x": 1}, {"x": 1.0}, [("status.x", 1, 1.0)]),
    "nor is it true": ({"x": [entry("A", v=1), B]}, {"x": [entry("A", v=True), B]}, [("status.x[A].v", 1, True)]),
    "an entry in its place": ({"x": [A, B]}, {"x": [A, entry("B", v="2")]}, [("status.x[B].v", "1", "2")]),
    "entries that change places": ({"x": [A, B]}, {"x": [B, A]}, []),
    "an entry that changes beside one that becomes another, each told once": (
        {"x": [A, B]},
        {"x": [entry("A", v="2"), entry("C", v="1")]},
        [
            ("status.x[A].v", "1", "2"),
            ("status.x[B].type", "B", ABSENT),
            ("status.x[B].v", "1", ABSENT),
            ("status.x[C].type", ABSENT, "C"),
            ("status.x[C].v", ABSENT, "1"),
        ],
    ),
    "a list without keys": ({"x": [1, 2]}, {"x": [1]}, [("status.x", [1, 2], [1])]),
    "an empty object that is filled": ({"x": {}}, {"x": {"y": 1}}, [("status.x.y", ABSENT, 1)]),
    "an empty object that comes": ({}, {"x": {}}, [("status.x", ABSENT, {})]),
    "something that becomes a thing of another kind": (
        {"x": {"y": 1}},
        {"x": "1"},
        [("status.x.y", 1, ABSENT), ("status.x", ABSENT, "1")],
    ),
    "a member that goes as another comes": ({"x": 1}, {"y": 1}, [("status.y", ABSENT, 1), ("status.x", 1, ABSENT)]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_leaves_that_differ_are_exactly_these(name: str) -> None:
    """Every leaf that differs is told once, with both values and their types; nothing else is, on a fresh memory and on a known one."""
    before, after, expected = CASES[name]
    old, new = (
        {"kind": "G", "metadata": {"resourceVersion": version}, "status": status} for version, status in (("1", before), ("2", after))
    )
    root = Place(())
    for _ in range(2):
        found = [(render(place.path), was, now) for place, was, now in changed_objects(old, new, root)]
        assert [(path, was, type(was), now, type(now)) for path, was, now in found] == [
            (path, was, type(was), now, type(now)) for path, was, now in expected
        ]
        changed_objects(new, old, root)


def test_what_the_server_keeps_is_no_leaf() -> None:
    """A new resourceVersion, new managedFields and another apiVersion are nobody's change; a label is."""
    old = {"apiVersion": "v1", "metadata": {"resourceVersion": "1", "generation": 1, "labels": {"a": "b"}}}
    new = {"apiVersion": "v2", "metadata": {"resourceVersion": "2", "managedFields": [], "labels": {"a": "c"}}}
    assert [render(place.path) for place, _, _ in changed_objects(old, new, Place(()))] == ["metadata.labels.a"]


def test_what_went_is_told_in_the_order_of_the_object() -> None:
    """Two runs over the same history say the same in the same order, whatever the hash seed is."""
    old = {"metadata": {"labels": {}, "finalizers": ["f"]}, "zeta": 1, "alpha": 1, "mid": 1}
    found = [render(place.path) for place, _, _ in changed_objects(old, {"metadata": {}}, Place(()))]
    assert found == ["metadata.labels", "metadata.finalizers", "zeta", "alpha", "mid"]
