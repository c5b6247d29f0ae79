"""The cells of a Pod: its containers' states boiled down to one word, as the server's pod printer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from . import Column
from .ages import moment, since

if TYPE_CHECKING:
    from ...objects.tree import Json


class _Summary(msgspec.Struct):
    """What the walk over the containers finds out."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted_at: str = ""

    def count_restarts(self, container: Json) -> None:
        self.restarts += container.get("restartCount") or 0
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        if finished and (moment(finished) or 0) > ((moment(self.restarted_at) or 0) if self.restarted_at else 0):
            self.restarted_at = finished


def _summary(pod: Json) -> _Summary:
    status = pod.get("status") or {}
    summary = _Summary(status.get("reason") or status.get("phase") or "")
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            summary.reason = "SchedulingGated"
    sidecars = _Summary(summary.reason)
    initializing = _initialize(pod, summary, sidecars)
    if not initializing or _condition(status, "Initialized"):
        summary.restarts, summary.restarted_at = sidecars.restarts, sidecars.restarted_at
        _run(status, summary)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            summary.reason = "Terminating"
    return summary


def _condition(status: Json, type_: str) -> bool:
    return next((entry.get("status") == "True" for entry in status.get("conditions") or [] if entry.get("type") == type_), False)


def _initialize(pod: Json, summary: _Summary, sidecars: _Summary) -> bool:
    """Walks the init containers up to the first that holds the pod up; True when one does."""
    inits = (pod.get("spec") or {}).get("initContainers") or []
    restartable = {entry.get("name") for entry in inits if entry.get("restartPolicy") == "Always"}
    for index, container in enumerate((pod.get("status") or {}).get("initContainerStatuses") or []):
        summary.count_restarts(container)
        sidecar = container.get("name") in restartable
        if sidecar:
            sidecars.count_restarts(container)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            summary.ready += 1 if container.get("ready") else 0
            continue
        if ended is not None:
            summary.reason = "Init:" + _ending(ended)
        elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
            summary.reason = "Init:" + waiting["reason"]
        else:
            summary.reason = f"Init:{index}/{len(inits)}"
        return True
    return False


def _ending(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _run(status: Json, summary: _Summary) -> None:
    """Walks the containers from the last to the first: the first one's trouble is the one that is shown."""
    running, failed = False, ""
    for container in reversed(status.get("containerStatuses") or []):
        summary.count_restarts(container)
        state = container.get("state") or {}
        if (state.get("waiting") or {}).get("reason"):
            summary.reason = state["waiting"]["reason"]
        elif state.get("terminated") is not None:
            summary.reason = _ending(state["terminated"])
            if state["terminated"].get("exitCode"):
                failed = summary.reason
        elif container.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        if running and _condition(status, "Ready"):
            summary.reason = "Running"
        elif failed:
            summary.reason = failed
        elif running:
            summary.reason = "NotReady"


def _ready(pod: Json, now: float) -> str:
    spec = pod.get("spec") or {}
    sidecars = sum(entry.get("restartPolicy") == "Always" for entry in spec.get("initContainers") or [])
    return f"{_summary(pod).ready}/{len(spec.get('containers') or []) + sidecars}"


def _restarts(pod: Json, now: float) -> str:
    summary = _summary(pod)
    if summary.restarts and summary.restarted_at:
        return f"{summary.restarts} ({since(summary.restarted_at, now)} ago)"
    return str(summary.restarts)


def _gates(pod: Json, now: float) -> str:
    gates = (pod.get("spec") or {}).get("readinessGates") or []
    status = pod.get("status") or {}
    return f"{sum(_condition(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}" if gates else "<none>"


def _ip(pod: Json, now: float) -> str:
    ips = (pod.get("status") or {}).get("podIPs") or [{}]
    return ips[0].get("ip") or "<none>"


POD = (
    Column("Ready", _ready),
    Column("Status", lambda pod, now: _summary(pod).reason),
    Column("Restarts", _restarts),
    Column("Age", lambda pod, now: since(pod["metadata"].get("creationTimestamp"), now)),
    Column("IP", _ip, priority=1),
    Column("Node", lambda pod, now: (pod.get("spec") or {}).get("nodeName") or "<none>", priority=1),
    Column("Nominated Node", lambda pod, now: (pod.get("status") or {}).get("nominatedNodeName") or "<none>", priority=1),
    Column("Readiness Gates", _gates, priority=1),
)


def pod_conditions(pod: Json) -> list[Json]:
    """The row condition of a pod that has ended."""
    phase = (pod.get("status") or {}).get("phase")
    message = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}.get(phase or "")
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []
