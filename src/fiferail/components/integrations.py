"""Ready-made integrations: how a CronJob, a Service, an Ingress, an autoscaler and volumes tell how they are.

Called through `Resource`. Pure functions of the live object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import conditions
from .reasons import Health, Reason
from .resource import Integration, Operation

if TYPE_CHECKING:
    from ..objects.tree import Json


class CronJob(Integration):
    """batch/v1 CronJob: operational once it has been scheduled. Not having been due yet is no fault, whatever the grace."""

    api_version, kind = "batch/v1", "CronJob"
    suppresses_grace_warning = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its last schedule."""
        last = (live.get("status") or {}).get("lastScheduleTime")
        if last:
            return Health(Reason.OPERATIONAL, f"last scheduled at {last}")
        return Health(Reason.OPERATION_PENDING, f"{self.text} has not been due yet")

    def grade(self, live: Json) -> Health:
        """Never at fault."""
        return Health(Reason.HEALTHY, self.converge(live, Operation.NONE).message)

    def suspend(self, obj: Json) -> None:
        """The API's own switch."""
        obj.setdefault("spec", {})["suspend"] = True

    def suspended(self, live: Json) -> Health:
        """At rest when the switch is on and none of its jobs is active."""
        active = len((live.get("status") or {}).get("active") or [])
        if (live.get("spec") or {}).get("suspend") and not active:
            return Health(Reason.SUSPENDED, f"{self.text} is suspended")
        return Health(Reason.SUSPENDING, f"{self.text}: {active} jobs are still active")


class Service(Integration):
    """v1 Service: operational at once, but for a load balancer, which needs an address. Suspending deletes it."""

    api_version, kind = "v1", "Service"
    delete_on_suspend = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its type, and its address."""
        if (live.get("spec") or {}).get("type") != "LoadBalancer":
            return Health(Reason.OPERATIONAL, "the service needs no address from outside")
        return _addressed(self.text, live)

    def suspended(self, live: Json) -> Health:
        """At once: what follows is its deletion."""
        return Health(Reason.SUSPENDED, f"{self.text} is deleted while suspended")


class Ingress(Integration):
    """networking.k8s.io/v1 Ingress: operational with an address. It stays while suspended: its backends are what rests."""

    api_version, kind = "networking.k8s.io/v1", "Ingress"

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its address."""
        return _addressed(self.text, live)


class HorizontalPodAutoscaler(Integration):
    """autoscaling/v2: operational while ScalingActive. Suspending deletes it, else it would undo the rest of what it scales."""

    api_version, kind = "autoscaling/v2", "HorizontalPodAutoscaler"
    delete_on_suspend = True

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its conditions AbleToScale and ScalingActive."""
        found = (live.get("status") or {}).get("conditions") or []
        able, active = conditions.get(found, "AbleToScale") or {}, conditions.get(found, "ScalingActive") or {}
        if able.get("status") == "False":
            return Health(Reason.OPERATION_FAILING, f"{self.text}: {able.get('message') or 'it is not able to scale'}")
        if active.get("status") == "True":
            return Health(Reason.OPERATIONAL, active.get("message") or "scaling is active")
        if active.get("status") == "False":
            return Health(Reason.OPERATION_FAILING, f"{self.text}: {active.get('message') or 'scaling is not active'}")
        return Health(Reason.OPERATION_PENDING, f"{self.text} does not say yet whether scaling is active")

    def suspended(self, live: Json) -> Health:
        """At once: what follows is its deletion."""
        return Health(Reason.SUSPENDED, f"{self.text} is deleted while suspended")


class PersistentVolume(Integration):
    """v1 PersistentVolume: operational while available or bound. Stays while suspended."""

    api_version, kind = "v1", "PersistentVolume"

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its phase."""
        phase = (live.get("status") or {}).get("phase") or "Pending"
        if phase in ("Available", "Bound"):
            return Health(Reason.OPERATIONAL, f"the volume is {phase.lower()}")
        failing = phase in ("Released", "Failed")
        return Health(Reason.OPERATION_FAILING if failing else Reason.OPERATION_PENDING, f"{self.text} is {phase.lower()}")


class PersistentVolumeClaim(Integration):
    """v1 PersistentVolumeClaim: operational once bound. Stays while suspended, with its data."""

    api_version, kind = "v1", "PersistentVolumeClaim"

    def converge(self, live: Json, operation: Operation) -> Health:
        """By its phase."""
        phase = (live.get("status") or {}).get("phase") or "Pending"
        if phase == "Bound":
            return Health(Reason.OPERATIONAL, "the claim is bound")
        if phase == "Lost":
            return Health(Reason.OPERATION_FAILING, f"{self.text} has lost its volume")
        return Health(Reason.OPERATION_PENDING, f"{self.text} is not bound yet")


def _addressed(text: str, live: Json) -> Health:
    entries = ((live.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    found = next((address for entry in entries if (address := entry.get("ip") or entry.get("hostname"))), None)
    if found:
        return Health(Reason.OPERATIONAL, f"reachable at {found}")
    return Health(Reason.OPERATION_PENDING, f"{text} has no address yet")
