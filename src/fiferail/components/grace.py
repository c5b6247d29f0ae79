"""How long a component may be on its way before that is called a fault, and how bad a fault.

The clock is the condition's lastTransitionTime, which the server keeps in whole seconds; a period of 0 never ends. Called by
`converge` and by `Component.grace_remaining`. Pure: the time is an argument.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from .reasons import CONVERGING, Health, Reason, joined, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from .converge import Result


class Previous(msgspec.Struct, frozen=True):
    """What the component's condition said before this reconcile."""

    reason: Reason = Reason.UNKNOWN
    is_true: bool = False
    message: str = ""
    #: Seconds since 1970; None when it never said anything, or nothing readable.
    since: float | None = None
    generation: int | None = None


def previous(condition: Json | None) -> Previous:
    """The stored condition, read. One that is not there is Unknown."""
    if not isinstance(condition, dict):
        return Previous()
    generation = condition.get("observedGeneration")
    return Previous(
        reason_of(condition.get("reason")), condition.get("status") == "True", str(condition.get("message") or ""),
        _seconds(condition.get("lastTransitionTime")), generation if isinstance(generation, int) else None,
    )  # fmt: skip


def is_over(since: float, grace: float, now: float) -> bool:
    """Whether the period has ended."""
    return grace > 0 and now - since > grace


def remaining(said: Previous, grace: float, now: float) -> float | None:
    """Seconds until the first whole second after the deadline; None when there is no deadline, or it has passed."""
    if grace <= 0 or said.since is None or said.is_true or said.reason not in CONVERGING or is_over(said.since, grace, now):
        return None
    return math.floor(said.since + grace) + 1 - now


def worst(results: Sequence[Result]) -> tuple[Health, list[Result]]:
    """The grade of what has not converged, and the resources that were graded Healthy all the same.

    What is blocked is down, and so is what has no grade of its own.
    """
    unready = [result for result in results if not result.health.reason.is_ready]
    grades = [(result, _grade(result)) for result in unready]
    milder = [result for result, grade in grades if grade.reason is Reason.HEALTHY]
    top = max((grade.reason for _, grade in grades), key=lambda reason: reason.rank, default=Reason.HEALTHY)
    return Health(top, joined(grade.message for _, grade in grades if grade.reason is top)), milder


def _grade(result: Result) -> Health:
    if result.health.reason is Reason.BLOCKED or result.live is None:
        return Health(Reason.DOWN, result.health.message)
    if not result.resource.graceful:
        return Health(Reason.DOWN, result.health.message or f"{result.resource.text} did not converge in its grace period")
    grade = result.resource.graded(result.live)
    if grade.reason not in (Reason.HEALTHY, Reason.DEGRADED, Reason.DOWN):
        raise ValueError(f"expected the grade of {result.resource.text} to be Healthy, Degraded or Down, got {grade.reason}")
    return grade


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
