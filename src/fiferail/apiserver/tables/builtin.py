"""The columns of built-in kinds, as the server's internal printers lay them out (always the wide form; kubectl hides by priority).

One entry per kind. A kind without an entry is shown by name and creation time, as the real server does for kinds without a
printer of their own (CustomResourceDefinitions, Roles); docs/limits names those for which it does more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import NAME, Cell, Column
from .ages import since
from .autoscalers import targets
from .cells import (
    access_modes,
    balancers,
    claim_capacity,
    claim_modes,
    claim_ref,
    class_parameters,
    completions,
    containers,
    controller,
    count_of,
    default_marked,
    endpoints,
    event_count,
    event_message,
    event_object,
    event_source,
    external_ip,
    first_cluster_ip,
    first_seen,
    hosts,
    involved,
    job_duration,
    job_status,
    kernel,
    last_schedule,
    last_seen,
    member,
    node_address,
    node_roles,
    node_status,
    phase,
    quota,
    ready_of_wanted,
    service_ports,
    slice_endpoints,
    slice_ports,
    storage_class,
    subjects,
    suspend,
)
from .pods import POD, pod_conditions
from .selecting import labels, selector

if TYPE_CHECKING:
    from ...objects.tree import Json


def _template(path: str) -> tuple[Column, Column]:
    names: Cell = lambda obj, now: ",".join(container.get("name", "") for container in containers(obj, path))  # noqa: E731
    images: Cell = lambda obj, now: ",".join(container.get("image", "") for container in containers(obj, path))  # noqa: E731
    return Column("Containers", names, priority=1), Column("Images", images, priority=1)


def _selecting(path: str, nothing: str = "<none>") -> Column:
    at = member(path, None)
    return Column("Selector", lambda obj, now: selector(at(obj, now)) or nothing, priority=1)


AGE = Column("Age", lambda obj, now: since(obj["metadata"].get("creationTimestamp"), now))


def _number(name: str, path: str) -> Column:
    return Column(name, member(path, 0), "integer")


def _text(name: str, path: str, default: Json = "", priority: int = 0) -> Column:
    return Column(name, member(path, default), priority=priority)


def _binding(ref: str = "roleRef") -> tuple[Column, ...]:
    role: Cell = lambda obj, now: f"{obj.get(ref, {}).get('kind', '')}/{obj.get(ref, {}).get('name', '')}"  # noqa: E731
    return (
        NAME,
        Column("Role", role),
        AGE,
        Column("Users", subjects("User"), priority=1),
        Column("Groups", subjects("Group"), priority=1),
        Column("ServiceAccounts", subjects("ServiceAccount"), priority=1),
    )


def _replicas(selected: Column) -> tuple[Column, ...]:
    counts = (_number("Desired", "spec.replicas"), _number("Current", "status.replicas"), _number("Ready", "status.readyReplicas"))
    return (NAME, *counts, AGE, *_template("spec.template"), selected)


_EVENT = (
    Column("Last Seen", last_seen),
    _text("Type", "type"),
    _text("Reason", "reason"),
    Column("Object", event_object),
    Column("Subobject", lambda obj, now: involved(obj).get("fieldPath", ""), priority=1),
    Column("Source", event_source, priority=1),
    Column("Message", event_message),
    Column("First Seen", first_seen, priority=1),
    Column("Count", event_count, priority=1),
    Column("Name", NAME.cell, format="name", priority=1),
)

SCALE = (Column("Name", NAME.cell), _number("Desired", "spec.replicas"), _number("Available", "status.replicas"), AGE)

COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): (NAME, *POD),
    ("", "ConfigMap"): (NAME, Column("Data", count_of("data", "binaryData")), AGE),
    ("", "Secret"): (NAME, _text("Type", "type"), Column("Data", count_of("data")), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Namespace"): (NAME, _text("Status", "status.phase"), AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Service"): (
        NAME,
        _text("Type", "spec.type"),
        Column("Cluster-IP", first_cluster_ip),
        Column("External-IP", external_ip),
        Column("Port(s)", service_ports),
        AGE,
        Column("Selector", lambda obj, now: labels(obj.get("spec", {}).get("selector")), priority=1),
    ),
    ("", "Endpoints"): (NAME, Column("Endpoints", endpoints), AGE),
    ("", "Node"): (
        NAME,
        Column("Status", node_status),
        Column("Roles", node_roles),
        AGE,
        _text("Version", "status.nodeInfo.kubeletVersion"),
        Column("Internal-IP", node_address("InternalIP"), priority=1),
        Column("External-IP", node_address("ExternalIP"), priority=1),
        _text("OS-Image", "status.nodeInfo.osImage", "<unknown>", 1),
        Column("Kernel-Version", kernel, priority=1),
        _text("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "<unknown>", 1),
    ),
    ("", "PersistentVolume"): (
        NAME,
        _text("Capacity", "spec.capacity.storage", "0"),
        Column("Access Modes", lambda obj, now: access_modes(member("spec.accessModes", [])(obj, now))),
        _text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        Column("Status", phase),
        Column("Claim", claim_ref),
        Column("StorageClass", storage_class),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        _text("Reason", "status.reason"),
        AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", 1),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Column("Status", phase),
        _text("Volume", "spec.volumeName"),
        Column("Capacity", claim_capacity),
        Column("Access Modes", claim_modes),
        Column("StorageClass", storage_class),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", 1),
    ),
    ("", "ReplicationController"): _replicas(Column("Selector", lambda obj, now: labels(obj.get("spec", {}).get("selector")), priority=1)),
    ("", "ResourceQuota"): (NAME, Column("Request", quota(False)), Column("Limit", quota(True)), AGE),
    ("", "PodTemplate"): (
        NAME,
        *(Column(column.name, column.cell) for column in _template("template")),
        Column("Pod Labels", lambda obj, now: labels(member("template.metadata.labels", {})(obj, now))),
    ),
    ("apps", "Deployment"): (
        NAME,
        Column("Ready", ready_of_wanted),
        Column("Up-to-date", member("status.updatedReplicas", 0)),
        Column("Available", member("status.availableReplicas", 0)),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector", ""),
    ),
    ("apps", "ReplicaSet"): _replicas(_selecting("spec.selector")),
    ("apps", "StatefulSet"): (NAME, Column("Ready", ready_of_wanted), AGE, *_template("spec.template")),
    ("apps", "DaemonSet"): (
        NAME,
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        Column("Node Selector", lambda obj, now: labels(member("spec.template.spec.nodeSelector", {})(obj, now))),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector"),
    ),
    ("apps", "ControllerRevision"): (NAME, Column("Controller", controller), Column("Revision", member("revision", 0)), AGE),
    ("batch", "Job"): (
        NAME,
        Column("Status", job_status),
        Column("Completions", completions),
        Column("Duration", job_duration),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector"),
    ),
    ("batch", "CronJob"): (
        NAME,
        _text("Schedule", "spec.schedule"),
        _text("Timezone", "spec.timeZone", "<none>"),
        Column("Suspend", suspend, "boolean"),
        Column("Active", count_of("status.active"), "integer"),
        Column("Last Schedule", last_schedule),
        AGE,
        *_template("spec.jobTemplate.spec.template"),
        _selecting("spec.jobTemplate.spec.selector"),
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        _text("Class", "spec.ingressClassName", "<none>"),
        Column("Hosts", hosts),
        Column("Address", lambda obj, now: balancers(obj)),
        Column("Ports", lambda obj, now: "80, 443" if member("spec.tls", [])(obj, now) else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        Column("Name", default_marked("ingressclass.kubernetes.io/is-default-class"), format="name"),
        _text("Controller", "spec.controller"),
        Column("Parameters", class_parameters),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        Column("Pod-Selector", lambda obj, now: selector(obj.get("spec", {}).get("podSelector")) or "<none>"),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Column("Min Available", lambda obj, now: str(obj.get("spec", {}).get("minAvailable", "N/A"))),
        Column("Max Unavailable", lambda obj, now: str(obj.get("spec", {}).get("maxUnavailable", "N/A"))),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        Column("Reference", lambda obj, now: "{kind}/{name}".format(**{"kind": "", "name": "", **obj["spec"].get("scaleTargetRef", {})})),
        Column("Targets", lambda obj, now: targets(obj)),
        Column("MinPods", lambda obj, now: str(obj["spec"].get("minReplicas", "<unset>"))),
        Column("MaxPods", member("spec.maxReplicas", 0)),
        Column("Replicas", member("status.currentReplicas", 0)),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): _binding(),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _binding(),
    ("coordination.k8s.io", "Lease"): (NAME, _text("Holder", "spec.holderIdentity"), AGE),
    ("storage.k8s.io", "StorageClass"): (
        Column("Name", default_marked("storageclass.kubernetes.io/is-default-class"), format="name"),
        _text("Provisioner", "provisioner"),
        _text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        _text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        Column("AllowVolumeExpansion", lambda obj, now: bool(obj.get("allowVolumeExpansion"))),
        AGE,
    ),
    ("storage.k8s.io", "CSINode"): (NAME, Column("Drivers", count_of("spec.drivers"), "integer"), AGE),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        _number("Value", "value"),
        Column("Global-Default", lambda obj, now: bool(obj.get("globalDefault")), "boolean"),
        AGE,
        _text("PreemptionPolicy", "preemptionPolicy"),
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _text("AddressType", "addressType"),
        Column("Ports", slice_ports),
        Column("Endpoints", slice_endpoints),
        AGE,
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, _text("Handler", "handler"), AGE),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): (NAME, Column("Webhooks", count_of("webhooks"), "integer"), AGE),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): (NAME, Column("Webhooks", count_of("webhooks"), "integer"), AGE),
}


def row_conditions(obj: Json) -> list[Json]:
    """What a row says about itself beyond its cells: only pods that have ended do."""
    return pod_conditions(obj) if obj.get("kind") == "Pod" and obj.get("apiVersion") == "v1" else []
