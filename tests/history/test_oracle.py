"""The checker beside an oracle that searches: simple, quadratic, and without a line of the checker's code.

The oracle takes the definition word for word. For every commit and every leaf that it changed it walks back through the whole
history to the last commit that changed that leaf, and back again to what the actor can have known.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from fiferail.history.checker import DOUBLE, LOST, Checker, Finding
from fiferail.history.records import Attempt, Commit, Identity, Observation, Record
from fiferail.objects.paths import Key

OBJECTS = [Identity("gadgets.example.io", "default", "g", "uid-g"), Identity("gadgets.example.io", "default", "h", "uid-h")]
ACTORS = ["one", "two", "three"]
TYPES = ["Ready", "Probed", "Synced"]
MISSING = "<missing>"


# -- the oracle


def leaves(value: Any, at: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Path -> value. Conditions by type; anything else in a list makes it one value."""
    if isinstance(value, dict) and value:
        return {path: leaf for name, member in value.items() for path, leaf in leaves(member, (*at, name)).items()}
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return {path: leaf for entry in value for path, leaf in leaves(entry, (*at, f"[{entry['type']}]")).items()}
    return {at: value}


def changes(commit: Commit) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Leaf -> (before, after) of what a commit changed in status."""
    statuses = [(side or {}).get("status", {}) for side in (commit.before, commit.after)]
    before, after = map(leaves, statuses)
    found = {}
    for path in {*before, *after}:
        old, new = before.get(path, MISSING), after.get(path, MISSING)
        # Filling an empty object or list, and emptying one, changes what is inside, not the thing itself.
        stays = type(stands(statuses[0], path)) is type(stands(statuses[1], path)) and (old in ({}, []) or new in ({}, []))
        # Nor is another order of the same elements a change.
        reordered = isinstance(old, list) and isinstance(new, list) and Counter(old) == Counter(new)
        if old != new and not reordered and not (stays and MISSING in (old, new)):
            found[path] = (old, new)
    return found


def stands(tree: Any, path: tuple[Any, ...]) -> Any:
    """What is at the path, whole."""
    for step in path:
        if isinstance(tree, list):
            tree = next((entry for entry in tree if isinstance(entry, dict) and f"[{entry['type']}]" == step), MISSING)
        else:
            tree = tree.get(step, MISSING) if isinstance(tree, dict) else MISSING
    return tree


def base_of(history: list[Record], index: int) -> int:
    """What the commit can have been based on."""
    commit = history[index]
    assert isinstance(commit, Commit)
    if commit.base is not None:
        return commit.base
    if commit.precondition is not None:
        return commit.precondition
    known = [
        record.version
        for record in history[:index]
        if not isinstance(record, Attempt) and record.actor == commit.actor and record.object == commit.object
    ]
    return max(known, default=0)


def was_tested(commit: Commit, path: tuple[Any, ...]) -> bool:
    """Whether a JSON patch compared the leaf, or something above it."""
    if commit.content != "json":
        return False
    pointer, tree = "/status", (commit.before or {}).get("status", {})
    pointers = [pointer]
    for step in path:
        if str(step).startswith("["):
            types = [entry["type"] for entry in tree] if isinstance(tree, list) else []
            index = types.index(step[1:-1]) if step[1:-1] in types else len(types)
            tree = tree[index] if index < len(types) else {}
            pointer += f"/{index}"
        else:
            tree = tree.get(step, {}) if isinstance(tree, dict) else {}
            pointer += f"/{step}"
        pointers.append(pointer)
    return any(operation["op"] == "test" and operation["path"] in pointers for operation in commit.body)


def is_multiset_kept(before: Any, written: Any, now: Any) -> bool:
    """A list without keys: everything that was added is there, nothing that was removed is back."""
    if not isinstance(written, list) or not isinstance(now, list):
        return False
    old, new, current = (Counter(value if isinstance(value, list) else []) for value in (before, written, now))
    return all(current[item] >= new[item] for item in new - old) and all(current[item] <= new[item] for item in old - new)


def search(history: list[Record]) -> set[tuple[int, tuple[Any, ...], str, str, int]]:
    """(overwritten at, leaf, victim, culprit, written at) of every lost update."""
    found = set()
    changed = {record.version: changes(record) for record in history if isinstance(record, Commit)}
    for index, commit in enumerate(history):
        if not isinstance(commit, Commit) or commit.before is None or commit.after is None:
            continue
        base = base_of(history, index)
        for path, (_, now) in changed[commit.version].items():
            for earlier in reversed(history[:index]):
                if isinstance(earlier, Commit) and earlier.object == commit.object and path in changed[earlier.version]:
                    before, written = changed[earlier.version][path]
                    if earlier.version > base and not was_tested(commit, path) and not is_multiset_kept(before, written, now):
                        found.add((commit.version, path, earlier.actor, commit.actor, earlier.version))
                    break
    return found


# -- random histories


class World:
    """Actors that read and write at random, some from what they read long ago."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.version = 0
        self.live: dict[Identity, Any] = {}
        self.history: list[Record] = []
        for identity in OBJECTS:
            self._store("maker", identity, {}, verb="create")

    def run(self, steps: int) -> list[Record]:
        """So many things happen."""
        for _ in range(steps):
            actor, identity = self.chance.choice(ACTORS), self.chance.choice(OBJECTS)
            action = self.chance.choice([self.observe, self.observe, self.merge, self.merge, self.put, self.patch, self.tagged])
            action(actor, identity)
        return self.history

    def observe(self, actor: str, identity: Identity) -> None:
        """The current version is given."""
        self.history.append(Observation(actor, identity, self._current(identity)))

    def merge(self, actor: str, identity: Identity, base: int | None = None) -> None:
        """Some members at random, lists replaced as a whole."""
        patch = self._members()
        status = {name: value for name, value in {**self.live[identity]["status"], **patch}.items() if value is not None}
        self._store(actor, identity, status, verb="patch", content="merge", body={"status": patch}, base=base)

    def tagged(self, actor: str, identity: Identity) -> None:
        """A write that says what it stood on."""
        versions = [record.version for record in self.history if isinstance(record, Commit) and record.object == identity]
        self.merge(actor, identity, base=self.chance.choice(versions))

    def put(self, actor: str, identity: Identity) -> None:
        """All of status, with the current resourceVersion."""
        status = {name: value for name, value in {**self._members(), **self._members()}.items() if value is not None}
        precondition = self._current(identity)
        self._store(actor, identity, status, verb="update", body={"status": status}, precondition=precondition)

    def patch(self, actor: str, identity: Identity) -> None:
        """A JSON patch of one member, tested or not."""
        current = self.live[identity]["status"]
        name, value = self.chance.choice([item for item in self._members(everything=True).items() if item[1] is not None])
        operations: list[Any] = [{"op": "add", "path": f"/status/{name}", "value": value}]
        if self.chance.random() < 0.6:
            operations.insert(0, {"op": "test", "path": f"/status/{name}", "value": current.get(name)})
        self._store(actor, identity, {**current, name: value}, verb="patch", content="json", body=operations)

    def _members(self, everything: bool = False) -> dict[str, Any]:
        pick = self.chance
        entries = [{"type": type_, "status": pick.choice(["True", "False"])} for type_ in pick.sample(TYPES, pick.randint(0, 3))]
        members = {
            "phase": pick.choice(["A", "B", "C", None]),
            "plan": pick.choice([{"id": pick.randint(1, 3), "steps": {"next": pick.randint(1, 2)}}, {}, None]),
            "names": pick.choices(["a", "b", "c"], k=pick.randint(0, 3)),
            "conditions": entries,
            "mixed": pick.choice([1, {"deep": 1}, {"deep": {"er": 2}}, [], ["x"], None]),
        }
        if everything:
            return members
        return {name: members[name] for name in pick.sample(list(members), pick.randint(1, 3))}

    def _current(self, identity: Identity) -> int:
        return int(self.live[identity]["metadata"]["resourceVersion"])

    def _store(self, actor: str, identity: Identity, status: Any, *, verb: str, **more: Any) -> None:
        before = self.live.get(identity)
        if before is not None and before["status"] == status:
            return
        self.version += 1
        after = {"metadata": {"name": identity.name, "resourceVersion": str(self.version)}, "status": status}
        subresource = "" if verb == "create" else "status"
        self.history.append(Commit(actor, identity, self.version, verb, before, after, subresource=subresource, **more))
        self.live[identity] = after


