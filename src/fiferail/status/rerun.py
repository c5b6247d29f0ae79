"""`mutate`: a function that edits the status, and runs again on the live object when something it looked at has changed.

A function that runs again sees the live object, the spec too (`status.object`). What it cannot have seen is a conflict: a guard of the
caller, and a path that has moved since the caller's object and that the run changes without looking at it, because the value may come
from a closure that holds the old object.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..objects.paths import Path, find, is_within
from ..objects.tree import differences
from . import flow
from .conversation import Stale
from .decide import NOTHING, PERHAPS, Ground, conflict, conflicting, moved, repairs
from .effects import Call
from .outcome import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..objects.tree import Json
    from .core import Core, Open
    from .effects import Conversation
    from .outcome import Outcome
    from .strategies import Strategy


def mutate(core: Core, opened: Open, view: Any, fn: Callable[[Any], Any], strategy: Strategy | None) -> Conversation[Outcome]:
    """Run the function and flush, again on the live object while something that the function looked at has changed."""
    patience, stage = core.patience(), opened.stage
    first = _ground(core, opened, stage.seen)
    requests, runs = 0, 0
    repaired: tuple[tuple[str, str], ...] = ()
    while True:
        yield from called(fn, view)
        if runs:
            repaired = _refuse_unseen(opened, first)
        try:
            outcome = yield from core.flush(opened, strategy, patience)
        except Stale as stale:
            requests += stale.requests
            patience.refusals += not stale.requests  # a refused request has been counted
            if patience.spent() or stale.partly_landed or any(path in stage.guards for path in stale.paths):
                raise
            core.memory.remember(stale.live)
            opened.run_again(stale.live)
            runs += 1
        else:
            more = repaired + outcome.repaired
            # What an answer that was lost had written, the next run finds there.
            kind = Kind.CONVERGED if outcome.kind is Kind.UNCHANGED and opened.may_have_landed else outcome.kind
            return outcome.replaced(kind=kind, requests=outcome.requests + requests, repaired=more) if requests or repaired else outcome


def called(fn: Callable[[Any], Any], *arguments: Any) -> Conversation[Any]:
    """Call the user's function."""
    return (yield Call(fn, arguments))


def _ground(core: Core, opened: Open, seen: Json) -> Ground:
    """What the caller's closure may hold."""
    own = opened.own or flow.known(flow.current(), core, opened.target.uid, opened.version)
    return Ground(seen, own.advanced(seen), {}, core.settings.field_manager, core.claimed(opened.target))


def _differing(path: Path, known: Json, live: Json) -> list[Path]:
    """Where below the path the two differ; a list is one value."""
    was, now = find(known, path), find(live, path)
    if not isinstance(was, dict) or not isinstance(now, dict):
        return [path]
    found = []
    for location, _, _ in differences(was, now):
        names = itertools.takewhile(lambda step: isinstance(step, str), location)
        found.append((*path, *names))
    return found or [path]


def _refuse_unseen(opened: Open, first: Ground) -> tuple[tuple[str, str], ...]:
    """Raise a conflict where the run changes what has moved since the caller's object without looking at it; give what it repairs."""
    stage = opened.stage
    live, intents = stage.base, stage.intents()
    owned = stage.owned  # `put_whole`: this writer decides all of it, whatever stands there
    unseen = [
        path for path in moved(first.known, live, intents)
        if not is_within(path, owned) and not all(map(stage.was_looked_at, _differing(path, first.known, live)))
    ]  # fmt: skip
    refused, repaired = repairs(first, live, unseen)
    if refused:
        changes = conflicting(first, live, intents, refused).changes
        error = conflict(str(opened.target), changes, landed=PERHAPS if opened.may_have_landed else NOTHING)
        error.add_note("The function ran again on the live object, and wrote this without looking at the status that it was given.")
        raise error
    return repaired
