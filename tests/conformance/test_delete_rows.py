"""Deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def test_answer(api: Api) -> None:
    """A delete that is done at once answers a Status with the uid."""
    stored = api.made("g", spec={})
    answer = api.delete("g").ok(200).json
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "g", "group": api.group, "kind": api.plural, "uid": stored["metadata"]["uid"]}
    api.get("g").refused(404, "NotFound")


def test_missing(api: Api) -> None:
    """A delete of what is not there is 404."""
    api.delete("g").refused(404, "NotFound", f'{api.plural}.{api.group} "g" not found')


def test_finalizers_hold(api: Api) -> None:
    """With finalizers a delete answers the object with a deletionTimestamp, and it stays."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    metadata = api.delete("g").ok(200).json["metadata"]
    assert metadata["deletionTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2
    api.get("g").ok(200)


def test_last_finalizer_ends_it(api: Api) -> None:
    """The patch that removes the last finalizer deletes the object and answers it."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    api.delete("g").ok(200)
    assert api.patch("merge", "g", {"metadata": {"finalizers": None}}).ok(200).json["metadata"]["name"] == "g"
    api.get("g").refused(404, "NotFound")


def test_no_new_finalizers_while_deleting(api: Api) -> None:
    """An object that is being deleted takes no new finalizer."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    api.delete("g").ok(200)
    reply = api.patch("merge", "g", {"metadata": {"finalizers": ["fiferail.dev/a", "fiferail.dev/b"]}}).refused(422, "Invalid")
    assert "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted" in reply.message


def test_spec_can_change_while_deleting(api: Api) -> None:
    """An object that is being deleted can still be changed."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={"size": 1})
    api.delete("g").ok(200)
    assert api.patch("merge", "g", {"spec": {"size": 2}}).ok(200).json["spec"] == {"size": 2}


def test_second_delete_keeps_the_time(api: Api) -> None:
    """A second delete of an object that is being deleted changes nothing."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    first = api.delete("g").ok(200)
    assert api.delete("g").ok(200).version == first.version


def test_stale_precondition(api: Api) -> None:
    """A delete with a stale resourceVersion precondition is 409 Conflict."""
    stale = api.made("g", spec={})["metadata"]["resourceVersion"]
    current = api.patch("merge", "g", {"spec": {"size": 2}}).ok(200).version
    reply = api.delete("g", {"preconditions": {"resourceVersion": stale}}).refused(409, "Conflict")
    assert reply.message == (
        f'Operation cannot be fulfilled on {api.kind}.{api.group} "g": the ResourceVersion in the precondition ({stale}) '
        f"does not match the ResourceVersion in record ({current}). The object might have been modified"
    )
    api.delete("g", {"preconditions": {"resourceVersion": current}}).ok(200)


def test_uid_precondition(api: Api) -> None:
    """A delete with another uid as precondition is 409 Conflict."""
    uid = api.made("g", spec={})["metadata"]["uid"]
    reply = api.delete("g", {"preconditions": {"uid": "other"}}).refused(409, "Conflict")
    assert reply.message == (
        f'Operation cannot be fulfilled on {api.kind}.{api.group} "g": the UID in the precondition (other) '
        f"does not match the UID in record ({uid}). The object might have been deleted and then recreated"
    )


@pytest.mark.parametrize(("policy", "finalizers"), [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])])
def test_propagation_finalizers(api: Api, policy: str, finalizers: list[str]) -> None:
    """Foreground and Orphan deletion leave a finalizer for the garbage collector."""
    api.made("g", spec={})
    assert api.delete("g", {"propagationPolicy": policy}).ok(200).json["metadata"]["finalizers"] == finalizers


def test_background_deletes_at_once(api: Api) -> None:
    """Background deletion removes the object at once."""
    api.made("g", spec={})
    api.delete("g", propagationPolicy="Background").ok(200)
    api.get("g").refused(404, "NotFound")


def test_bad_propagation_policy(api: Api) -> None:
    """An unknown propagation policy is 422."""
    api.made("g", spec={})
    reply = api.delete("g", {"propagationPolicy": "Sideways"}).refused(422, "Invalid")
    assert reply.message.startswith('DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways"')


def test_dry_run(api: Api) -> None:
    """A dry-run delete deletes nothing."""
    api.made("g", spec={})
    api.delete("g", dryRun="All").ok(200)
    api.get("g").ok(200)


def test_collection(api: Api) -> None:
    """deletecollection removes what matches and answers a list of it."""
    api.made("a", {"labels": {"t": "x"}}, spec={})
    api.made("b", {"labels": {"t": "y"}}, spec={})
    answer = api.send("DELETE", api.path(), labelSelector="t=x").ok(200).json
    assert (answer["kind"], [item["metadata"]["name"] for item in answer["items"]]) == ("GadgetList", ["a"])
    assert [item["metadata"]["name"] for item in api.list().json["items"]] == ["b"]


def test_put_that_removes_the_last_finalizer(api: Api) -> None:
    """A PUT that removes the last finalizer of an object being deleted deletes it."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    stored = api.delete("g").ok(200).json
    del stored["metadata"]["finalizers"]
    api.put("g", stored).ok(200)
    api.get("g").refused(404, "NotFound")


def test_status_write_while_deleting(api: Api) -> None:
    """The status of an object that is being deleted can be written."""
    api.made("g", {"finalizers": ["fiferail.dev/a"]}, spec={})
    api.delete("g").ok(200)
    assert api.patch("merge", "g", {"status": {"phase": "x"}}, "status").ok(200).json["status"] == {"phase": "x"}


def test_delete_with_wrong_body(api: Api) -> None:
    """A delete whose body is broken JSON is 400."""
    api.made("g", spec={})
    api.delete("g", b"{").refused(400, "BadRequest")
    api.get("g").ok(200)