# -- side by side


def as_searched(finding: Finding) -> tuple[Any, ...]:
    """A finding's path as the oracle spells it."""
    return tuple(f"[{step.fields[0][1]}]" if isinstance(step, Key) else step for step in finding.path[1:])


@pytest.mark.parametrize("seed", range(150))
def test_the_checker_finds_what_a_search_of_the_whole_history_finds(seed: int) -> None:
    """Every lost leaf of the oracle is within a finding, every finding holds a lost leaf, with the same writers and versions."""
    history = World(seed).run(60)
    checker = Checker()
    for record in history:
        checker.feed(record)
    told = [f for f in checker.findings if (f.name in (LOST, DOUBLE) and f.kind in ("carried", "computed", "self")) or _stale_drop(f)]
    searched = search(history)
    for version, path, victim, culprit, written in searched:
        assert any(
            f.overwritten == version and f.culprit == culprit and path[: len(as_searched(f))] == as_searched(f)
            and (f.victim == victim or f.name == DOUBLE)
            for f in told
        ), f"the search finds {path} of {victim}, written at {written}, lost at {version}; the checker does not"  # fmt: skip
    for f in told:
        assert any(
            f.overwritten == version and f.victim == victim and f.culprit == culprit and path[: len(as_searched(f))] == as_searched(f)
            for version, path, victim, culprit, _ in searched
        ), f"the checker finds {f}; the search does not"


def _stale_drop(finding: Finding) -> bool:
    return finding.kind == "dropped" and finding.written > finding.base


def test_the_random_histories_lose_enough_to_be_worth_a_comparison() -> None:
    """The histories above hold many losses of every kind, and many commits that lose nothing."""
    kinds: Counter[str] = Counter()
    commits = lossy = 0
    for seed in range(150):
        checker = Checker()
        for record in World(seed).run(60):
            kinds.update(finding.kind or finding.name for finding in checker.feed(record))
            commits += isinstance(record, Commit)
        lossy += len({finding.overwritten for finding in checker.findings})
    assert min(kinds["carried"], kinds["computed"], kinds["self"]) > 100
    assert 0.1 < lossy / commits < 0.9
