"""What is checked exactly, per kind, and what is accepted unchecked: the list that the limits print.

A line of `EXACT` is held by recorded answers of the real server in `tests/apiserver_builtin/cases`. Whatever no line names is
accepted. Decoding (types, numbers, times, quantities, unknown members), defaults, names, labels and annotations are exact for all.
"""

from __future__ import annotations

EXACT: dict[str, tuple[str, ...]] = {
    "ConfigMap": ("keys", "keys in both data and binaryData", "total size", "immutability"),
    "Secret": ("keys", "total size", "the members each kubernetes.io type requires", "type cannot change", "immutability"),
    "Namespace": ("spec.finalizers",),
    "Event (core and events.k8s.io)": ("namespace of the object", "required members and lengths", "what events.k8s.io forbids and fixes"),
    "Lease": ("leaseDurationSeconds", "leaseTransitions"),
    "Pod and every pod template": (
        "containers and init containers: names, images, ports, environment, mounts, probes, hooks, pull and restart policies",
        "resources: names, amounts, requests against limits",
        "volumes: names, one source each; emptyDir, hostPath, secret, configMap, persistentVolumeClaim, projected",
        "security contexts: ids, sysctls, seccomp, privileged (refused: the server does not allow it)",
        "restart, DNS and host network policies, DNS configuration",
        "affinity to pods, spread constraints, tolerations, gates, host aliases, hostname, deadlines",
    ),
    "Pod": ("which members may change", "priority, preemption policy, overhead and runtime class (admission)"),
    "Deployment, ReplicaSet, DaemonSet, StatefulSet, ReplicationController": (
        "selector and template labels",
        "strategies, replicas, deadlines, limits",
        "immutable selectors, and what may change of a StatefulSet",
        "counts of the status (not of ReplicationController)",
    ),
    "Job": ("counts and limits", "completion mode", "selector and labels", "restart policy", "immutable members"),
    "CronJob": ("schedule", "time zone", "policies and limits", "the job template", "length of the name"),
    "Service": ("type", "ports", "addresses and families (single stack IPv4)", "affinity", "traffic policies", "node ports", "status"),
    "Ingress": ("backends", "hosts", "paths", "TLS", "class annotation against class name"),
    "IngressClass": ("controller", "kind and name of the parameters"),
    "NetworkPolicy": ("selectors", "ports", "peers", "IP blocks", "policy types"),
    "Role, ClusterRole": ("verbs, groups, resources, URLs", "aggregation"),
    "RoleBinding, ClusterRoleBinding": ("roleRef and its immutability", "subjects"),
    "PersistentVolumeClaim": ("access modes", "storage", "classes and modes", "which members may change"),
    "PersistentVolume": ("access modes", "capacity", "that there is a source"),
    "StorageClass": ("provisioner", "policies", "immutable members"),
    "PodDisruptionBudget": ("counts and percentages", "selector", "policy", "status with its conditions"),
    "HorizontalPodAutoscaler (v2)": ("replicas", "target", "metrics", "behavior", "counts of the status"),
    "PriorityClass": ("system names and values", "immutable members"),
    "RuntimeClass": ("handler",),
    "ControllerRevision": ("data and revision",),
    "EndpointSlice": ("address type",),
}

#: What the embedded server accepts, or does otherwise, where the real one would have more to say.
LIMITS: tuple[str, ...] = (
    "Anything that the list of exact checks does not name is accepted: ephemeral containers, resize policies, resource claims, restart "
    "rules, pod failure and success policies, rare volume sources, pod-level resources, Windows pods, endpoints, nodes.",
    "LimitRange and ResourceQuota are stored and not enforced.",
    "autoscaling/v1 is not served: HorizontalPodAutoscaler is v2 only.",
    "Cluster IPs come from 10.0.0.0/24 and node ports from 30000-32767, the lowest free one first; the real server picks at random. "
    "IPAddress objects are not made for them. Dual stack is not configured.",
    "RBAC bootstrap roles and bindings, flow control objects, and the server's own Endpoints, EndpointSlice and Lease do not exist.",
    "Where an error shows a map or list that was sent empty, it is shown as null; a NetworkPolicy whose only change is between an empty "
    "list and none keeps its generation.",
    "A changed Pod or PersistentVolumeClaim is refused without the diff of internal structs that the real server appends; a changed "
    "template of a Job is shown as JSON and not as an internal struct.",
    "Of the errors about several members of one map the real server's order is random; here they are sorted.",
    "Warnings are given for names, environment variables, ports, selectors, grace periods, fractional amounts, services, ingress classes "
    "and schedules; certificates in TLS secrets are not parsed.",
    "Pod subresources binding, eviction, exec, attach, log, portforward, proxy, resize and ephemeralcontainers, and "
    "serviceaccounts/token, are refused.",
)


def markdown() -> str:
    """The page that prints both lists; `scripts/render_builtin.py` writes it."""
    lines = [
        "# Built-in kinds",
        "",
        "Written by `scripts/render_builtin.py`. Decoding, defaults, names, labels, annotations and field ownership of built-in kinds are "
        "those of kube-apiserver 1.36.3.",
        "The checks below are exact, text included; each is held by recorded answers of the real server. What no line names is accepted.",
        "",
        "| kind | what is checked |",
        "| --- | --- |",
        *(f"| {kind} | {'; '.join(checks)} |" for kind, checks in EXACT.items()),
        "",
        "## Where the embedded server differs",
        "",
        *(f"- {limit}" for limit in LIMITS),
    ]
    return "\n".join(lines) + "\n"
