"""Flushes of one writer that meet at one object: while two of them are on the way (one, where more
keep coming), the others wait, and then go together.

Ten threads that each write their own condition of an object would send ten patches, which the server applies one after the other,
each of them again and again because another one came first. One patch carries them all. Nothing is given up for it: each flush is
judged against the newest version on its own, only those that do not touch what another reads or writes go along, and when the
common patch is refused each goes on alone, as if it had just come. When the server cannot be reached, all of them end with that.

    lane      how many are writing this object, and the queue of the others
    ticket    a place in that queue; what is given to it in the end: the lead of all who wait, an outcome, or word to go alone
"""

from __future__ import annotations

from _thread import allocate_lock
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from ..errors import FiferailError, Unavailable
from .conversation import Plan, write
from .decide import Verdict, decide
from .effects import Conversation, Join
from .intents import applied
from .memory import version
from .outcome import Kind, Outcome
from .reads import merged
from .said import said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..objects.paths import Path
    from ..objects.tree import Json
    from .strategies import Body

Written: TypeAlias = "tuple[Outcome, Body | None]"


class Lead(NamedTuple):
    """To a ticket: you go first; these wait, you among them; and this is what was written last."""

    batch: list[Ticket]
    newest: Outcome | None


class Alone(NamedTuple):
    """To a ticket: go alone. What was learned on the way is in its plan."""


