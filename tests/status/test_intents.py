"""Intents: what was staged, as changes that can be applied to any version of the object, so that a refused write loses none of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects import jsonpatch
from fiferail.objects.tree import same
from fiferail.status.intents import applied
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.strategies import compare
from fiferail.status.view import Status

from .steps import TYPES, edited, edits

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T03:04:05Z"
BASE: dict[str, Any] = {
    "metadata": {"name": "g", "uid": "u", "resourceVersion": "7", "generation": 3},
    "status": {
        "phase": "Up",
        "count": 5,
        "network": {"ip": "10.0.0.1", "ports": [80, 443]},
        "parts": [{"name": "a", "up": True}, {"name": "b", "up": False, "more": {"x": 1}}],
        "conditions": [
            {"type": name, "status": "True", "reason": "Up", "message": "", "lastTransitionTime": THEN, "note": "theirs"}
            for name in TYPES[:2]
        ],
    },
}

#: Somebody else has put entries before and after, and members beside.
NEWER: dict[str, Any] = {
    **BASE,
    "status": {
        **BASE["status"],
        "theirs": 1,
        "parts": [{"name": "z"}, *BASE["status"]["parts"]],
        "conditions": [{"type": "Theirs", "status": "True"}, *BASE["status"]["conditions"]],
    },
}


def in_order(tree: Any) -> Any:
    """With the entries of keyed lists sorted: where they stand says nothing."""
    if isinstance(tree, dict):
        return {name: in_order(member) for name, member in tree.items()}
    if isinstance(tree, list) and all(isinstance(entry, dict) for entry in tree):
        return sorted(tree, key=lambda entry: str(entry.get("type", entry.get("name"))))
    return tree


def sent(snapshot: Any, intents: list[Any], stage: Stage, target: Any) -> Any:
    """What the server makes of the patch."""
    body = compare(snapshot, intents, stage.reads, stage.shapes, target=target)
    return snapshot if body is None else jsonpatch.apply(jsonpatch.parse(body.content), snapshot)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.lists(edits, max_size=8))
def test_the_intents_make_of_the_base_what_was_staged(steps: list[Any]) -> None:
    """Whatever is staged in whatever order, the intents say all of it, and the patch does it: on the base and on a newer version."""
    stage = Stage(BASE, shapes=Shapes(keyed={("status", "parts"): ("name",)}), now=lambda: NOW, generation=3)
    status = Status(stage, ("status",))
    for step in steps:
        edited(status, *step)
    intents = stage.intents()
    made = applied(intents, BASE)
    assert same(in_order(made), in_order(stage.tree)), (steps, intents, made)
    assert same(in_order(sent(BASE, intents, stage, stage.tree)), in_order(stage.tree)), (steps, intents)
    assert same(in_order(sent(NEWER, intents, stage, None)), in_order(applied(intents, NEWER))), (steps, intents)


def test_what_is_staged_beside_a_condition_in_its_entry_is_an_intent_of_its_own() -> None:
    """A member that the condition does not say is not lost when the write is made again on a newer version."""
    stage = Stage(BASE, shapes=Shapes(), now=lambda: NOW, generation=3)
    status = Status(stage, ("status",))
    status.conditions.set("Ready", False, reason="Down")
    status.entry("conditions", type="Ready")["note"] = "mine"
    newer = {**BASE, "status": {**BASE["status"], "conditions": [*BASE["status"]["conditions"], {"type": "Theirs", "status": "True"}]}}
    made = applied(stage.intents(), newer)["status"]["conditions"]
    assert (made[0]["status"], made[0]["note"], made[2]["type"]) == ("False", "mine", "Theirs")


def test_a_condition_that_ends_as_it_began_is_no_change() -> None:
    """False while at work and True at the end: the server had True all the time, so nothing is sent and its time stays."""
    stage = Stage(BASE, shapes=Shapes(), now=lambda: NOW, generation=None)
    status = Status(stage, ("status",))
    status.conditions.set("Ready", False, reason="AtWork")
    status.conditions.set("Ready", True, reason="Up")
    assert stage.intents() == []
    status.conditions.set("Ready", True, reason="StillUp")
    assert stage.tree["status"]["conditions"][0]["lastTransitionTime"] == THEN
