"""One write, from the first request to its outcome, without I/O.

Theory of operation. A write starts from a *snapshot*: the newest version the writer knows. Its intents are compiled against the
snapshot into one request. The answer has one of seven meanings (`answers`). Stored ends it. Refused and unknown lead to a read
of the live object, and the live object to one of four verdicts (`decide`): gone and converged end it, a conflict is raised, and
again makes the live object the snapshot of the next try, after a wait. How long answers take is watched (`pacing`): where an object
is contended a write gives way once before it insists.

    state      event       next
    -----      -----       ----
    TRY        stored      DONE       applied, or rebased when it was not the first try
    TRY        refused     LOOK
    TRY        unknown     LOOK       from now on the write may have landed
    TRY        busy        PAUSE      as long as the server asks
    TRY        missing     LOOK
    TRY        invalid     FAIL       Invalid
    TRY        rejected    FAIL       ApiError
    LOOK       gone        DONE       gone
    LOOK       converged   DONE       converged
    LOOK       conflict    FAIL       Conflict: a session raises it, mutate runs its function again
    LOOK       again       PAUSE
    LOOK       unknown     PAUSE      the live object could not be read: wait, look again
    PAUSE      waited      TRY
    PAUSE      spent       FAIL       Unavailable, with the last answer

`TABLE` is that, and the diagram in docs/protocol is drawn from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Change, Conflict, FiferailError, Unavailable
from ..objects.tree import Json, lookup
from ..wire import Answer, Request
from . import answers, strategies
from .answers import Lost, Meaning
from .decide import Decision, Verdict, conflict, decide
from .effects import Conversation, Send, Wait
from .outcome import Kind, Outcome
from .strategies import Body, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..objects.paths import Path
    from .intents import Intent
    from .pacing import Pace
    from .shapes import Shapes
    from .targets import Resource, Target

TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("TRY", "stored", "DONE", "applied, or rebased when it was not the first try"),
    ("TRY", "refused", "LOOK", "nothing was written"),
    ("TRY", "unknown", "LOOK", "from now on the write may have landed"),
    ("TRY", "busy", "PAUSE", "as long as the server asks"),
    ("TRY", "missing", "LOOK", "the object, or its status subresource"),
    ("TRY", "invalid", "FAIL", "Invalid"),
    ("TRY", "rejected", "FAIL", "ApiError"),
    ("LOOK", "gone", "DONE", "gone"),
    ("LOOK", "converged", "DONE", "converged"),
    ("LOOK", "conflict", "FAIL", "Conflict"),
    ("LOOK", "again", "PAUSE", "the live object is the next snapshot"),
    ("LOOK", "unknown", "PAUSE", "the live object could not be read"),
    ("PAUSE", "waited", "TRY", ""),
    ("PAUSE", "spent", "FAIL", "Unavailable, with the last answer"),
)


class Budget(msgspec.Struct, frozen=True):
    """How long to go on: tries, and the backoff between them, jittered so that writers do not march in step."""

    tries: int = 12
    first: float = 0.01
    factor: float = 1.7
    longest: float = 5.0

    def pause(self, attempt: int, chance: float) -> float:
        """Seconds to wait after this attempt; `chance` in [0, 1)."""
        return float(min(self.longest, self.first * self.factor**attempt) * (0.5 + chance))


class Plan(msgspec.Struct, kw_only=True):
    """All that one write needs to know."""

    target: Target
    resource: Resource
    subresource: str
    manager: str
    strategy: Strategy
    base: Json
    staged: Json
    snapshot: Json
    intents: Sequence[Intent]
    reads: Sequence[Path]
    shapes: Shapes
    claimed: Callable[[Path], bool]
    settled: Callable[[Sequence[Intent], Json], Sequence[Intent]]
    budget: Budget
    chance: Callable[[], float]
    seconds: Callable[[], float]
    pace: Pace
    #: A newer version than the base that is known already: it is judged before anything is sent.
    live: Json | None = None
    #: Requests that were needed to get there.
    asked: int = 0
    #: Whether an answer was lost: then what is there may be this write's own.
    may_have_landed: bool = False


class Progress(msgspec.Struct):
    """What has happened so far."""

    requests: int = 0
    refusals: int = 0
    #: The object is contended: the version is tested, and a refusal means that somebody else was first.
    yielding: bool = False
    by_version: bool = False
    rebased: bool = False
    repaired: tuple[tuple[str, str], ...] = ()
    last: Answer | Lost | None = None


def write(plan: Plan) -> Conversation[tuple[Outcome, Body | None]]:
    """The conversation."""
    done, snapshot, so_far = None, plan.snapshot, Progress(requests=plan.asked)
    if plan.live is not None:
        done, snapshot = _judge(plan, plan.live, so_far)
        so_far.rebased = False
    if plan.strategy is Strategy.COMPARE and plan.pace.gives_way(plan.seconds()):
        so_far.yielding = True
    for attempt in range(plan.budget.tries):
        if done is not None:
            return done, None
        body = _compile(plan, snapshot, so_far)
        if body is None:
            kind = Kind.CONVERGED if so_far.rebased else Kind.UNCHANGED
            return Outcome(kind, snapshot, so_far.requests, so_far.repaired), None
        answer = yield from _send(plan, body, so_far)
        meaning = answers.meaning(answer, body.appended)
        if meaning is Meaning.STORED:
            kind = Kind.REBASED if so_far.rebased else Kind.APPLIED
            return Outcome(kind, None, so_far.requests, so_far.repaired, raw=answer.body), body
        pause = plan.budget.pause(attempt, plan.chance())
        match meaning:
            case Meaning.INVALID | Meaning.REJECTED:
                raise answers.error(answer)
            case Meaning.BUSY:
                pass
            case seen:
                plan.may_have_landed |= seen is Meaning.UNKNOWN
                so_far.refusals += seen is Meaning.REFUSED and not so_far.yielding
                _raise_field_manager_conflict(plan, answer)
                if so_far.yielding and seen is Meaning.REFUSED:  # first wait, then look: what was read long ago is old
                    yield Wait(plan.pace.refused(plan.seconds(), plan.chance()))
                    pause = 0.0
                    so_far.yielding = False
                done, snapshot = yield from _look(plan, snapshot, so_far, missing=seen is Meaning.MISSING)
        pause = max(pause, answers.retry_after(so_far.last) or 0.0)
        if done is None and pause:
            yield Wait(pause)
    if done is not None:
        return done, None
    raise spent(plan, so_far)


def _send(plan: Plan, body: Body, so_far: Progress) -> Conversation[Any]:
    """One try, timed, because contention shows in how long an answer takes."""
    began = plan.seconds()
    so_far.last = answer = yield Send(request(plan, body))
    if not isinstance(answer, Lost):
        now = plan.seconds()
        plan.pace.answered(now - began, now, plan.chance, yielding=so_far.yielding)
    so_far.requests += 1
    return answer


def _compile(plan: Plan, snapshot: Json, so_far: Progress) -> Body | None:
    intents = plan.settled(plan.intents, snapshot)
    match plan.strategy:
        case Strategy.COMPARE:
            # The first try stands on the base, and what was staged on it is the target.
            target = plan.staged if snapshot is plan.base and intents is plan.intents else None
            by_version = so_far.by_version or so_far.yielding
            return strategies.compare(snapshot, intents, plan.reads, plan.shapes, by_version=by_version, target=target)
        case Strategy.APPLY:
            return strategies.apply(snapshot, intents, plan.manager, plan.shapes)
        case other:
            return strategies.merge(snapshot, intents, plan.subresource, locked=other is Strategy.LOCKED)


def request(plan: Plan, body: Body) -> Request:
    return Request(
        method="PATCH",
        path=plan.resource.path(plan.target, plan.subresource),
        query=(("fieldManager", plan.manager),),
        body=body.content,
        content_type=body.content_type,
        headers={"accept": "application/json"},
    )


def _look(plan: Plan, snapshot: Json, so_far: Progress, missing: bool = False) -> Conversation[tuple[Outcome | None, Json]]:
    """Read the live object and decide: an outcome, or the snapshot for the next try."""
    began = plan.seconds()
    answer = yield Send(Request(method="GET", path=plan.resource.path(plan.target), headers={"accept": "application/json"}))
    plan.pace.tempo.heard(plan.seconds() - began)
    so_far.requests += 1
    if not isinstance(answer, Lost) and answer.status == 404:
        return Outcome(Kind.GONE, None, so_far.requests), snapshot
    match answers.meaning(answer):
        case Meaning.STORED:
            live = answer.json()
        case Meaning.UNKNOWN | Meaning.BUSY:
            so_far.last = answer
            return None, snapshot
        case _:
            raise answers.error(answer)
    if missing and live["metadata"]["uid"] == plan.target.uid:
        raise no_subresource(plan)
    return _judge(plan, live, so_far)


def _judge(plan: Plan, live: Json, so_far: Progress) -> tuple[Outcome | None, Json]:
    """What the live object says about going on."""
    decision = decide(
        plan.base, live, plan.settled(plan.intents, live), plan.reads,
        manager=plan.manager, claimed=plan.claimed, may_have_landed=plan.may_have_landed,
    )  # fmt: skip
    return _follow(plan, decision, live, so_far)


def _follow(plan: Plan, decision: Decision, live: Json, so_far: Progress) -> tuple[Outcome | None, Json]:
    match decision.verdict:
        case Verdict.GONE:
            return Outcome(Kind.GONE, None, so_far.requests), live
        case Verdict.CONVERGED:
            return Outcome(Kind.CONVERGED, live, so_far.requests), live
        case Verdict.CONFLICT:
            raise Stale(plan, decision.changes, live, so_far.requests)
    if plan.strategy is Strategy.LOCKED and not _same_version(plan.snapshot, live):
        raise Stale(plan, _version_change(plan, live), live, so_far.requests)
    # A second refusal while nothing that we test has changed: some value cannot be tested, so the version stands for all.
    so_far.by_version = so_far.by_version or so_far.refusals > 1
    so_far.rebased = True
    so_far.repaired = decision.repaired or so_far.repaired
    return None, live


class Stale(Conflict):
    """A Conflict that still knows the live object, so that `mutate` can run its function again without another read."""

    def __init__(self, plan: Plan, changes: Sequence[Change], live: Json, requests: int) -> None:
        error = conflict(str(plan.target), changes)
        super().__init__(str(error), changes)
        self.live = live
        self.requests = requests


def read(resource: Resource, target: Target, budget: Budget, chance: Callable[[], float]) -> Conversation[Json]:
    """The live object before anything is written; None when it is gone."""
    last: Any = None
    for attempt in range(budget.tries):
        last = yield Send(Request(method="GET", path=resource.path(target), headers={"accept": "application/json"}))
        if not isinstance(last, Lost) and last.status == 404:
            return None
        match answers.meaning(last):
            case Meaning.STORED:
                live = last.json()
                return live if live["metadata"]["uid"] == target.uid else None
            case Meaning.UNKNOWN | Meaning.BUSY:
                yield Wait(max(budget.pause(attempt, chance()), answers.retry_after(last) or 0.0))
            case _:
                raise answers.error(last)
    raise unavailable(target, budget, last, "nothing was written")


def no_subresource(plan: Plan) -> FiferailError:
    """404 although the object is there."""
    return FiferailError(f"{plan.target} is there, but its kind has no {plan.subresource} subresource: add it to the CRD")


def _same_version(snapshot: Json, live: Json) -> bool:
    return bool(lookup(snapshot, ["metadata", "resourceVersion"]) == lookup(live, ["metadata", "resourceVersion"]))


def _version_change(plan: Plan, live: Json) -> list[Change]:
    was, now = plan.snapshot["metadata"]["resourceVersion"], live["metadata"]["resourceVersion"]
    return [Change("metadata.resourceVersion", was, now, None)]


def _raise_field_manager_conflict(plan: Plan, answer: Answer | Lost) -> None:
    """APPLY: fields that another manager owns. Reading again would not help; only the owner, or force, can."""
    if isinstance(answer, Lost) or answer.status != 409:
        return
    found = [cause for cause in answers.causes(answers.status_of(answer)) if cause.reason == "FieldManagerConflict"]
    if found:
        raise Conflict(
            f"status of {plan.target} has fields that another manager applied\n"
            + "\n".join(f"  {cause.field.lstrip('.')}  {cause.message}" for cause in found)
            + "\nLet one manager own each field; fiferail did not write anything.",
            [Change(cause.field.lstrip("."), None, None, None, _quoted(cause.message)) for cause in found],
        )


def _quoted(message: str) -> str | None:
    parts = message.split('"')
    return parts[1] if len(parts) > 2 else None


def spent(plan: Plan, so_far: Progress) -> Unavailable:
    """The budget is used up."""
    return unavailable(plan.target, plan.budget, so_far.last, "it may have landed" if plan.may_have_landed else "nothing was written")


def unavailable(target: Target, budget: Budget, last: Answer | Lost | None, landed: str) -> Unavailable:
    """How it ended, with the transport's own error as the cause."""
    said = "none"
    if last is not None:
        said = f"no answer ({last.error!r})" if isinstance(last, Lost) else f"{last.status} {answers.status_of(last).get('message', '')}"
    error = Unavailable(f"{target} could not be written in {budget.tries} tries; {landed}. The last answer: {said}")
    if isinstance(last, Lost):
        error.__cause__ = last.error
    return error
