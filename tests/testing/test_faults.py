"""`apiserver.faults.next`, on both servers: each parameter chooses or does what its description says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import fiferail
from fiferail.testing import ApiServer, Fault
from fiferail.wire import Answer

from .conftest import API, GADGETS, named

Resize = Callable[..., Any]


def codes(api: ApiServer, *verbs: str) -> list[int]:
    """How the requests with these verbs were answered, those of the fixture itself left out."""
    return [seen.code for seen in api.requests if seen.verb in verbs and not seen.harness and "gadgets" in seen.path]


@pytest.mark.parametrize("verb", ["update", "replace"])
def test_update_and_replace_are_one_verb(gadgets: ApiServer, verb: Any) -> None:
    """A PUT is hit under the name that the API has for it, and under the one that clients have."""
    obj = gadgets.get(API, "Gadget", "g")
    gadgets.faults.next(verb=verb, kind="Gadget", answer=503)
    with pytest.raises(fiferail.ApiError, match="503 ServiceUnavailable: apiserver is shutting down"):
        gadgets.client.replace(obj)
    assert gadgets.client.replace(obj)["spec"] == {"size": 1}


@pytest.mark.parametrize("kind", ["Gadget", "gadgets", "Gadget.faults.fiferail.dev", "gadgets.faults.fiferail.dev"])
def test_a_kind_has_four_names(gadgets: ApiServer, resize: Resize, kind: str) -> None:
    """A kind is named by its kind or plural, with its group or without."""
    gadgets.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "g"}})
    fault = gadgets.faults.next(kind=kind, answer=403)
    gadgets.client.get("v1", "ConfigMap", "g", namespace="default")
    with pytest.raises(fiferail.Forbidden):
        resize(gadgets)
    assert fault.struck == 1


def test_a_name_and_a_namespace(gadgets: ApiServer, resize: Resize) -> None:
    """Objects of another name, and of the same name elsewhere, are left alone."""
    gadgets.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "faults-elsewhere"}})
    gadgets.apply(named("other"), named(namespace="faults-elsewhere"))
    gadgets.faults.next(verb="patch", kind="Gadget", name="g", namespace="default", answer=409)
    resize(gadgets, name="other")
    gadgets.client.patch(named(namespace="faults-elsewhere"), {"spec": {"size": 2}})
    with pytest.raises(fiferail.ApiError, match="409 Conflict"):
        resize(gadgets)


def test_the_name_of_a_create_is_in_its_body(gadgets: ApiServer) -> None:
    """A create is chosen by the name of the object that it creates."""
    gadgets.faults.next(verb="create", kind="Gadget", name="second", answer=403)
    gadgets.client.create(named("first"))
    with pytest.raises(fiferail.Forbidden):
        gadgets.client.create(named("second"))
    assert [obj["metadata"]["name"] for obj in gadgets.list(API, "Gadget")] == ["first", "g"]


def test_the_name_of_a_list_is_in_its_field_selector(gadgets: ApiServer) -> None:
    """A list or watch is chosen by the one name that it selects, as apiserver itself sees it."""
    gadgets.faults.next(verb="list", kind="Gadget", name="g", answer=403)
    gadgets.client.list(API, "Gadget", namespace="default")
    gadgets.client.list(API, "Gadget", namespace="default", fields="metadata.name=other")
    with pytest.raises(fiferail.Forbidden):
        gadgets.client.list(API, "Gadget", namespace="default", fields="metadata.name=g")


@pytest.mark.parametrize(("subresource", "hit"), [("status", "status"), ("", None)], ids=["status", "the object itself"])
def test_a_subresource(gadgets: ApiServer, resize: Resize, subresource: str, hit: str | None) -> None:
    """Only the subresource is hit, or only the object itself."""
    gadgets.faults.next(verb="patch", kind="Gadget", subresource=subresource, answer=403)
    for path in (None, "status"):
        if path == hit:
            with pytest.raises(fiferail.Forbidden):
                gadgets.client.patch(named(), {"status": {"a": "b"}}, subresource=path)
        else:
            gadgets.client.patch(named(), {"status": {"a": "b"}}, subresource=path)


def test_a_client(gadgets: ApiServer, resize: Resize) -> None:
    """A client is named by its user agent, whole or up to the first slash."""
    gadgets.faults.next(verb="patch", client="operator", answer=403, times=2)
    resize(gadgets)
    for agent in ("operator", "operator/v1.2 (linux)"):
        with pytest.raises(fiferail.Forbidden):
            resize(gadgets, client=gadgets.client_as(agent))
    gadgets.faults.next(verb="patch", client="operator/v1.2 (linux)", answer=403)
    resize(gadgets, client=gadgets.client_as("operator"))
    with pytest.raises(fiferail.Forbidden):
        resize(gadgets, client=gadgets.client_as("operator/v1.2 (linux)"))


def test_times_and_after(gadgets: ApiServer, resize: Resize) -> None:
    """`after` lets requests pass, `times` says how many are hit, and the fault counts them."""
    fault = gadgets.faults.next(verb="patch", kind="Gadget", answer=403, after=1, times=2)
    for refused in (False, True, True, False):
        if refused:
            with pytest.raises(fiferail.Forbidden):
                resize(gadgets)
        else:
            resize(gadgets)
    assert isinstance(fault, Fault)
    assert (fault.struck, codes(gadgets, "patch")) == (2, [200, 403, 403, 200])


def test_times_0_strikes_never(gadgets: ApiServer, resize: Resize) -> None:
    """A fault for no request hits none, and the test does not fail for it."""
    fault = gadgets.faults.next(verb="patch", kind="Gadget", answer=500, times=0)
    assert resize(gadgets)["spec"] == {"size": 2}
    assert fault.struck == 0


@pytest.mark.parametrize(
    ("answer", "retry_after", "header"),
    [(429, None, "1"), (429, 7, "7"), (429, 0, None), (503, None, None), (503, 3, "3")],
    ids=["429 has one", "429 with another", "429 without", "503 has none", "503 with one"],
)
def test_retry_after(gadgets: ApiServer, answer: int, retry_after: int | None, header: str | None) -> None:
    """The Retry-After header says what was asked for."""
    gadgets.faults.next(verb="get", kind="Gadget", answer=answer, retry_after=retry_after)
    got = _get(gadgets)
    assert (got.status, got.headers.get("retry-after")) == (answer, header)


def test_latency_comes_after_the_write(gadgets: ApiServer, resize: Resize) -> None:
    """With answer=200 the request is done at once and answered late."""
    gadgets.faults.next(verb="patch", kind="Gadget", answer=200, latency=0.2)
    begun = time.monotonic()
    assert resize(gadgets)["spec"] == {"size": 2}
    assert time.monotonic() - begun >= 0.2


def test_latency_of_a_refusal(gadgets: ApiServer) -> None:
    """A refusal can be late too, and is counted with its code."""
    gadgets.faults.next(verb="get", kind="Gadget", answer=503, latency=0.01)
    assert _get(gadgets).status == 503
    assert codes(gadgets, "get") == [503]


def test_a_dropped_watch_ends_at_once(gadgets: ApiServer) -> None:
    """A dropped watch delivers nothing and ends; the next one delivers."""
    gadgets.faults.next(verb="watch", kind="Gadget", answer="dropped")
    assert list(gadgets.client.watch(API, "Gadget", namespace="default", timeout_seconds=5)) == []
    kind, obj = next(iter(gadgets.client.watch(API, "Gadget", namespace="default", timeout_seconds=5)))
    assert (kind, obj["metadata"]["name"]) == ("ADDED", "g")


def test_watch_false_is_a_list(gadgets: ApiServer) -> None:
    """A fault of watches leaves a list alone that says `watch=false`."""
    gadgets.faults.next(verb="watch", kind="Gadget", answer=500, optional=True)
    path = "/apis/faults.fiferail.dev/v1/namespaces/default/gadgets"
    answer = gadgets.client.transport.send(fiferail.wire.Request(method="GET", path=path, query=(("watch", "false"),)))
    assert answer.status == 200


def test_a_lost_answer_of_a_read(gadgets: ApiServer) -> None:
    """A list or watch whose answer is lost ends with a broken connection, though the fault names no verb."""
    client = gadgets.client_as("operator")
    gadgets.faults.next(kind="Gadget", client="operator", answer="lost", times=2)  # a read is sent again once on a new connection
    with pytest.raises(ConnectionError):
        client.list(API, "Gadget", namespace="default")
    gadgets.faults.next(verb="watch", kind="Gadget", answer="lost")
    with pytest.raises(ConnectionError):
        list(gadgets.client.watch(API, "Gadget", namespace="default", timeout_seconds=1))


def test_a_stale_list(gadgets: ApiServer, resize: Resize) -> None:
    """A stale list is as many changes of the kind behind as is said, whatever else was written; its selector still holds."""
    gadgets.faults.next(verb="list", kind="Gadget", answer="stale", behind=2)
    resize(gadgets, 2)
    resize(gadgets, 3)
    gadgets.apply(named("other"), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    (stale,) = gadgets.client.list(API, "Gadget", namespace="default", fields="metadata.name=g")
    assert stale["spec"] == {"size": 2}
    (fresh,) = gadgets.client.list(API, "Gadget", namespace="default", fields="metadata.name=g")
    assert fresh["spec"] == {"size": 3}


def test_a_lagging_watch(gadgets: ApiServer, resize: Resize) -> None:
    """A lagging watch delivers a change only when as many others have followed as is said."""
    gadgets.faults.next(verb="watch", kind="Gadget", answer="lagging", behind=1)
    begin = gadgets.get(API, "Gadget", "g")["metadata"]["resourceVersion"]
    resize(gadgets, 2)
    resize(gadgets, 3)
    seen = gadgets.client.watch(API, "Gadget", namespace="default", resource_version=begin, timeout_seconds=1)
    assert [obj["spec"]["size"] for _, obj in seen] == [2]


def test_the_fixtures_own_requests_are_never_hit(gadgets: ApiServer) -> None:
    """apply, get, list and wait_for work while every request of a client fails."""
    fault = gadgets.faults.next(answer=500, times=100)
    gadgets.apply(named("second"))
    gadgets.get(API, "Gadget", "second")
    assert len(gadgets.list(API, "Gadget")) == 2
    gadgets.wait_for(API, "Gadget", "second", lambda obj: obj["spec"]["size"] == 1)
    assert fault.struck == 0
    assert _get(gadgets).status == 500


def test_the_server_does_not_see_the_mark_of_the_fixture(both: ApiServer) -> None:
    """The header that marks the fixture's own requests is taken off, and `requests` still marks them."""
    both.apply(GADGETS, named())
    _get(both)
    assert {(seen.agent, seen.harness) for seen in both.requests if "gadgets/g" in seen.path} == {("test", True), ("test", False)}
    managers = {entry["manager"] for entry in both.get(API, "Gadget", "g")["metadata"]["managedFields"]}
    assert managers == {"test"}


