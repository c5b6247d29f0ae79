"""Refused attempts: which of them were made good, decided anew, sent again with stale values, or given up. Pure.

A refusal is no loss: its writer learned of it. It becomes one when the writer never comes back with what it wanted (abandoned), or comes
back with the values of the refused request on top of a newer version (laundered). It does not when the writer has read the object
again and found nothing left to do, when the refused decision was older than a write of its own, or when the server stored
something else for the value that was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .asserted import asserted, part_of
from .findings import ABANDONED, CERTAIN, INFERRED, LOST, POSSIBLE, Finding
from .leaves import BOOKKEEPING, flat, list_key, same_elements
from .records import how

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from .memory import ObjectMemory
    from .records import Attempt, Commit, Identity

#: Refused attempts kept per actor: one that is refused for ever must not fill the memory.
KEPT_REFUSALS = 32


class Refused(msgspec.Struct):
    """A refused attempt that its actor has not made good yet."""

    attempt: Attempt
    writer: str
    base: int
    #: All that it asserted, and the part of it that would have changed something.
    values: dict[Path, Json]
    wanted: dict[Path, Json]
    #: The actor watches the kind: whether it has looked at the object again is not to be seen.
    watching: bool = False
    #: Its author had made a newer decision already.
    outdated: bool = False
    #: Whether the actor read the object again since: then what it does next is a decision.
    reconsidered: bool = False
    #: The read that a session makes to say why it was refused.
    explained: bool = False
    #: It came again with a part of what it wanted: the rest is reported at the end, whatever was read meanwhile.
    owed: bool = False


def note(attempt: Attempt, known: ObjectMemory, writer: str, watching: bool) -> None:
    """Keep a refused attempt. One that is older than a write of its own author may be given up, but not be sent again as it is."""
    said = attempt.base if attempt.base is not None else attempt.precondition
    outdated = said is not None and known.last.get(writer, 0) > said
    base = said if said is not None else known.seen.get(attempt.actor, 0)
    values = asserted(attempt, known.latest, known.learned)
    if values:
        kept = known.refused.setdefault(attempt.actor, [])
        kept.append(Refused(attempt, writer, base, values, _wanted(attempt, known, base, values), watching, outdated))
        del kept[:-KEPT_REFUSALS]


def read_again(known: ObjectMemory, actor: str) -> None:
    """The actor was given the object by a read of its own."""
    for refused in known.refused.get(actor, ()):
        if refused.attempt.once and not refused.explained:
            refused.explained = True
        else:
            refused.reconsidered = True


def settle(
    known: ObjectMemory, actor: str, writer: str, trees: tuple[Json, Json], meant: dict[Path, Json], compared: AbstractSet[Path]
) -> None:
    """What a write makes of its author's refused attempts: made good, decided anew, or given up in part."""
    before, after = trees
    left = []
    for refused in known.refused.get(actor, ()):
        if refused.writer != writer:
            left.append(refused)
            continue
        if refused.outdated:
            continue
        again = {path for path, value in refused.wanted.items() if path in meant and same_elements(meant[path], value)}
        missing = {
            path: value for path, value in refused.wanted.items()
            if path not in again and path not in compared and not holds(find(after, path), value)
            and same(find(before, path), find(after, path))
        }  # fmt: skip
        if not missing:
            continue
        if not (refused.owed or refused.reconsidered or refused.watching):
            left.append(refused)
        elif refused.owed or again:
            # Tried again, but not with all of it. The rest may come with the next write: threads of one actor retry one by one.
            refused.wanted, refused.owed = missing, True
            left.append(refused)
    known.refused[actor] = left


def abandoned(identity: Identity, known: ObjectMemory) -> Iterator[Finding]:
    """At rest: what was refused, is not there, and was never sent again. Each path is reported once."""
    for refusals in known.refused.values():
        reported: set[Path] = set()
        for refused in reversed(refusals):
            if not refused.outdated and (refused.owed or not refused.reconsidered):
                yield from _abandoned(identity, known, refused, reported)
                reported.update(refused.wanted)
        refusals.clear()


def laundered(record: Commit, known: ObjectMemory, writer: str, path: Path, now: Json, version: int) -> str:
    """How sure it is that the commit put the value of a refused attempt over what was written since; "" where it did not.

    A request that holds another writer's change since the refusal was made on a fresh read: whoever gets, sets and updates again.
    """
    for refused in known.refused.get(record.actor, ()):
        if refused.writer != writer or version <= refused.base or not _asserts(refused, path):
            continue
        if not same_elements(refused.values.get(path, ABSENT), now) or _is_fresh(record, known, refused, path):
            continue
        if not same_elements(find(_base(known, refused), path), now) or _is_computed(record, known, refused, path):
            return POSSIBLE  # decided again
        left_out = refused.watching and path not in refused.values and not _container(record, path)
        return POSSIBLE if left_out else INFERRED  # left out again by one that may have received it
    return ""


