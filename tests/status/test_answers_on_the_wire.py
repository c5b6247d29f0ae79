"""Each row of the answer table, produced by a server: the body is what we think it is, and the writer does what the table says."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

import fiferail
from fiferail.status.answers import FAILED_TEST, Meaning, error, meaning
from fiferail.testing.server import ApiServer
from fiferail.wire import JSON_PATCH, MERGE_PATCH, Answer, Request

_names = itertools.count()
CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message", "lastTransitionTime")},
        "observedGeneration": {"type": "integer"},
    },
}
KEYED = {"type": "array", "items": CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
STATUS = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {"phase": {"type": "string"}, "count": {"type": "integer"}, "conditions": KEYED},
}
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "wires.wire.example.io"},
    "spec": {
        "group": "wire.example.io",
        "scope": "Namespaced",
        "names": {"plural": "wires", "singular": "wire", "kind": "Wire", "listKind": "WireList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}},
            }
        ],
    },
}  # fmt: skip


class Wire:
    """One object on one server, and a writer of it whose waits are recorded."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        server.apply(CRD)
        self.obj = self.made(f"w{next(_names)}")
        self.waited: list[float] = []
        self.writer: Any = fiferail.StatusWriter(server.client, field_manager="me", sleep=self.waited.append)

    def made(self, name: str) -> Any:
        """A fresh object with a status."""
        metadata = {"name": name, "namespace": "default"}
        # A server that owns nothing of an object at its creation tracks no manager of it later: so there is a spec.
        obj = self.server.client.create({"apiVersion": "wire.example.io/v1", "kind": "Wire", "metadata": metadata, "spec": {"size": 1}})
        return self.other(obj, phase="Pending", conditions=[])

    def other(self, obj: Any, **status: Any) -> Any:
        """Somebody else writes."""
        return self.server.client.patch(obj, {"status": status}, subresource="status", field_manager="other")

    def live(self) -> Any:
        """The object as it is now."""
        return self.server.get("wire.example.io/v1", "Wire", self.obj["metadata"]["name"])

    def send(self, body: Any, content_type: str = JSON_PATCH) -> Answer:
        """A patch of the status as we mean it."""
        path = f"/apis/wire.example.io/v1/namespaces/default/wires/{self.obj['metadata']['name']}/status"
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.server.client.transport.send(Request(method="PATCH", path=path, body=content, content_type=content_type))


@pytest.fixture
def wire(server: ApiServer) -> Wire:
    """On each server."""
    return Wire(server)


def run(status: Any) -> None:
    """Writes without looking."""
    status["phase"] = "Running"


# -- what the server says


def test_a_failed_test_is_told_by_its_message(wire: Wire) -> None:
    """422 without causes and with exactly this message: refused."""
    answer = wire.send([{"op": "test", "path": "/status/phase", "value": "x"}, {"op": "add", "path": "/status/phase", "value": "y"}])
    status = answer.json()
    assert (answer.status, status["message"], status["reason"], status["details"].get("causes")) == (422, FAILED_TEST, "Invalid", None)
    assert meaning(answer) is Meaning.REFUSED


def test_a_stale_version_is_409(wire: Wire) -> None:
    """LOCKED sends one."""
    answer = wire.send({"metadata": {"resourceVersion": "1"}, "status": {"phase": "x"}}, MERGE_PATCH)
    assert (answer.status, answer.json()["reason"], meaning(answer)) == (409, "Conflict", Meaning.REFUSED)


def test_a_duplicate_of_an_appended_entry_is_a_refusal(wire: Wire) -> None:
    """The cause names the list and the index; where we appended to that list, it means that another was first."""
    entry = {"type": "A", "status": "True"}
    answer = wire.send([{"op": "add", "path": "/status/conditions/-", "value": entry}] * 2)
    causes = answer.json()["details"]["causes"]
    assert [(cause["reason"], cause["field"]) for cause in causes] == [("FieldValueDuplicate", "status.conditions[1]")]
    assert meaning(answer, appended=("status.conditions",)) is Meaning.REFUSED
    assert meaning(answer) is Meaning.INVALID


@pytest.mark.parametrize(
    ("body", "code"),
    [pytest.param(b"{}", 400, id="no list"), pytest.param(b"[", 400, id="no JSON"), pytest.param(b'[{"op":"x"}]', 422, id="no operation")],
)
def test_a_patch_that_is_none_is_invalid_or_refused_but_never_stored(wire: Wire, body: bytes, code: int) -> None:
    """None of these is taken for an answer that may have landed."""
    answer = wire.send(body)
    assert answer.status == code
    assert meaning(answer) in (Meaning.INVALID, Meaning.REFUSED)


# -- what the writer does


def test_stored(wire: Wire) -> None:
    """200: one request, and its body is the new snapshot."""
    outcome = wire.writer.mutate(wire.obj, run)
    assert (outcome.kind, outcome.requests, outcome.object) == ("applied", 1, wire.live())


def test_refused_and_rebased(wire: Wire) -> None:
    """A whole list that another has added to is tested where the writer read all of it; what it writes itself is a scalar."""
    stale = wire.obj
    wire.other(stale, count=7)
    assert wire.writer.mutate(stale, lambda status: status.update(phase="Running")).kind == "applied"
    assert wire.live()["status"] == {"phase": "Running", "count": 7, "conditions": []}


