"""What a component tells whoever counts. Without a recorder nothing is counted.

A condition is recorded only once it is written: what was staged and then refused never was. Give a recorder to the component
(`Component(..., metrics=recorder)`); writes of the status itself are counted by the writer's own hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from .resource import Operation


class Owner(msgspec.Struct, frozen=True):
    """Whose component it is."""

    controller: str
    kind: str
    name: str
    namespace: str


class Recorder(Protocol):
    """What can be told."""

    def condition(self, owner: Owner, condition: str, status: str, reason: str) -> None:
        """The condition says this, and the server has it."""

    def applied(self, owner: Owner, component: str, kind: str, operation: Operation) -> None:
        """A resource was applied."""

    def failed(self, owner: Owner, component: str, reason: str) -> None:
        """A component could not be reconciled."""

    def forget(self, owner: Owner) -> None:
        """The owner is gone; told by the controller that reconciled it."""


class PrometheusRecorder:
    """For Prometheus. Needs the extra `metrics`. Make one per process and give it to every component."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        from prometheus_client import REGISTRY, Counter, Gauge

        registry = registry or REGISTRY
        owner = ("controller", "kind", "name", "namespace")
        self._condition = Gauge(
            "fiferail_component_condition", "1 for what a component's condition says now",
            (*owner, "condition", "status", "reason"), registry=registry,
        )  # fmt: skip
        self._applied = Counter(
            "fiferail_component_applied", "Resources applied, by what that did",
            ("controller", "kind", "component", "resource", "operation"), registry=registry,
        )  # fmt: skip
        self._failed = Counter(
            "fiferail_component_errors", "Reconciles of components that failed", ("controller", "kind", "component", "reason"),
            registry=registry,
        )  # fmt: skip
        self._said: dict[tuple[Owner, str], tuple[str, str]] = {}

    def condition(self, owner: Owner, condition: str, status: str, reason: str) -> None:
        """Shows what the condition says, and no longer what it said."""
        labels = (owner.controller, owner.kind, owner.name, owner.namespace, condition)
        before = self._said.get((owner, condition))
        if before is not None and before != (status, reason):
            self._condition.remove(*labels, *before)
        self._said[owner, condition] = (status, reason)
        self._condition.labels(*labels, status, reason).set(1)

    def forget(self, owner: Owner) -> None:
        """The owner is gone: show nothing of it any more."""
        for key in [key for key in self._said if key[0] == owner]:
            self._condition.remove(owner.controller, owner.kind, owner.name, owner.namespace, key[1], *self._said.pop(key))

    def applied(self, owner: Owner, component: str, kind: str, operation: Operation) -> None:
        """Counts an apply."""
        self._applied.labels(owner.controller, owner.kind, component, kind, str(operation)).inc()

    def failed(self, owner: Owner, component: str, reason: str) -> None:
        """Counts a failure."""
        self._failed.labels(owner.controller, owner.kind, component, reason).inc()