def test_clear_withdraws(gadgets: ApiServer, resize: Resize) -> None:
    """After clear nothing is hit, and the test does not fail for a fault that never struck."""
    gadgets.faults.next(verb="patch", kind="Gadget", answer=500)
    gadgets.faults.clear()
    assert resize(gadgets)["spec"] == {"size": 2}


def test_optional_faults_need_not_strike(gadgets: ApiServer) -> None:
    """The test does not fail for an optional fault."""
    gadgets.faults.next(verb="patch", kind="Gadget", answer=500, optional=True)
    assert gadgets.idle_faults() == ""


def test_faults_are_used_up_in_their_order(gadgets: ApiServer, resize: Resize) -> None:
    """Two faults of the same requests strike one after the other, and `struck` lists them."""
    first = gadgets.faults.next(verb="patch", kind="Gadget", answer=403)
    second = gadgets.faults.next(verb="patch", kind="Gadget", answer=405)
    for code in (403, 405):
        with pytest.raises(fiferail.ApiError) as caught:
            resize(gadgets)
        assert caught.value.code == code
    assert gadgets.faults.struck == [first, second]


def _get(api: ApiServer) -> Answer:
    path = "/apis/faults.fiferail.dev/v1/namespaces/default/gadgets/g"
    return api.client.transport.send(fiferail.wire.Request(method="GET", path=path))
