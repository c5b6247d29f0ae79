"""Objects that a kube-apiserver makes by itself before it is ready, beside the namespaces.

Left out, and listed as such: the roles and bindings of RBAC (everybody is allowed everything here), flow control, and the
addresses and endpoints that stand for the server's own network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...objects.tree import Json

_PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {"clusterIP": "10.0.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 6443}]},
}
_CLASSES = (
    ("system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."),
    (
        "system-cluster-critical",
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)


def objects() -> list[tuple[str, Json]]:
    """The path of each collection, and what is created there."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value, "description": text}
        for name, value, text in _CLASSES
    ]
    return [*((_PRIORITIES, made) for made in classes), ("/api/v1/namespaces/default/services", _SERVICE)]
