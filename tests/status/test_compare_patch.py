"""COMPARE: from a snapshot, intents and reads to one JSON patch."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fiferail.objects.tree import Json
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.strategies import compare
from fiferail.status.view import Status

NOW = "2026-01-02T03:04:05Z"
A = {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
B = {**A, "type": "B"}
ENFORCED = Shapes(enforced=frozenset({("status", "conditions")}), keyed={("status", "conditions"): ("type",)})
UID = {"op": "test", "path": "/metadata/uid", "value": "u"}
VERSION = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


def patch(status: Json, edit: Any, shapes: Shapes = ENFORCED, by_version: bool = False) -> Any:
    """The patch that a session on this status would send."""
    obj = {"metadata": {"name": "g", "uid": "u", "resourceVersion": "7"}, **({} if status is None else {"status": status})}
    stage = Stage(obj, shapes=shapes, now=lambda: NOW)
    edit(Status(stage, ("status",)))
    body = compare(obj, stage.intents(), stage.reads, shapes, by_version=by_version)
    return None if body is None else msgspec.json.decode(body.content)


def holds(path: str, value: Json) -> Json:
    """A test operation."""
    return {"op": "test", "path": path, "value": value}


def add(path: str, value: Json) -> Json:
    """An add operation."""
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> Json:
    """A remove operation."""
    return {"op": "remove", "path": path}


def test_nothing_to_change_sends_nothing() -> None:
    """A session that only looked, or assigned what is there, has no request."""
    assert patch({"phase": "X"}, lambda s: (s["phase"], s.update(phase="X"))) is None


@pytest.mark.parametrize(
    ("status", "edit", "expected"),
    [
        pytest.param(
            {"phase": "X"}, lambda s: s.update(phase="Y"), [holds("/status/phase", "X"), add("/status/phase", "Y")], id="a scalar"
        ),
        pytest.param({}, lambda s: s.update(phase="Y"), [holds("/status/phase", None), add("/status/phase", "Y")], id="a new member"),
        pytest.param(None, lambda s: s.update(phase="Y"), [holds("/status", None), add("/status", {"phase": "Y"})], id="no status yet"),
        pytest.param(
            {"n": {}}, lambda s: s["n"].update(a={"b": 1}), [holds("/status/n/a", None), add("/status/n/a", {"b": 1})], id="a new parent"
        ),
        pytest.param({"a/b~c": 1}, lambda s: s.pop("a/b~c"), [holds("/status/a~1b~0c", 1), remove("/status/a~1b~0c")], id="escaped names"),
        pytest.param(
            {"a": 1, "b": 2},
            lambda s: s.update(b=s["a"] + 2),
            [holds("/status/a", 1), holds("/status/b", 2), add("/status/b", 3)],
            id="what was read is tested",
        ),
        pytest.param(
            {"a": 1}, lambda s: s.update(b=s.get("c", 0)), [holds("/status/c", None), holds("/status/b", None), add("/status/b", 0)],
            id="what was looked for and not found is tested",
        ),
        pytest.param(
            {"l": [1, 2]}, lambda s: s["l"].append(3), [holds("/status/l", [1, 2]), add("/status/l", [1, 2, 3])], id="a list without keys"
        ),
        pytest.param(
            {"conditions": [B, A]},
            lambda s: s.conditions.set("A", True, reason="New"),
            [holds("/status/conditions/1", A), add("/status/conditions/1/reason", "New")],
            id="a condition where it stands",
        ),
        pytest.param(
            {"conditions": [B]},
            lambda s: s.conditions.set("A", True, reason="R"),
            [add("/status/conditions/-", {**A, "lastTransitionTime": NOW})],
            id="a new condition needs no test where the server keeps types unique",
        ),
        pytest.param(
            {"x": 1},
            lambda s: s.conditions.set("A", True, reason="R"),
            [holds("/status/conditions", None), add("/status/conditions", [{**A, "lastTransitionTime": NOW}])],
            id="the first condition",
        ),
        pytest.param(
            {"conditions": [A, B]},
            lambda s: (s.conditions.remove("A"), s.conditions.set("B", True, reason="New")),
            [
                holds("/status/conditions/0", A), holds("/status/conditions/1", B), add("/status/conditions/1/reason", "New"),
                remove("/status/conditions/0"),
            ],
            id="removals come last, because indices shift",
        ),
        pytest.param(
            {"conditions": [A]},
            lambda s: s.conditions.remove("A"),
            [holds("/status/conditions/0", A), remove("/status/conditions/0")],
            id="the last condition goes as an entry, not as a list",
        ),
        pytest.param(
            {"conditions": [A]},
            lambda s: (s.conditions.get("C"), s.update(x=1)),
            [holds("/status/conditions", [A]), holds("/status/x", None), add("/status/x", 1)],
            id="an entry looked for and not found tests the list",
        ),
        pytest.param(
            {"conditions": [A]},
            lambda s: (s.conditions.is_true("A"), s.update(x=1)),
            [
                holds("/status/conditions/0/type", "A"), holds("/status/conditions/0/status", "True"), holds("/status/x", None),
                add("/status/x", 1),
            ],
            id="a member of an entry is tested with the entry's key",
        ),
        pytest.param(
            {"conditions": [A, A]},
            lambda s: s.conditions.set("C", True, reason="R"),
            [holds("/status/conditions", [A, A]), add("/status/conditions", [A, A, {**A, "type": "C", "lastTransitionTime": NOW}])],
            id="duplicate keys make the list one value",
        ),
    ],
)  # fmt: skip
def test_the_patch_tests_what_it_depends_on_and_changes_only_what_is_wanted(status: Json, edit: Any, expected: list[Json]) -> None:
    """Tests first, the uid before all; then sets and appends; then removals."""
    assert patch(status, edit) == [UID, *expected]


def test_a_new_entry_tests_the_whole_list_where_the_server_does_not_keep_it_unique() -> None:
    """Without the promise of the schema an append could make a second entry of the same type."""
    sent = patch({"conditions": [B]}, lambda s: s.conditions.set("A", True, reason="R"), Shapes())
    assert sent == [UID, holds("/status/conditions", [B]), add("/status/conditions/-", {**A, "lastTransitionTime": NOW})]


def test_a_list_that_contains_null_is_never_tested() -> None:
    """The server does not survive such a test, so the resourceVersion stands for it."""
    assert patch({"l": [None, 1]}, lambda s: s["l"].append(2)) == [UID, VERSION, add("/status/l", [None, 1, 2])]


def test_under_contention_the_version_stands_for_all_tests() -> None:
    """One cheap test that fails early, instead of many that the server repeats."""
    assert patch({"phase": "X"}, lambda s: s.update(phase="Y"), by_version=True) == [UID, VERSION, add("/status/phase", "Y")]


@pytest.mark.parametrize(
    ("floor", "expected"), [(4, [holds("/status/observedGeneration", 3), add("/status/observedGeneration", 4)]), (3, None), (2, None)]
)
def test_raise_to_never_lowers(floor: int, expected: Any) -> None:
    """A generation already reached is left alone."""
    sent = patch({"observedGeneration": 3}, lambda s: s.raise_to("observedGeneration", floor))
    assert sent == (None if expected is None else [UID, *expected])


def test_text_goes_out_as_go_writes_it() -> None:
    """The server compares bytes in Go's encoding, so `<`, `&` and line separators are escaped on the way out."""
    obj = {"metadata": {"uid": "u"}, "status": {"t": "<&>\u2028é"}}
    stage = Stage(obj, shapes=Shapes(), now=lambda: NOW)
    Status(stage, ("status",))["t"] = "x"
    body = compare(obj, stage.intents(), stage.reads, Shapes())
    assert body is not None
    assert '"value":"\\u003c\\u0026\\u003e\\u2028é"'.encode() in body.content
