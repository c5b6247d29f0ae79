"""Writers that go on and on: fights between two, and hot loops of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .findings import FIGHT, HOT_LOOP, Finding

if TYPE_CHECKING:
    from .leaves import Leaf
    from .memory import ObjectMemory
    from .places import Place
    from .records import Attempt, Commit, Identity

#: Alternations of two writers on one leaf.
FIGHT_AFTER = 3
#: Writes in a row that changed nothing.
IDLE_AFTER = 5
#: Commits in a row, each woken by nothing but the actor's own previous commit.
CHAIN_AFTER = 8


def fight(record: Commit, writer: Place, leaf: Leaf) -> Finding | None:
    """Each has seen the other, and each puts its own value back."""
    place, was, now = leaf
    first, second, turns = place.turns or ("", "", 0)
    going_on = second == writer.actor and first == record.actor
    turns = turns + 1 if going_on else 1
    place.turns = (writer.actor, record.actor, turns)
    if turns != FIGHT_AFTER:
        return None
    return Finding(
        FIGHT, record.object, place.path, writer.actor, record.actor, written=writer.version, overwritten=record.version,
        was=was, lost=was, now=now,
    )  # fmt: skip


def idle(record: Attempt, known: ObjectMemory) -> Finding | None:
    """A write that changes nothing, once more."""
    known.idle[record.actor] += 1
    if known.idle[record.actor] != IDLE_AFTER:
        return None
    return _hot(record.object, record.actor, f"{IDLE_AFTER} writes in a row that change nothing")


def chain(record: Commit, known: ObjectMemory, woken: tuple[Identity, int] | None) -> Finding | None:
    """A commit whose only trigger is the actor's own last commit. `woken`: all that a watch brought since, when it was one event."""
    last, length = known.chain
    if last != known.version:  # the commit before this one was woken by nothing that we know of: a chain may start with it
        length = 1
    own = known.changer == record.actor and woken is not None and woken == (record.object, known.version)
    length = length + 1 if own else 1
    known.chain = (record.version, length)
    if length != CHAIN_AFTER:
        return None
    return _hot(record.object, record.actor, f"{CHAIN_AFTER} writes in a row, each woken only by its own last write")


def _hot(identity: Identity, actor: str, how: str) -> Finding:
    return Finding(HOT_LOOP, identity, (), actor, actor, how=how)
