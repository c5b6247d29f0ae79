"""Ready-made workloads and tasks: how a Deployment, a StatefulSet, a ReplicaSet, a DaemonSet, a Pod and a Job tell how they are.

Called through `Resource`. Pure functions of the live object. A status that its controller has not brought up to the newest
generation says nothing about the newest spec, so it is never taken for health.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .reasons import Health, Reason
from .resource import Operation, Task, Workload

if TYPE_CHECKING:
    from ..objects.tree import Json

_BY_OPERATION = {Operation.CREATED: Reason.CREATING, Operation.UPDATED: Reason.UPDATING, Operation.NONE: Reason.SCALING}


class _Replicated(Workload):
    """Desired and ready replicas; rests at none."""

    def converge(self, live: Json, operation: Operation) -> Health:
        """Ready when as many replicas are ready as are wanted."""
        stale = stale_generation(live, operation)
        if stale is not None:
            return stale
        wanted, ready = _wanted(live), _count(live, "readyReplicas")
        if ready == wanted:
            return Health(Reason.HEALTHY, f"{ready} of {wanted} replicas are ready")
        return Health(_BY_OPERATION[operation], f"{self.text}: {ready} of {wanted} replicas are ready")

    def grade(self, live: Json) -> Health:
        """Some ready: degraded. None: down."""
        ready, wanted = _count(live, "readyReplicas"), _wanted(live)
        return Health(Reason.DEGRADED if ready else Reason.DOWN, f"{self.text}: {ready} of {wanted} replicas are ready")

    def suspend(self, obj: Json) -> None:
        """No replicas."""
        obj.setdefault("spec", {})["replicas"] = 0

    def suspended(self, live: Json) -> Health:
        """At rest when no replica is left."""
        left = _count(live, "replicas")
        if left == 0:
            return Health(Reason.SUSPENDED, f"{self.text} has no replicas")
        return Health(Reason.SUSPENDING, f"{self.text}: {left} replicas are still there")


class Deployment(_Replicated):
    """apps/v1 Deployment."""

    api_version, kind = "apps/v1", "Deployment"


class StatefulSet(_Replicated):
    """apps/v1 StatefulSet."""

    api_version, kind = "apps/v1", "StatefulSet"


class ReplicaSet(_Replicated):
    """apps/v1 ReplicaSet."""

    api_version, kind = "apps/v1", "ReplicaSet"


class DaemonSet(Workload):
    """apps/v1 DaemonSet. It has no replicas to take away, so suspending deletes it."""

    api_version, kind = "apps/v1", "DaemonSet"
    delete_on_suspend = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """Ready when every node that should have a pod has a ready one; no such node is fine."""
        stale = stale_generation(live, operation)
        if stale is not None:
            return stale
        wanted, ready = _count(live, "desiredNumberScheduled"), _count(live, "numberReady")
        if ready >= wanted:
            return Health(Reason.HEALTHY, f"{ready} of {wanted} pods are ready" if wanted else "no node matches")
        return Health(_BY_OPERATION[operation], f"{self.text}: {ready} of {wanted} pods are ready")

    def grade(self, live: Json) -> Health:
        """Some ready: degraded. None where some should be: down."""
        wanted, ready = _count(live, "desiredNumberScheduled"), _count(live, "numberReady")
        if wanted == 0:
            fresh = stale_generation(live, Operation.NONE) is None
            return Health(Reason.HEALTHY if fresh else Reason.DEGRADED, f"{self.text}: no node is known to match")
        return Health(Reason.DEGRADED if ready else Reason.DOWN, f"{self.text}: {ready} of {wanted} pods are ready")

    def suspended(self, live: Json) -> Health:
        """At once: what follows is its deletion."""
        return Health(Reason.SUSPENDED, f"{self.text} is deleted while suspended")


class Pod(Workload):
    """v1 Pod. It cannot pause, so suspending deletes it."""

    api_version, kind = "v1", "Pod"
    delete_on_suspend = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """Ready when it runs and all its containers are ready; failing when one of them cannot stay up."""
        status = live.get("status") or {}
        containers = status.get("containerStatuses") or []
        for found in containers:
            trouble = _trouble(found)
            if trouble:
                return Health(Reason.FAILING, f"{self.text}: container {found.get('name')} {trouble}")
        if status.get("phase") == "Running" and all(found.get("ready") for found in containers):
            return Health(Reason.HEALTHY, "the pod runs and its containers are ready")
        reason = Reason.UPDATING if operation is Operation.UPDATED else Reason.CREATING
        return Health(reason, f"{self.text} is {str(status.get('phase') or 'Pending').lower()}")

    def grade(self, live: Json) -> Health:
        """Running: degraded. Anything else: down."""
        phase = (live.get("status") or {}).get("phase") or "Pending"
        return Health(Reason.DEGRADED if phase == "Running" else Reason.DOWN, f"{self.text} is {phase.lower()}, not all containers ready")

    def suspended(self, live: Json) -> Health:
        """At once: what follows is its deletion."""
        return Health(Reason.SUSPENDED, f"{self.text} is deleted while suspended")


class Job(Task):
    """batch/v1 Job. Suspending stops its pods, and deletes it once they are gone."""

    api_version, kind = "batch/v1", "Job"
    delete_on_suspend = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its conditions Complete and Failed; running while it has active pods."""
        for condition in (live.get("status") or {}).get("conditions") or []:
            if condition.get("status") == "True" and condition.get("type") == "Complete":
                return Health(Reason.COMPLETED, "the job is complete")
            if condition.get("status") == "True" and condition.get("type") == "Failed":
                said = condition.get("message")
                return Health(Reason.TASK_FAILING, f"{self.text} failed" + (f": {said}" if said else ""))
        active = _count(live, "active")
        if active:
            return Health(Reason.TASK_RUNNING, f"{self.text}: {active} pods are active")
        return Health(Reason.TASK_PENDING, f"{self.text} has no pods yet")

    def suspend(self, obj: Json) -> None:
        """The API's own switch."""
        obj.setdefault("spec", {})["suspend"] = True

    def suspended(self, live: Json) -> Health:
        """At rest when the switch is on and no pod is active."""
        active = _count(live, "active")
        if (live.get("spec") or {}).get("suspend") and not active:
            return Health(Reason.SUSPENDED, f"{self.text} is suspended")
        return Health(Reason.SUSPENDING, f"{self.text}: {active} pods are still active")


def stale_generation(live: Json, operation: Operation) -> Health | None:
    """What to say while the kind's controller has not seen the newest spec; None when it has."""
    generation = live["metadata"].get("generation") or 0
    if _count(live, "observedGeneration") >= generation:
        return None
    reason = Reason.CREATING if operation is Operation.CREATED else Reason.UPDATING
    return Health(reason, f"{live['kind']} {live['metadata']['name']}: its controller has not seen generation {generation} yet")


def _trouble(found: Json) -> str:
    state = found.get("state") or {}
    if (state.get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return "is in CrashLoopBackOff"
    code = (state.get("terminated") or {}).get("exitCode") or 0
    return f"ended with exit code {code}" if code else ""


def _count(live: Json, field: str) -> int:
    return (live.get("status") or {}).get(field) or 0


def _wanted(live: Json) -> int:
    replicas = (live.get("spec") or {}).get("replicas")
    return 1 if replicas is None else replicas
