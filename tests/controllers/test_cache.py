"""The cache: what the watch has shown, with the own writes laid over it."""

from __future__ import annotations

from typing import Any

from fiferail.controllers.cache import Cache


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
    assert cache.replace_all([obj(5, "b"), obj(6, "c")]) == [obj(1)]
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


def test_what_was_created_is_listed_and_indexed_before_the_watch_shows_it() -> None:
    """Read your own creations."""
    cache = Cache()
    cache.index("ref", lambda o: o.get("refs", []))
    cache.wrote(obj(3, refs=["x"]))
    assert (list(cache), cache.by("ref", "x"), cache.witnessed(("n", "a"))) == ([obj(3, refs=["x"])], [obj(3, refs=["x"])], None)


def test_what_was_deleted_is_not_seen_although_the_watch_still_shows_it() -> None:
    """Read your own deletions; another object of the same name is seen at once."""
    cache = Cache()
    cache.saw(obj(1))
    cache.removed(obj(1))
    assert cache.get("n", "a") is None
    cache.saw(obj(2))
    assert cache.get("n", "a") is None
    assert cache.saw(obj(4, uid="other")) == obj(2)
    assert cache.get("n", "a") == obj(4, uid="other")


def test_a_change_is_told_from_what_the_watch_had_shown_not_from_the_own_write() -> None:
    """A mapper must hear of the reference that our own write removed."""
    cache = Cache()
    cache.saw(obj(1, refs=["x"]))
    cache.wrote(obj(5, refs=[]))
    assert cache.saw(obj(5, refs=[])) == obj(1, refs=["x"])


def test_a_fresh_list_does_not_hide_a_newer_own_write() -> None:
    """What we created after the list was made is still there; what is older than the list and not in it is gone."""
    cache = Cache()
    cache.wrote(obj(9))
    assert cache.replace_all([], at=8) == []
    assert cache.get("n", "a") == obj(9)
    cache.replace_all([], at=9)
    assert cache.get("n", "a") is None


def test_the_list_of_one_namespace_says_nothing_of_another() -> None:
    """A manager of two namespaces lists each."""
    cache = Cache()
    other = {"metadata": {"name": "a", "namespace": "m", "uid": "v", "resourceVersion": "1"}}
    cache.replace_all([other], "m")
    cache.replace_all([obj(2)], "n")
    assert cache.replace_all([], "n") == [obj(2)]
    assert list(cache) == [other]
