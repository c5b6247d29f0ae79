"""Every kind of finding, and every thing that is no finding, as a few records and the sentence that comes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from fiferail.history.checker import FIGHT, Checker
from fiferail.history.checker import LOST as LOST_UPDATE
from fiferail.history.memory import KEPT_VERSIONS
from fiferail.history.records import Attempt, Commit, Identity, Observation, Record
from fiferail.history.words import explain
from fiferail.objects.paths import Path, parse

G = Identity("gadgets.example.io", "default", "g", "uid-1")
RECREATED = Identity("gadgets.example.io", "default", "g", "uid-2")


def gadget(version: int, **status: Any) -> Any:
    """An object at a version."""
    return {"metadata": {"name": "g", "resourceVersion": str(version)}, "status": status}


def cond(type_: str, status: str = "True") -> dict[str, str]:
    """A condition."""
    return {"type": type_, "status": status}


class History:
    """Records of one object, written as a story. Versions count up by one."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.version = 0
        self.tree: Any = None
        self.object = G

    def created(self, by: str, **status: Any) -> History:
        """A new object."""
        return self._commit(by, status, verb="create", before=None)

    def reads(self, *actors: str, version: int | None = None, via: str = "get") -> History:
        """Each is given the current version, or the one named."""
        self.records += [Observation(actor, self.object, version or self.version, via) for actor in actors]
        return self

    def puts(self, by: str, at: int, **status: Any) -> History:
        """PUT of the whole status, with the resourceVersion that was read; refused when stale."""
        body = gadget(at, **status)
        if at != self.version:
            self.records.append(Attempt(by, self.object, "update", "refused", subresource="status", body=body, precondition=at, code=409))
            return self
        return self._commit(by, status, verb="update", body=body, precondition=at)

    def merges(self, by: str, patch: dict[str, Any], **tags: Any) -> History:
        """A merge patch of status without a lock."""
        status = {name: value for name, value in {**self.tree["status"], **patch}.items() if value is not None}
        return self._commit(by, status, verb="patch", content="merge", body={"status": patch}, **tags)

    def locks(self, by: str, at: int, patch: dict[str, Any]) -> History:
        """The same with the resourceVersion that was read; refused when stale."""
        if at == self.version:
            return self.merges(by, patch, precondition=at)
        body = {"metadata": {"resourceVersion": str(at)}, "status": patch}
        self.records.append(Attempt(by, self.object, "patch", "refused", "merge", "status", body, precondition=at, code=409))
        return self

    def patches(self, by: str, operations: list[Any], status: dict[str, Any], **tags: Any) -> History:
        """A JSON patch and what comes of it."""
        return self._commit(by, status, verb="patch", content="json", body=operations, **tags)

    def applies(self, by: str, applied: dict[str, Any], status: dict[str, Any], **more: Any) -> History:
        """Server-side apply and what comes of it."""
        return self._commit(by, status, verb="patch", content="apply", body={"status": applied}, **more)

    def managed(self, manager: str, fields: dict[str, Any]) -> History:
        """From here on the object says that the manager has applied these fields of status."""
        entry = {"manager": manager, "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": fields}}
        self.tree["metadata"]["managedFields"] = [entry]
        return self

    def sends_nothing_new(self, by: str, times: int, **tags: Any) -> History:
        """Writes that change nothing."""
        self.records += [Attempt(by, self.object, "patch", "unchanged", "merge", "status", {"status": {}}, **tags)] * times
        return self

    def deleted(self, by: str) -> History:
        """The object goes; what is created next is another."""
        self.version += 1
        self.records.append(Commit(by, self.object, self.version, "delete", self.tree, None))
        self.object = RECREATED
        return self

    def _commit(self, by: str, status: dict[str, Any], *, verb: str, before: Any = "current", **more: Any) -> History:
        self.version += 1
        after = gadget(self.version, **status)
        old = self.tree if before == "current" else before
        subresource = "" if verb == "create" else "status"
        self.records.append(Commit(by, self.object, self.version, verb, old, after, subresource=subresource, **more))
        self.tree = after
        return self


