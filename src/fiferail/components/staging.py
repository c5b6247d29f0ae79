"""Conditions of the owner, staged: the one place where this room touches the owner's status, and it only stages.

What a component said before is peeked at, not read: it is the component's own, so that another writer who changed it meanwhile is
overruled (where the controller claims the condition) instead of making the whole reconcile start again. What it says now is told,
as an event and to whoever counts, once the server has it: a reconcile that is refused and runs again tells of a transition once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..controllers.clock import stamp
from ..objects import conditions
from ..objects.paths import Key, render
from . import grace
from .metrics import Owner

if TYPE_CHECKING:
    from .metrics import Recorder
    from .place import Place
    from .reasons import Health


def claim(condition: str) -> str:
    """The path of a condition, as `Controller(claims=[...])` wants it."""
    return render(("conditions", Key((("type", condition),))))


def said(ctx: Place, condition: str) -> grace.Previous:
    """What the condition says at this moment: staged, or as it was read."""
    return grace.previous(ctx.status.peek(claim(condition)))


async def say(
    ctx: Place, condition: str, health: Health, *, is_true: bool | None = None, restart: bool = False, metrics: Recorder | None = None
) -> None:
    """Stage the condition; have the transition told, and the condition counted, once it is written."""
    since = stamp(ctx.clock.today()) if restart else None
    is_true = health.reason.is_true if is_true is None else is_true
    ctx.status.conditions.set(condition, is_true, reason=health.reason.value, message=health.message, since=since)
    if metrics is not None:
        owner, status, reason = owner_of(ctx), str(is_true), health.reason.value
        ctx.after_flush(lambda: metrics.condition(owner, condition, status, reason))
        _forget_when_gone(ctx, metrics)
    before = _stored(ctx, condition)
    ctx.at_last(("transition", condition), lambda: _tell(ctx, condition, before))


def _stored(ctx: Place, condition: str) -> grace.Previous:
    return grace.previous(ctx.stored(claim(condition)))


async def _tell(ctx: Place, condition: str, before: grace.Previous) -> None:
    """One event for the way that the condition went on the server, however often it was staged."""
    now = _stored(ctx, condition)
    if now.reason is before.reason and now.is_true is before.is_true:
        return
    way = f"{condition} went from {before.reason} to {now.reason}" + (f": {now.message}" if now.message else "")
    await ctx.event(now.reason.value, way, type="Normal" if now.is_true or now.reason.rank < _WORRYING else "Warning")


def recount(ctx: Place, condition: str, metrics: Recorder) -> None:
    """Count what the owner said when it was read: it is on the server, also where the reconcile that wrote it has failed, and after
    a restart of this process."""
    _forget_when_gone(ctx, metrics)
    stored = conditions.get((ctx.snapshot.get("status") or {}).get("conditions") or [], condition)
    if stored is not None:
        metrics.condition(owner_of(ctx), condition, str(stored.get("status")), str(stored.get("reason")))


def _forget_when_gone(ctx: Place, metrics: Recorder) -> None:
    owner = owner_of(ctx)
    ctx.when_gone(("metrics", id(metrics)), lambda: metrics.forget(owner))


#: From this rank on a condition that is not True is worth a warning.
_WORRYING = 11


def owner_of(ctx: Place) -> Owner:
    """The owner's labels."""
    metadata = ctx.snapshot["metadata"]
    return Owner(ctx.controller, ctx.snapshot["kind"], metadata["name"], metadata.get("namespace") or "")
