"""Reconciles, queues and leadership for Prometheus. Needs the extra `metrics`; imported only by who asks for metrics.

    Manager(..., metrics=True, health="0.0.0.0:8081")      # served as /metrics beside /healthz and /readyz
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, generate_latest

from .hooks import ControllerHook

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300)


class PrometheusControllerHook(ControllerHook):
    """By controller: reconciles by result, their seconds, keys that wait, keys that are worked on; and whether this process leads."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        by = ("controller",)
        self._results = Counter("fiferail_reconciles", "Reconciles by result", (*by, "result"), registry=registry)
        text = "Seconds of a reconcile, its flush included"
        self._seconds = Histogram("fiferail_reconcile_seconds", text, by, buckets=_SECONDS, registry=registry)
        self._waiting = Gauge("fiferail_queue_keys", "Keys that wait to be reconciled", by, registry=registry)
        self._working = Gauge("fiferail_queue_working", "Keys that are being reconciled", by, registry=registry)
        self._leading = Gauge("fiferail_leading", "Whether this process leads", registry=registry)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """Counts a reconcile."""
        self._results.labels(controller, result).inc()
        self._seconds.labels(controller).observe(seconds)

    def waiting(self, controller: str, keys: int, working: int) -> None:
        """Shows the queue."""
        self._waiting.labels(controller).set(keys)
        self._working.labels(controller).set(working)

    def leading(self, leads: bool) -> None:
        """Shows leadership."""
        self._leading.set(1 if leads else 0)


def page(registry: CollectorRegistry) -> bytes:
    """The text that a scrape gets."""
    return generate_latest(registry)