class Ticket:
    """A flush that waits."""

    __slots__ = ("_lock", "_wake", "given", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.given: Lead | Alone | Written | FiferailError | None = None
        self._wake: Callable[[], object] | None = None
        self._lock = allocate_lock()

    def give(self, what: Lead | Alone | Written | FiferailError) -> None:
        """Once."""
        with self._lock:
            self.given = what
            wake = self._wake
        if wake is not None:
            wake()

    def when_given(self, wake: Callable[[], object]) -> bool:
        """Ask to be woken. False: it is there already."""
        with self._lock:
            self._wake = wake
            return self.given is None


#: So many requests of one writer may be on the way to one object: the server works on one while the other is read here. Who comes
#: then waits.
AT_ONCE = 2
#: How much of a crowd is forgotten with each request at whose end there are fewer.
FORGETS = 0.25


class Lane(msgspec.Struct):
    """Of one object: how many write it just now, who waits, and how many there were together of late."""

    writing: int = 0
    waiting: list[Ticket] = []
    crowd: float = 0.0

    def limit(self, at_once: int) -> int:
        """How many may write. Two that meet at the server cost it a second round: while there are more than those two, one after the
        other is quicker, each for all who came meanwhile."""
        return at_once if self.crowd <= at_once else 1


class Lanes:
    """Of one writer, by uid; an object that nobody writes is not here."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._lanes: dict[str, Lane] = {}
        self._lock = allocate_lock()

    def enter(self, plan: Plan) -> Ticket | None:
        """A place in the queue; None where it may go at once, and then `leave` must follow."""
        with self._lock:
            lane = self._lanes.get(plan.target.uid)
            if lane is None:
                lane = self._lanes[plan.target.uid] = Lane()
            if lane.writing < lane.limit(self._at_once):
                lane.writing += 1
                return None
            ticket = Ticket(plan)
            lane.waiting.append(ticket)
            return ticket

    def leave(self, uid: str, newest: Outcome | None) -> None:
        """The next of those who wait leads them all."""
        with self._lock:
            lane = self._lanes[uid]
            lane.crowd = max(lane.writing + len(lane.waiting), lane.crowd - FORGETS)
            if not lane.waiting or lane.writing > lane.limit(self._at_once):
                lane.writing -= 1
                if not lane.writing:
                    del self._lanes[uid]
                return
            batch, lane.waiting = lane.waiting, []
        batch[0].give(Lead(batch, newest.replaced() if newest is not None else None))  # a reading of its own

    def withdraw(self, ticket: Ticket) -> None:
        """It waits no more: cancelled. Where it was just given the lead, the next one gets that."""
        uid = ticket.plan.target.uid
        with self._lock:
            lane = self._lanes.get(uid)
            if lane is not None and ticket in lane.waiting:
                lane.waiting.remove(ticket)
                return
        if isinstance(ticket.given, Lead):
            rest = [other for other in ticket.given.batch if other is not ticket]
            if rest:
                rest[0].give(Lead(rest, ticket.given.newest))
            else:
                self.leave(uid, ticket.given.newest)


def write_shared(lanes: Lanes, plan: Plan) -> Conversation[Written]:
    """As `write`, together with whoever else writes this object at the same time."""
    ticket = lanes.enter(plan)
    if ticket is None:
        return (yield from _leading(lanes, plan, [], None))
    taken = False
    try:
        yield Join(ticket)
        taken = True
    finally:
        if not taken:
            lanes.withdraw(ticket)
    match ticket.given:
        case Lead(batch, newest):
            return (yield from _leading(lanes, plan, batch[1:], newest))
        case FiferailError() as failure:
            raise failure
        case (Outcome(), _) as written:
            return written
    return (yield from write(plan))


def _leading(lanes: Lanes, plan: Plan, others: list[Ticket], newest: Outcome | None) -> Conversation[Written]:
    """Write, for the others as well; whatever becomes of it, nobody is left waiting."""
    stored = newest
    try:
        if others:
            written = yield from _together(plan, others, newest)
        else:
            if newest is not None and plan.live is None and version(newest.shared) > version(plan.snapshot):
                plan.live = newest.shared  # known already: judged before anything is sent
            written = yield from write(plan)
        stored = written[0] if written[0].kind is not Kind.GONE else None
        return written
    finally:
        for ticket in others:
            if ticket.given is None:
                ticket.give(Alone())
        lanes.leave(plan.target.uid, stored)


def _together(plan: Plan, others: list[Ticket], newest: Outcome | None) -> Conversation[Written]:
    snapshot = _newest([plan, *(ticket.plan for ticket in others)], newest.shared if newest is not None else None)
    paths = Paths()
    aboard: list[Ticket] = []
    mine = _joins(plan, snapshot, plan, paths)
    for ticket in others:
        if mine and _joins(ticket.plan, snapshot, plan, paths):
            aboard.append(ticket)
        else:
            ticket.give(Alone())
    if not mine or not aboard:
        return (yield from write(plan))
    parts = [plan, *(ticket.plan for ticket in aboard)]
    whole = _combined(plan, parts, snapshot)
    try:
        outcome, body = yield from write(whole)
    except Unavailable as failure:
        for part in parts:
            part.may_have_landed |= whole.may_have_landed
        for ticket in aboard:
            ticket.give(Unavailable(str(failure)))
        raise
    except FiferailError:
        for part in parts:
            part.may_have_landed |= whole.may_have_landed
        for ticket in aboard:
            ticket.give(Alone())
        return (yield from write(plan))
    except GeneratorExit:  # the task that carried them is cancelled: its request may be on the server, with everybody's changes
        for ticket in aboard:
            ticket.plan.may_have_landed = ticket.plan.look_first = True
            ticket.give(Alone())
        raise
    for ticket in aboard:
        ticket.give((_share(outcome, ticket.plan, snapshot, 0), body))
    return _share(outcome, plan, snapshot, outcome.requests + plan.asked), body


def _joins(plan: Plan, snapshot: Json, leader: Plan, paths: Paths) -> bool:
    """Whether a flush may go along: on the newest version its decision still stands, and nobody aboard touches what it touches."""
    if plan.look_first or plan.target.uid != snapshot["metadata"]["uid"] or plan.shapes != leader.shapes:
        return False
    if plan.ground.seen is not snapshot:  # also where the snapshot is the answer to an own flush, of which the caller has seen a part
        decision = decide(plan.ground, snapshot, plan.settled(plan.intents, snapshot), may_have_landed=plan.may_have_landed)
        if decision.verdict is not Verdict.AGAIN or decision.repaired:
            plan.live = snapshot  # known already: judged before anything is sent
            return False
    return paths.add([intent.path for intent in plan.intents], plan.ground.reads)


def _combined(leader: Plan, parts: list[Plan], snapshot: Json) -> Plan:
    intents = [intent for part in parts for intent in part.settled(part.intents, snapshot)]
    reads = merged([part.ground.reads for part in parts])
    ground = msgspec.structs.replace(leader.ground, seen=snapshot, known=snapshot, reads=reads)
    return msgspec.structs.replace(
        leader, base=snapshot, snapshot=snapshot, staged=applied(intents, snapshot), intents=intents, ground=ground, asked=0,
        live=None, headers={**leader.headers, **said(version(snapshot), (), reads)},
    )  # fmt: skip


def _share(outcome: Outcome, plan: Plan, snapshot: Json, requests: int) -> Outcome:
    moved = outcome.kind is Kind.APPLIED and version(plan.base) != version(snapshot)
    return outcome.replaced(kind=Kind.REBASED if moved else outcome.kind, requests=requests)


def _newest(plans: list[Plan], known: Json | None) -> Json:
    candidates = [plan.snapshot if plan.live is None else plan.live for plan in plans]
    return max(candidates if known is None else [*candidates, known], key=version)


class Paths:
    """What those aboard write and read: nobody else may touch the one, nor write the other."""

    def __init__(self) -> None:
        self._written: set[Path] = set()
        self._read: set[Path] = set()
        self._above_written: set[Path] = set()
        self._above_read: set[Path] = set()

    def add(self, writes: Iterable[Path], reads: Iterable[Path]) -> bool:
        """False where they meet; then nothing is added."""
        writes, reads = list(writes), list(reads)
        if any(_meet(path, self._written, self._above_written) for path in (*writes, *reads)):
            return False
        if any(_meet(path, self._read, self._above_read) for path in writes):
            return False
        self._written.update(writes)
        self._read.update(reads)
        self._above_written.update(path[:length] for path in writes for length in range(len(path)))
        self._above_read.update(path[:length] for path in reads for length in range(len(path)))
        return True


def _meet(path: Path, others: set[Path], above: set[Path]) -> bool:
    """Whether it is, lies above or lies below one of them."""
    return path in above or any(path[:length] in others for length in range(len(path) + 1))