@dataclass(frozen=True)
class Case:
    """A story and the sentences that the checker makes of it."""

    name: str
    history: History
    says: tuple[str, ...] = ()
    owner: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def start(**status: Any) -> History:
    """An object that `one` and `two` have read at version 1."""
    return History().created("maker", **status).reads("one", "two")


def chain(times: int, via: str) -> History:
    """`one` writes, is told of its own write, and writes again."""
    history = start(beat=0)
    for beat in range(1, times + 1):
        history.merges("one", {"beat": beat}).reads("one", via=via)
    return history


READY, PROBED = cond("Ready"), cond("Probed")

LOST = [
    Case(
        "carried: a whole list is put back as it was read",
        start(conditions=[READY]).merges("one", {"conditions": [READY, PROBED]}).merges("two", {"conditions": [cond("Ready", "False")]}),
        (
            'LOST status.conditions[Probed] of gadgets default/g: one wrote {"type":"Probed","status":"True"} (was nothing) at 2; '
            "two, based on 1, put back what it had read, without meaning to touch it: patch merge on status at 3 left nothing.",
        ),
    ),
    Case(
        "carried: a removed entry returns",
        start(conditions=[READY, PROBED]).merges("one", {"conditions": [READY]}).merges("two", {"conditions": [READY, PROBED]}),
        (
            'LOST status.conditions[Probed].type of gadgets default/g: one wrote nothing (was "Probed") at 2; '
            'two, based on 1, put back what it had read, without meaning to touch it: patch merge on status at 3 left "Probed".',
            'LOST status.conditions[Probed].status of gadgets default/g: one wrote nothing (was "True") at 2; '
            'two, based on 1, put back what it had read, without meaning to touch it: patch merge on status at 3 left "True".',
        ),
    ),
    Case(
        "computed: a scalar from an older version",
        start(phase="Pending").merges("one", {"phase": "Failed"}).merges("two", {"phase": "Running"}),
        (
            'LOST status.phase of gadgets default/g: one wrote "Failed" (was "Pending") at 2; '
            'two, based on 1, wrote a value that it had computed from an older version: patch merge on status at 3 left "Running".',
        ),
    ),
    Case(
        "computed by one that had read nothing",
        start(phase="Pending").merges("one", {"phase": "Failed"}).merges("stranger", {"phase": "Running"}),
        (
            'LOST status.phase of gadgets default/g: one wrote "Failed" (was "Pending") at 2; stranger, based on nothing it had read, '
            'wrote a value that it had computed from an older version: patch merge on status at 3 left "Running".',
        ),
    ),
    Case(
        "self: a later reconcile of the same actor from an older cache",
        start(count=1).merges("one", {"count": 2}).merges("one", {"count": 7}, base=1),
        (
            "LOST status.count of gadgets default/g: one wrote 2 (was 1) at 2; "
            "one, based on 1, wrote from an older version than its own last write: patch merge on status at 3 left 7.",
        ),
    ),
    Case(
        "dropped: a patch removes a field that it does not name, through a version that lacks it",
        start(phase="A").merges("one", {"novel": "x"}).reads("two").patches(
            "two", [{"op": "replace", "path": "/status/phase", "value": "B"}], {"phase": "B"}
        ),
        (
            'LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at 2; '
            "two, based on 2, removed it without knowing it: patch json on status at 3 left nothing.",
        ),
    ),
    Case(
        "carried: a blind apply under a shared name leaves out what another had applied under it",
        start(phase="A")
        .applies("one", {"phase": "A", "found": "x"}, {"phase": "A", "found": "x"}, manager="operator")
        .managed("operator", {"f:phase": {}, "f:found": {}})
        .applies("two", {"phase": "A"}, {"phase": "A"}, manager="operator"),
        (
            'LOST status.found of gadgets default/g: one wrote "x" (was nothing) at 2; two, based on 1, put back what it had read, '
            "without meaning to touch it: patch apply on status at 3 left nothing.",
        ),
    ),
    Case(
        "dropped: an apply through an older version erases what its manager never applied",
        start(phase="A")
        .merges("one", {"novel": "x"})
        .managed("two", {"f:phase": {}})
        .reads("two")
        .applies("two", {"phase": "B"}, {"phase": "B"}, manager="two"),
        (
            'LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at 2; '
            "two, based on 2, removed it without knowing it: patch apply on status at 3 left nothing.",
        ),
    ),
    Case(
        "dropped: a typed client's PUT leaves out what its model lacks",
        start(phase="A").merges("one", {"novel": "x"}).reads("two").puts("two", 2, phase="B"),
        (
            'LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at 2; '
            "two, based on 2, removed it without knowing it: update on status at 3 left nothing.",
        ),
    ),
    Case(
        "laundered: a refused PUT again, with a fresh resourceVersion on stale values",
        start(phase="A", count=1).puts("one", 1, phase="A", count=2).puts("two", 1, phase="B", count=1).reads("two").puts(
            "two", 2, phase="B", count=1
        ),
        (
            "LOST status.count of gadgets default/g: one wrote 2 (was 1) at 2; two, based on 2, "
            "tried again with the values of a refused attempt on a fresh resourceVersion: update on status at 3 left 1.",
        ),
    ),
    Case(
        "laundered: the resent PUT leaves out what was added meanwhile",
        start(phase="A").puts("one", 1, phase="A", found="x").puts("two", 1, phase="B").reads("two").puts("two", 2, phase="B"),
        (
            'LOST status.found of gadgets default/g: one wrote "x" (was nothing) at 2; two, based on 2, '
            "tried again with the values of a refused attempt on a fresh resourceVersion: update on status at 3 left nothing.",
        ),
    ),
    Case(
        "abandoned: a conflict is swallowed",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B"),
        ('LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".',),
    ),
    Case(
        "abandoned in part: the retry brings back only some of what was refused",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B", conditions=[READY]).reads("two").puts(
            "two", 2, phase="A", count=1, conditions=[READY]
        ),
        ('LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".',),
    ),
    Case(
        "abandoned in part: a locked patch comes again with only some of what was refused",
        start(phase="A").locks("one", 1, {"count": 1}).locks("two", 1, {"phase": "B", "size": 2}).reads("two").locks("two", 2, {"size": 2}),
        ('LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".',),
    ),
    Case(
        "nothing abandoned: two threads of one actor retry in turns what was refused together",
        start(phase="A").locks("one", 1, {"count": 1}).locks("two", 1, {"phase": "B", "size": 2}).reads("two").locks("two", 2, {"size": 2})
        .reads("two").locks("two", 3, {"phase": "B"}),
        (),
    ),
    Case(
        "abandoned in part, and read again: the rest never came",
        start(phase="A").locks("one", 1, {"count": 1}).locks("two", 1, {"phase": "B", "size": 2}).reads("two").locks("two", 2, {"size": 2})
        .reads("two").locks("two", 3, {"size": 3}),
        ('LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".',),
    ),
    Case(
        "abandoned whole: the retry of a PUT brings back none of it",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B").reads("two").sends_nothing_new("two", 1),
        ('LOST status.phase of gadgets default/g: two wanted "B", was refused and never tried again; it is "A".',),
    ),
    Case(
        "wrong incarnation: the object was made anew between read and write",
        start(phase="A").deleted("maker").created("maker", phase="New").merges("one", {"phase": "Done"}),
        (
            'LOST status.phase of gadgets default/g: one had read an earlier object of that name, and wrote "Done" over "New" '
            "of the one that maker has made since: patch merge at 4.",
        ),
    ),
    Case(
        "wrong incarnation: by the one that had made the earlier object",
        History().created("maker", phase="A").deleted("two").created("two", phase="New").merges("maker", {"phase": "Done"}),
        (
            'LOST status.phase of gadgets default/g: maker had read an earlier object of that name, and wrote "Done" over "New" '
            "of the one that two has made since: patch merge at 4.",
        ),
    ),
    Case(
        "a list without keys: an added element vanished",
        start(names=["a"]).merges("one", {"names": ["a", "b"]}).merges("two", {"names": ["a", "c"]}),
        (
            'LOST status.names of gadgets default/g: one wrote ["a","b"] (was ["a"]) at 2; '
            'two, based on 1, wrote a value that it had computed from an older version: patch merge on status at 3 left ["a","c"].',
        ),
    ),
    Case(
        "a list without keys: a removed element returned",
        start(names=["a", "b"]).merges("one", {"names": ["a"]}).merges("two", {"names": ["a", "b", "c"]}),
        (
            'LOST status.names of gadgets default/g: one wrote ["a"] (was ["a","b"]) at 2; '
            'two, based on 1, wrote a value that it had computed from an older version: patch merge on status at 3 left ["a","b","c"].',
        ),
    ),
    Case(
        "lastTransitionTime is a value like any other",
        start(conditions=[{**READY, "lastTransitionTime": "t0"}])
        .merges("one", {"conditions": [{**READY, "lastTransitionTime": "t1"}]})
        .merges("two", {"conditions": [{**READY, "lastTransitionTime": "t2"}]}),
        (
            'LOST status.conditions[Ready].lastTransitionTime of gadgets default/g: one wrote "t1" (was "t0") at 2; '
            'two, based on 1, wrote a value that it had computed from an older version: patch merge on status at 3 left "t2".',
        ),
    ),
    Case(
        "a list that was entries and becomes one value, because a key stands in it twice",
        start(conditions=[READY])
        .merges("one", {"conditions": [READY, READY]})
        .reads("one", "two")
        .merges("one", {"conditions": [READY]})
        .merges("one", {"conditions": [cond("Ready", "False")]})
        .merges("two", {"conditions": [READY, READY]}),
        (
            'LOST status.conditions of gadgets default/g: one wrote "False" (was "True") at 4; two, based on 2, put back what it had '
            'read, without meaning to touch it: patch merge on status at 5 left [{"type":"Ready","status":"True"},'
            '{"type":"Ready","status":"True"}].',
        ),
    ),
    Case(
        "double creation: two reconciles both saw no plan",
        start().merges("one", {"plan": {"id": "p1", "steps": 2}}).merges("two", {"plan": {"id": "p2", "steps": 3}}),
        (
            'CREATED TWICE status.plan of gadgets default/g: one wrote {"id":"p1","steps":2} (was nothing) at 2; two, based on 1, '
            'wrote a value that it had computed from an older version: patch merge on status at 3 left {"id":"p2","steps":3}.',
        ),
    ),
    Case(
        "a scalar that became an object is still somebody's",
        start(state="a").merges("one", {"state": {"name": "b"}}).merges("two", {"state": {"name": "c"}}),
        (
            'CREATED TWICE status.state.name of gadgets default/g: one wrote "b" (was nothing) at 2; two, based on 1, '
            'wrote a value that it had computed from an older version: patch merge on status at 3 left "c".',
        ),
    ),
]  # fmt: skip

