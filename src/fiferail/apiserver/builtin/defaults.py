"""Defaults of the built-in kinds, one function per Go type, applied wherever the type occurs.

The server's defaulting is by type: a PodSpec gets the same members in a Pod and in a CronJob. `apply` walks an object that
`gotypes.decode` made, calls the function of each type on the way down, and then fills the members whose declaration names a default.
Functions get the value as decoded (members with zero values are absent unless the type always prints them) and return it, or a
copy with more in it. Values that depend on anything but the object (cluster IPs, uids, times) are set elsewhere (`strategies`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...objects.tree import ABSENT, Json, same
from . import conversions, images, quantity
from .gotypes import List, Map, Member, Pointer, StructType, Type

if TYPE_CHECKING:
    from collections.abc import Callable


def apply(obj: Json, type: StructType, known: frozenset[int] = frozenset()) -> Json:
    """The object with its defaults; the same object when nothing was missing. `known`: identities of values that have theirs."""
    return _walk(obj, type, known)


def _walk(value: Json, type: Type, known: frozenset[int]) -> Json:
    if value is None or not _reaches_defaults(type) or id(value) in known:
        return value
    if isinstance(type, Pointer):
        return _walk(value, type.target, known)
    if isinstance(type, List):
        made = [_walk(member, type.item, known) for member in value]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    if isinstance(type, Map):
        if type.go_name == "v1.ResourceList":
            return _changed(value, {name: quantity.rounded_up(amount) for name, amount in value.items()})
        return _changed(value, {name: _walk(member, type.item, known) for name, member in value.items()})
    return _walk_struct(value, type, known) if isinstance(type, StructType) else value


def _walk_struct(value: Json, type: StructType, known: frozenset[int]) -> Json:
    own = _TABLE.get(type.id)
    if own:
        made = own(value)
        value = value if same(made, value) else made
    members = _relevant(type)
    changes = {}
    for member in members:
        given = value.get(member.name)
        if member.default is not ABSENT and (given is None or (given == "" and not isinstance(member.type, Pointer))):
            changes[member.name] = member.default
        elif given is not None:
            made = _walk(given, member.type, known)
            if made is not given:
                changes[member.name] = made
    if changes:
        value = {**value, **changes}
    converted = conversions.TABLE.get(type.id)
    return converted(value) if converted else value


def _changed(value: Json, made: Json) -> Json:
    return value if all(made[name] is value[name] or made[name] == value[name] for name in value) else made


@cache
def _relevant(type: StructType) -> tuple[Member, ...]:
    return tuple(member for member in type.members.values() if member.default is not ABSENT or _reaches_defaults(member.type))


_REACHES: dict[Type, bool] = {}


def _reaches_defaults(type: Type) -> bool:
    """Whether anything at or below this type has a default."""
    known = _REACHES.get(type)
    if known is None:
        _REACHES[type] = False  # a type that contains itself: decided by its other members
        if isinstance(type, StructType):
            known = (
                type.id in _TABLE
                or type.id in conversions.TABLE
                or any(m.default is not ABSENT or _reaches_defaults(m.type) for m in type.members.values())
            )
        else:
            inner = type.inner()
            known = type.go_name == "v1.ResourceList" or (inner is not None and _reaches_defaults(inner))
        _REACHES[type] = known
    return known


def filled(value: Json, **members: Json) -> Json:
    """The value with the members that it lacks (null and empty text count as lacking)."""
    missing = {name: given for name, given in members.items() if value.get(name) is None or value.get(name) == ""}
    return {**value, **missing} if missing else value


def _fills(**members: Json) -> Callable[[Json], Json]:
    return lambda value: filled(value, **members)


# --- core


def _container(container: Json) -> Json:
    return filled(
        container,
        imagePullPolicy=images.pull_policy(container.get("image", "")),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )


def _volume(volume: Json) -> Json:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        return {**volume, "emptyDir": {}}
    image = volume.get("image")
    if image and not image.get("pullPolicy"):
        return {**volume, "image": {**image, "pullPolicy": images.pull_policy(image.get("reference", ""))}}
    return volume


def _service(service: Json) -> Json:
    spec = filled(service["spec"], sessionAffinity="None", type="ClusterIP")
    affinity = spec["sessionAffinity"]
    if affinity == "None" and "sessionAffinityConfig" in spec:
        spec = {name: value for name, value in spec.items() if name != "sessionAffinityConfig"}
    if affinity == "ClientIP" and ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds") is None:
        spec = {**spec, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
    if "ports" in spec:
        spec = {**spec, "ports": [_service_port(port) for port in spec["ports"]]}
    kind = spec["type"]
    external = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if external:
        spec = filled(spec, externalTrafficPolicy="Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP") and spec.get("internalTrafficPolicy") is None:
        spec = {**spec, "internalTrafficPolicy": "Cluster"}
    if kind == "LoadBalancer":
        spec = filled(spec, allocateLoadBalancerNodePorts=True)
    return {**service, "spec": spec, "status": _load_balancer_modes(service.get("status", {}), kind)}


def _service_port(port: Json) -> Json:
    port = filled(port, protocol="TCP")
    return {**port, "targetPort": port["port"]} if port.get("targetPort") in (0, "", None) else port


def _load_balancer_modes(status: Json, kind: str) -> Json:
    ingress = (status.get("loadBalancer") or {}).get("ingress")
    if kind != "LoadBalancer" or not ingress:
        return status
    points = [{**point, "ipMode": "VIP"} if point.get("ip") and point.get("ipMode") is None else point for point in ingress]
    return {**status, "loadBalancer": {**status["loadBalancer"], "ingress": points}}


def _pod(pod: Json) -> Json:
    spec = filled(pod["spec"], enableServiceLinks=True)
    for group in ("containers", "initContainers"):
        if spec.get(group):
            spec = {**spec, group: [_requests_from_limits(container) for container in spec[group]]}
            if spec.get("hostNetwork"):
                spec = {**spec, group: [_host_ports(container) for container in spec[group]]}
    return {**pod, "spec": _pod_requests(spec)}


def _requests_from_limits(container: Json) -> Json:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


def _host_ports(container: Json) -> Json:
    if not container.get("ports"):
        return container
    return {**container, "ports": [{**port, "hostPort": port.get("hostPort") or port["containerPort"]} for port in container["ports"]]}


def _pod_requests(spec: Json) -> Json:
    """Pod-level requests follow pod-level limits where no container asks for the resource."""
    resources = spec.get("resources")
    limits = (resources or {}).get("limits")
    if not limits:
        return spec
    asked: dict[str, Json] = {}
    for container in spec.get("containers") or ():
        for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
            total = quantity.parse(asked.get(name, "0")).value + quantity.parse(amount).value
            asked[name] = quantity.Quantity(total, quantity.parse(amount).style).printed()
    requests = {
        **limits,
        **{name: amount for name, amount in asked.items() if name in ("cpu", "memory")},
        **(resources.get("requests") or {}),
    }
    return {**spec, "resources": {**resources, "requests": requests}}


def _namespace(namespace: Json) -> Json:
    metadata = namespace["metadata"]
    name = metadata.get("name")
    if not name or (metadata.get("labels") or {}).get("kubernetes.io/metadata.name") == name:
        return namespace
    return {**namespace, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": name}}}


def _replication_controller(controller: Json) -> Json:
    template = controller["spec"].get("template")
    labels = ((template or {}).get("metadata") or {}).get("labels")
    return controller if not labels else _labels_from(labels, {**controller, "spec": filled(controller["spec"], selector=labels)})


def _labels_from(labels: Json, obj: Json) -> Json:
    return obj if obj["metadata"].get("labels") else {**obj, "metadata": {**obj["metadata"], "labels": labels}}


def _persistent_volume(volume: Json) -> Json:
    spec = filled(volume["spec"], persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    return {**volume, "spec": spec, "status": filled(volume["status"], phase="Pending")}


def _claim(claim: Json) -> Json:
    return {**claim, "status": filled(claim["status"], phase="Pending")}


def _endpoints(endpoints: Json) -> Json:
    subsets = endpoints.get("subsets")
    if not subsets:
        return endpoints
    made = [{**s, "ports": [filled(port, protocol="TCP") for port in s["ports"]]} if s.get("ports") else s for s in subsets]
    return {**endpoints, "subsets": made}


def _limit_range_item(item: Json) -> Json:
    if item.get("type") != "Container":
        return item
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    return {**item, **({"default": default} if default else {}), **({"defaultRequest": request} if request else {})}


def _node_status(status: Json) -> Json:
    return filled(status, allocatable=status["capacity"]) if status.get("capacity") else status


# --- apps, batch


def _deployment(deployment: Json) -> Json:
    spec = deployment["spec"]
    strategy = filled(spec["strategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy = {**strategy, "rollingUpdate": filled(strategy.get("rollingUpdate") or {}, maxUnavailable="25%", maxSurge="25%")}
    spec = filled({**spec, "strategy": strategy}, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    return {**deployment, "spec": spec}


def _daemon_set(daemons: Json) -> Json:
    spec = daemons["spec"]
    strategy = filled(spec["updateStrategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy = {**strategy, "rollingUpdate": filled(strategy.get("rollingUpdate") or {}, maxUnavailable=1, maxSurge=0)}
    return {**daemons, "spec": filled({**spec, "updateStrategy": strategy}, revisionHistoryLimit=10)}


def _stateful_set(stateful: Json) -> Json:
    spec = filled(stateful["spec"], podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy = filled({**strategy, "type": "RollingUpdate"}, rollingUpdate={})
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        strategy = {**strategy, "rollingUpdate": filled(strategy["rollingUpdate"], partition=0)}
    retention = filled(spec.get("persistentVolumeClaimRetentionPolicy") or {}, whenDeleted="Retain", whenScaled="Retain")
    return {**stateful, "spec": {**spec, "updateStrategy": strategy, "persistentVolumeClaimRetentionPolicy": retention}}


def _replica_set(replicas: Json) -> Json:
    return {**replicas, "spec": filled(replicas["spec"], replicas=1)}


def _job(job: Json) -> Json:
    spec = job["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec = {**spec, "completions": 1, "parallelism": 1}
    spec = filled(
        spec,
        parallelism=1,
        backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
        manualSelector=False,
    )
    labels = spec["template"]["metadata"].get("labels")
    job = {**job, "spec": spec}
    return _labels_from(labels, job) if labels else job


def _cron_job(job: Json) -> Json:
    spec = filled(job["spec"], concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    return {**job, "spec": spec}


# --- networking, rbac, autoscaling, storage


def _network_policy(policy: Json) -> Json:
    spec = policy["spec"]
    if spec.get("policyTypes"):
        return policy
    return {**policy, "spec": {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}}


def _ingress_class(kind: Json) -> Json:
    parameters = kind["spec"].get("parameters")
    return {**kind, "spec": {**kind["spec"], "parameters": filled(parameters, scope="Cluster")}} if parameters else kind


_RBAC = "rbac.authorization.k8s.io"


def _binding(binding: Json) -> Json:
    return {**binding, "roleRef": filled(binding["roleRef"], apiGroup=_RBAC)}


def _subject(subject: Json) -> Json:
    return filled(subject, apiGroup=_RBAC) if subject.get("kind") in ("User", "Group") else subject


_SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_SCALE_DOWN = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
_CPU_METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def _autoscaler(autoscaler: Json) -> Json:
    spec = filled(autoscaler["spec"], minReplicas=1, metrics=[_CPU_METRIC])
    behavior = spec.get("behavior")
    if behavior is not None:
        up, down = filled(behavior.get("scaleUp") or {}, **_SCALE_UP), filled(behavior.get("scaleDown") or {}, **_SCALE_DOWN)
        spec = {**spec, "behavior": {**behavior, "scaleUp": up, "scaleDown": down}}
    return {**autoscaler, "spec": spec}


def _autoscaler_v1(autoscaler: Json) -> Json:
    return {**autoscaler, "spec": filled(autoscaler["spec"], minReplicas=1)}


def _csi_driver(driver: Json) -> Json:
    spec = filled(
        driver["spec"],
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )
    return {**driver, "spec": spec}


_TABLE: dict[str, Callable[[Json], Json]] = {
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.Volume": _volume,
    "core/v1.Service": _service,
    "core/v1.Pod": _pod,
    "core/v1.PodSpec": _fills(
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        securityContext={},
        terminationGracePeriodSeconds=30,
        schedulerName="default-scheduler",
    ),
    "core/v1.Probe": lambda probe: {
        **probe,
        **{
            name: number
            for name, number in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))
            if not probe.get(name)
        },
    },
    "core/v1.SecretVolumeSource": _fills(defaultMode=0o644),
    "core/v1.ConfigMapVolumeSource": _fills(defaultMode=0o644),
    "core/v1.DownwardAPIVolumeSource": _fills(defaultMode=0o644),
    "core/v1.ProjectedVolumeSource": _fills(defaultMode=0o644),
    "core/v1.ServiceAccountTokenProjection": _fills(expirationSeconds=3600),
    "core/v1.HostPathVolumeSource": lambda source: {**source, "type": source.get("type") or ""},
    "core/v1.HTTPGetAction": _fills(path="/", scheme="HTTP"),
    "core/v1.ObjectFieldSelector": _fills(apiVersion="v1"),
    "core/v1.Secret": _fills(type="Opaque"),
    "core/v1.Namespace": _namespace,
    "core/v1.NamespaceStatus": _fills(phase="Active"),
    "core/v1.NodeStatus": _node_status,
    "core/v1.PersistentVolume": _persistent_volume,
    "core/v1.PersistentVolumeClaim": _claim,
    "core/v1.PersistentVolumeClaimSpec": _fills(volumeMode="Filesystem"),
    "core/v1.Endpoints": _endpoints,
    "core/v1.LimitRangeItem": _limit_range_item,
    "core/v1.ReplicationController": _replication_controller,
    "apps/v1.Deployment": _deployment,
    "apps/v1.DaemonSet": _daemon_set,
    "apps/v1.StatefulSet": _stateful_set,
    "apps/v1.ReplicaSet": _replica_set,
    "batch/v1.Job": _job,
    "batch/v1.CronJob": _cron_job,
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": _fills(status="True"),
    "networking/v1.NetworkPolicyPort": lambda port: port if port.get("protocol") is not None else {**port, "protocol": "TCP"},
    "networking/v1.NetworkPolicy": _network_policy,
    "networking/v1.IngressClass": _ingress_class,
    "rbac/v1.ClusterRoleBinding": _binding,
    "rbac/v1.RoleBinding": _binding,
    "rbac/v1.Subject": _subject,
    "autoscaling/v2.HorizontalPodAutoscaler": _autoscaler,
    "autoscaling/v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "storage/v1.StorageClass": _fills(reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    "storage/v1.CSIDriver": _csi_driver,
    "discovery/v1.EndpointPort": lambda port: {
        "name": "",
        "protocol": "TCP",
        **{name: value for name, value in port.items() if value is not None},
    },
    "scheduling/v1.PriorityClass": _fills(preemptionPolicy="PreemptLowerPriority"),
}
