"""The cache: what the watch has shown, with the own writes laid over it."""

from __future__ import annotations

from typing import Any

from fairlead.controllers.cache import Cache


def obj(version: int, name: str = "a", uid: str = "u", **more: Any) -> dict[str, Any]:
    """An object at a version."""
    return {"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(version)}, **more}


def test_an_own_write_is_seen_until_the_watch_has_caught_up() -> None:
    """Read your own writes: an event older than the write does not hide it."""
    cache = Cache()
    cache.saw(obj(1))
    cache.wrote(obj(9))
    cache.saw(obj(5))
    assert cache.get("n", "a") == obj(9)
    cache.saw(obj(10))
    assert cache.get("n", "a") == obj(10)


def test_versions_are_compared_as_numbers() -> None:
    """10 is newer than 9."""
    cache = Cache()
    cache.saw(obj(10))
    cache.wrote(obj(9))
    assert cache.get("n", "a") == obj(10)
    cache.saw(obj(9))
    assert cache.get("n", "a") == obj(10)


def test_a_recreated_object_replaces_the_old_one_and_its_own_writes() -> None:
    """Another uid is another object."""
    cache = Cache()
    cache.saw(obj(1))
    cache.wrote(obj(9))
    cache.saw(obj(11, uid="other"))
    assert cache.get("n", "a") == obj(11, uid="other")


def test_a_deleted_object_is_gone_with_its_own_writes() -> None:
    """The end of an object ends the overlay."""
    cache = Cache()
    cache.saw(obj(1))
    cache.wrote(obj(2))
    cache.saw_gone(obj(3))
    assert (cache.get("n", "a"), len(cache)) == (None, 0)


def test_a_fresh_list_tells_what_is_gone() -> None:
    """After a 410 the list is the truth."""
    cache = Cache()
    cache.replace_all([obj(1), obj(2, "b")])
    assert cache.replace_all([obj(5, "b"), obj(6, "c")]) == [("n", "a")]
    assert sorted(cache.keys()) == [("n", "b"), ("n", "c")]


def test_indexes_follow_every_change() -> None:
    """An index answers with the objects that say the value now."""
    cache = Cache()
    cache.index("ref", lambda o: o.get("refs", []))
    cache.saw(obj(1, refs=["x", "y"]))
    cache.saw(obj(2, "b", uid="v", refs=["x"]))
    assert [o["metadata"]["name"] for o in cache.by("ref", "x")] == ["a", "b"]
    cache.saw(obj(3, refs=["y"]))
    assert [o["metadata"]["name"] for o in cache.by("ref", "x")] == ["b"]
    cache.saw_gone(obj(4, "b", uid="v", refs=["x"]))
    assert cache.by("ref", "x") == []