OTHERS = [
    Case(
        "stale decision: a path that was read has changed",
        start(phase="A", size=1).merges("one", {"size": 2}).merges("two", {"phase": "B"}, base=1, reads=(parse("status.size"),)),
        ("STALE status.size of gadgets default/g: two decided on 1 as of 1, but it had become 2 by one before 3.",),
    ),
    Case(
        "stale decision: two increments that end in the same value change nothing, so the reads tell",
        start(count=5).merges("one", {"count": 6}).sends_nothing_new("two", 1, base=1, reads=(parse("status.count"),)),
        ("STALE status.count of gadgets default/g: two decided on 5 as of 1, but it had become 6 by one before 2.",),
    ),
    Case(
        "foreign write: the path is claimed by another",
        start(phase="A").merges("two", {"phase": "B"}),
        ('FOREIGN status.phase of gadgets default/g: two wrote "B" over "A", but one owns it.',),
        owner={"status.phase": "one"},
    ),
    Case(
        "fight: three alternations, each having seen the other",
        start(phase="0").merges("one", {"phase": "A"}).reads("two").merges("two", {"phase": "B"}).reads("one").merges("one", {"phase": "A"})
        .reads("two").merges("two", {"phase": "B"}).reads("one").merges("one", {"phase": "A"}),
        ('FIGHT status.phase of gadgets default/g: two and one overwrite each other, each having seen the other; now "B" over "A".',),
    ),
    Case(
        "hot loop: writes that change nothing",
        start(phase="A").sends_nothing_new("one", 6),
        ("HOT LOOP gadgets default/g: one sent 5 writes in a row that change nothing.",),
    ),
    Case(
        "hot loop: each commit woken by the own last one",
        chain(9, via="watch"),
        ("HOT LOOP gadgets default/g: one sent 8 writes in a row, each woken only by its own last write.",),
    ),
    Case(
        "time travel: a read goes back",
        start(phase="A").merges("one", {"phase": "B"}).reads("two").reads("two", version=1),
        ("TIME TRAVEL metadata.resourceVersion of gadgets default/g: two had seen version 2 and was then given 1.",),
    ),
]  # fmt: skip

