"""What a component's condition can say, and which word wins when several apply.

Called by everything in this room that grades something. Two orders, because they answer two questions: `rank` picks the word that
explains a component best, `severity` decides whose messages are told together. Pure.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Reason(StrEnum):
    """The reason of a component's condition, or of one resource in it."""

    ERROR = "Error"
    FEATURE_GATE_ERROR = "FeatureGateError"
    DOWN = "Down"
    DEGRADED = "Degraded"
    PENDING_SUSPENSION = "PendingSuspension"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    DISABLED = "Disabled"
    FAILING = "Failing"
    OPERATION_FAILING = "OperationFailing"
    TASK_FAILING = "TaskFailing"
    BLOCKED = "Blocked"
    PREREQUISITE_NOT_MET = "PrerequisiteNotMet"
    SCALING = "Scaling"
    TASK_RUNNING = "TaskRunning"
    UPDATING = "Updating"
    CREATING = "Creating"
    OPERATION_PENDING = "OperationPending"
    TASK_PENDING = "TaskPending"
    HEALTHY = "Healthy"
    OPERATIONAL = "Operational"
    COMPLETED = "Completed"
    UNKNOWN = "Unknown"

    @property
    def rank(self) -> int:
        """The higher one wins."""
        return _RANKS[self]

    @property
    def severity(self) -> int:
        """Results of the same severity are told together; 0 where a resource never says this of itself."""
        return _SEVERITIES.get(self, 0)

    @property
    def is_true(self) -> bool:
        """Whether a condition with this reason is True: the component is as it should be."""
        return self in _TRUE

    @property
    def is_ready(self) -> bool:
        """Whether a resource that says this needs nothing more."""
        return self.severity == _READY


_READY = 1
_RANKS = {
    Reason.ERROR: 20, Reason.FEATURE_GATE_ERROR: 20, Reason.DOWN: 19, Reason.DEGRADED: 18, Reason.PENDING_SUSPENSION: 17,
    Reason.SUSPENDING: 16, Reason.SUSPENDED: 15, Reason.DISABLED: 14, Reason.FAILING: 13, Reason.OPERATION_FAILING: 12,
    Reason.TASK_FAILING: 11, Reason.BLOCKED: 10, Reason.PREREQUISITE_NOT_MET: 10, Reason.SCALING: 9, Reason.TASK_RUNNING: 8,
    Reason.UPDATING: 7, Reason.CREATING: 6, Reason.OPERATION_PENDING: 5, Reason.TASK_PENDING: 4, Reason.HEALTHY: 3,
    Reason.OPERATIONAL: 2, Reason.COMPLETED: 1, Reason.UNKNOWN: 0,
}  # fmt: skip
_SEVERITIES = {
    Reason.HEALTHY: _READY, Reason.OPERATIONAL: _READY, Reason.COMPLETED: _READY,
    Reason.CREATING: 2, Reason.OPERATION_PENDING: 2, Reason.TASK_PENDING: 2, Reason.BLOCKED: 2,
    Reason.UPDATING: 3, Reason.SCALING: 4, Reason.TASK_RUNNING: 4,
    Reason.FAILING: 5, Reason.OPERATION_FAILING: 5, Reason.TASK_FAILING: 5,
}  # fmt: skip
_TRUE = frozenset({Reason.HEALTHY, Reason.OPERATIONAL, Reason.COMPLETED, Reason.DISABLED, Reason.SUSPENDED})
#: While converging these stay as they began, so that a reader sees what set things in motion.
STICKY = frozenset({Reason.CREATING, Reason.UPDATING, Reason.SCALING})
#: Never hidden behind how the convergence began.
TROUBLE = frozenset({Reason.FAILING, Reason.OPERATION_FAILING, Reason.TASK_FAILING, Reason.BLOCKED})
#: What the grace period is about: not as it should be, and nobody has asked for that.
CONVERGING = STICKY | TROUBLE | {Reason.OPERATION_PENDING, Reason.TASK_PENDING, Reason.TASK_RUNNING}


class Health(msgspec.Struct, frozen=True):
    """What is said of a resource or of a component: a word for machines, a sentence for people."""

    reason: Reason
    message: str = ""


def reason_of(text: object) -> Reason:
    """The reason that a stored condition carries; Unknown for what no component wrote."""
    return Reason(text) if isinstance(text, str) and text in Reason._value2member_map_ else Reason.UNKNOWN


def joined(messages: Iterable[str]) -> str:
    """The messages of several as one."""
    return "; ".join(message for message in messages if message)
