"""Create once: exactly one of many reconciles fills a slot, and all others get what it put there. Without I/O.

Every attempt tests that the slot is empty, the fence, everything that `build` read, and the generation; without a fence the
resourceVersion, because nothing else can tell that a plan was made, run and cleared meanwhile. A refusal leads to a fresh read and to
another run of `build`, on a read-only view of the live object. What is staged in the session goes along in the same request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError
from ..objects.paths import Path, find, render
from ..objects.paths import parse as parse_path
from ..objects.tree import ABSENT, Json, same, thaw
from . import answers, kinds, rerun, scopes, strategies
from .answers import Meaning
from .conversation import UNREAD, Progress, Stale, look, newer, no_subresource, send, spent
from .decide import Decision, Verdict, conflicting, decide
from .intents import Put, asserted
from .memory import version
from .outcome import Kind, Made, Outcome
from .reads import Look, Reads, covers, merged
from .stage import Stage
from .strategies import COMPARE, LOCKED
from .view import SeenObject, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conversation import Plan
    from .core import Core, Open
    from .effects import Conversation
    from .stage import Staged
    from .strategies import Body

GENERATION: Path = ("metadata", "generation")


class Slot(msgspec.Struct, frozen=True):
    """What is to be filled, and how."""

    path: Path
    build: Callable[[Any], Any]
    fence: Path | None
    #: The member of the value that is unique to the call; empty where there is none.
    token: str
    #: Whether what is staged beside it must not be written once anybody has written since the caller's object.
    locked: bool
    #: The part of the session that asks for it.
    scope: str


def slot(place: str, build: Callable[[Any], Any], fence: str | None, token: str, *, locked: bool, scope: str) -> Slot:
    """The slot at a place of the status."""
    return Slot(("status", *parse_path(place)), build, ("status", *parse_path(fence)) if fence else None, token, locked, scope)


def create_once(core: Core, opened: Open, wanted: Slot) -> Conversation[Made]:
    """Fill the slot of an opened object, with whatever is staged."""
    core.registry.check(core.settings.field_manager, opened.target.kind_name, wanted.path)
    base = opened.stage.base
    standing, newest = find(opened.stage.seen, wanted.path), core.memory.newest(base)
    if standing is not ABSENT and standing is not None and (newest is base or same(find(newest, wanted.path), standing)):
        return Made(thaw(standing), False, Outcome(Kind.UNCHANGED, opened.stage.base))
    made: list[Made] = []

    def creating() -> Conversation[Outcome]:
        made.append((yield from _create(core, opened, wanted)))
        return made[0].outcome

    yield from core.reported(opened, creating())
    return made[0]


def _create(core: Core, opened: Open, slot: Slot) -> Conversation[Made]:
    staged = opened.stage.take()
    written: list[Path] = []
    made, plan, asked = None, None, 0
    try:
        patience = core.patience()
        newest = core.memory.newest(staged.base)
        live = newest if newest is not staged.seen else None
        if opened.lossy:
            grounded, live = yield from core.ground(opened, staged, patience)
            if grounded is None:
                return Made(None, False, core.forgotten(opened, Outcome(Kind.GONE, None, 1)))
            staged, asked = grounded, 1
        fields = [path for path in (slot.path, slot.fence) if path is not None]
        if slot.token:
            fields.append((*slot.path, slot.token))
        yield from kinds.require_fields(core, opened.target, fields, patience)
        plan = yield from core.plan(opened, staged, staged.intents, COMPARE, patience)
        plan.live, plan.asked = live, asked
        if slot.locked and plan.intents:
            plan.strategy = LOCKED
            core.lock(opened, staged, plan)
        made, body = yield from _fill(plan, slot, staged)
        if body is not None:
            plan.intents = [*plan.intents, Put(slot.path, made.value)]
            made = Made(made.value, made.created, core.answered(opened, staged, plan, made.outcome, body))
            written = [intent.path for intent in plan.intents]
        elif made.outcome.kind is Kind.GONE:
            core.forgotten(opened, made.outcome)
        return made
    except GeneratorExit:
        opened.may_have_landed = True
        raise
    finally:
        if plan is not None and not written:
            opened.may_have_landed |= plan.may_have_landed
        _settle(opened, staged, slot, written, made)


def _settle(opened: Open, staged: Staged, slot: Slot, written: list[Path], made: Made | None) -> None:
    """Let the session go on: from the answer, where its part was written; with the winner's value, where another was first."""
    stage = opened.stage
    if any(intent.path not in written for intent in staged.intents) or not written:
        stage.put_back(staged)  # parts that no longer stand are left for the next flush
    if made is not None and made.outcome.kind not in (Kind.GONE, Kind.UNCHANGED):
        stage.stored(written or [slot.path], made.outcome)
        opened.lossy = False  # from here on the base is what the server answered


