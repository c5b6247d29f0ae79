"""Two writers that decided on the same version, whatever they staged: both are stored in full, or the second is told of the first."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fiferail.errors import Conflict
from fiferail.objects.paths import find
from fiferail.status.effects import Join, Send
from fiferail.status.intents import Intent, Raise, derive, holds, is_number
from fiferail.status.outcome import Outcome
from fiferail.status.sharing import Lanes
from fiferail.status.writer import Session, StatusWriter
from fiferail.testing.server import ApiServer

from .steps import TYPES, edited, edits

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}  # fmt: skip
#: Null and nothing are one to the test of a JSON patch, so who writes null where nothing was is not told from who did not.
meeting_edits = edits.filter(lambda step: not (step[0] in ("put", "below", "entry") and step[2] is None))
THEN = "2026-01-01T00:00:00Z"
STATUS = {
    "phase": "Up",
    "count": 5,
    "network": {"ip": "10.0.0.1", "ports": [80, 443]},
    "parts": [{"name": "a", "up": True}, {"name": "b", "up": False}],
    "conditions": [{"type": name, "status": "True", "reason": "Up", "message": "", "lastTransitionTime": THEN} for name in TYPES[:2]],
}


def gadget(server: ApiServer) -> Any:
    """A fresh object with that status."""
    metadata = {"generateName": "g-", "namespace": "default"}
    obj = server.client.create({"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata})
    return server.client.patch(obj, {"status": STATUS}, subresource="status", field_manager="seed")


def changed(session: Session, obj: Any) -> list[Intent]:
    """What the session changed, leaf by leaf, and what it raised. That a condition says again what it said is no change."""
    stage = session.opened.stage
    raised = [intent for intent in stage.intents() if isinstance(intent, Raise)]
    return [*derive(obj, stage.tree, stage.shapes, {intent.path for intent in raised}), *raised]


def staged(server: ApiServer, obj: Any, manager: str, steps: list[Any]) -> tuple[Session, list[Intent]]:
    """A session of a writer of that name, with all of it staged."""
    writer = StatusWriter(server.client.transport, field_manager=manager, chance=lambda: 0.5, sleep=lambda seconds: None)
    session = writer.session(obj)
    status = session.__enter__()
    for step in steps:
        edited(status, *step)
    return session, changed(session, obj)


@settings(derandomize=True, max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mine=st.lists(meeting_edits, min_size=1, max_size=4), theirs=st.lists(meeting_edits, min_size=1, max_size=4))
def test_nothing_of_either_is_lost(gadgets: ApiServer, mine: list[Any], theirs: list[Any]) -> None:
    """What the first wrote stands in the end, and what the second wrote too, unless it got a Conflict and wrote nothing."""
    obj = gadget(gadgets)
    first, firsts = staged(gadgets, obj, "first", theirs)
    second, seconds = staged(gadgets, obj, "second", mine)
    first.flush()
    before = gadgets.get("example.io/v1", "Gadget", obj["metadata"]["name"])
    try:
        second.flush()
    except Conflict:
        assert gadgets.get("example.io/v1", "Gadget", obj["metadata"]["name"]) == before, "a conflict writes nothing"
        return
    after = gadgets.get("example.io/v1", "Gadget", obj["metadata"]["name"])
    assert holds(seconds, after), (theirs, mine)
    raised = {intent.path for intent in seconds if isinstance(intent, Raise)}
    kept = [intent for intent in firsts if not (intent.path in raised and is_number(find(before, intent.path)))]
    assert holds(kept, after), (theirs, mine, before["status"], after["status"])


def together(server: ApiServer, conversations: list[Any]) -> list[Outcome | Conflict]:
    """Drive them in turns, one step each and each in a flow of control of its own, until all have ended."""
    flows = [contextvars.copy_context() for _ in conversations]
    asks: dict[int, Any] = {}
    ended: dict[int, Outcome | Conflict] = {}
    while len(ended) < len(conversations):
        for index, conversation in enumerate(conversations):
            ask = asks.get(index)
            if index in ended or (isinstance(ask, Join) and ask.ticket.given is None):
                continue
            value = server.client.transport.send(ask.request) if isinstance(ask, Send) else None
            try:
                asks[index] = flows[index].run(conversation.send, value)
            except StopIteration as stop:
                ended[index] = stop.value
            except Conflict as conflict:
                ended[index] = conflict
    return [ended[index] for index in range(len(conversations))]


@settings(derandomize=True, max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(everybody=st.lists(st.lists(meeting_edits, min_size=1, max_size=3), min_size=3, max_size=5))
def test_nothing_of_those_that_go_together_is_lost(gadgets: ApiServer, everybody: list[list[Any]]) -> None:
    """Flushes of one writer that wait for each other and share a request: what each was told to be stored stands in the end."""
    obj = gadget(gadgets)
    writer = StatusWriter(gadgets.client.transport, field_manager="all", chance=lambda: 0.5)
    writer._core.lanes = Lanes(at_once=1)
    sessions = [writer.session(obj) for _ in everybody]
    for session, steps in zip(sessions, everybody, strict=True):
        status = session.__enter__()
        for step in steps:
            edited(status, *step)
    wanted = [changed(session, obj) for session in sessions]
    outcomes = together(gadgets, [writer._core.flush(session.opened) for session in sessions])
    after = gadgets.get("example.io/v1", "Gadget", obj["metadata"]["name"])
    stored = [intents for intents, outcome in zip(wanted, outcomes, strict=True) if not isinstance(outcome, Conflict)]
    raised = {intent.path for intents in stored for intent in intents if isinstance(intent, Raise)}
    for intents in stored:
        kept = [intent for intent in intents if not (intent.path in raised and is_number(find(after, intent.path)))]
        assert holds(kept, after), (everybody, outcomes, after["status"])


@pytest.fixture
def gadgets(server: ApiServer) -> ApiServer:
    """Each of the servers, with the kind."""
    server.apply(CRD)
    return server
