"""Which leaves a request means to write, by the way it is written."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.history import asserted as requests
from fiferail.history.records import Commit, Identity
from fiferail.objects.paths import render
from fiferail.objects.tree import ABSENT

G = Identity("gadgets.example.io", "default", "g", "u")
READY, PROBED = {"type": "Ready", "status": "True"}, {"type": "Probed", "status": "True"}
BEFORE = {"metadata": {"name": "g"}, "spec": {"size": 1}, "status": {"phase": "A", "conditions": [READY, PROBED], "names": ["a"]}}


def commit(content: str, body: Any, verb: str = "patch", subresource: str = "status") -> Commit:
    return Commit("one", G, 2, verb, BEFORE, BEFORE, subresource=subresource, content=content, body=body)


CASES = {
    "PUT of status: everything in status, nothing else": (
        commit("", {"metadata": {"name": "g", "labels": {"a": "b"}}, "spec": {"size": 2}, "status": {"phase": "B", "names": []}}, "update"),
        {"status.phase": "B", "status.names": []},
    ),
    "PUT of the object: everything but status, without what the server keeps": (
        commit("", {"metadata": {"name": "g", "resourceVersion": "1"}, "spec": {"size": 2}, "status": {"phase": "B"}}, "update", ""),
        {"metadata.name": "g", "spec.size": 2},
    ),
    "merge patch: its leaves, and null is absence": (
        commit("merge", {"metadata": {"resourceVersion": "1"}, "status": {"phase": None, "plan": {"id": "p"}}}),
        {"status.phase": ABSENT, "status.plan.id": "p"},
    ),
    "merge patch: an array means that whole array": (
        commit("merge", {"status": {"conditions": [READY]}}),
        {"status.conditions": [READY], "status.conditions[Ready].type": "Ready", "status.conditions[Ready].status": "True"},
    ),
    "JSON patch: the paths of its operations, tests aside, entries by their keys": (
        commit("json", [
            {"op": "test", "path": "/status/phase", "value": "A"},
            {"op": "replace", "path": "/status/conditions/1/status", "value": "False"},
            {"op": "add", "path": "/status/conditions/-", "value": {"type": "Synced", "status": "True"}},
            {"op": "remove", "path": "/status/names"},
        ]),
        {
            "status.conditions[Probed].status": "False", "status.conditions[Synced].type": "Synced",
            "status.conditions[Synced].status": "True", "status.names": ABSENT,
        },
    ),
    "JSON patch: a move takes away and puts": (
        commit("json", [{"op": "move", "from": "/status/phase", "path": "/status/old"}]),
        {"status.phase": ABSENT, "status.old": None},
    ),
    "strategic merge: keyed entries, nulls and no directives": (
        commit("strategic", {"status": {"phase": None, "conditions": [READY], "$setElementOrder/conditions": [{"type": "Ready"}]}}),
        {"status.phase": ABSENT, "status.conditions[Ready].type": "Ready", "status.conditions[Ready].status": "True"},
    ),
    "apply: the leaves that are applied": (
        commit("apply", {"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "g"}, "status": {"phase": "B"}}),
        {"status.phase": "B"},
    ),
    "a body that is no patch asserts nothing": (commit("json", {"op": "add"}), {}),
    "a deletion asserts nothing": (commit("", {"kind": "DeleteOptions"}, "delete"), {}),
}  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), CASES.values(), ids=CASES.keys())
def test_a_request_asserts_these_leaves(record: Commit, expected: dict[str, Any]) -> None:
    """What was meant can be told from what was carried along."""
    assert {render(path): value for path, value in requests.asserted(record, BEFORE).items()} == expected


def test_a_json_patch_tests_these_paths() -> None:
    """An index is the entry that stands there."""
    record = commit("json", [{"op": "test", "path": "/status/conditions/0", "value": READY}, {"op": "test", "path": "/metadata/uid"}, "x"])
    assert {render(path) for path in requests.tested(record, BEFORE, None)} == {"status.conditions[Ready]", "metadata.uid"}


TESTS = {
    "behind a write of the same path": ([("replace", "/status/phase"), ("test", "/status/phase")], set()),
    "behind a write above it": ([("replace", "/status"), ("test", "/status/phase")], set()),
    "behind a write below it": ([("add", "/status/plan/id"), ("test", "/status/plan")], set()),
    "behind an entry that came, which moves the others": (
        [("add", "/status/conditions/0"), ("test", "/status/conditions/1/status")], set(),
    ),
    "behind a move out of it": ([("move", "/status/old"), ("test", "/status/phase")], set()),
    "behind a write of another path": (
        [("replace", "/status/phase"), ("test", "/status/conditions/1/status")], {"status.conditions[Probed].status"},
    ),
    "behind tests of presence, which change nothing": (
        [("add", "/status/names/-"), ("remove", "/status/names/-1"), ("test", "/status/names")], {"status.names"},
    ),
    "of the last entry, counted from the end": ([("test", "/status/conditions/-1/status")], {"status.conditions[Probed].status"}),
}  # fmt: skip


@pytest.mark.parametrize("name", TESTS)
def test_a_test_guards_only_what_the_patch_has_not_written_before(name: str) -> None:
    """The server runs the operations in their order."""
    operations, expected = TESTS[name]
    record = commit("json", [{"op": op, "path": path, "from": "/status/phase", "value": 1} for op, path in operations])
    assert {render(path) for path in requests.tested(record, BEFORE, None)} == expected


def test_a_presence_test_asserts_nothing() -> None:
    """Appending and removing, or moving an entry onto itself, is how a writer tests that a list is there."""
    record = commit(
        "json",
        [
            {"op": "add", "path": "/status/names/-", "value": "x"},
            {"op": "remove", "path": "/status/names/-1"},
            {"op": "move", "from": "/status/names/0", "path": "/status/names/0"},
        ],
    )
    assert requests.asserted(record, BEFORE) == {}


@pytest.mark.parametrize(
    ("content", "body", "version"),
    [
        ("merge", {"metadata": {"resourceVersion": "7"}}, 7),
        ("", {"metadata": {"resourceVersion": "7"}}, 7),
        ("json", [{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}], 7),
        ("json", [{"op": "test", "path": "/status/phase", "value": "7"}], None),
        ("json", "nonsense", None),
        ("merge", {"metadata": {"resourceVersion": "not a number"}}, None),
    ],
)
def test_the_version_that_a_request_names(content: str, body: Any, version: int | None) -> None:
    """As a lock in a body or as a test in a patch."""
    assert requests.named_version(body, content) == version
