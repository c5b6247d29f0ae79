"""Who wrote a field last, where a list may be one value at one time and entries at another."""

from __future__ import annotations

from typing import Any

from fiferail.history.places import Place, Places, last_written
from fiferail.objects.paths import Value, parse


def write(places: Places, path: str, actor: str, version: int, value: Any = "v") -> Place:
    """A first write of the leaf at a path."""
    place = places.root
    for step in parse(path):
        place = place.child(step)
    places.write_first(place, actor, version, value, None, frozenset((actor,)))
    return place


def test_the_last_writer_of_entries_is_that_of_the_list_when_it_becomes_one_value() -> None:
    """Whoever replaces a keyed list as one value meets the writer of its newest entry, not that of an older whole."""
    places = Places()
    whole = write(places, "status.list", "old", 1, ["x"])
    write(places, "status.list[A].v", "one", 2)
    newest = write(places, "status.list[B].v", "two", 3)
    assert places.last_writer(whole, ["y"]) is newest
    assert places.last_writer(whole, []) is whole


def test_the_last_writer_of_a_list_is_that_of_an_entry_nobody_has_written() -> None:
    """An entry that comes into a list that was written as one value meets the writer of that value, the nearest above it."""
    places = Places()
    write(places, "status.list", "far", 1, ["x"])
    near = write(places, "status.list[A].inner", "near", 1, ["x"])
    leaf = near.child(parse("x[B]")[1]).child("v")
    assert places.last_writer(leaf, "v") is near
    near.value = []
    assert places.last_writer(leaf, "v") is places.root.at(parse("status.list"))


def test_a_field_that_nobody_wrote_has_no_last_writer() -> None:
    """Neither a place without a write, nor a path without a place, nor one that no field can have."""
    places = Places()
    place = places.root.child("status").child("phase")
    assert places.last_writer(place, "v") is None
    assert places.writer_at(parse("status.phase")) is None
    assert places.last_writer_within(parse("status.other.deeper")) is None
    assert places.last_writer_within(("status", Value({"un": "hashable"}))) is None


def test_of_leaves_written_at_once_the_one_known_first_is_named() -> None:
    """The choice among leaves of one commit follows the order of their first writes, so that two runs name the same."""
    places = Places()
    write(places, "status.z", "one", 1)
    first = write(places, "status.a", "one", 2)
    write(places, "status.b", "one", 2)
    assert last_written(places.root) is first
    assert places.last_writer_within(()) is first


def test_all_who_ever_wrote_a_field_know_it() -> None:
    """Taking a field over forgets nobody."""
    place = write(Places(), "status.phase", "one", 1)
    for actor in ("two", "one", "two"):
        place.passed_to(actor)
    assert place.actor == "two"
    assert place.knowing == {"one", "two"}
