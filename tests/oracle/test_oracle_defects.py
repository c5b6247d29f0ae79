"""The oracle would find a loss: planted defects between the writer and the server, and records with one thing wrong in each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from fiferail.wire import JSON_PATCH, Answer, Request

from . import tasks
from .judge import RULES, judge
from .kind import MISSING, Json, identity
from .lines import AsyncLine
from .program import generate
from .records import GONE, Deed, Record, Saw, Sent, Want
from .shrink import shrink


class Blind(AsyncLine):
    """Takes the tests out of every JSON patch."""

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        if request.content_type == JSON_PATCH:
            operations = [operation for operation in json.loads(request.body) if operation["op"] != "test"]
            request = Request(
                method=request.method, path=request.path, query=request.query, body=json.dumps(operations).encode(),
                content_type=request.content_type, headers=request.headers,
            )  # fmt: skip
        return await super().send(request, timeout)


class Boastful(AsyncLine):
    """Says that a write was stored, and does not send it."""

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        if request.content_type == JSON_PATCH and request.path.endswith("/status"):
            read = Request(method="GET", path=request.path.removesuffix("/status"), headers=request.headers)
            return await super().send(read, timeout)
        return await super().send(request, timeout)


@pytest.mark.parametrize(
    ("line", "theme", "rules"),
    [
        (Blind, "memory", {"overwrote_what_it_knew"}),
        (Blind, "copies", {"decided_on_what_stands"}),
        (Blind, "plans", {"plan_is_of_its_time", "decided_on_what_stands"}),
        (Boastful, "values", {"acknowledged_is_there"}),
    ],
)
def test_a_defect_on_the_line_is_found(line: type[AsyncLine], theme: str, rules: set[str]) -> None:
    """A line that spoils what the writer sends is noticed within twenty seeds."""
    found = {violation.rule for seed in range(20) for violation in judge(tasks.run(generate(seed, theme), line))}
    assert found & rules, found


def test_a_finding_is_made_small() -> None:
    """What is left of a program has at most four steps, and still shows the loss."""
    seed = next(seed for seed in range(50) if _broken(seed))
    program, found = shrink(generate(seed, "memory"), "overwrote_what_it_knew", lambda one: tasks.run(one, Blind))
    assert found
    assert program.steps() <= 4, str(program)


def _broken(seed: int) -> bool:
    return any(violation.rule == "overwrote_what_it_knew" for violation in judge(tasks.run(generate(seed, "memory"), Blind)))


# -- one record, and one thing wrong in each copy


def stored(version: int, **status: Json) -> Json:
    """A version of the object."""
    obj = copy.deepcopy(identity("g"))
    obj["metadata"] |= {"uid": "u", "resourceVersion": str(version), "generation": 1}
    return {**obj, "spec": {"size": 1}, "status": status}


def right() -> Record:
    """A caller that held version 1, read the phase and wrote the note in version 3, after somebody else's version 2."""
    deed = Deed("0-0", 0, 1, "w", "session", "compare", stored(1, phase="a", note="first"))
    deed.saw = [Saw(("status", "phase"), "a")]
    deed.wants = [Want(("status", "note"), "t0-0.1;", unique=True)]
    deed.result, deed.object = "rebased", stored(3, phase="a", note="t0-0.1;", owner="x")
    sent = Sent(0, "0-0", "PATCH", b"t0-0.1;", 200, 3)
    history = {"u": [stored(1, phase="a", note="first"), stored(2, phase="a", note="first", owner="x"), copy.deepcopy(deed.object)]}
    return Record([deed], [sent], history, 1)


def _status(record: Record, index: int) -> Json:
    return record.history["u"][index]["status"]


def _stale_read(record: Record) -> None:
    _status(record, 1)["phase"] = _status(record, 2)["phase"] = record.deeds[0].object["status"]["phase"] = "b"


def _victim(record: Record) -> None:
    _status(record, 1)["note"] = "another's"


