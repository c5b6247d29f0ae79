"""Writers that watch, or that share a user agent: what they decided on is unknown, and old values in what they send show it."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.history.checker import Checker
from fiferail.history.words import explain
from fiferail.objects.paths import Path, parse, render

from .story import PROBED, READY, History, cond, start

SYNCED = cond("Synced")
FAILED, OFF = cond("Ready", "False"), cond("Probed", "False")


def put(pointer: str, value: Any) -> list[Any]:
    """A JSON patch that replaces one value."""
    return [{"op": "replace", "path": pointer, "value": value}]


def informed(**status: Any) -> History:
    """An object that `one` and `two` keep watching. `two` has written the condition Probed before, if it is there."""
    return start(**status).watches("one", "two")


def probed(*others: Any) -> History:
    """`two` owns the condition Probed, the others are of `one`; both watch."""
    history = start(conditions=list(others)).watches("one", "two")
    return history.merges("two", {"conditions": [*others, PROBED]}).watches("one", "two")


def added() -> History:
    """`one` adds the condition Synced to Ready and Probed, and `two` is sent the result."""
    return probed(READY).merges("one", {"conditions": [READY, PROBED, SYNCED]}).watches("one", "two")


def changed() -> History:
    """`one` turns Ready off, and `two` is sent the result."""
    return probed(READY).merges("one", {"conditions": [FAILED, PROBED]}).watches("one", "two")


#: What is said of a history: how sure it is, and which path.
GUILTY: dict[str, tuple[History, list[tuple[str, str]]]] = {
    "a merge patch with the list as it was before an entry was added": (
        added().merges("two", {"conditions": [READY, OFF]}),
        [("inferred", "status.conditions[Synced]")],
    ),
    "a merge patch with an entry as it was before it was changed": (
        changed().merges("two", {"conditions": [READY, OFF]}),
        [("inferred", "status.conditions[Ready]")],
    ),
    "a merge patch with an entry that was removed": (
        probed(READY, SYNCED)
        .merges("one", {"conditions": [READY, PROBED]})
        .watches("two")
        .merges("two", {"conditions": [READY, SYNCED, OFF]}),
        [("inferred", "status.conditions[Synced]")],
    ),
    "a merge patch that stands several foreign writes back": (
        changed()
        .merges("one", {"conditions": [cond("Ready", "Unknown"), PROBED]})
        .watches("two")
        .merges("two", {"conditions": [READY, OFF]}),
        [("inferred", "status.conditions[Ready]")],
    ),
    "the first condition of two controllers": (
        informed().merges("one", {"conditions": [READY]}).watches("two").merges("two", {"conditions": [PROBED]}),
        [("inferred", "status.conditions[Ready]")],
    ),
    "a JSON patch that replaces the list": (
        added().patches("two", put("/status/conditions", [READY, OFF]), {"conditions": [READY, OFF]}),
        [("inferred", "status.conditions[Synced]")],
    ),
    "a JSON patch whose test stands behind the write": (
        added().patches(
            "two",
            [*put("/status/conditions", [READY, OFF]), {"op": "test", "path": "/status/conditions/0/type", "value": "Ready"}],
            {"conditions": [READY, OFF]},
        ),
        [("inferred", "status.conditions[Synced]")],
    ),
    "a PUT without a resourceVersion": (
        informed(phase="A", count=1).merges("one", {"phase": "B"}).watches("two").puts_unlocked("two", phase="A", count=2),
        [("inferred", "status.phase")],
    ),
    "a strategic merge patch of a list that the server replaces": (
        added().strategic("two", {"conditions": [READY, OFF]}, {"conditions": [READY, OFF]}),
        [("inferred", "status.conditions[Synced]")],
    ),
    "an apply that takes over another's old value": (
        changed().applies("two", {"conditions": [READY, OFF]}, {"conditions": [READY, OFF]}, manager="two"),
        [("inferred", "status.conditions[Ready].status")],
    ),
    "an apply with an atomic list": (
        informed(names=["a"])
        .merges("one", {"names": ["a", "b"]})
        .watches("two")
        .applies("two", {"names": ["a", "c"]}, {"names": ["a", "c"]}, manager="two"),
        [("inferred", "status.names")],
    ),
    "a plain list that repeats another's element": (
        informed(names=["a"]).merges("one", {"names": ["a", "b"]}).watches("two").merges("two", {"names": ["a", "c"]}),
        [("inferred", "status.names")],
    ),
    "a plain list of own elements that lacks another's: it may be meant": (
        informed()
        .merges("two", {"names": ["a"]})
        .watches("one")
        .merges("one", {"names": ["a", "b"]})
        .watches("two")
        .merges("two", {"names": ["a", "c"]}),
        [("possible", "status.names")],
    ),
    "a plain list with an element that another had removed": (
        informed(names=["a", "b"]).merges("one", {"names": ["a"]}).watches("two").merges("two", {"names": ["a", "b", "c"]}),
        [("inferred", "status.names")],
    ),
    "the same stale list twice": (
        added()
        .merges("two", {"conditions": [READY, OFF]})
        .watches("one", "two")
        .merges("one", {"conditions": [READY, OFF, SYNCED]})
        .watches("two")
        .merges("two", {"conditions": [READY, PROBED]}),
        [("inferred", "status.conditions[Synced]")] * 2,
    ),
    "two programs that share a user agent and have field managers of their own": (
        start(conditions=[READY])
        .merges("one", {"conditions": [READY, PROBED]}, manager="prober")
        .merges("one", {"conditions": [READY, PROBED, SYNCED]}, manager="syncer")
        .reads("one")
        .merges("one", {"conditions": [READY, OFF]}, manager="prober"),
        [("inferred", "status.conditions[Synced]")],
    ),
    "two programs that share a user agent, one of which locks": (
        start(conditions=[READY])
        .merges("one", {"conditions": [READY, PROBED]}, manager="prober", base=1)
        .merges("one", {"conditions": [READY, PROBED, SYNCED]}, manager="syncer", precondition=2)
        .merges("one", {"conditions": [READY, OFF]}, manager="prober"),
        [("inferred", "status.conditions[Synced]")],
    ),
    "a version that the watch had not delivered yet: no fresher base was possible": (
        probed(READY).merges("one", {"phase": "B"}).merges("two", {"phase": "C"}),
        [("certain", "status.phase")],
    ),
    "a version that the process itself names": (
        informed(phase="A").merges("one", {"phase": "B"}).watches("two").merges("two", {"phase": "C"}, base=1),
        [("certain", "status.phase")],
    ),
}

CLEAN: dict[str, History] = {
    "a list that holds what was just added": added().merges("two", {"conditions": [READY, OFF, SYNCED]}),
    "an entry removed on purpose by who shows that it knows a later change": (
        added()
        .merges("one", {"conditions": [FAILED, PROBED, SYNCED]})
        .watches("two")
        .merges("two", {"conditions": [FAILED, OFF]})
    ),
    "an entry removed by who had sent it before": (
        added()
        .merges("two", {"conditions": [READY, OFF, SYNCED]})
        .watches("one", "two")
        .merges("two", {"conditions": [READY, PROBED]})
    ),
    "repairing one's own phase": (
        informed(phase="A").merges("two", {"phase": "B"}).watches("one").merges("one", {"phase": "C"}).watches("two")
        .merges("two", {"phase": "B"})
    ),
    "repairing one's own condition, with another change in the same list": (
        probed(READY)
        .merges("one", {"conditions": [READY, OFF]})
        .watches("two")
        .merges("two", {"conditions": [READY, PROBED, SYNCED]})
    ),
    "True, Unknown by another, True again": (
        informed(conditions=[READY])
        .merges("two", {"conditions": [{**READY, "lastTransitionTime": "t1"}]})
        .watches("one")
        .merges("one", {"conditions": [{**cond("Ready", "Unknown"), "lastTransitionTime": "t2"}]})
        .watches("two")
        .merges("two", {"conditions": [{**READY, "lastTransitionTime": "t3"}]})
    ),
    "another's condition taken over with a value that it once had": (
        probed(READY)
        .merges("one", {"conditions": [FAILED, PROBED]})
        .merges("one", {"conditions": [READY, PROBED]})
        .watches("two")
        .merges("two", {"conditions": [{**FAILED, "reason": "NodeLost"}, PROBED]})
    ),
    "a list reset to empty": added().merges("two", {"conditions": []}),
    "a list removed": added().merges("two", {"conditions": None}),
    "A, B, and back to exactly A": (
        probed(READY).merges("one", {"conditions": [FAILED, PROBED]}).watches("two").merges("two", {"conditions": [READY, PROBED]})
    ),
    "a scalar of another, overwritten": (
        informed(phase="A").merges("one", {"phase": "B"}).watches("two").merges("two", {"phase": "A"})
    ),
    "an owner that recomputes its own list": (
        informed()
        .merges("two", {"names": ["a", "b"]})
        .merges("two", {"names": ["b", "c"]})
        .watches("one", "two")
        .merges("one", {"phase": "B"})
        .watches("two")
        .merges("two", {"names": ["a", "b"]})
    ),
    "an owner that drops an entry of its own which another had changed": (
        probed(READY).merges("one", {"conditions": [READY, OFF]}).watches("two").merges("two", {"conditions": [READY]})
    ),
    "a plain list in another order": (
        informed(names=["a", "b"]).merges("one", {"names": ["b", "a"]}).watches("two").merges("two", {"names": ["a", "b"]})
    ),
    "a PUT with the resourceVersion that it was decided on": (
        added().puts("two", 3, conditions=[READY, OFF])
    ),
    "a JSON patch that tests the list first": (
        added().patches(
            "two",
            [{"op": "test", "path": "/status/conditions", "value": [READY, PROBED, SYNCED]}, *put("/status/conditions", [READY, OFF])],
            {"conditions": [READY, OFF]},
        )
    ),
    "a strategic merge patch of one entry": (
        added().strategic("two", {"conditions": [OFF]}, {"conditions": [READY, OFF, SYNCED]})
    ),
    "an apply of one's own entry": (
        added().applies("two", {"conditions": [OFF]}, {"conditions": [READY, OFF, SYNCED]}, manager="two")
    ),
    "a program that applies some things under a field manager and updates others": (
        informed(conditions=[READY])
        .applies("two", {"conditions": [PROBED]}, {"conditions": [READY, PROBED]}, manager="two-ssa")
        .merges("two", {"conditions": [READY]})
        .watches("two")
        .applies("two", {"conditions": [PROBED], "phase": "B"}, {"conditions": [READY, PROBED], "phase": "B"}, manager="two-ssa")
    ),
    "a loss of an own commit whose outcome the process knows": (
        informed(phase="A").merges("two", {"phase": "B"}).merges("two", {"phase": "C"}, base=1, seen=(2,))
    ),
}  # fmt: skip


def findings(history: History, owner: dict[str, str] | None = None) -> Checker:
    """The checker after a history."""
    owners: dict[Path, str] = {parse(text): name for text, name in (owner or {}).items()}
    checker = Checker(owner=(lambda _, path: owners.get(path)) if owners else None)
    for record in history.records:
        checker.feed(record)
    checker.finish()
    return checker


@pytest.mark.parametrize("name", GUILTY)
def test_old_values_that_were_carried_along_are_found(name: str) -> None:
    """The finding names the field or the entry, and says how sure it is."""
    history, expected = GUILTY[name]
    found = findings(history).findings
    assert [(finding.certainty, render(finding.path)) for finding in found] == expected
    assert all((finding.victim, finding.culprit) != ("", "") for finding in found)
    assert [finding.is_loss for finding in found] == [certainty != "possible" for certainty, _ in expected]


@pytest.mark.parametrize("name", CLEAN)
def test_an_ordinary_history_of_a_watching_client_is_silent(name: str) -> None:
    """Nothing is reported, not even as possible."""
    assert [explain(finding) for finding in findings(CLEAN[name]).findings] == []


def test_whoever_claims_a_list_owns_its_drops() -> None:
    """The same write is a loss without the claim and nobody's business with it."""
    history = added().merges("two", {"conditions": [READY, OFF]})
    assert [finding.certainty for finding in findings(history).findings] == ["inferred"]
    assert [f.name for f in findings(history, {"status.conditions": "two"}).findings] == []


