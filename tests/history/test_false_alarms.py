"""Histories of honest writers that look like losses: each was reported once by the suites of real operators."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.history.checker import Checker
from fiferail.history.keys import SEARCHES, Learned
from fiferail.history.records import Commit
from fiferail.history.words import explain
from fiferail.objects.paths import render

from .story import READY, History, cond, start

PORTS = [{"port": 80, "protocol": "TCP", "ready": False}, {"port": 80, "protocol": "UDP", "ready": False}]
OPEN = {**PORTS[0], "ready": True}
TWICE = {**OPEN, "note": "seen"}


def keyed(history: History, name: str, *keys: dict[str, Any]) -> History:
    """From here on managedFields say how the entries of a list are told apart."""
    spelled: Any = {"k:" + str(key).replace("'", '"'): {".": {}, "f:ready": {}} for key in keys}
    history.tree["metadata"]["managedFields"] = [{"manager": "x", "operation": "Update", "fieldsV1": {"f:status": {f"f:{name}": spelled}}}]
    return history


def ports() -> History:
    """A list whose key is two members, one of them a number."""
    return keyed(start(ports=PORTS), "ports", {"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"})


def released(manager: str = "operator") -> History:
    """Release 1 of an operator has applied two fields."""
    history = start(phase="A").applies("operator/1.0", {"phase": "A", "old": "x"}, {"phase": "A", "old": "x"}, manager=manager)
    return history.managed(manager, {"f:phase": {}, "f:old": {}})


SILENT: dict[str, History] = {
    "release 2 applies less than release 1 did, and reads nothing": (
        released().applies("operator/2.0", {"phase": "A"}, {"phase": "A"}, manager="operator")
    ),
    "release 2 reads the object and applies less than release 1 did": (
        released().reads("operator/2.0").applies("operator/2.0", {"phase": "A"}, {"phase": "A"}, manager="operator")
    ),
    "a PUT that removes another's condition, on the version that it had read": (
        start(conditions=[READY]).merges("one", {"conditions": [READY, cond("Old")]}).reads("two").puts("two", 2, conditions=[READY])
    ),
    "two members of one entry, in a list whose key is no conventional one": (
        keyed(ports().merges("one", {"ports": [OPEN, PORTS[1]]}), "ports", {"port": 80, "protocol": "TCP"})
        .applies("two", {"ports": [{"port": 80, "protocol": "TCP", "note": "seen"}]}, {"ports": [TWICE, PORTS[1]]})
    ),
    "a JSON patch that tests the member of an entry, in a list without keys": (
        start(pairs=[{"a": 1, "b": 1}, {"a": 1, "b": 2}])
        .merges("one", {"pairs": [{"a": 2, "b": 1}, {"a": 1, "b": 2}]})
        .patches(
            "two",
            [{"op": "test", "path": "/status/pairs/0/a", "value": 2}, {"op": "replace", "path": "/status/pairs/0/a", "value": 3}],
            {"pairs": [{"a": 3, "b": 1}, {"a": 1, "b": 2}]},
        )
    ),
    "a plain list in another order": (
        start(names=["a", "b"]).merges("one", {"names": ["b", "a"]}).merges("two", {"names": ["a", "b"]})
    ),
    "a decision on a list that is only in another order": (
        start(names=["a", "b"]).merges("one", {"names": ["b", "a"]}).merges("two", {"phase": "B"}, base=1, reads=(("status", "names"),))
    ),
}  # fmt: skip


def told(history: History) -> list[str]:
    """The sentences of a history."""
    checker = Checker()
    for record in history.records:
        checker.feed(record)
    checker.finish()
    return [explain(finding) for finding in checker.findings]


@pytest.mark.parametrize("name", SILENT)
def test_an_honest_history_is_silent(name: str) -> None:
    """Nothing is reported, not even as possible."""
    assert told(SILENT[name]) == []


def test_an_annotation_removed_by_put_is_no_dropped_field() -> None:
    """Every client knows the whole of metadata."""
    history = start(phase="A")
    history.tree["metadata"]["annotations"] = {"sync": "now"}
    after = {"metadata": {"name": "g", "resourceVersion": "2"}, "status": {"phase": "A"}}
    body = {"metadata": {"name": "g", "resourceVersion": "1"}, "status": {"phase": "A"}}
    history.records.append(Commit("two", history.object, 2, "update", history.tree, after, body=body, precondition=1))
    assert told(history) == []


def test_an_entry_with_an_unconventional_key_is_lost_as_an_entry() -> None:
    """Where managedFields say what the key is, the finding names the entry and not the list."""
    history = ports().merges("one", {"ports": [OPEN, PORTS[1]]})
    keyed(history, "ports", {"port": 80, "protocol": "TCP"}).merges("two", {"ports": PORTS})
    [sentence] = told(history)
    assert sentence.startswith("LOST status.ports[port=80,protocol=TCP].ready of gadgets default/g: one wrote true (was false) ")


def test_the_key_of_a_list_is_searched_for_a_bounded_number_of_times() -> None:
    """A list without keys does not cost a search of managedFields with every write."""
    learned, path = Learned(), ("status", "pairs")
    empty: Any = {"metadata": {"managedFields": []}}
    spelled: Any = {"metadata": {"managedFields": [{"fieldsV1": {"f:status": {"f:pairs": {'k:{"id":1}': {".": {}}, "k:broken": {}}}}}]}}
    assert [learned.search(path, empty) for _ in range(SEARCHES - 1)] == [None] * (SEARCHES - 1)
    assert learned.search(path, spelled) == ("id",)
    other = ("status", "others")
    for _ in range(SEARCHES):
        learned.search(other, empty)
    assert learned.search(other, {"metadata": {"managedFields": [{"fieldsV1": {"f:status": {"f:others": {'k:{"id":1}': {}}}}}]}}) is None
    assert (learned.names(path), learned.names(other)) == (("id",), None)


def test_a_chain_is_a_loop_while_it_goes_on() -> None:
    """Eight commits, each woken only by the own last one: a loop when the last has not come back; at a hundred it is one at once."""
    history = start(step=0)
    for step in range(1, 9):
        history.watches("one").merges("one", {"step": step})
    [sentence] = told(history)
    assert sentence == (
        "HOT LOOP gadgets default/g: one sent 8 writes in a row, each woken only by its own last write. "
        "Write only when something differs from what is stored."
    )
    assert told(history.watches("one")) == []
    for step in range(9, 120):
        history.merges("one", {"step": step}).watches("one")
    assert [text.split(",")[0] for text in told(history)] == ["HOT LOOP gadgets default/g: one sent 100 writes in a row"]


def test_writes_that_change_nothing_are_waste_and_no_loop() -> None:
    """They wake nobody; the sentence says what they cost."""
    assert told(start(phase="A").sends_nothing_new("one", 9)) == [
        "WASTE gadgets default/g: one sent 5 writes in a row that changed nothing. They wake nobody, but each costs a request: "
        "compare with what is stored before writing."
    ]


def test_a_field_that_another_version_of_the_api_removes_is_lost_and_one_that_a_put_leaves_out_may_be_meant() -> None:
    """The version of the request says whether its author could know the field."""

    def history(used: str) -> list[Any]:
        story = start(phase="A").merges("one", {"novel": "x"}).reads("two")
        before = {**story.tree, "apiVersion": "example.io/v2"}
        after = {"apiVersion": "example.io/v2", "metadata": {"name": "g", "resourceVersion": "3"}, "status": {"phase": "B"}}
        body = {"apiVersion": used, "metadata": {"resourceVersion": "2"}, "status": {"phase": "B"}}
        commit = Commit("two", story.object, 3, "update", before, after, "", "status", "", body, precondition=2, api_version=used)
        checker = Checker()
        for record in [*story.records, commit]:
            checker.feed(record)
        return [(f.certainty, f.kind, render(f.path), f.because) for f in checker.findings]

    assert history("example.io/v1") == [
        ("inferred", "dropped", "status.novel", "the request used example.io/v1, the object is kept as example.io/v2")
    ]
    assert history("example.io/v2") == [("possible", "dropped", "status.novel", "two may have removed it on purpose")]