def _fill(plan: Plan, slot: Slot, staged: Staged) -> Conversation[tuple[Made, Body | None]]:
    """The conversation. The body is the one that was stored; None where nothing of this call was."""
    snapshot, so_far, sent = plan.snapshot if plan.live is None else plan.live, Progress(requests=plan.asked), ABSENT
    while not plan.patience.spent():
        standing: Json = find(snapshot, slot.path)
        if standing is not ABSENT and standing is not None:
            return _standing(plan, slot, standing, sent, snapshot, so_far), None
        value, reads = yield from _built(plan, slot, snapshot)
        if value is None:
            return Made(None, False, Outcome(Kind.UNCHANGED, snapshot, so_far.requests)), None
        sent = value
        _judge(plan, slot, snapshot, staged, so_far)
        body = _compiled(plan, slot, snapshot, sent, reads)
        answer = yield from send(plan, body, so_far)
        match answers.meaning(answer, body.appended):
            case Meaning.STORED:
                return _created(plan, slot, answer.json(), sent, so_far, first=snapshot is plan.snapshot), body
            case Meaning.INVALID | Meaning.REJECTED:
                raise answers.error(answer)
            case Meaning.BUSY:
                yield plan.patience.failed(answer)
            case meaning:
                live = yield from _live(plan, meaning, so_far)
                if live is None:
                    return Made(None, False, Outcome(Kind.GONE, None, so_far.requests)), None
                snapshot = snapshot if live is UNREAD else live
    raise spent(plan, so_far)


def _built(plan: Plan, slot: Slot, snapshot: Json) -> Conversation[tuple[Json, Reads]]:
    """Run `build` on a view of the snapshot that records what is read and cannot be changed."""
    seen = Stage(snapshot, shapes=plan.shapes, now=str)
    built = yield from rerun.called(slot.build, SeenObject(seen, ()))
    reads = seen.reads
    if built is None:
        return None, reads
    unseen = [path for path in (GENERATION, slot.fence) if path is not None and _moved_unseen(plan, snapshot, path, reads)]
    if unseen:
        raise Stale(plan, conflicting(plan.ground, snapshot, plan.intents, unseen), snapshot, 0)
    value = plain(built, slot.path)
    if slot.token and not isinstance(value, dict):
        raise FiferailError(f"token={slot.token!r} names a member of the value, but build returned a {type(built).__name__}, not a map")
    if slot.token and slot.token not in value:
        value = {**value, slot.token: f"{int(plan.patience.chance() * 2**64):016x}"}
    return value, reads


def _moved_unseen(plan: Plan, snapshot: Json, path: Path, reads: Reads) -> bool:
    """Whether the path has moved since the caller's object and this run of `build` did not look at it: its closure may hold the old
    one. Who looks at anything of the spec sees what the generation stands for."""
    if same(find(plan.ground.seen, path), find(snapshot, path)):
        return False
    return not covers(reads, path) and not (path == GENERATION and covers(reads, ("spec",)))


