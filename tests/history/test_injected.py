"""Stale lists of watching clients, injected at random into histories that lose nothing: how many are found, and what is found without.

Every writer here watches and replaces whole lists, as operators do: it owns some conditions and some names of a plain list, and now and
then takes over another's condition, drops one of its own, resets a list, or returns to an earlier state of its own.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from fiferail.history.checker import Checker, Finding
from fiferail.history.records import Commit, Identity, Observation, Record
from fiferail.objects.paths import render

G = Identity("gadgets.example.io", "default", "g", "uid-1")
WRITERS = ("one", "two", "three")
STEPS = 40
PLACES = 200


class Story:
    """One object and three writers that are sent every version as soon as it is there."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.records: list[Record] = []
        self.trees: list[Any] = []
        self._store("maker", {"conditions": [], "names": []}, "create", None)
        for _ in range(STEPS):
            self.write(self.chance.choice(WRITERS), len(self.trees) - 1)

    def write(self, writer: str, base: int) -> None:
        """Decide on a version and send the whole list that comes of it."""
        status = self.trees[base]["status"]
        if self.chance.random() < 0.75:
            conditions = self._conditions(writer, status["conditions"], base)
            self._patch(writer, {"conditions": conditions})
        else:
            own = [name for name in status["names"] if name.startswith(writer)]
            others = [name for name in status["names"] if not name.startswith(writer)]
            names = [f"{writer}-{self.chance.randrange(4)}", *self.chance.sample(own, min(len(own), 1))]
            self._patch(writer, {"names": [*others, *dict.fromkeys(names)]})

    def stale(self, writer: str) -> bool:
        """The same from the newest version before another writer's last change of the conditions; False where there is none."""
        current = {entry["type"]: entry for entry in self.trees[-1]["status"]["conditions"]}
        for base in range(len(self.trees) - 2, max(0, len(self.trees) - 12), -1):
            old = {entry["type"]: entry for entry in self.trees[base]["status"]["conditions"]}
            differing = {name for name in {*old, *current} if old.get(name) != current.get(name)}
            others = [record for record in self.records if isinstance(record, Commit) and record.version > base + 1]
            if differing and old and all(not name.startswith(writer) for name in differing) and all(r.actor != writer for r in others):
                mine = self._entry(writer, f"{writer}-0", base)
                self._patch(writer, {"conditions": [*(entry for entry in old.values() if entry["type"] != mine["type"]), mine]})
                return True
        return False

    def _conditions(self, writer: str, conditions: list[Any], base: int) -> list[Any]:
        dice = self.chance.random()
        if dice < 0.03:
            return []
        if dice < 0.10:
            return [entry for entry in conditions if entry["type"] != f"{writer}-1"]
        mine = self._entry(writer, f"{writer}-{self.chance.randrange(2)}", base)
        if dice < 0.16 and conditions:
            mine = self._entry(writer, self.chance.choice(conditions)["type"], base)
        return [*(entry for entry in conditions if entry["type"] != mine["type"]), mine]

    def _entry(self, writer: str, type_: str, base: int) -> dict[str, Any]:
        time = f"t{len(self.trees)}-{base}-{writer}"
        return {"type": type_, "status": self.chance.choice(["True", "False"]), "reason": "R", "lastTransitionTime": time}

    def _patch(self, writer: str, patch: dict[str, Any]) -> None:
        status = {**self.trees[-1]["status"], **patch}
        if status != self.trees[-1]["status"]:
            self._store(writer, status, "patch", {"status": patch})

    def _store(self, writer: str, status: Any, verb: str, body: Any) -> None:
        version = len(self.trees) + 1
        after = {"metadata": {"name": "g", "resourceVersion": str(version)}, "status": status}
        before = self.trees[-1] if self.trees else None
        content, subresource = ("merge", "status") if body else ("", "")
        self.records.append(Commit(writer, G, version, verb, before, after, "", subresource, content, body))
        self.trees.append(after)
        self.records += [Observation(watcher, G, version, "watch") for watcher in WRITERS]


def check(records: list[Record]) -> list[Finding]:
    """Everything that is found."""
    checker = Checker()
    for record in records:
        checker.feed(record)
    checker.finish()
    return [finding for finding in checker.findings if finding.is_loss or finding.is_possible]


@pytest.mark.parametrize("seed", range(100))
def test_nothing_is_found_where_every_write_stands_on_the_newest_version(seed: int) -> None:
    """Repairs, takeovers, drops, resets and returns of clients that know what they overwrite are no losses, nor possible ones."""
    found = [(finding.certainty, render(finding.path), finding.overwritten) for finding in check(Story(seed).records)]
    assert found == []


def test_nearly_every_injected_stale_list_is_found() -> None:
    """At least 95 of 100 stale lists, at 200 random places, are found as inferred in the commit that sent them."""
    injected = found = 0
    seed = 1000
    while injected < PLACES:
        seed += 1
        story = Story(seed)
        if not story.stale(story.chance.choice(WRITERS)):
            continue
        injected += 1
        found += any(finding.overwritten == len(story.trees) and finding.is_loss for finding in check(story.records))
    assert found >= 0.95 * PLACES, f"{found} of {injected}"
