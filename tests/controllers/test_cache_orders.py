"""The cache under any order: events come in order, answers of own writes whenever they like, and lists in between."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.controllers.cache import Cache, uid, version

#: What happens to one name on the server, one version each.
OPERATIONS = st.lists(st.sampled_from(["write", "write", "delete"]), min_size=1, max_size=8)
#: What is delivered next: an event of the watch, a list made after so many operations, or the answer to one of them.
DELIVERIES = st.lists(
    st.tuples(st.just("event"), st.just(0)) | st.tuples(st.sampled_from(["list", "answer", "answer"]), st.integers(0, 8)), max_size=30
)


def _history(operations: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Versions of one name: a write creates what is not there; a deletion of nothing happens to nobody."""
    found: list[tuple[str, dict[str, Any]]] = []
    there, lives = False, 0
    for operation in operations:
        if operation == "delete" and not there:
            continue
        lives += not there
        there = operation == "write"
        metadata = {"name": "a", "namespace": "n", "uid": f"u{lives}", "resourceVersion": str(10 + len(found))}
        found.append((operation, {"metadata": metadata}))
    return found


class _Delivery:
    """One cache, and what it has been given so far."""

    def __init__(self, history: list[tuple[str, dict[str, Any]]]) -> None:
        self.history = history
        self.cache = Cache()
        self.cache.replace_all([], at=9)
        self.shown_to = 0
        self.deleted: set[str] = set()

    def event(self, _: int = 0) -> None:
        """The next event of the watch."""
        if self.shown_to < len(self.history):
            operation, obj = self.history[self.shown_to]
            self.shown_to += 1
            if operation == "delete":
                self.cache.saw_gone(obj)
                self.deleted.add(uid(obj))
            else:
                self.cache.saw(obj)
            self.cache.reached(version(obj))

    def list(self, number: int) -> None:
        """The watch broke: a list that is no older than what it has shown, and maybe older than some answers."""
        self.shown_to = min(len(self.history), max(self.shown_to, number))
        operation, last = self.history[self.shown_to - 1] if self.shown_to else ("delete", {"metadata": {"resourceVersion": "9"}})
        self.cache.replace_all([] if operation == "delete" else [last], at=version(last))
        self.deleted |= {uid(obj) for operation, obj in self.history[: self.shown_to] if operation == "delete"}

    def answer(self, number: int) -> None:
        """The answer to one of the operations, all of which were ours."""
        if number < len(self.history):
            operation, obj = self.history[number]
            if operation == "delete":
                self.cache.removed(obj)
                self.deleted.add(uid(obj))
            else:
                self.cache.wrote(obj)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(OPERATIONS, DELIVERIES)
def test_nothing_old_comes_back(operations: list[str], deliveries: list[tuple[str, int]]) -> None:
    """No version goes back, no object that is known to be deleted is shown, and in the end the cache has what the server has."""
    delivery = _Delivery(_history(operations))
    newest = -1
    for what, number in deliveries:
        getattr(delivery, what)(number)
        shown = delivery.cache.get("n", "a")
        if shown is not None:
            assert uid(shown) not in delivery.deleted
            assert version(shown) >= newest
            newest = version(shown)
    while delivery.shown_to < len(delivery.history):
        delivery.event()
    for number in range(len(delivery.history)):
        delivery.answer(number)
    operation, last = delivery.history[-1] if delivery.history else ("delete", {})
    assert delivery.cache.get("n", "a") == (None if operation == "delete" else last)
