"""Field selectors of the built-in kinds, beyond metadata.name and metadata.namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...objects.tree import Json

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

#: Selector to the place of its value; the default is what an absent value counts as.
FIELDS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("", "Pod"): {
        "spec.nodeName": ("spec.nodeName", ""),
        "spec.restartPolicy": ("spec.restartPolicy", ""),
        "spec.schedulerName": ("spec.schedulerName", ""),
        "spec.serviceAccountName": ("spec.serviceAccountName", ""),
        "spec.hostNetwork": ("spec.hostNetwork", "false"),
        "status.phase": ("status.phase", ""),
        "status.podIP": ("status.podIP", ""),
        "status.podIPs": ("status.podIP", ""),
        "status.nominatedNodeName": ("status.nominatedNodeName", ""),
    },
    ("", "Event"): {
        **{f"involvedObject.{name}": (f"involvedObject.{name}", "") for name in _REFERENCE},
        "reason": ("reason", ""),
        "reportingComponent": ("reportingComponent", ""),
        "source": ("source.component", ""),
        "type": ("type", ""),
    },
    ("events.k8s.io", "Event"): {
        **{f"regarding.{name}": (f"regarding.{name}", "") for name in _REFERENCE},
        "reason": ("reason", ""),
        "reportingController": ("reportingController", ""),
        "type": ("type", ""),
    },
    ("", "Namespace"): {"status.phase": ("status.phase", "")},
    ("", "Node"): {"spec.unschedulable": ("spec.unschedulable", "false")},
    ("", "Secret"): {"type": ("type", "")},
    ("", "Service"): {"spec.clusterIP": ("spec.clusterIP", ""), "spec.type": ("spec.type", "")},
    ("", "ReplicationController"): {"status.replicas": ("status.replicas", "0")},
    ("apps", "ReplicaSet"): {"status.replicas": ("status.replicas", "0")},
    ("batch", "Job"): {"status.successful": ("status.succeeded", "0")},
}


def names(group: str, kind: str) -> tuple[str, ...]:
    """The selectors of a kind."""
    return tuple(FIELDS.get((group, kind), ()))


def values(group: str, kind: str, obj: Json) -> dict[str, str]:
    """Selector to value, as text."""
    found = {}
    for name, (place, default) in FIELDS.get((group, kind), {}).items():
        value = obj
        for step in place.split("."):
            value = (value or {}).get(step)
        found[name] = default if value is None else ("true" if value is True else "false" if value is False else str(value))
    return found
