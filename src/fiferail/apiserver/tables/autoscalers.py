"""The Targets cell of a HorizontalPodAutoscaler: what each metric is at, and what it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...objects.tree import Json

_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SHOWN = 2


def targets(obj: Json) -> str:
    """All metrics of an autoscaler in one line; autoscaling/v1 has only the processor's."""
    spec, status = obj.get("spec", {}), obj.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    if not metrics and spec.get("targetCPUUtilizationPercentage") is not None:
        now = status.get("currentCPUUtilizationPercentage")
        return f"cpu: {'<unknown>' if now is None else f'{now}%'}/{spec['targetCPUUtilizationPercentage']}%"
    if not metrics:
        return "<none>"
    texts = [_metric(metric, current[index] if index < len(current) else {}) for index, metric in enumerate(metrics)]
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _metric(metric: Json, status: Json) -> str:
    source = _SOURCES.get(metric.get("type", ""))
    if source is None:
        return "<unknown type>"
    wanted, seen = metric.get(source) or {}, (status.get(source) or {}).get("current") or {}
    target = wanted.get("target") or {}
    prefix = f"{wanted.get('name', '')}: " if source in ("resource", "containerResource") else ""
    if target.get("averageValue") is not None or source == "pods":
        note = " (avg)" if source in ("external", "object") else ""
        return f"{prefix}{seen.get('averageValue', '<unknown>')}/{target.get('averageValue', '')}{note}"
    if not prefix:
        return f"{seen.get('value', '<unknown>')}/{target.get('value', '<unknown>')}"
    return f"{prefix}{_percent(seen, '<unknown>')}/{_percent(target, '<auto>')}"


def _percent(holder: Json, missing: str) -> str:
    value = holder.get("averageUtilization")
    return missing if value is None else f"{value}%"