def _absent(record: Record) -> None:
    record.deeds[0].object["status"]["note"] = _status(record, 2)["note"] = "first"


def _unchanged(record: Record) -> None:
    _absent(record)
    record.deeds[0].result = "unchanged"


def _gone(record: Record) -> None:
    record.deeds[0].result = "gone"


def _denied(record: Record) -> None:
    record.deeds[0].result, record.deeds[0].said = "Conflict", "fiferail did not write anything."


def _false_conflict(record: Record) -> None:
    _absent(record)
    record.deeds[0].result = "Conflict"


def _locked(record: Record) -> None:
    record.deeds[0].strategy = "locked"


def _twice(record: Record) -> None:
    again = stored(5, phase="a", note="t0-0.1;", owner="x")
    record.history["u"] += [stored(4, phase="a", note="z", owner="x"), again]


def _collateral(record: Record) -> None:
    del _status(record, 2)["owner"], record.deeds[0].object["status"]["owner"]


def _moved(record: Record) -> None:
    for status in (_status(record, 2), record.deeds[0].object["status"]):
        status["rows"] = [{"name": "a", "extra": "x-b"}]
    record.deeds[0].wants.append(Want(("status", "rows"), [{"name": "a", "extra": "x-b"}]))


def _planned(record: Record) -> Deed:
    plan = {"id": "t0-0.plan;"}
    deed = record.deeds[0]
    deed.verb, deed.saw, deed.created, deed.made, deed.built_on = "create_once", [], True, plan, 1
    deed.wants = [Want(("status", "plan", "id"), "t0-0.plan;", unique=True)]
    for status in (_status(record, 2), deed.object["status"]):
        status["plan"], status["note"] = dict(plan), "first"
    record.sent[0].body = b"t0-0.plan;"
    return deed


def _cleared(record: Record) -> None:
    _planned(record)
    _status(record, 1)["plan"] = {"id": "older"}
    record.history["u"].insert(2, stored(2, phase="a", note="first", owner="x"))
    record.history["u"][1]["metadata"]["resourceVersion"] = "1"


def _disowned(record: Record) -> None:
    _planned(record).created = False


def _created_twice(record: Record) -> None:
    deed = _planned(record)
    other = copy.deepcopy(deed)
    other.id, other.wants = "1-0", []
    record.deeds.append(other)


WRONG: dict[str, Callable[[Record], None]] = {
    "decided_on_what_stands": _stale_read,
    "overwrote_what_it_knew": _victim,
    "acknowledged_is_there": _absent,
    "unchanged_is_true": _unchanged,
    "gone_is_true": _gone,
    "refusals_are_true": _denied,
    "conflicts_are_true": _false_conflict,
    "locked_is_locked": _locked,
    "written_once": _twice,
    "collateral": _collateral,
    "moved_fields": _moved,
    "plan_is_of_its_time": _cleared,
    "made_is_true": _disowned,
    "double_creation": _created_twice,
}


def test_a_right_record_is_right() -> None:
    """A write that is rebased over somebody else's field is no violation."""
    assert judge(right()) == []


def test_a_plan_that_is_right_is_right() -> None:
    """A plan in an empty slot is no violation."""
    record = right()
    _planned(record)
    assert judge(record) == []


@pytest.mark.parametrize("rule", WRONG)
def test_each_rule_can_fail(rule: str) -> None:
    """A record with one thing wrong breaks the rule about it."""
    record = right()
    WRONG[rule](record)
    assert rule in {violation.rule for violation in judge(record)}


def test_every_rule_has_a_record_that_breaks_it() -> None:
    """No rule is there that cannot fail."""
    assert {rule.__name__ for rule in RULES} <= set(WRONG)


def test_a_removal_is_judged_by_absence() -> None:
    """What was to be removed must not be there."""
    record = right()
    record.deeds[0].wants.append(Want(("status", "phase"), GONE))
    assert GONE is MISSING
    assert [violation.rule for violation in judge(record)].count("acknowledged_is_there") == 1