def test_two_writers_of_one_new_condition(wire: Wire) -> None:
    """The second append is refused by the server; the writer names the first, and a function that looks decides anew on it."""
    entry = {"type": "Ready", "status": "False", "reason": "Other", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    wire.other(wire.obj, conditions=[entry])
    absent = r"status\.conditions\[Ready\]  was absent"
    with pytest.raises(fiferail.Conflict, match=absent) as caught, wire.writer.session(wire.obj) as status:
        status.conditions.set("Ready", True, reason="Mine")
    assert caught.value.changes[0].written_by == "other"
    with pytest.raises(fiferail.Conflict, match=absent):  # it may hold the old object: it never looked at what is there now
        wire.writer.mutate(wire.obj, lambda status: status.conditions.set("Ready", True, reason="Mine"))

    def look_and_set(status: fiferail.Status) -> None:
        status.conditions.get("Ready")
        status.conditions.set("Ready", True, reason="Mine")

    outcome = wire.writer.mutate(wire.obj, look_and_set)
    assert [c["reason"] for c in outcome.object["status"]["conditions"]] == ["Mine"]


def test_a_schema_error_is_invalid_with_the_servers_causes(wire: Wire) -> None:
    """Never taken for a conflict: one request, no retry."""
    before = len(wire.server.requests)
    with pytest.raises(fiferail.Invalid) as caught:
        wire.writer.mutate(wire.obj, lambda status: status.update(phase=3))
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueTypeInvalid", "status.phase")]
    assert [seen.method for seen in wire.server.requests[before:]].count("PATCH") == 1


def test_more_operations_than_the_server_takes(wire: Wire) -> None:
    """413 with the server's own words; nothing is written."""
    with pytest.raises(fiferail.Invalid) as caught:
        wire.writer.mutate(wire.obj, lambda status: status.update({f"k{i}": i for i in range(5001)}))
    said = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10003"
    assert (caught.value.code, str(caught.value)) == (413, said)
    assert "k0" not in wire.live()["status"]


@pytest.mark.parametrize(("size", "codes"), [pytest.param(1_700_000, (500,), id="object"), pytest.param(3_500_000, (413,), id="body")])
def test_an_object_that_is_too_large_is_invalid_at_once(wire: Wire, size: int, codes: tuple[int, ...]) -> None:
    """The server says 500 for what its store cannot take: trying again would not help."""
    with pytest.raises(fiferail.Invalid) as caught:
        wire.writer.mutate(wire.obj, lambda status: status.update(big="x" * size))
    assert caught.value.code in codes
    assert "too large" in str(caught.value) or "larger than max" in str(caught.value)


def test_an_object_that_is_gone(wire: Wire) -> None:
    """404 twice."""
    wire.server.client.delete(wire.obj)
    assert wire.writer.mutate(wire.obj, run).kind == "gone"


def test_an_object_that_was_made_again(wire: Wire) -> None:
    """The uid is tested: the new one is not written to."""
    wire.server.client.delete(wire.obj)
    again = wire.made(wire.obj["metadata"]["name"])
    assert wire.writer.mutate(wire.obj, run).kind == "gone"
    assert wire.live()["status"] == again["status"]


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        pytest.param({"answer": 409}, "rebased", 3, id="409"),
        pytest.param({"answer": 500}, "rebased", 3, id="500, not landed"),
        pytest.param({"answer": 502}, "rebased", 3, id="502, not landed"),
        pytest.param({"answer": 504}, "rebased", 3, id="504, not landed"),
        pytest.param({"answer": 503}, "rebased", 3, id="503 without Retry-After"),
        pytest.param({"answer": "lost"}, "converged", 2, id="landed, and the answer lost"),
        pytest.param({"answer": 429, "retry_after": 2}, "applied", 2, id="429"),
        pytest.param({"answer": 503, "retry_after": 2}, "applied", 2, id="503 with Retry-After"),
    ],
)
def test_trouble_on_the_way(wire: Wire, fault: dict[str, Any], kind: str, requests: int) -> None:
    """Whatever happens to the answer, the value stands once in the end, and a pause is as long as was asked for."""
    wire.server.faults.next(verb="patch", kind="wires", **fault)
    outcome = wire.writer.mutate(wire.obj, run)
    assert (outcome.kind, outcome.requests) == (kind, requests)
    assert wire.live()["status"]["phase"] == "Running"
    if "retry_after" in fault:
        assert wire.waited[0] >= 2


@pytest.mark.parametrize("code", [401, 403, 405])
def test_the_rest_is_passed_on(wire: Wire, code: int) -> None:
    """ApiError with the server's code, at once."""
    wire.server.faults.next(verb="patch", kind="wires", answer=code)
    with pytest.raises(fiferail.ApiError) as caught:
        wire.writer.mutate(wire.obj, run)
    assert caught.value.code == code
    assert wire.waited == []


def test_an_unknown_kind_is_answered_in_plain_text(wire: Wire) -> None:
    """Its text is kept."""
    answer = wire.server.client.transport.send(Request(method="GET", path="/apis/wire.example.io/v1/namespaces/default/nones/x"))
    assert (answer.status, str(error(answer))) == (404, "404: 404 page not found")
