"""The checker as a stream: when findings come, what is kept, what is said once."""

from __future__ import annotations

from fiferail.history.checker import FIGHT, Checker
from fiferail.history.checker import LOST as LOST_UPDATE
from fiferail.history.memory import KEPT_VERSIONS
from fiferail.history.records import Commit, Observation

from .story import G, gadget, start


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
