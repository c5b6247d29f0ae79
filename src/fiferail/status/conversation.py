"""One write, from the first request to its outcome, without I/O.

Theory of operation. A write stands on its *ground*: what the caller knows of the object. A newer version that the writer knows is
judged like a live object before anything is sent. The intents are compiled against a *snapshot* into one request. The answer has one
of seven meanings (`answers`). Stored ends it. Refused and unknown lead to a read of the live object, and the live object to one of
four verdicts (`decide`): gone and converged end it, a conflict is raised, and again makes the live object the snapshot of the next
try. After a refusal it follows at once: the wait, if any, comes before the live object is read (`patience`). After an answer that was
lost, or a refusal although nobody has written, something is wrong, and the next try waits.

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
    LOOK       again       TRY        at once
    LOOK       unknown     PAUSE      the live object could not be read: wait, then try again, which is safe because it is tested
    PAUSE      waited      TRY
    PAUSE      spent       FAIL       Unavailable, with the last answer

`TABLE` is that, and the diagram in docs/protocol is drawn from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Change, Conflict, FiferailError, Unavailable
from ..objects.paths import find
from ..objects.tree import Json, lookup, same
from ..wire import Answer, Request
from . import answers, strategies
from .answers import Lost, Meaning
from .decide import NOTHING, PERHAPS, Decision, Ground, Verdict, conflict, decide
from .effects import Conversation, Send
from .outcome import Kind, Outcome
from .strategies import Body, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .intents import Intent
    from .patience import Patience
    from .shapes import Shapes
    from .targets import Resource, Target

JSON_ONLY = {"accept": "application/json"}
#: The live object could not be read this time.
UNREAD: Json = object()

TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("TRY", "stored", "DONE", "applied, or rebased when it was not the first try"),
    ("TRY", "refused", "LOOK", "nothing was written; after a short wait where the write depends on what was read"),
    ("TRY", "unknown", "LOOK", "from now on the write may have landed"),
    ("TRY", "busy", "PAUSE", "as long as the server asks"),
    ("TRY", "missing", "LOOK", "the object, or its status subresource"),
    ("TRY", "invalid", "FAIL", "Invalid"),
    ("TRY", "rejected", "FAIL", "ApiError"),
    ("LOOK", "gone", "DONE", "gone"),
    ("LOOK", "converged", "DONE", "converged"),
    ("LOOK", "conflict", "FAIL", "Conflict"),
    ("LOOK", "again", "TRY", "at once, with the live object as the next snapshot"),
    ("LOOK", "unknown", "PAUSE", "the live object could not be read"),
    ("PAUSE", "waited", "TRY", ""),
    ("PAUSE", "spent", "FAIL", "Unavailable, with the last answer"),
)


class Plan(msgspec.Struct, kw_only=True):
    """All that one write needs to know."""

    target: Target
    resource: Resource
    subresource: str
    strategy: Strategy
    ground: Ground
    #: What the staged tree grew from, and that tree.
    base: Json
    staged: Json
    snapshot: Json
    intents: Sequence[Intent]
    shapes: Shapes
    settled: Callable[[Sequence[Intent], Json], Sequence[Intent]]
    patience: Patience
    headers: dict[str, str]
    #: What was known of the kind turned out to be wrong: forget it.
    forget: Callable[[], None]
    #: A newer version than the base that is known already: it is judged before anything is sent.
    live: Json | None = None
    #: Requests that were needed to get there.
    asked: int = 0
    #: Whether an answer was lost: then what is there may be this write's own.
    may_have_landed: bool = False
    #: Somebody else's request carried this write, and nobody knows what became of it: the live object is read before anything is sent.
    look_first: bool = False

    @property
    def manager(self) -> str:
        """The field manager."""
        return self.ground.manager


class Progress(msgspec.Struct):
    """What has happened so far."""

    requests: int = 0
    refusals: int = 0
    by_version: bool = False
    rebased: bool = False
    repaired: tuple[tuple[str, str], ...] = ()
    last: Answer | Lost | None = None


def write(plan: Plan) -> Conversation[tuple[Outcome, Body | None]]:
    """Send what the plan wants until it is stored, found there already, or refused for good. The body is the one that was stored."""
    done, snapshot, so_far = None, plan.snapshot, Progress(requests=plan.asked)
    if plan.live is not None:
        done, snapshot = _judge(plan, plan.live, so_far)
        so_far.rebased = False
    elif plan.look_first:
        done, snapshot = yield from _look(plan, snapshot, so_far)
    while done is None:
        if plan.patience.spent():
            raise spent(plan, so_far)
        body = _compile(plan, snapshot, so_far)
        if body is None:
            kind = Kind.CONVERGED if so_far.rebased else Kind.UNCHANGED
            return Outcome(kind, snapshot, so_far.requests, so_far.repaired), None
        answer = yield from send(plan, body, so_far)
        meaning = answers.meaning(answer, body.appended)
        match meaning:
            case Meaning.STORED:
                if body.appended:
                    from . import duplicates  # it sends with this module's functions

                    yield from duplicates.removed(plan, body, answer.json(), so_far)
                kind = Kind.REBASED if so_far.rebased else Kind.APPLIED
                return Outcome(kind, None, so_far.requests, so_far.repaired, raw=answer.body), body
            case Meaning.INVALID | Meaning.REJECTED:
                raise answers.error(answer)
            case Meaning.BUSY:
                yield plan.patience.failed(answer)
            case _:
                done, snapshot = yield from _after(meaning, plan, snapshot, so_far)
    return done, None


def _after(meaning: Meaning, plan: Plan, snapshot: Json, so_far: Progress) -> Conversation[tuple[Outcome | None, Json]]:
    """Refused, missing, or not known: look at the live object."""
    if meaning is Meaning.UNKNOWN:
        plan.may_have_landed = True
    _raise_field_manager_conflict(plan, so_far.last)
    if meaning is Meaning.REFUSED:
        so_far.refusals += 1
        wait = plan.patience.refused()
        if plan.ground.reads and wait.seconds:
            yield wait
    sent, before = so_far.last, snapshot
    done, snapshot = yield from _look(plan, snapshot, so_far, missing=meaning is Meaning.MISSING)
    if done is None and so_far.last is sent and (meaning is Meaning.UNKNOWN or _same_version(before, snapshot)):
        yield plan.patience.failed(sent)  # nobody was first: something is wrong
    return done, snapshot


def send(plan: Plan, body: Body, so_far: Progress) -> Conversation[Any]:
    """Send the body once, and count it."""
    so_far.last = answer = yield from timed(plan.patience, request(plan, body))
    so_far.requests += 1
    return answer


def timed(patience: Patience, sent: Request) -> Conversation[Any]:
    """Send; how quickly the server answers is remembered."""
    began = patience.seconds()
    answer = yield Send(sent)
    if not isinstance(answer, Lost):
        patience.tempo.answered(patience.seconds() - began)
    elif answers.is_hopeless(answer.error):
        raise Unavailable(f"the client cannot send this request: {answer.error!r}") from answer.error
    return answer


def _compile(plan: Plan, snapshot: Json, so_far: Progress) -> Body | None:
    intents = plan.settled(plan.intents, snapshot)
    match plan.strategy:
        case Strategy.COMPARE:
            # The first try stands on the base, and what was staged on it is the target.
            target = plan.staged if snapshot is plan.base and intents is plan.intents else None
            return strategies.compare(snapshot, intents, plan.ground.reads, plan.shapes, by_version=so_far.by_version, target=target)
        case Strategy.APPLY:
            return strategies.apply(snapshot, intents, plan.manager)
        case other:
            return strategies.merge(snapshot, intents, plan.subresource, locked=other is Strategy.LOCKED)


def request(plan: Plan, body: Body) -> Request:
    """The request that carries the body."""
    return Request(
        method="PATCH",
        path=plan.resource.path(plan.target, plan.subresource),
        query=(("fieldManager", plan.manager),),
        body=body.content,
        content_type=body.content_type,
        headers=plan.headers,
    )


def _look(plan: Plan, snapshot: Json, so_far: Progress, missing: bool = False) -> Conversation[tuple[Outcome | None, Json]]:
    """Read the live object and decide: an outcome, or the snapshot for the next try."""
    live = yield from look(plan, so_far)
    if live is None:
        return Outcome(Kind.GONE, None, so_far.requests), snapshot
    if live is UNREAD:
        yield plan.patience.failed(so_far.last)
        return None, snapshot
    if missing and live["metadata"]["uid"] == plan.target.uid:
        raise no_subresource(plan)
    return _judge(plan, live, so_far)


def look(plan: Plan, so_far: Progress) -> Conversation[Json]:
    """The live object; None where it is gone, UNREAD where no answer could be had."""
    answer = yield from timed(plan.patience, Request(method="GET", path=plan.resource.path(plan.target), headers=JSON_ONLY))
    so_far.requests += 1
    if not isinstance(answer, Lost) and answer.status == 404:
        if not answers.is_status(answer):
            plan.forget()
            raise FiferailError(
                f"{plan.target.kind_name} is not served as {plan.target.api_version} any more: was its CRD, or this version of it, removed?"
            )
        return None
    match answers.meaning(answer):
        case Meaning.STORED:
            return answer.json()
        case Meaning.UNKNOWN | Meaning.BUSY:
            so_far.last = answer
            return UNREAD
        case _:
            raise answers.error(answer)


def _judge(plan: Plan, live: Json, so_far: Progress) -> tuple[Outcome | None, Json]:
    """Decide by a newer version of the object: an outcome, or that version as the snapshot of the next try."""
    decision = decide(plan.ground, live, plan.settled(plan.intents, live), may_have_landed=plan.may_have_landed)
    match decision.verdict:
        case Verdict.GONE:
            return Outcome(Kind.GONE, None, so_far.requests), live
        case Verdict.CONVERGED:
            repaired = so_far.repaired if plan.may_have_landed else ()
            return Outcome(Kind.CONVERGED if so_far.requests else Kind.UNCHANGED, live, so_far.requests, repaired), live
        case Verdict.CONFLICT:
            raise Stale(plan, decision, live, so_far.requests)
    if plan.strategy is Strategy.LOCKED and not _same_version(plan.snapshot, live):
        raise newer(plan, live, so_far.requests)
    # A second refusal while nothing that we test has changed: some value cannot be tested, so the version stands for all.
    so_far.by_version = so_far.by_version or so_far.refusals > 1
    so_far.rebased = True
    so_far.repaired = decision.repaired or so_far.repaired
    return None, live


def newer(plan: Plan, live: Json, requests: int) -> Stale:
    """LOCKED: somebody has written since the object was read, whatever it was."""
    was, now = plan.snapshot["metadata"].get("resourceVersion"), live["metadata"]["resourceVersion"]
    return Stale(plan, Decision(Verdict.CONFLICT, (Change("metadata.resourceVersion", was, now, None),)), live, requests)


class Stale(Conflict):
    """A Conflict that still knows the live object, so that `mutate` can run its function again without another read."""

    def __init__(self, plan: Plan, decision: Decision, live: Json, requests: int, *, landed: str = "") -> None:
        landed = landed or (PERHAPS if plan.may_have_landed else NOTHING)
        error = conflict(str(plan.target), decision.changes, landed=landed, own=_is_own(plan.ground, decision, live))
        super().__init__(str(error), decision.changes)
        self.live = live
        self.requests = requests
        self.paths = decision.paths
        #: Something of this write is on the server, or may be: running the function again would do it twice.
        self.partly_landed = landed not in (NOTHING, PERHAPS)

    def withhold(self, scopes: Sequence[str]) -> None:
        """Say that only these parts of the session were left out."""
        self.scopes = tuple(scopes)
        withheld = f"only what {', '.join(scopes)} staged was withheld, the rest was written"
        self.args = (str(self).replace(NOTHING, withheld).replace(PERHAPS, f"{withheld}; {PERHAPS}"),)


def _is_own(ground: Ground, decision: Decision, live: Json) -> bool:
    """Whether nothing but the caller's own earlier writes stands between what it read and what is live."""
    return bool(decision.paths) and all(
        same(find(ground.known, path), find(live, path)) and not same(find(ground.seen, path), find(live, path)) for path in decision.paths
    )


