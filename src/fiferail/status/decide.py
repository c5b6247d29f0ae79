"""After a refusal, or an answer that never came: what the live object says about going on. Pure.

The order of the questions is the protocol: has something that was read changed, is what we want there already, has something
that we would overwrite changed, and only then: try again on the live object.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from ..errors import Change, Conflict
from ..objects.paths import Path, find, render
from ..objects.tree import ABSENT, Json, same
from .intents import Drop, Intent, Raise, applied, holds, is_number
from .managers import last_writer
from .reads import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .reads import Reads


class Verdict(Enum):
    """What to do with the live object."""

    GONE = "gone"
    CONFLICT = "conflict"
    CONVERGED = "converged"
    AGAIN = "again"


class Decision(msgspec.Struct, frozen=True):
    """The verdict, what changed (for a conflict), and what may be repaired (for another try): path and who wrote it."""

    verdict: Verdict
    changes: tuple[Change, ...] = ()
    repaired: tuple[tuple[str, str], ...] = ()
    #: The paths of the changes.
    paths: tuple[Path, ...] = ()


class Ground(msgspec.Struct, frozen=True):
    """What a write stands on."""

    #: What the caller knows, path by path: the object it passed, or what it has seen of it since.
    seen: Json
    #: The same with the caller's own earlier writes on it: for paths that are written and were not read.
    known: Json
    reads: Reads
    manager: str
    claimed: Callable[[Path], bool]


def decide(ground: Ground, live: Json | None, intents: Sequence[Intent], *, may_have_landed: bool) -> Decision:
    """Compare the live object with what the write was decided on."""
    if live is None or live["metadata"]["uid"] != ground.seen["metadata"]["uid"]:
        return Decision(Verdict.GONE)
    there = holds(intents, live)
    stale = changed(ground.reads, ground.seen, live)
    if stale and not (there and may_have_landed and all(last_writer(live, path) == ground.manager for path in stale)):
        return conflicting(ground, live, intents, stale)
    if there:
        return Decision(Verdict.CONVERGED)
    refused, repaired = repairs(ground, live, moved(ground.known, live, intents))
    if refused:
        return conflicting(ground, live, intents, refused)
    return Decision(Verdict.AGAIN, repaired=repaired)


def repairs(ground: Ground, live: Json, paths: Iterable[Path]) -> tuple[list[Path], tuple[tuple[str, str], ...]]:
    """Of written paths that have moved: those that are a conflict, and those that this writer claims and another manager wrote, with
    who that was."""
    writers = {path: last_writer(live, path) for path in paths}
    refused = [path for path, writer in writers.items() if not ground.claimed(path) or writer in (None, ground.manager)]
    return refused, tuple((render(path), writer or "") for path, writer in writers.items() if path not in refused)


def moved(known: Json, live: Json, intents: Iterable[Intent]) -> list[Path]:
    """The written paths that are not as the caller knows them."""
    found = [i.path for i in intents if not _raises(i, live) and not same(find(known, i.path), find(live, i.path))]
    return found + [above for i in intents if not isinstance(i, Drop) and (above := _changed_above(i.path, known, live)) is not None]


def conflicting(ground: Ground, live: Json, intents: Sequence[Intent], paths: Sequence[Path]) -> Decision:
    """A conflict about these paths."""
    target = applied(intents, live)
    found = tuple(dict.fromkeys(paths))
    return Decision(Verdict.CONFLICT, tuple(_change(path, ground.seen, live, target, intents) for path in found), paths=found)


def _raises(intent: Intent, live: Json) -> bool:
    """Whether it is a number that is raised: whoever wrote the lower one, it is meant to go."""
    return isinstance(intent, Raise) and is_number(find(live, intent.path))


def _changed_above(path: Path, base: Json, live: Json) -> Path | None:
    """Where somebody took away what this write puts something into, or put something else there: the write would undo that."""
    for length in range(1, len(path)):
        above = find(live, path[:length])
        if not isinstance(above, dict if isinstance(path[length], str) else list):
            before = find(base, path[:length])
            emptied = above is ABSENT and before == []  # the server leaves out a list without entries
            return None if emptied or same(before, above) else path[:length]
    return None


def _change(path: Path, base: Json, live: Json, target: Json, intents: Iterable[Intent]) -> Change:
    wrote = any(path[: len(i.path)] == i.path for i in intents)
    mine = find(target, path) if wrote else ABSENT
    return Change(render(path), _shown(find(base, path)), _shown(find(live, path)), _shown(mine), last_writer(live, path))


def _shown(value: Json) -> Json:
    return None if value is ABSENT else value


NOTHING = "fiferail did not write anything"
PERHAPS = "an answer was lost, so this write may have landed"


def conflict(what: str, changes: Sequence[Change], *, landed: str = NOTHING, own: bool = False) -> Conflict:
    """The error: what happened, where, and what to do. `own`: the caller's own earlier write is what changed it."""
    lines = [f"{what} changed while this write was being decided"]
    for change in changes:
        by = f" (written by {change.written_by})" if change.written_by else ""
        wanted = f", this write wanted {_text(change.mine)}" if change.mine is not None else ", and this write depended on it"
        lines.append(f"  {change.path}  was {_text(change.was)}, is now {_text(change.now)}{by}{wanted}")
    advice = "This writer changed it itself: pass `outcome.object` of that write" if own else "Read the object again and decide again"
    lines.append(f"{advice}; {landed}.")
    return Conflict("\n".join(lines), changes)


def _text(value: Json) -> str:
    if value is None:
        return "absent"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."
