"""From what each resource says to the one condition of the component.

All ready: Healthy. Else the highest reason, with the messages of everything of the same severity. While a component converges, how
it began stays (Creating, Updating, Scaling), so that its clock can run out; trouble is never hidden by that, and a new generation
begins anew. Called once per reconcile, after the last resource. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .grace import Previous, is_over, worst
from .reasons import CONVERGING, STICKY, TROUBLE, Health, Reason, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from .resource import Resource


class Result(msgspec.Struct, frozen=True):
    """What one resource says; without an object when it was not reached or is not there."""

    resource: Resource
    health: Health
    live: Json = None


class Verdict(msgspec.Struct, frozen=True):
    """What the component says, whether its clock begins anew, and who was graded better than it converges."""

    health: Health
    restart: bool = False
    milder: tuple[Result, ...] = ()


#: A component that said this was on its way already, so its clock runs on.
_UNDER_WAY = CONVERGING | {Reason.DOWN, Reason.DEGRADED, Reason.ERROR}
READY = Health(Reason.HEALTHY, "all resources are ready")


def counted(results: Sequence[Result]) -> list[Result]:
    """Those that decide. Auxiliary ones do not, but a blocked one keeps later ones from being looked at, so it always does."""
    return [result for result in results if not result.resource.auxiliary or result.health.reason is Reason.BLOCKED]


def summary(results: Sequence[Result]) -> Health:
    """The highest reason, and why."""
    if all(result.health.reason.is_ready for result in results):
        return READY
    top = max((result.health.reason for result in results), key=lambda reason: reason.rank)
    return Health(top, joined(result.health.message for result in results if result.health.reason.severity == top.severity))


def verdict(results: Sequence[Result], before: Previous, *, grace: float, now: float, generation: int | None) -> Verdict:
    """What to say now, given what was said before."""
    results = counted(results)
    fresh = summary(results)
    if fresh.reason is Reason.HEALTHY or before.is_true or before.since is None:
        return Verdict(fresh)
    if _begins_anew(before, generation):
        return Verdict(fresh, restart=True)
    milder: list[Result] = []
    if is_over(before.since, grace, now):
        graded, milder = worst(results)
        if graded.reason is not Reason.HEALTHY:
            return Verdict(graded)
    stays = before.reason in STICKY and fresh.reason not in TROUBLE
    health = Health(before.reason if stays else fresh.reason, fresh.message)
    return Verdict(health, milder=tuple(result for result in milder if not result.resource.suppress_grace_warning))


def _begins_anew(before: Previous, generation: int | None) -> bool:
    """What was said of an older generation, or while something else than converging went on, is no measure for this one."""
    newer = generation is not None and before.generation is not None and generation > before.generation
    return newer or before.reason not in _UNDER_WAY