NOTHING = [
    Case("the same value, and nothing was read", start(phase="A").merges("one", {"phase": "B"}).merges("two", {"phase": "B"})),
    Case("an own newer write", start(phase="A").merges("one", {"phase": "B"}).merges("one", {"phase": "C"})),
    Case("seen, and overwritten knowingly", start(phase="A").merges("one", {"phase": "B"}).reads("two").merges("two", {"phase": "C"})),
    Case("seen through a watch", start(phase="A").merges("one", {"phase": "B"}).reads("two", via="watch").merges("two", {"phase": "C"})),
    Case("other paths", start(phase="A", size=1).merges("one", {"phase": "B"}).merges("two", {"size": 2})),
    Case("another uid", start(phase="A").merges("one", {"phase": "B"}).deleted("maker").created("two", phase="A")),
    Case(
        "another uid that was read",
        start(phase="A").deleted("maker").created("maker", phase="New").reads("one").merges("one", {"phase": "Done"}),
    ),
    Case(
        "a time that is listed as one where the last writer may win",
        start(heartbeat="t0").merges("one", {"heartbeat": "t1"}).merges("two", {"heartbeat": "t2"}),
        ignored=("status.heartbeat",),
    ),
    Case(
        "a JSON patch that tested the field stands on its current value",
        start(phase="A").merges("one", {"phase": "B"}).patches(
            "two",
            [{"op": "test", "path": "/status/phase", "value": "B"}, {"op": "replace", "path": "/status/phase", "value": "C"}],
            {"phase": "C"},
        ),
    ),
    Case(
        "a JSON patch that tested the uid knows the incarnation",
        start(phase="A").deleted("maker").created("maker").patches(
            "one",
            [{"op": "test", "path": "/metadata/uid", "value": "uid-2"}, {"op": "add", "path": "/status/phase", "value": "C"}],
            {"phase": "C"},
        ),
    ),
    Case(
        "an appended condition beside one that was added meanwhile",
        start(conditions=[READY]).merges("one", {"conditions": [READY, PROBED]}).patches(
            "two", [{"op": "add", "path": "/status/conditions/-", "value": cond("Synced")}], {"conditions": [READY, PROBED, cond("Synced")]}
        ),
    ),
    Case(
        "a list without keys that grew on both sides",
        start(names=["a"]).merges("one", {"names": ["a", "b"]}).merges("two", {"names": ["a", "b", "c"]}),
    ),
    Case(
        "a refused write that is made good with all of it",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B").reads("two").puts("two", 2, phase="B", count=1),
    ),
    Case(
        "a refused write that is reconsidered after another read",
        start(phase="A").locks("one", 1, {"phase": "Failed"}).locks("two", 1, {"phase": "Running"}).reads("two"),
    ),
    Case(
        "a refused write that another makes",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B").reads("three").merges("three", {"phase": "B"}),
    ),
    Case("two alternations are no fight", start(phase="0").merges("one", {"phase": "A"}).reads("two").merges("two", {"phase": "B"})),
    Case("four idle writes are no loop", start(phase="A").sends_nothing_new("one", 4)),
    Case("a script that reads and writes is no loop", chain(9, via="get")),
    Case("a watch that lags behind own answers is no time travel", start().merges("one", {"a": 1}).reads("one", version=1, via="watch")),
    Case("filling an empty status", start().merges("one", {"phase": "A"}).merges("two", {"size": 1})),
    Case(
        "an entry that moved to another place",
        start(conditions=[READY, PROBED]).merges("one", {"conditions": [PROBED, READY]}).merges("two", {"conditions": [READY, PROBED]}),
    ),
    Case(
        "entries that their writer turns into one value",
        start(conditions=[READY]).merges("one", {"conditions": "none"}),
    ),
    Case(
        "an apply that leaves others' conditions alone",
        start(conditions=[READY]).applies("one", {"conditions": [PROBED]}, {"conditions": [READY, PROBED]}).applies(
            "two", {"conditions": [cond("Ready", "False")]}, {"conditions": [cond("Ready", "False"), PROBED]}
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", [*LOST, *OTHERS, *NOTHING], ids=str)
def test_the_checker_says_exactly_this_of_the_history(case: Case) -> None:
    """A story gives these findings and no others, in words that name the field, the writers, before and after."""
    owners: dict[Path, str] = {parse(text): owner for text, owner in case.owner.items()}
    checker = Checker(owner=(lambda _, path: owners.get(path)) if owners else None, ignored=map(parse, case.ignored))
    for record in case.history.records:
        checker.feed(record)
    checker.finish()
    assert tuple(explain(finding) for finding in checker.findings) == case.says


def test_a_finding_is_given_as_soon_as_its_record_is_fed() -> None:
    """The checker streams: the commit that destroys an update returns the finding."""
    records = start(phase="A").merges("one", {"phase": "B"}).merges("two", {"phase": "C"}).records
    checker = Checker()
    assert [len(checker.feed(record)) for record in records] == [0, 0, 0, 0, 1]


def test_a_loss_is_permanent_until_somebody_writes_the_value_again() -> None:
    """Permanent means that the field still differs from what was lost."""
    history = start(phase="A").merges("one", {"phase": "B"}).merges("two", {"phase": "C"})
    checker = Checker()
    for record in history.records:
        checker.feed(record)
    [finding] = checker.findings
    assert checker.permanent(finding)
    for record in history.reads("one").merges("one", {"phase": "B"}).records[-2:]:
        checker.feed(record)
    assert not checker.permanent(finding)


def test_finish_tells_each_abandoned_update_once() -> None:
    """Asking again at rest gives nothing new."""
    checker = Checker()
    for record in start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B").records:
        checker.feed(record)
    assert [len(checker.finish()), len(checker.finish())] == [1, 0]


def test_a_recording_that_starts_late_knows_the_first_base() -> None:
    """The object before the first recorded commit counts as a version, so carried and computed can be told apart."""
    before, between = gadget(7, names=["a"]), gadget(8, names=["a", "b"])
    checker = Checker()
    for record in (
        Observation("two", G, 7),
        Commit("one", G, 8, "patch", before, between, "", "status", "merge", {"status": {"names": ["a", "b"]}}),
        Commit("two", G, 9, "patch", between, gadget(9, names=["a"]), "", "status", "merge", {"status": {"names": ["a"]}}),
    ):
        checker.feed(record)
    assert [finding.kind for finding in checker.findings] == ["carried"]


def test_an_old_base_is_recognised_long_after_its_version_was_forgotten() -> None:
    """The checker keeps a bounded number of versions; a write from before them is still a loss, only its kind is less certain."""
    history = start(count=0)
    for count in range(1, KEPT_VERSIONS * 2):
        history.merges("one", {"count": count})
    history.merges("two", {"count": 0})
    checker = Checker()
    for record in history.records:
        checker.feed(record)
    [finding] = checker.findings
    assert (finding.name, finding.victim, finding.culprit, finding.base) == (LOST_UPDATE, "one", "two", 1)


def test_a_fight_is_told_once_however_long_it_lasts() -> None:
    """Twenty turns of two writers are one finding."""
    history = start(phase="0")
    for turn in range(20):
        one, other = ("one", "two") if turn % 2 else ("two", "one")
        history.merges(one, {"phase": one}).reads(other)
    checker = Checker()
    for record in history.records:
        checker.feed(record)
    assert [finding.name for finding in checker.findings] == [FIGHT]
