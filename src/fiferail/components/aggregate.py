"""One condition over several components: True when all of theirs are, with the reason of the worst that is not.

Staged like a component's own, and owned like it: claim it with the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import staging
from .reasons import Health, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .component import Component
    from .grace import Previous
    from .metrics import Recorder
    from .place import Place


class Aggregate:
    """`await Aggregate("Ready", [infra, web]).stage(ctx)`, after the components were reconciled, or had the chance."""

    def __init__(self, condition: str, components: Sequence[Component], *, metrics: Recorder | None = None) -> None:
        self.condition = condition
        self.components = tuple(components)
        self.metrics = metrics

    @property
    def claim(self) -> str:
        """The path of its condition, for `Controller(claims=[...])`."""
        return staging.claim(self.condition)

    async def stage(self, ctx: Place) -> None:
        """Stage the condition from what the components' say at this moment. It stands or falls with what they staged."""
        ctx = ctx.scope(self.condition)
        is_true, health = self.verdict(ctx)
        await staging.say(ctx, self.condition, health, is_true=is_true, metrics=self.metrics)

    def verdict(self, ctx: Place) -> tuple[bool, Health]:
        """Whether all are True; and the reason and message of the one that a reader should look at first."""
        if not self.components:
            return False, Health(Reason.UNKNOWN, "no components were given")
        said = [(component, staging.said(ctx, component.condition)) for component in self.components]
        everything = all(previous.is_true for _, previous in said)
        looked_at = said if everything else [(component, previous) for component, previous in said if not previous.is_true]
        component, worst = max(looked_at, key=lambda pair: pair[1].reason.rank)  # the first one, where several are as bad
        return everything, Health(worst.reason, _told(component.name, worst))


def _told(name: str, previous: Previous) -> str:
    message = previous.message or ("has not been reconciled yet" if previous.reason is Reason.UNKNOWN else "")
    return f"{name}: {message}" if message else name
