"""Create once: exactly one of many reconciles fills a slot, and all others get what it put there. Without I/O.

The first try also tests the resourceVersion: a reconcile that read an old object must not make a plan that was made, run and
cleared meanwhile. Later tries stand on a fresh read, and test the slot and the fence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from ..wire import Request
from . import answers, strategies
from .answers import Lost, Meaning
from .conversation import Plan, Progress, no_subresource, request, spent
from .effects import Call, Conversation, Send, Wait
from .intents import Put
from .outcome import Kind, Made, Outcome
from .view import plain

if TYPE_CHECKING:
    from collections.abc import Callable


def create(plan: Plan, slot: Path, build: Callable[[Json], Json], fence: Path | None) -> Conversation[Made]:
    """The conversation. `build` gets the object and gives the value, or None when there is nothing to create."""
    snapshot, so_far = plan.snapshot, Progress()
    guards = [slot, fence] if fence is not None else [slot]
    sent: Json = ABSENT
    for attempt in range(plan.budget.tries):
        standing = find(snapshot, slot)
        if standing is not ABSENT and standing is not None:
            return _standing(plan, standing, sent, snapshot, so_far)
        built = yield Call(build, (snapshot,))
        if built is None:
            return Made(None, False, Outcome(Kind.UNCHANGED, snapshot, so_far.requests))
        sent = plain(built, slot)
        body = strategies.compare(snapshot, [Put(slot, sent)], guards, plan.shapes, by_version=attempt == 0)
        assert body is not None, "an absent slot and a value always differ"
        so_far.last = answer = yield Send(request(plan, body))
        so_far.requests += 1
        pause = plan.budget.pause(attempt, plan.chance())
        match answers.meaning(answer):
            case Meaning.STORED:
                stored = answer.json()
                kind = Kind.APPLIED if attempt == 0 else Kind.REBASED
                return Made(find(stored, slot), True, Outcome(kind, stored, so_far.requests))
            case Meaning.INVALID | Meaning.REJECTED:
                raise answers.error(answer)
            case Meaning.BUSY:
                pause = max(pause, answers.retry_after(answer) or 0.0)
            case seen:
                plan.may_have_landed |= seen is Meaning.UNKNOWN
                live = yield from _live(plan, so_far)
                if live is None:
                    return Made(None, False, Outcome(Kind.GONE, None, so_far.requests))
                if seen is Meaning.MISSING and live is not ABSENT:
                    raise no_subresource(plan)
                snapshot = live if live is not ABSENT else snapshot
        yield Wait(pause)
    raise spent(plan, so_far)


def _standing(plan: Plan, standing: Json, sent: Json, snapshot: Json, so_far: Progress) -> Made:
    """Something stands in the slot: ours, when our lost answer had landed; else the winner's."""
    mine = plan.may_have_landed and sent is not ABSENT and _holds(standing, sent)
    kind = Kind.CONVERGED if so_far.requests else Kind.UNCHANGED
    return Made(standing, mine, Outcome(kind, snapshot, so_far.requests))


def _holds(standing: Json, sent: Json) -> bool:
    if isinstance(sent, dict) and isinstance(standing, dict):
        return all(name in standing and _holds(standing[name], member) for name, member in sent.items())
    return same(standing, sent)


def _live(plan: Plan, so_far: Progress) -> Conversation[Json]:
    """The live object; None when it is gone; ABSENT when it could not be read."""
    answer = yield Send(Request(method="GET", path=plan.resource.path(plan.target), headers={"accept": "application/json"}))
    so_far.requests += 1
    if isinstance(answer, Lost) or answers.meaning(answer) in (Meaning.UNKNOWN, Meaning.BUSY):
        so_far.last = answer
        return ABSENT
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise answers.error(answer)
    live = answer.json()
    return live if live["metadata"]["uid"] == plan.target.uid else None


def deterministic_id(obj: Json, purpose: str = "") -> str:
    """An id that two reconciles of the same generation of the same object agree on."""
    import hashlib

    metadata = obj["metadata"]
    text = f"{metadata['uid']}/{metadata.get('generation', 0)}/{purpose}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]

