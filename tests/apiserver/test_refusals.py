"""What the embedded server refuses because it cannot do it exactly, and what it cleans up on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fiferail.apiserver import reviews
from fiferail.apiserver.kinds import User
from fiferail.apiserver.machine import Machine
from fiferail.wire import Answer, Request

PROTOBUF = "application/vnd.kubernetes.protobuf"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}


@pytest.fixture
def machine() -> Machine:
    return Machine(clock=lambda: 1_700_000_000.0)


def send(machine: Machine, method: str, path: str, body: Any = None, *, type: str = "application/json", **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = machine.handle(Request(method=method, path=path, body=content, content_type=type if content else "", headers=named))
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("header", ["impersonate_user", "impersonate_group", "impersonate_uid", "impersonate_extra_scopes"])
@pytest.mark.parametrize("path", ["/api/v1/namespaces/default", CRDS])
def test_impersonation(machine: Machine, header: str, path: str) -> None:
    """A request in another user's name is refused, not answered as the sender's own."""
    answer = send(machine, "GET", path, **{header: "bob"})
    assert (answer.status, answer.json()["message"]) == (501, "the embedded API server does not support impersonation")


def test_impersonation_in_reviews(machine: Machine) -> None:
    """A review in another user's name is refused too."""
    request = Request(method="POST", path="/apis/authentication.k8s.io/v1/selfsubjectreviews", headers={"impersonate-user": "bob"})
    answer = reviews.answer(machine, request, User(), {})
    assert answer is not None
    assert (answer.status, answer.json()["message"]) == (501, "the embedded API server does not support impersonation")


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/configmaps", CRDS])
def test_protobuf(machine: Machine, path: str) -> None:
    """The refusal of a protobuf body does not name protobuf among what is accepted."""
    answer = send(machine, "POST", path, b"k8s\0", type=PROTOBUF)
    text = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"
    assert (answer.status, answer.json()["message"]) == (415, text)


def test_objects_of_a_kind_that_is_no_longer_served(machine: Machine) -> None:
    """The objects of a CRD whose last version was switched off are deleted with it."""
    assert send(machine, "POST", CRDS, CRD).status == 201
    objects = "/apis/example.io/v1/namespaces/default/gadgets"
    assert send(machine, "POST", objects, {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}}).status == 201
    off = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
    assert send(machine, "PATCH", f"{CRDS}/gadgets.example.io", off, type="application/json-patch+json").status == 200
    assert send(machine, "DELETE", f"{CRDS}/gadgets.example.io").status == 200
    assert send(machine, "GET", f"{CRDS}/gadgets.example.io").status == 404
    assert send(machine, "POST", CRDS, CRD).status == 201
    assert send(machine, "GET", objects).json()["items"] == []