def read(resource: Resource, target: Target, patience: Patience) -> Conversation[Json]:
    """The live object before anything is written; None when it is gone."""
    request = Request(method="GET", path=resource.path(target), headers=JSON_ONLY)
    live = yield from document(request, patience, f"{target} could not be read")
    return live if live is not None and live["metadata"]["uid"] == target.uid else None


def document(request: Request, patience: Patience, what: str) -> Conversation[Json | None]:
    """What a GET returns, asked for until there is an answer; None for 404. `what` begins the error when the budget is spent."""
    last: Any = None
    while not patience.spent():
        last = yield from timed(patience, request)
        if not isinstance(last, Lost) and last.status in (200, 404):
            return last.json() if last.status == 200 else None
        if answers.meaning(last) not in (Meaning.UNKNOWN, Meaning.BUSY):
            raise answers.error(last)
        yield patience.failed(last)
    raise unavailable(what, patience, last, "nothing was written")


def no_subresource(plan: Plan) -> FiferailError:
    """404 although the object is there."""
    return FiferailError(f"{plan.target} is there, but its kind has no {plan.subresource} subresource: add it to the CRD")


def _same_version(snapshot: Json, live: Json) -> bool:
    return bool(lookup(snapshot, ["metadata", "resourceVersion"]) == lookup(live, ["metadata", "resourceVersion"]))


def _raise_field_manager_conflict(plan: Plan, answer: Answer | Lost | None) -> None:
    """APPLY: fields that another manager owns. Reading again would not help; only the owner, or force, can."""
    if answer is None or isinstance(answer, Lost) or answer.status != 409:
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
    landed = "it may have landed" if plan.may_have_landed else "nothing was written"
    return unavailable(f"{plan.target} could not be written", plan.patience, so_far.last, landed)


def unavailable(what: str, patience: Patience, last: Answer | Lost | None, landed: str) -> Unavailable:
    """How it ended, with the transport's own error as the cause."""
    said = "none"
    if last is not None:
        said = f"no answer ({last.error!r})" if isinstance(last, Lost) else f"{last.status} {answers.status_of(last).get('message', '')}"
    tries = patience.failures + patience.refusals
    error = Unavailable(f"{what} in {tries} tries; {landed}. The last answer: {said}")
    if isinstance(last, Lost):
        error.__cause__ = last.error
    return error
