"""How each ready-made kind tells how it is: pure functions of the live object."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.components import (
    HPA,
    PV,
    PVC,
    CronJob,
    DaemonSet,
    Deployment,
    Ingress,
    Job,
    Operation,
    Pod,
    ReplicaSet,
    Service,
    StatefulSet,
    kinds,
)

NAME = {"metadata": {"name": "x"}}


def live(kind: Any, status: Any = None, spec: Any = None, generation: int = 1) -> Any:
    return {"kind": kind.kind, "metadata": {"name": "x", "generation": generation}, "spec": spec or {}, "status": status or {}}


def seen(**status: Any) -> Any:
    return {"observedGeneration": 1, **status}


CREATED, UPDATED, NONE = Operation.CREATED, Operation.UPDATED, Operation.NONE


def condition(type: str, status: str, message: str = "") -> Any:
    return {"conditions": [{"type": type, "status": status, "message": message}]}


def container(state: Any, ready: bool = False) -> Any:
    return {"containerStatuses": [{"name": "c", "ready": ready, "state": state}]}


CONVERGENCE = [
    (Deployment, CREATED, live(Deployment), "Creating", "Deployment x: its controller has not seen generation 1 yet"),
    (
        Deployment,
        UPDATED,
        live(Deployment, seen(readyReplicas=1), generation=2),
        "Updating",
        "Deployment x: its controller has not seen generation 2 yet",
    ),
    (Deployment, NONE, live(Deployment, seen(readyReplicas=1)), "Healthy", "1 of 1 replicas are ready"),
    (Deployment, NONE, live(Deployment, seen(), {"replicas": 0}), "Healthy", "0 of 0 replicas are ready"),
    (Deployment, NONE, live(Deployment, seen(readyReplicas=1), {"replicas": 3}), "Scaling", "Deployment x: 1 of 3 replicas are ready"),
    (Deployment, CREATED, live(Deployment, seen(), {"replicas": 3}), "Creating", "Deployment x: 0 of 3 replicas are ready"),
    (Deployment, UPDATED, live(Deployment, seen(readyReplicas=4), {"replicas": 3}), "Updating", "Deployment x: 4 of 3 replicas are ready"),
    (StatefulSet, NONE, live(StatefulSet, seen(readyReplicas=1)), "Healthy", "1 of 1 replicas are ready"),
    (ReplicaSet, NONE, live(ReplicaSet, seen()), "Scaling", "ReplicaSet x: 0 of 1 replicas are ready"),
    (DaemonSet, NONE, live(DaemonSet, seen()), "Healthy", "no node matches"),
    (DaemonSet, NONE, live(DaemonSet, seen(desiredNumberScheduled=2, numberReady=2)), "Healthy", "2 of 2 pods are ready"),
    (DaemonSet, UPDATED, live(DaemonSet, seen(desiredNumberScheduled=2, numberReady=1)), "Updating", "DaemonSet x: 1 of 2 pods are ready"),
    (DaemonSet, CREATED, live(DaemonSet), "Creating", "DaemonSet x: its controller has not seen generation 1 yet"),
    (Pod, CREATED, live(Pod), "Creating", "Pod x is pending"),
    (Pod, UPDATED, live(Pod, {"phase": "Running", **container({})}), "Updating", "Pod x is running"),
    (
        Pod,
        NONE,
        live(Pod, {"phase": "Running", **container({"running": {}}, ready=True)}),
        "Healthy",
        "the pod runs and its containers are ready",
    ),
    (Pod, NONE, live(Pod, container({"waiting": {"reason": "CrashLoopBackOff"}})), "Failing", "Pod x: container c is in CrashLoopBackOff"),
    (Pod, NONE, live(Pod, container({"terminated": {"exitCode": 137}})), "Failing", "Pod x: container c ended with exit code 137"),
    (Job, CREATED, live(Job), "TaskPending", "Job x has no pods yet"),
    (Job, NONE, live(Job, {"active": 2}), "TaskRunning", "Job x: 2 pods are active"),
    (Job, NONE, live(Job, condition("Complete", "True")), "Completed", "the job is complete"),
    (Job, NONE, live(Job, condition("Failed", "True", "backoff limit")), "TaskFailing", "Job x failed: backoff limit"),
    (Job, NONE, live(Job, condition("Failed", "False")), "TaskPending", "Job x has no pods yet"),
    (CronJob, NONE, live(CronJob), "OperationPending", "CronJob x has not been due yet"),
    (CronJob, NONE, live(CronJob, {"lastScheduleTime": "2027-01-01T00:00:00Z"}), "Operational", "last scheduled at 2027-01-01T00:00:00Z"),
    (Service, NONE, live(Service), "Operational", "the service needs no address from outside"),
    (Service, NONE, live(Service, spec={"type": "LoadBalancer"}), "OperationPending", "Service x has no address yet"),
    (Ingress, NONE, live(Ingress, {"loadBalancer": {"ingress": [{}]}}), "OperationPending", "Ingress x has no address yet"),
    (Ingress, NONE, live(Ingress, {"loadBalancer": {"ingress": [{"hostname": "h"}]}}), "Operational", "reachable at h"),
    (HPA, NONE, live(HPA), "OperationPending", "HorizontalPodAutoscaler x does not say yet whether scaling is active"),
    (HPA, NONE, live(HPA, condition("ScalingActive", "True")), "Operational", "scaling is active"),
    (HPA, NONE, live(HPA, condition("ScalingActive", "False", "no metrics")), "OperationFailing", "HorizontalPodAutoscaler x: no metrics"),
    (HPA, NONE, live(HPA, condition("AbleToScale", "False")), "OperationFailing", "HorizontalPodAutoscaler x: it is not able to scale"),
    (PV, NONE, live(PV, {"phase": "Available"}), "Operational", "the volume is available"),
    (PV, NONE, live(PV), "OperationPending", "PersistentVolume x is pending"),
    (PV, NONE, live(PV, {"phase": "Released"}), "OperationFailing", "PersistentVolume x is released"),
    (PVC, NONE, live(PVC, {"phase": "Bound"}), "Operational", "the claim is bound"),
    (PVC, NONE, live(PVC, {"phase": "Pending"}), "OperationPending", "PersistentVolumeClaim x is not bound yet"),
    (PVC, NONE, live(PVC, {"phase": "Lost"}), "OperationFailing", "PersistentVolumeClaim x has lost its volume"),
    (kinds.ConfigMap, CREATED, live(kinds.ConfigMap), "Healthy", "ConfigMap exists"),
]


@pytest.mark.parametrize(
    ("kind", "operation", "obj", "reason", "message"), CONVERGENCE, ids=[f"{row[0].kind}-{row[3]}-{n}" for n, row in enumerate(CONVERGENCE)]
)
def test_how_far_a_kind_is(kind: Any, operation: Operation, obj: Any, reason: str, message: str) -> None:
    """By its live object and by what applying it did."""
    found = kind(NAME).health(obj, operation)
    assert (found.reason, found.message) == (reason, message)


GRADES = [
    (Deployment, live(Deployment, {"readyReplicas": 1}, {"replicas": 2}), "Degraded"),
    (Deployment, live(Deployment), "Down"),
    (DaemonSet, live(DaemonSet, seen()), "Healthy"),
    (DaemonSet, live(DaemonSet), "Degraded"),
    (DaemonSet, live(DaemonSet, {"desiredNumberScheduled": 2, "numberReady": 1}), "Degraded"),
    (DaemonSet, live(DaemonSet, {"desiredNumberScheduled": 2}), "Down"),
    (Pod, live(Pod, {"phase": "Running"}), "Degraded"),
    (Pod, live(Pod), "Down"),
    (CronJob, live(CronJob), "Healthy"),
    (Ingress, live(Ingress), "Degraded"),
    (HPA, live(HPA, condition("AbleToScale", "False")), "Down"),
    (PV, live(PV, {"phase": "Failed"}), "Down"),
    (PVC, live(PVC, {"phase": "Lost"}), "Down"),
    (PVC, live(PVC), "Degraded"),
    (PVC, live(PVC, {"phase": "Bound"}), "Healthy"),
]


@pytest.mark.parametrize(("kind", "obj", "reason"), GRADES, ids=[f"{row[0].kind}-{row[2]}-{n}" for n, row in enumerate(GRADES)])
def test_how_bad_it_is_past_the_grace(kind: Any, obj: Any, reason: str) -> None:
    """Something left is degraded, nothing left is down."""
    assert kind(NAME).graded(obj).reason == reason


RESTS = [
    (Deployment, {"replicas": 0}, live(Deployment, {"replicas": 2}), "Suspending", False),
    (Deployment, {"replicas": 0}, live(Deployment), "Suspended", False),
    (StatefulSet, {"replicas": 0}, live(StatefulSet), "Suspended", False),
    (ReplicaSet, {"replicas": 0}, live(ReplicaSet), "Suspended", False),
    (DaemonSet, None, live(DaemonSet, {"numberReady": 2}), "Suspended", True),
    (Pod, None, live(Pod), "Suspended", True),
    (Job, {"suspend": True}, live(Job, {"active": 1}, {"suspend": True}), "Suspending", True),
    (Job, {"suspend": True}, live(Job, {}, {"suspend": True}), "Suspended", True),
    (CronJob, {"suspend": True}, live(CronJob, {"active": [{}]}, {"suspend": True}), "Suspending", False),
    (CronJob, {"suspend": True}, live(CronJob, {}, {"suspend": True}), "Suspended", False),
    (Service, None, live(Service), "Suspended", True),
    (HPA, None, live(HPA), "Suspended", True),
    (Ingress, None, live(Ingress), "Suspended", False),
    (PVC, None, live(PVC), "Suspended", False),
    (PV, None, live(PV), "Suspended", False),
]


@pytest.mark.parametrize(
    ("kind", "spec", "obj", "reason", "deleted"), RESTS, ids=[f"{row[0].kind}-{row[3]}-{n}" for n, row in enumerate(RESTS)]
)
def test_how_a_kind_is_put_to_rest(kind: Any, spec: Any, obj: Any, reason: str, deleted: bool) -> None:
    """What is changed in the desired object, when that has come to rest, and whether deletion follows."""
    resource = kind(NAME)
    assert resource.put_to_rest({"metadata": {"name": "x"}}).get("spec") == spec
    assert resource.rest(obj).reason == reason
    assert resource.delete_on_suspend is deleted


def test_every_ready_made_kind_is_served_by_the_embedded_server() -> None:
    """No kind is misspelt: each is known under that apiVersion."""
    from fiferail.apiserver.builtin import kinds as served

    known = {(f"{kind.group}/{version}" if kind.group else version, kind.kind) for kind in served() for version in kind.versions}
    made = {(found.api_version, found.kind) for name in kinds.__all__ if (found := getattr(kinds, name))}
    assert made <= known
    assert len(made) == 21
