"""Every kind of finding, and every thing that is no finding, as a few records and the sentence that comes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fiferail.history.checker import Checker
from fiferail.history.words import explain
from fiferail.objects.paths import Path, parse

from .story import PROBED, READY, History, chain, cond, start


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


LOST = [
    Case(
        "carried: a whole list is put back as it was read",
        start(conditions=[READY]).merges("one", {"conditions": [READY, PROBED]}).merges("two", {"conditions": [cond("Ready", "False")]}),
        (
            'LOST status.conditions[Probed] of gadgets default/g: one wrote {"type":"Probed","status":"True"} (was nothing) '
            "at resourceVersion 2; two, based on resourceVersion 1, overwrote it with the older content it had read (merge "
            "patch on /status, resourceVersion 3). It is now nothing. Certain: two had received nothing newer than "
            "resourceVersion 1. Send only the entries or fields that changed, and test what was read or send its "
            "resourceVersion.",
        ),
    ),
    Case(
        "carried: a removed entry returns",
        start(conditions=[READY, PROBED]).merges("one", {"conditions": [READY]}).merges("two", {"conditions": [READY, PROBED]}),
        (
            'LOST status.conditions[Probed] of gadgets default/g: one removed {"type":"Probed","status":"True"} at '
            "resourceVersion 2; two, based on resourceVersion 1, overwrote it with the older content it had read (merge "
            'patch on /status, resourceVersion 3). It is now {"type":"Probed","status":"True"}. Certain: two had received '
            "nothing newer than resourceVersion 1. Send only the entries or fields that changed, and test what was read or "
            "send its resourceVersion.",
        ),
    ),
    Case(
        "computed: a scalar from an older version",
        start(phase="Pending").merges("one", {"phase": "Failed"}).merges("two", {"phase": "Running"}),
        (
            'LOST status.phase of gadgets default/g: one wrote "Failed" (was "Pending") at resourceVersion 2; two, based on '
            "resourceVersion 1, replaced it by a value computed from that older version (merge patch on /status, "
            'resourceVersion 3). It is now "Running". Certain: two had received nothing newer than resourceVersion 1. Send '
            "the resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is refused.",
        ),
    ),
    Case(
        "computed by one that had read nothing",
        start(phase="Pending").merges("one", {"phase": "Failed"}).merges("stranger", {"phase": "Running"}),
        (
            'LOST status.phase of gadgets default/g: one wrote "Failed" (was "Pending") at resourceVersion 2; stranger, '
            'without having read the object, replaced it (merge patch on /status, resourceVersion 3). It is now "Running". '
            "Send the resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is "
            "refused.",
        ),
    ),
    Case(
        "self: a later reconcile of the same actor from an older cache",
        start(count=1).merges("one", {"count": 2}).merges("one", {"count": 7}, base=1),
        (
            "LOST status.count of gadgets default/g: one wrote 2 (was 1) at resourceVersion 2; one, based on resourceVersion "
            "1, overwrote its own newer write from that older version (merge patch on /status, resourceVersion 3). It is now "
            "7. Certain: one says that it decided on resourceVersion 1. Base each write on the answer to the previous one.",
        ),
    ),
    Case(
        "dropped: a patch removes a field that it does not name, through a version that lacks it",
        start(phase="A").merges("one", {"novel": "x"}).reads("two").patches(
            "two", [{"op": "replace", "path": "/status/phase", "value": "B"}], {"phase": "B"}
        ),
        (
            'LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at resourceVersion 2; two, based on '
            "resourceVersion 2, removed it without naming it (JSON patch on /status, resourceVersion 3). It is now nothing. "
            "Write through a version and a model of the API that know the field, or send a patch of the changed fields only.",
        ),
    ),
    Case(
        "carried: a blind apply under a shared name leaves out what another had applied under it",
        start(phase="A")
        .applies("one", {"phase": "A", "found": "x"}, {"phase": "A", "found": "x"}, manager="operator")
        .managed("operator", {"f:phase": {}, "f:found": {}})
        .applies("two", {"phase": "A"}, {"phase": "A"}, manager="operator"),
        (
            'LOST status.found of gadgets default/g: one wrote "x" (was nothing) at resourceVersion 2; two, based on '
            "resourceVersion 1, overwrote it with the older content it had read (server-side apply on /status, "
            "resourceVersion 3). It is now nothing. Certain: two had received nothing newer than resourceVersion 1. Send "
            "only the entries or fields that changed, and test what was read or send its resourceVersion.",
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
            'LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at resourceVersion 2; two, based on '
            "resourceVersion 2, removed it without naming it (server-side apply on /status, resourceVersion 3). It is now "
            "nothing. Write through a version and a model of the API that know the field, or send a patch of the changed "
            "fields only.",
        ),
    ),
    Case(
        "dropped: a typed client's PUT leaves out what its model lacks",
        start(phase="A").merges("one", {"novel": "x"}).reads("two").puts("two", 2, phase="B"),
        (
            'POSSIBLY LOST status.novel of gadgets default/g: one wrote "x" (was nothing) at resourceVersion 2; two, based '
            "on resourceVersion 2, removed it without naming it (PUT on /status, resourceVersion 3). It is now nothing. "
            "Possible: two may have removed it on purpose. Write through a version and a model of the API that know the "
            "field, or send a patch of the changed fields only.",
        ),
    ),
    Case(
        "laundered: a refused PUT again, with a fresh resourceVersion on stale values",
        start(phase="A", count=1).puts("one", 1, phase="A", count=2).puts("two", 1, phase="B", count=1).reads("two").puts(
            "two", 2, phase="B", count=1
        ),
        (
            "LOST (inferred) status.count of gadgets default/g: one wrote 2 (was 1) at resourceVersion 2; two, based on "
            "resourceVersion 2, sent the values of its refused request again with a fresh resourceVersion (PUT on /status, "
            "resourceVersion 3). It is now 1. Inferred: the value is one that the refused request had only repeated from its "
            "older version. After a conflict make the change again on the object that was just read, instead of sending the "
            "old status.",
        ),
    ),
    Case(
        "laundered: the resent PUT leaves out what was added meanwhile",
        start(phase="A").puts("one", 1, phase="A", found="x").puts("two", 1, phase="B").reads("two").puts("two", 2, phase="B"),
        (
            'LOST (inferred) status.found of gadgets default/g: one wrote "x" (was nothing) at resourceVersion 2; two, based '
            "on resourceVersion 2, sent the values of its refused request again with a fresh resourceVersion (PUT on "
            "/status, resourceVersion 3). It is now nothing. Inferred: the value is one that the refused request had only "
            "repeated from its older version. After a conflict make the change again on the object that was just read, "
            "instead of sending the old status.",
        ),
    ),
    Case(
        "abandoned: a conflict is swallowed",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B"),
        (
            'LOST status.phase of gadgets default/g: two wanted "B", was refused (PUT on /status) and never sent it again. '
            'It is "A", as maker left it. Handle the conflict: read the object, decide again, write.',
        ),
    ),
    Case(
        "abandoned in part: the retry brings back only some of what was refused",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B", conditions=[READY]).reads("two").puts(
            "two", 2, phase="A", count=1, conditions=[READY]
        ),
        (
            'LOST (inferred) status.phase of gadgets default/g: two wanted "B", was refused (PUT on /status) and never sent '
            'it again. It is "A", as maker left it. Inferred: its author sent the rest of that request again without it. '
            "Handle the conflict: read the object, decide again, write.",
        ),
    ),
    Case(
        "abandoned in part: a locked patch comes again with only some of what was refused",
        start(phase="A").locks("one", 1, {"count": 1}).locks("two", 1, {"phase": "B", "size": 2}).reads("two").locks("two", 2, {"size": 2}),
        (
            'LOST (inferred) status.phase of gadgets default/g: two wanted "B", was refused (merge patch on /status) and '
            'never sent it again. It is "A", as maker left it. Inferred: its author sent the rest of that request again '
            "without it. Handle the conflict: read the object, decide again, write.",
        ),
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
        (
            'LOST (inferred) status.phase of gadgets default/g: two wanted "B", was refused (merge patch on /status) and '
            'never sent it again. It is "A", as maker left it. Inferred: its author sent the rest of that request again '
            "without it. Handle the conflict: read the object, decide again, write.",
        ),
    ),
    Case(
        "wrong incarnation: the object was made anew between read and write",
        start(phase="A").deleted("maker").created("maker", phase="New").merges("one", {"phase": "Done"}),
        (
            'LOST status.phase of gadgets default/g: one had read an earlier object of that name and wrote "Done" over "New" '
            "of the one that maker created since (merge patch on /status, resourceVersion 4). Send the uid in a JSON patch "
            "test, or the resourceVersion.",
        ),
    ),
    Case(
        "wrong incarnation: by the one that had made the earlier object",
        History().created("maker", phase="A").deleted("two").created("two", phase="New").merges("maker", {"phase": "Done"}),
        (
            'LOST status.phase of gadgets default/g: maker had read an earlier object of that name and wrote "Done" over '
            '"New" of the one that two created since (merge patch on /status, resourceVersion 4). Send the uid in a JSON '
            "patch test, or the resourceVersion.",
        ),
    ),
    Case(
        "a list without keys: an added element vanished",
        start(names=["a"]).merges("one", {"names": ["a", "b"]}).merges("two", {"names": ["a", "c"]}),
        (
            'LOST status.names of gadgets default/g: one wrote ["a","b"] (was ["a"]) at resourceVersion 2; two, based on '
            "resourceVersion 1, replaced it by a value computed from that older version (merge patch on /status, "
            'resourceVersion 3). It is now ["a","c"]. Certain: two had received nothing newer than resourceVersion 1. Send '
            "the resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is refused.",
        ),
    ),
    Case(
        "a list without keys: a removed element returned",
        start(names=["a", "b"]).merges("one", {"names": ["a"]}).merges("two", {"names": ["a", "b", "c"]}),
        (
            'LOST status.names of gadgets default/g: one wrote ["a"] (was ["a","b"]) at resourceVersion 2; two, based on '
            "resourceVersion 1, replaced it by a value computed from that older version (merge patch on /status, "
            'resourceVersion 3). It is now ["a","b","c"]. Certain: two had received nothing newer than resourceVersion 1. '
            "Send the resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is "
            "refused.",
        ),
    ),
    Case(
        "lastTransitionTime is a value like any other",
        start(conditions=[{**READY, "lastTransitionTime": "t0"}])
        .merges("one", {"conditions": [{**READY, "lastTransitionTime": "t1"}]})
        .merges("two", {"conditions": [{**READY, "lastTransitionTime": "t2"}]}),
        (
            'LOST status.conditions[Ready].lastTransitionTime of gadgets default/g: one wrote "t1" (was "t0") at '
            "resourceVersion 2; two, based on resourceVersion 1, replaced it by a value computed from that older version "
            '(merge patch on /status, resourceVersion 3). It is now "t2". Certain: two had received nothing newer than '
            "resourceVersion 1. Send the resourceVersion that was read, or a JSON patch that tests the field, and decide "
            "again when it is refused.",
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
            'LOST status.conditions of gadgets default/g: one wrote "False" (was "True") at resourceVersion 4; two, based on '
            "resourceVersion 2, overwrote it with the older content it had read (merge patch on /status, resourceVersion 5). "
            'It is now [{"type":"Ready","status":"True"},{"type":"Ready","status":"True"}]. Certain: two had received '
            "nothing newer than resourceVersion 2. Send only the entries or fields that changed, and test what was read or "
            "send its resourceVersion.",
        ),
    ),
    Case(
        "double creation: two reconciles both saw no plan",
        start().merges("one", {"plan": {"id": "p1", "steps": 2}}).merges("two", {"plan": {"id": "p2", "steps": 3}}),
        (
            'CREATED TWICE status.plan of gadgets default/g: one wrote {"id":"p1","steps":2} (was nothing) at '
            "resourceVersion 2; two, based on resourceVersion 1, replaced it by a value computed from that older version "
            '(merge patch on /status, resourceVersion 3). It is now {"id":"p2","steps":3}. Certain: two had received nothing '
            "newer than resourceVersion 1. Send the resourceVersion that was read, or a JSON patch that tests the field, and "
            "decide again when it is refused.",
        ),
    ),
    Case(
        "a scalar that became an object is still somebody's",
        start(state="a").merges("one", {"state": {"name": "b"}}).merges("two", {"state": {"name": "c"}}),
        (
            'CREATED TWICE status.state.name of gadgets default/g: one wrote "b" (was nothing) at resourceVersion 2; two, '
            "based on resourceVersion 1, replaced it by a value computed from that older version (merge patch on /status, "
            'resourceVersion 3). It is now "c". Certain: two had received nothing newer than resourceVersion 1. Send the '
            "resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is refused.",
        ),
    ),
]  # fmt: skip

OTHERS = [
    Case(
        "stale decision: a path that was read has changed",
        start(phase="A", size=1).merges("one", {"size": 2}).merges("two", {"phase": "B"}, base=1, reads=(parse("status.size"),)),
        (
            "STALE status.size of gadgets default/g: two decided on 1 as of resourceVersion 1, but it had been changed to 2 "
            "by one at resourceVersion 2 when the decision was written (merge patch on /status, resourceVersion 3). Test "
            "what the decision depends on.",
        ),
    ),
    Case(
        "stale decision: two increments that end in the same value change nothing, so the reads tell",
        start(count=5).merges("one", {"count": 6}).sends_nothing_new("two", 1, base=1, reads=(parse("status.count"),)),
        (
            "STALE status.count of gadgets default/g: two decided on 5 as of resourceVersion 1, but it had been changed to 6 "
            "by one at resourceVersion 2 when the decision was written (merge patch on /status, resourceVersion 2). Test "
            "what the decision depends on.",
        ),
    ),
    Case(
        "foreign write: the path is claimed by another",
        start(phase="A").merges("two", {"phase": "B"}),
        (
            'FOREIGN status.phase of gadgets default/g: two wrote "B" over "A" at resourceVersion 2, but one owns it.',
        ),
        owner={"status.phase": "one"},
    ),
    Case(
        "fight: three alternations, each having seen the other",
        start(phase="0").merges("one", {"phase": "A"}).reads("two").merges("two", {"phase": "B"}).reads("one").merges("one", {"phase": "A"})
        .reads("two").merges("two", {"phase": "B"}).reads("one").merges("one", {"phase": "A"}),
        (
            'FIGHT status.phase of gadgets default/g: two and one overwrite each other, each having seen the other; now "B" '
            'over "A" at resourceVersion 5. Let one of them own the field.',
        ),
    ),
    Case(
        "waste: writes that change nothing wake nobody, so they are no loop",
        start(phase="A").sends_nothing_new("one", 6),
        (
            "WASTE gadgets default/g: one sent 5 writes in a row that changed nothing. They wake nobody, but each costs a "
            "request: compare with what is stored before writing.",
        ),
    ),
    Case(
        "hot loop: each commit woken by the own last one, and it still goes on",
        chain(9, via="watch").merges("one", {"beat": 10}),
        (
            "HOT LOOP gadgets default/g: one sent 10 writes in a row, each woken only by its own last write. Write only when "
            "something differs from what is stored.",
        ),
    ),
    Case(
        "time travel: a read goes back",
        start(phase="A").merges("one", {"phase": "B"}).reads("two").reads("two", version=1),
        (
            "TIME TRAVEL metadata.resourceVersion of gadgets default/g: two received resourceVersion 1 after resourceVersion "
            "2.",
        ),
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
    Case(
        "a refused PUT whose author read again and found nothing left to do",
        start(phase="A").puts("one", 1, phase="A", count=1).puts("two", 1, phase="B").reads("two").sends_nothing_new("two", 1),
    ),
    Case("a chain of own commits that stops by itself is no loop", chain(9, via="watch")),
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
