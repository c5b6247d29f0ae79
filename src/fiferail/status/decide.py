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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


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


def decide(
    base: Json,
    live: Json | None,
    intents: Sequence[Intent],
    reads: Iterable[Path],
    *,
    manager: str,
    claimed: Callable[[Path], bool],
    may_have_landed: bool,
) -> Decision:
    """Compare the live object with what the write was decided on."""
    if live is None or live["metadata"]["uid"] != base["metadata"]["uid"]:
        return Decision(Verdict.GONE)
    target = applied(intents, live)
    there = holds(intents, live)
    stale = [path for path in reads if not same(find(base, path), find(live, path))]
    if stale and not (there and may_have_landed and all(last_writer(live, path) == manager for path in stale)):
        return Decision(Verdict.CONFLICT, tuple(_change(path, base, live, target, intents) for path in stale))
    if there:
        return Decision(Verdict.CONVERGED)
    moved = [i.path for i in intents if not _raises(i, live) and not same(find(base, i.path), find(live, i.path))]
    moved += [above for i in intents if not isinstance(i, Drop) and (above := _changed_above(i.path, base, live)) is not None]
    foreign = {path: last_writer(live, path) for path in moved}
    unclaimed = [path for path, writer in foreign.items() if not claimed(path) or writer in (None, manager)]
    if unclaimed:
        return Decision(Verdict.CONFLICT, tuple(_change(path, base, live, target, intents) for path in unclaimed))
    return Decision(Verdict.AGAIN, repaired=tuple((render(path), writer or "") for path, writer in foreign.items()))


def _raises(intent: Intent, live: Json) -> bool:
    """Whether it is a number that is raised: whoever wrote the lower one, it is meant to go."""
    return isinstance(intent, Raise) and is_number(find(live, intent.path))


def _changed_above(path: Path, base: Json, live: Json) -> Path | None:
    """Where somebody took away what this write puts something into, or put something else there: the write would undo that."""
    for length in range(1, len(path)):
        above = find(live, path[:length])
        if not isinstance(above, dict if isinstance(path[length], str) else list):
            return None if same(find(base, path[:length]), above) else path[:length]
    return None


def _change(path: Path, base: Json, live: Json, target: Json, intents: Iterable[Intent]) -> Change:
    wrote = any(i.path[: len(path)] == path or path[: len(i.path)] == i.path for i in intents)
    mine = find(target, path) if wrote else ABSENT
    return Change(render(path), _shown(find(base, path)), _shown(find(live, path)), _shown(mine), last_writer(live, path))


def _shown(value: Json) -> Json:
    return None if value is ABSENT else value


def conflict(what: str, changes: Sequence[Change]) -> Conflict:
    """The error: what happened, where, and what to do."""
    lines = [f"{what} changed while this write was being decided"]
    for change in changes:
        by = f" (written by {change.written_by})" if change.written_by else ""
        wanted = f", this write wanted {_text(change.mine)}" if change.mine is not None else ", and this write depended on it"
        lines.append(f"  {change.path}  was {_text(change.was)}, is now {_text(change.now)}{by}{wanted}")
    lines.append("Read the object again and decide again; fiferail did not write anything.")
    return Conflict("\n".join(lines), changes)


def _text(value: Json) -> str:
    if value is None:
        return "absent"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:197] + "..."
