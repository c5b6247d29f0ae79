"""Writers that go on and on: fights between two, chains of one, and writes that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .findings import FIGHT, HOT_LOOP, WASTE, Finding

if TYPE_CHECKING:
    from .leaves import Leaf
    from .memory import ObjectMemory
    from .places import Place
    from .records import Attempt, Commit, Identity

#: Alternations of two writers on one leaf.
FIGHT_AFTER = 3
#: Writes in a row that changed nothing.
IDLE_AFTER = 5
#: Commits in a row, each woken by nothing but the actor's own previous commit: a loop, when it still goes on at the end.
CHAIN_AFTER = 8
#: So many are a loop at once: no reconciler needs that many steps.
CHAIN_AT_ONCE = 100


def fight(record: Commit, actor: str, writer: Place, leaf: Leaf) -> Finding | None:
    """Each has seen the other, and each puts its own value back."""
    place, was, now = leaf
    first, second, turns = place.turns or ("", "", 0)
    going_on = second == writer.actor and first == actor
    turns = turns + 1 if going_on else 1
    place.turns = (writer.actor, actor, turns)
    if turns != FIGHT_AFTER:
        return None
    return Finding(
        FIGHT, record.object, place.path, writer.actor, actor, written=writer.version, overwritten=record.version,
        was=was, lost=was, now=now,
    )  # fmt: skip


def idle(record: Attempt, known: ObjectMemory) -> Finding | None:
    """A write that changes nothing, once more. It wakes nobody, so it is no loop by itself."""
    known.idle[record.actor] += 1
    if known.idle[record.actor] != IDLE_AFTER:
        return None
    return Finding(WASTE, record.object, (), record.actor, record.actor, how=f"{IDLE_AFTER} writes in a row that changed nothing")


def chain(record: Commit, known: ObjectMemory, woken: tuple[Identity, int] | None) -> Finding | None:
    """A commit whose only trigger is the actor's own last commit. `woken`: all that a watch brought since, when it was one event."""
    last, length = known.chain
    if last != known.version:  # the commit before this one was woken by nothing that we know of: a chain may start with it
        length = 1
    own = known.changer == record.actor and woken is not None and woken == (record.object, known.version)
    length = length + 1 if own else 1
    known.chain = (record.version, length)
    return _hot(record.object, record.actor, length) if length == CHAIN_AT_ONCE else None


def still_going(identity: Identity, known: ObjectMemory, woken: bool) -> Finding | None:
    """At the end: a chain whose last commit has not come back to its actor. One that came back and woke nothing has stopped by itself."""
    last, length = known.chain
    if woken or last != known.version or not CHAIN_AFTER <= length < CHAIN_AT_ONCE:
        return None
    known.chain = (last, CHAIN_AT_ONCE)
    return _hot(identity, known.changer or "", length)


def _hot(identity: Identity, actor: str, length: int) -> Finding:
    return Finding(HOT_LOOP, identity, (), actor, actor, how=f"{length} writes in a row, each woken only by its own last write")
