"""How a kind is spelled, when all that is known of it is a plural in lower case.

Called by `project`, after what the audited sources themselves say. Built-in kinds are known; others are taken apart into words that kinds
are commonly made of, and left as they are when that does not come out even.
"""

from __future__ import annotations

KNOWN = (
    "ConfigMap", "ServiceAccount", "DaemonSet", "StatefulSet", "ReplicaSet", "CronJob", "PersistentVolume", "PersistentVolumeClaim",
    "ClusterRole", "RoleBinding", "ClusterRoleBinding", "CustomResourceDefinition", "NetworkPolicy", "HorizontalPodAutoscaler",
    "PodDisruptionBudget", "StorageClass", "ResourceQuota", "LimitRange", "PriorityClass", "EndpointSlice", "ReplicationController",
    "IngressClass", "PodTemplate", "ControllerRevision", "VolumeAttachment",
)  # fmt: skip
_TEXT = """
access account agent alert app application attachment autoscaler backup binding bridge broker bucket budget bundle cache catalog
certificate chart claim class client cluster config connection connector control controller credential cron custom daemon
data database definition deployment disk disruption domain endpoint endpoints environment event export external federated file
flow function gateway graph group health helm hook host image import index ingress instance issuer job key limit link listener
load log machine managed manifest manual map master member mesh metric migration mode model monitor mount namespace network node notebook
object operator order pipeline plan plane pod policy pool priority probe profile project provider proxy queue quota range redis
reference registry release replica report repository request resource restore result role route rule run runtime schedule
scheduled secret security selector serverless service set sidecar site slice snapshot source space spec stack state stateful
storage stream subscription target task template tenant test token topic training trigger tunnel user vault version virtual
volume webhook work worker workflow workload workspace zone
"""
_WORDS = frozenset(_TEXT.split())


def in_words(kind: str) -> str:
    """Virtualmachineinstance as VirtualMachineInstance, when it is made of words that kinds are made of; unchanged otherwise."""
    best: dict[int, list[str]] = {0: []}
    low = kind.lower()
    for end in range(1, len(low) + 1):
        found = [best[start] + [low[start:end]] for start in range(end) if start in best and low[start:end] in _WORDS]
        if found:
            best[end] = min(found, key=len)
    return "".join(word.capitalize() for word in best[len(low)]) if len(low) in best else kind