def _judge(plan: Plan, slot: Slot, snapshot: Json, staged: Staged, so_far: Progress) -> None:
    """What is staged, judged against a newer snapshot. Other parts of the session that no longer stand are left for its next flush."""
    if snapshot is plan.snapshot:
        return
    if plan.strategy is LOCKED:
        raise newer(plan, snapshot, so_far.requests)
    decision: Decision = decide(plan.ground, snapshot, plan.intents, may_have_landed=plan.may_have_landed)
    if decision.verdict is Verdict.CONFLICT:
        rest = scopes.others(staged, plan, decision.paths, slot.scope)
        if rest is None:
            raise Stale(plan, decision, snapshot, so_far.requests)
        plan.intents, plan.ground = rest[0].intents, rest[0].ground
        _judge(plan, slot, snapshot, staged, so_far)


def _compiled(plan: Plan, slot: Slot, snapshot: Json, value: Json, reads: Reads) -> Body:
    """One patch: what is staged, and the value."""
    tested: Reads = {**merged([plan.ground.reads, reads]), slot.path: Look.VALUE}
    if slot.fence is not None:
        tested[slot.fence] = Look.VALUE
    if find(snapshot, GENERATION) is not ABSENT:
        tested[GENERATION] = Look.VALUE
    by_version = slot.fence is None or plan.strategy is LOCKED
    body = strategies.compare(snapshot, [*plan.intents, Put(slot.path, value)], tested, plan.shapes, by_version=by_version)
    assert body is not None, "an empty slot and a value always differ"
    return body


def _created(plan: Plan, slot: Slot, stored: Json, sent: Json, so_far: Progress, *, first: bool) -> Made:
    """The server acknowledged it; unless its schema lacks the slot, and it was dropped."""
    standing: Json = find(stored, slot.path)
    if standing is ABSENT or standing is None or (sent and isinstance(sent, (dict, list)) and not standing):
        beside = "the rest of this write landed" if plan.intents else "nothing was created"
        raise FiferailError(
            f"the server dropped {render(slot.path)} of {plan.target}: its schema lacks the field, add it to the CRD; {beside}"
        )
    kind = Kind.APPLIED if first else Kind.REBASED
    return Made(thaw(standing), True, Outcome(kind, stored, so_far.requests))


def _standing(plan: Plan, slot: Slot, standing: Json, sent: Json, snapshot: Json, so_far: Progress) -> Made:
    """Something stands in the slot: ours, when our lost answer had landed; else the winner's."""
    created: bool | None = False
    if plan.may_have_landed and sent is not ABSENT:
        created = _is_mine(slot, standing, sent)
    kind = Kind.CONVERGED if so_far.requests or version(snapshot) != version(plan.base) else Kind.UNCHANGED
    return Made(thaw(standing), created, Outcome(kind, snapshot, so_far.requests))


def _is_mine(slot: Slot, standing: Json, sent: Json) -> bool | None:
    """After a lost answer: a token tells. Without one, a value that may be ours (the server adds defaults and drops what the schema
    lacks) may be another's as well: nobody can tell."""
    if slot.token and isinstance(sent, dict) and isinstance(standing, dict):
        return same(standing.get(slot.token, ABSENT), sent.get(slot.token, ABSENT))
    return None if asserted(standing, sent) or asserted(sent, standing) else False


def _live(plan: Plan, meaning: Meaning, so_far: Progress) -> Conversation[Json]:
    """The live object after a refusal or a lost answer; None when it is gone; UNREAD when it could not be read."""
    if meaning is Meaning.UNKNOWN:
        plan.may_have_landed = True
    elif meaning is Meaning.REFUSED:
        wait = plan.patience.refused()
        if wait.seconds:
            yield wait
    live = yield from look(plan, so_far)
    if live is UNREAD or meaning is Meaning.UNKNOWN:
        yield plan.patience.failed(so_far.last)
    if live is not None and live is not UNREAD and live["metadata"]["uid"] != plan.target.uid:
        return None
    if meaning is Meaning.MISSING and live is not None and live is not UNREAD:
        raise no_subresource(plan)
    return live


def deterministic_id(obj: Any, purpose: str = "", n: int = 0) -> str:
    """An id that two reconciles of the same generation of the same object agree on; `n` tells a plan from the one before it."""
    import hashlib

    metadata = obj["metadata"]
    text = f"{metadata['uid']}/{metadata.get('generation', 0)}/{purpose}/{n}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
