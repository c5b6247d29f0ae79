"""The fixture `apiserver`, on both servers: what a test can ask of it, and that the next test sees nothing of it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import fiferail
from fiferail.testing import ApiServer
from fiferail.testing.plugin import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("fixture")

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.fixture.fiferail.dev"},
    "spec": {
        "group": "fixture.fiferail.dev",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": SCHEMA}}
        ],
    },
}
VERSION = "fixture.fiferail.dev/v1"
GADGET = {"apiVersion": VERSION, "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}


@pytest.fixture(params=["embedded", "real"])
def apiserver(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """The plugin's fixture on each server in turn."""
    yield from started(request, request.param)


def test_applies_kinds_and_objects(apiserver: ApiServer, tmp_path: Path) -> None:
    """apply takes a directory and objects, defines the kinds first, and writes a status too."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "gadget.json").write_text(json.dumps(CRD))
    (stored,) = apiserver.apply({**GADGET, "status": {"phase": "x"}}, tmp_path / "crds")
    assert (stored["metadata"]["namespace"], stored["status"]) == ("default", {"phase": "x"})
    assert apiserver.get(VERSION, "Gadget", "g")["spec"] == {"size": 1}
    assert [obj["metadata"]["name"] for obj in apiserver.list(VERSION, "Gadget")] == ["g"]


@pytest.mark.parametrize("turn", [1, 2])
def test_next_test_sees_nothing(apiserver: ApiServer, turn: int) -> None:
    """A test finds none of the objects of the one before, not even one held by a finalizer or in its own namespace."""
    apiserver.apply(CRD)
    assert apiserver.list(VERSION, "Gadget") == []
    namespaces = {obj["metadata"]["name"] for obj in apiserver.list("v1", "Namespace")}
    assert "mine" not in namespaces
    apiserver.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
    apiserver.apply({**GADGET, "metadata": {"name": "held", "namespace": "mine", "finalizers": ["fiferail.dev/x"]}})
    apiserver.client.create({**GADGET, "metadata": {"name": f"g{turn}", "namespace": "default"}})


@pytest.mark.parametrize("kind", ["Gadget", "Gizmo"])
def test_same_name_other_content(apiserver: ApiServer, kind: str) -> None:
    """Two tests may define the same CRD differently."""
    names = {"plural": "gadgets", "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    apiserver.apply({**CRD, "spec": {**CRD["spec"], "names": names}}, {**GADGET, "kind": kind})
    assert apiserver.get(VERSION, kind, "g")["kind"] == kind


def test_crd_created_by_a_client(apiserver: ApiServer) -> None:
    """A CRD that a client creates by itself does not trip over one that another test left behind."""
    assert apiserver.client.create(CRD)["metadata"]["name"] == CRD["metadata"]["name"]


@pytest.mark.parametrize("code", [409, 429, 500, 503])
def test_faults_answer_instead(apiserver: ApiServer, code: int) -> None:
    """faults.next gives the next matching request that code, once, and nothing is written."""
    apiserver.apply(CRD, GADGET)
    apiserver.faults.next(verb="patch", kind="Gadget", answer=code)
    with pytest.raises(fiferail.FiferailError) as caught:
        apiserver.client.patch({**GADGET, "metadata": {"name": "g", "namespace": "default"}}, {"spec": {"size": 2}})
    assert getattr(caught.value, "code", 409) == code
    assert apiserver.get(VERSION, "Gadget", "g")["spec"] == {"size": 1}
    apiserver.client.patch({**GADGET, "metadata": {"name": "g", "namespace": "default"}}, {"spec": {"size": 2}})
    assert apiserver.get(VERSION, "Gadget", "g")["spec"] == {"size": 2}


def test_lost_answer_is_committed(apiserver: ApiServer) -> None:
    """With answer="lost" the write lands and the connection ends."""
    apiserver.apply(CRD, GADGET)
    apiserver.faults.next(verb="patch", kind="Gadget", answer="lost")
    with pytest.raises(OSError):
        apiserver.client.patch({**GADGET, "metadata": {"name": "g", "namespace": "default"}}, {"spec": {"size": 2}})
    assert apiserver.get(VERSION, "Gadget", "g")["spec"] == {"size": 2}


def test_requests_are_counted(apiserver: ApiServer) -> None:
    """requests lists what was asked, by whom, how it was answered, and whether the fixture itself asked."""
    apiserver.apply(CRD, GADGET)
    apiserver.get(VERSION, "Gadget", "g")
    last = apiserver.requests[-1]
    path = "/apis/fixture.fiferail.dev/v1/namespaces/default/gadgets/g"
    assert (last.method, last.path, last.verb, last.code, last.agent, last.harness) == ("GET", path, "get", 200, "test", True)
    apiserver.client_as("operator").list(VERSION, "Gadget", namespace="default")
    last = apiserver.requests[-1]
    assert (last.method, last.path, last.verb, last.code, last.agent, last.harness) == ("GET", path[:-2], "list", 200, "operator", False)


def test_wait_for_a_change(apiserver: ApiServer) -> None:
    """wait_for returns the object in which the condition is True, once another writer has written it."""
    apiserver.apply(CRD, GADGET)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    named = {**GADGET, "metadata": {"name": "g", "namespace": "default"}}
    writer = threading.Thread(target=lambda: fiferail.Client(apiserver.client).patch(named, ready, subresource="status"))
    writer.start()
    assert apiserver.wait_for(VERSION, "Gadget", "g", "Ready")["status"] == ready["status"]
    writer.join()


def test_wait_for_creation_and_end(apiserver: ApiServer) -> None:
    """wait_for waits for an object to come, and to go."""
    apiserver.apply(CRD)
    maker = threading.Thread(target=lambda: apiserver.apply(GADGET))
    maker.start()
    found = apiserver.wait_for(VERSION, "Gadget", "g", lambda obj: obj["spec"]["size"] == 1)
    maker.join()
    ender = threading.Thread(target=lambda: fiferail.Client(apiserver.client).delete(found))
    ender.start()
    apiserver.wait_for(VERSION, "Gadget", "g", gone=True)
    ender.join()


def test_wait_in_vain(apiserver: ApiServer) -> None:
    """A wait in vain says what was wanted and what was seen last."""
    apiserver.apply(CRD, GADGET)
    with pytest.raises(AssertionError, match=r"Gadget default/g did not fulfil 'Ready' within 1 s; last seen: \{.*'size': 1"):
        apiserver.wait_for(VERSION, "Gadget", "g", "Ready", timeout=1)


def test_kubeconfig(apiserver: ApiServer) -> None:
    """The kubeconfig connects another client."""
    with fiferail.connect(apiserver.kubeconfig) as client:
        assert client.get("v1", "Namespace", "default")["kind"] == "Namespace"


def test_bad_thing_to_apply(apiserver: ApiServer) -> None:
    """Something that is no object is refused with what it was."""
    with pytest.raises(fiferail.FiferailError, match="expected an object, a file or a directory, got 7"):
        apiserver.apply(7)


@pytest.mark.parametrize("text", ["- " * 50_000, "[" * 50_000], ids=["dashes", "brackets"])
def test_a_hostile_manifest_is_refused_by_name(apiserver: ApiServer, tmp_path: Path, text: str) -> None:
    """A manifest made to crash whoever reads it is an error that names the file."""
    file = tmp_path / "hostile.yaml"
    file.write_text(text)
    with pytest.raises(fiferail.FiferailError) as caught:
        apiserver.apply(file)
    assert str(caught.value) == f"{file}: not valid YAML: exceeded max depth of 10000"
