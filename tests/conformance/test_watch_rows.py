"""Watches."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.wire import StreamRefused

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def events(api: Api, count: int, **query: Any) -> list[tuple[str, str]]:
    """(type, name) of the first events."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in itertools.islice(api.watch(**query), count)]


def version(api: Api) -> str:
    return str(api.list().ok(200).json["metadata"]["resourceVersion"])


def test_life(api: Api) -> None:
    """A watch from a resourceVersion tells every later change in order."""
    start = version(api)
    api.made("g", spec={"size": 1})
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.patch("merge", "g", {"status": {"phase": "x"}}, "status").ok(200)
    api.delete("g").ok(200)
    assert events(api, 4, resourceVersion=start) == [("ADDED", "g"), ("MODIFIED", "g"), ("MODIFIED", "g"), ("DELETED", "g")]


def test_deleted_event_has_its_own_version(api: Api) -> None:
    """A DELETED event carries the last state with the resourceVersion of the deletion."""
    start = version(api)
    stored = api.made("g", spec={"size": 1})
    api.delete("g").ok(200)
    _, deleted = itertools.islice(api.watch(resourceVersion=start), 2)
    assert deleted["object"]["spec"] == {"size": 1}
    assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])


def test_no_event_for_a_write_that_changes_nothing(api: Api) -> None:
    """A write that changes nothing gives no event."""
    api.made("g", spec={"size": 1})
    start = version(api)
    api.patch("merge", "g", {"spec": {"size": 1}}).ok(200)
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    (event,) = itertools.islice(api.watch(resourceVersion=start), 1)
    assert event["object"]["spec"] == {"size": 2}


def test_without_version_starts_with_what_is(api: Api) -> None:
    """A watch without resourceVersion begins with an ADDED for each object."""
    api.made("a", spec={})
    api.made("b", spec={})
    assert sorted(events(api, 2)) == [("ADDED", "a"), ("ADDED", "b")]


def test_selector_crossing(api: Api) -> None:
    """An object that starts or stops matching the selector is ADDED or DELETED."""
    start = version(api)
    api.made("g", spec={})
    api.patch("merge", "g", {"metadata": {"labels": {"t": "x"}}}).ok(200)
    api.patch("merge", "g", {"spec": {"size": 2}}).ok(200)
    api.patch("merge", "g", {"metadata": {"labels": {"t": "y"}}}).ok(200)
    assert events(api, 3, resourceVersion=start, labelSelector="t=x") == [("ADDED", "g"), ("MODIFIED", "g"), ("DELETED", "g")]


def test_field_selector(api: Api) -> None:
    """A watch can select one name."""
    start = version(api)
    api.made("a", spec={})
    api.made("b", spec={})
    assert events(api, 1, resourceVersion=start, fieldSelector="metadata.name=b") == [("ADDED", "b")]


def test_initial_events(api: Api) -> None:
    """sendInitialEvents gives the objects and then a bookmark that says so."""
    api.made("a", spec={})
    query: dict[str, Any] = {"sendInitialEvents": True, "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": True}
    added, bookmark = itertools.islice(api.watch(**query), 2)
    assert (added["type"], added["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["object"]["kind"] == "Gadget"


@pytest.mark.parametrize(
    "query",
    [{"sendInitialEvents": True}, {"resourceVersionMatch": "NotOlderThan"}, {"sendInitialEvents": True, "resourceVersionMatch": "Exact"}],
    ids=["without match", "match without sendInitialEvents", "exact match"],
)
def test_invalid_initial_events(api: Api, query: dict[str, Any]) -> None:
    """An impossible combination of watch options is 422."""
    with pytest.raises(StreamRefused) as caught:
        events(api, 1, **query)
    assert caught.value.answer.status == 422


def test_timeout_seconds(api: Api) -> None:
    """timeoutSeconds ends a watch."""
    assert list(api.watch(resourceVersion=version(api), timeoutSeconds=1)) == []


def test_too_old(api: Api) -> None:
    """A watch from a resourceVersion that was compacted away, or never was, is an ERROR event 410 Expired."""
    (event,) = itertools.islice(api.watch(resourceVersion="1"), 1)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith("too old resource version: 1 (")


def test_bad_version(api: Api) -> None:
    """A watch from something that is no version is 500."""
    with pytest.raises(StreamRefused) as caught:
        events(api, 1, resourceVersion="abc")
    assert caught.value.answer.status == 500
    message = caught.value.answer.json()["message"]
    assert message == 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'


def test_events_of_the_watched_version(api: Api) -> None:
    """Events of a watch through one version show the object in that version."""
    newer, older = api.of("vessels", "Vessel", version="v2"), api.of("vessels", "Vessel", version="v1")
    start = version(newer)
    newer.made("s", spec={"size": 1, "depth": 2})
    (event,) = itertools.islice(older.watch(resourceVersion=start), 1)
    assert (event["object"]["apiVersion"], event["object"]["spec"]) == (f"{api.group}/v1", {"size": 1})


def test_old_style_path(api: Api) -> None:
    """The deprecated /watch/ path of built-in kinds still watches."""
    maps = api.of("configmaps", "ConfigMap", "")
    start = maps.list().json["metadata"]["resourceVersion"]
    maps.made("c")
    path = f"/api/v1/watch/namespaces/{api.namespace}/configmaps"
    reply = api.send("GET", path, resourceVersion=start, timeoutSeconds=1).ok(200)
    assert '"type":"ADDED"' in reply.text