def test_the_sentence_says_how_sure_it_is_and_why() -> None:
    """Both writers, both resourceVersions, the request, what it rests on, and what to do."""
    [finding] = findings(GUILTY["a merge patch with the list as it was before an entry was added"][0]).findings
    assert explain(finding) == (
        'LOST (inferred) status.conditions[Synced] of gadgets default/g: one wrote {"type":"Synced","status":"True"} (was nothing) at '
        "resourceVersion 3; two, based on resourceVersion 2, overwrote it with the older content it had read (merge patch on /status, "
        "resourceVersion 4). It is now nothing. Inferred: the missing entry is one that two never wrote. "
        "Send only the entries or fields that changed, and test what was read or send its resourceVersion."
    )
    [finding] = findings(GUILTY["a plain list of own elements that lacks another's: it may be meant"][0]).findings
    assert explain(finding).startswith("POSSIBLY LOST status.names of gadgets default/g: one wrote ")
    assert "Possible: two may have removed it on purpose, the request does not show on which version it stands." in explain(finding)


def test_a_writer_of_a_shared_user_agent_is_named_with_its_field_manager() -> None:
    """Two writers of one user agent can be told apart in the sentence."""
    [finding] = findings(GUILTY["two programs that share a user agent and have field managers of their own"][0]).findings
    assert (finding.victim, finding.culprit) == ("one (field manager syncer)", "one (field manager prober)")
