"""A hook that counts writes for Prometheus. Needs the extra `metrics`; imported only by who uses it.

    writer = fiferail.StatusWriter(client, field_manager="gadgets", hooks=[PrometheusHook()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY, Counter, Histogram

from ..errors import Conflict
from .hooks import Hook
from .outcome import Kind

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from .outcome import Outcome

_LABELS = ("kind", "manager")


class PrometheusHook(Hook):
    """Requests, outcomes, conflicts, rebases, repaired foreign writes, and seconds, by kind and field manager."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, text: str, *labels: str) -> Any:
            return Counter(f"fiferail_{name}", text, (*_LABELS, *labels), registry=registry)

        self._requests = counter("status_requests", "Requests sent for status writes")
        self._outcomes = counter("status_outcomes", "Status writes by outcome", "outcome")
        self._errors = counter("status_errors", "Status writes that ended in an error", "error")
        self._conflicts = counter("status_conflicts", "Status writes whose inputs had changed")
        self._rebases = counter("status_rebases", "Status writes repeated on the live object")
        self._foreign = counter("status_foreign_writes", "Claimed paths that another manager had written")
        self._seconds = Histogram("fiferail_status_seconds", "Seconds from flush to outcome", _LABELS, registry=registry)

    def finished(self, kind: str, manager: str, outcome: Outcome, seconds: float) -> None:
        """Counts an outcome."""
        self._requests.labels(kind, manager).inc(outcome.requests)
        self._outcomes.labels(kind, manager, str(outcome.kind)).inc()
        self._foreign.labels(kind, manager).inc(len(outcome.repaired))
        if outcome.kind is Kind.REBASED:
            self._rebases.labels(kind, manager).inc()
        self._seconds.labels(kind, manager).observe(seconds)

    def failed(self, kind: str, manager: str, error: Exception, seconds: float) -> None:
        """Counts an error."""
        self._errors.labels(kind, manager, _name(error)).inc()
        if isinstance(error, Conflict):
            self._conflicts.labels(kind, manager).inc()
        self._seconds.labels(kind, manager).observe(seconds)


def _name(error: Exception) -> str:
    return "Conflict" if isinstance(error, Conflict) else type(error).__name__
