"""What has to be so before a component begins at all.

A prerequisite is the type of a condition on the same object that must be True, or a function of the context that answers as a guard
does. Asked only until the component has passed them once: an upgrade of what it depends on does not take it down again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .guards import refusal, settled
from .reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .grace import Previous
    from .place import Place

#: A condition type, or a function of the context (it may be async): True or None is met; False, or a text, is not.
Prerequisite: TypeAlias = "str | Callable[[Any], Any]"

#: While the condition says one of these the component has never begun.
_NOT_BEGUN = frozenset({Reason.UNKNOWN, Reason.PREREQUISITE_NOT_MET, Reason.DISABLED, Reason.FEATURE_GATE_ERROR})


def are_due(before: Previous) -> bool:
    """Whether they are still to be asked."""
    return before.reason in _NOT_BEGUN


async def unmet(prerequisites: Sequence[Prerequisite], ctx: Place) -> str:
    """What the first unmet one says; nothing when all are met."""
    for prerequisite in prerequisites:
        if isinstance(prerequisite, str):
            message = _condition(prerequisite, ctx)
        else:
            message = refusal(await settled(prerequisite(ctx)), f"{getattr(prerequisite, '__name__', prerequisite)} is not met")
        if message:
            return message
    return ""


def _condition(type: str, ctx: Place) -> str:
    """Counts as read: the decision to begin stands on it."""
    found = ctx.status.conditions.get(type)
    if found is None:
        return f'waiting for condition "{type}", which is not there yet'
    if found.get("status") == "True":
        return ""
    return f'waiting for condition "{type}", which is {found.get("status")} ({found.get("reason")})'