def holds(current: Json, value: Json) -> bool:
    """Whether a value that was asserted is there: an empty object may have been filled by defaults, null is absence."""
    if value is ABSENT or value is None:
        return current is ABSENT or current is None
    if value == {}:
        return type(current) is dict or current is ABSENT
    if value == []:
        return current is ABSENT or current == []
    return same_elements(current, value)


def _wanted(attempt: Attempt, known: ObjectMemory, base: int, values: dict[Path, Json]) -> dict[Path, Json]:
    """What the attempt would have changed. Of a PUT on an unknown version nobody can say; what was sent before is nothing new."""
    tree, sent = known.at(base), known.puts.get(attempt.actor)
    if attempt.verb == "update" and tree is ABSENT:
        return {}
    return {
        path: value for path, value in values.items()
        if not (type(value) is list and list_key(value, path, known.learned) is not None)
        and not holds(find(tree, path), value)
        and not (sent is not None and attempt.verb == "update" and same(find(sent, path), value))
    }  # fmt: skip


def _abandoned(identity: Identity, known: ObjectMemory, refused: Refused, reported: set[Path]) -> Iterator[Finding]:
    base, attempt = known.at(refused.base), refused.attempt
    certainty, because = _how_sure(refused)
    for path, value in refused.wanted.items():
        current = find(known.latest, path)
        if path in reported or holds(current, value):
            continue
        writer = known.places.writer_at(path)
        yield Finding(
            LOST, identity, path, victim=refused.writer, culprit=writer.actor if writer else "", kind=ABANDONED, base=refused.base,
            written=known.version, overwritten=known.version, was=find(base, path), lost=value, now=current,
            how=how(attempt), certainty=certainty, because=because,
        )  # fmt: skip


def _how_sure(refused: Refused) -> tuple[str, str]:
    """How sure it is that a refused attempt was given up without a decision, and what that rests on."""
    if refused.watching:
        return POSSIBLE, "whether its author decided against it is not to be seen, because it watches the kind"
    if refused.owed:
        return INFERRED, "its author sent the rest of that request again without it"
    return CERTAIN, ""


def _base(known: ObjectMemory, refused: Refused) -> Json:
    """The object that a refused attempt stood on: an empty one, when that was an earlier object of the same name."""
    return {} if refused.base < known.born else known.at(refused.base)


def _asserts(refused: Refused, path: Path) -> bool:
    """Whether a refused attempt named the leaf, or left it out of something that it replaced as a whole: a list, or all by PUT."""
    if path in refused.values or any(path[:length] in refused.values for length in range(len(path) - 1, 0, -1)):
        return True
    return refused.attempt.verb == "update" and (path[0] == "status") == (refused.attempt.subresource == "status")


def _is_fresh(record: Commit, known: ObjectMemory, refused: Refused, path: Path) -> bool:
    """Whether the request shows that it was made on a fresh read: it holds another writer's change since the refusal."""
    base, container = _base(known, refused), _container(record, path)
    if base is ABSENT:
        return True  # what others changed since is not known
    if record.precondition is None or type(record.body) is not dict:
        return False
    for at, value in flat(part_of(record.body, record.subresource), (), known.learned):
        if at in refused.wanted or (at[0] == "metadata" and at[1] in BOOKKEEPING) or at[: len(container)] != container:
            continue
        if same_elements(value, find(record.before, at)) and not same_elements(value, find(base, at)):
            return True
    if record.verb != "update":
        return False
    carried = (
        at for at in refused.values
        if at not in refused.wanted and at[: len(container)] == container and find(base, at) is not ABSENT
    )  # fmt: skip
    return any(find(record.before, at) is ABSENT and find(record.after, at) is ABSENT for at in carried)


def _container(record: Commit, path: Path) -> Path:
    """What carries a leaf: an old list may be put on a fresh object, so a list must show by itself that it is fresh. Apply has no lists:
    it names each entry."""
    if record.content == "apply":
        return ()
    return next((path[:at] for at, part in enumerate(path) if type(part) is not str), ())


def _is_computed(record: Commit, known: ObjectMemory, refused: Refused, path: Path) -> bool:
    """Whether the refused request itself left out entries that its version had: then its list is no copy, it is made anew each time."""
    container = _container(record, path)
    if not container:
        return False
    depth = len(container) + 1
    had = {at[:depth] for at, _ in flat(find(_base(known, refused), container), container, known.learned) if len(at) >= depth}
    return not had <= {at[:depth] for at, value in refused.values.items() if value is not ABSENT}
