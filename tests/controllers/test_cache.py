"""The cache: what the watch has shown, with the own writes laid over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fiferail.controllers import cache as caching
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


def _gone(cache: Cache) -> None:
    cache.saw(obj(1))
    cache.saw_gone(obj(5))


def _gone_in_a_list(cache: Cache) -> None:
    cache.saw(obj(1))
    cache.replace_all([], at=5)


def _created_and_gone_between_lists(cache: Cache) -> None:
    cache.replace_all([], at=1)
    cache.replace_all([], at=5)


def _gone_while_others_changed(cache: Cache) -> None:
    cache.replace_all([obj(1)], at=1)
    cache.saw_gone(obj(5))
    cache.saw(obj(6, "b", uid="v"))
    cache.reached(6)


def _deleted_by_us(cache: Cache) -> None:
    cache.saw(obj(1))
    cache.removed(obj(1))


def _created_and_deleted_by_us(cache: Cache) -> None:
    cache.wrote(obj(1))
    cache.removed(obj(1))


def _deleted_by_us_before_the_creation_was_answered(cache: Cache) -> None:
    cache.removed(obj(1))


def _replaced(cache: Cache) -> None:
    cache.saw(obj(1))
    cache.saw(obj(5, uid="other"))
    cache.saw_gone(obj(6, uid="other"))


ENDS: list[Callable[[Cache], None]] = [
    _gone, _gone_in_a_list, _created_and_gone_between_lists, _gone_while_others_changed, _deleted_by_us, _created_and_deleted_by_us,
    _deleted_by_us_before_the_creation_was_answered, _replaced,
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.strip("_").replace("_", " "))
def test_a_late_answer_does_not_bring_a_deleted_object_back(end: Callable[[Cache], None]) -> None:
    """An own write was answered before the deletion and processed after it; another object of that name is seen as ever."""
    cache = Cache()
    cache.index("ref", lambda o: o.get("refs", []))
    end(cache)
    cache.wrote(obj(4, refs=["x"]))
    assert (cache.get("n", "a"), cache.by("ref", "x")) == (None, [])
    cache.wrote(obj(9, uid="new", refs=["x"]))
    assert cache.by("ref", "x") == [obj(9, uid="new", refs=["x"])]


@pytest.mark.parametrize("end", [_gone, _deleted_by_us, _created_and_deleted_by_us, _replaced], ids=lambda end: end.__name__.strip("_"))
def test_a_late_event_or_an_older_list_does_not_bring_a_deleted_object_back(end: Callable[[Cache], None]) -> None:
    """Whoever shows an older version of that uid."""
    cache = Cache()
    end(cache)
    cache.saw(obj(4))
    assert cache.get("n", "a") is None
    cache.replace_all([obj(4)], at=4)
    assert cache.get("n", "a") is None


def test_an_own_deletion_that_the_watch_has_not_shown_yet_is_witnessed_when_it_does() -> None:
    """A mapper is given what the watch had shown, although nobody saw it meanwhile."""
    cache = Cache()
    cache.wrote(obj(1))
    cache.removed(obj(1))
    cache.saw(obj(1, refs=["x"]))
    assert cache.get("n", "a") is None
    assert cache.saw_gone(obj(5)) == obj(1, refs=["x"])


def test_an_older_object_of_the_name_does_not_replace_the_newer() -> None:
    """Versions order objects of one name, whatever their uids."""
    cache = Cache()
    cache.saw(obj(9, uid="new"))
    cache.saw(obj(4))
    assert cache.get("n", "a") == obj(9, uid="new")


def test_the_position_of_one_namespace_says_nothing_of_another() -> None:
    """An answer from a namespace whose watch is behind is news."""
    cache = Cache()
    cache.replace_all([], "m", at=9)
    cache.replace_all([], "n", at=3)
    cache.wrote(obj(4))
    assert cache.get("n", "a") == obj(4)


def test_a_cluster_scoped_object_is_passed_by_any_watch() -> None:
    """A manager of some namespaces sees all of a cluster-scoped kind."""
    cache = Cache()
    cache.replace_all([], "m", at=9)
    late = {"metadata": {"name": "c", "uid": "u", "resourceVersion": "4"}}
    cache.wrote(late)
    assert len(cache) == 0


def test_tombstones_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest deletions are remembered."""
    monkeypatch.setattr(caching, "TOMBSTONES", 2)
    cache = Cache()
    for number in range(4):
        cache.removed(obj(1, f"o{number}", uid=f"u{number}"))
    for number in range(4):
        cache.wrote(obj(4, f"o{number}", uid=f"u{number}"))
    assert sorted(cache.keys()) == [("n", "o0"), ("n", "o1")]


def test_a_server_restored_from_a_backup_is_believed() -> None:
    """A list older than what the watch has shown is all that counts: deleted objects may be back, and newer versions gone."""
    cache = Cache()
    cache.replace_all([obj(1), obj(2, "b", uid="v")], at=3)
    cache.saw(obj(8, "b", uid="v"))
    cache.wrote(obj(9, "c", uid="w"))
    cache.saw_gone(obj(10))
    cache.reached(10)
    assert cache.replace_all([obj(1), obj(2, "b", uid="v")], at=3) == []
    assert (len(cache), cache.get("n", "a"), cache.get("n", "b")) == (2, obj(1), obj(2, "b", uid="v"))
