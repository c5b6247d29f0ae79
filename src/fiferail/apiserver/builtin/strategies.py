"""What a create or an update of each built-in kind may set, keeps, and computes: the server's registry strategies as a table.

`STRATEGIES` names for every kind how its status and generation behave; `prepare_*` functions hold what only one kind does.
`rules` calls these after decoding and defaulting. Everything is computed from the object and its predecessor; a uid and a creation
time must already be in the metadata of a new object (jobs and volumes show them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...objects import strconv
from ...objects.tree import Json, same
from . import admission, quantity
from .defaults import filled

if TYPE_CHECKING:
    from collections.abc import Callable


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind treats writes."""

    #: A create drops the status of the body.
    drops_status: bool = True
    #: What a status update may not change, beside spec.
    status_keeps: tuple[tuple[str, ...], ...] = ()
    #: What moves the generation: members of the object, or of metadata as "metadata.labels". Empty: the kind counts none.
    generation: tuple[str, ...] = ()
    #: Generation 1 on create although nothing moves it later.
    first_generation: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    orphan_by_default: bool = False
    delete_returns_object: bool = False
    create: Callable[[Json], Json] | None = None
    update: Callable[[Json, Json], Json] | None = None
    update_status: Callable[[Json, Json], Json] | None = None


def with_member(obj: Json, name: str, value: Json) -> Json:
    """The object with the member, or without it when the value is None."""
    if value is None:
        return obj if name not in obj else {key: member for key, member in obj.items() if key != name}
    return obj if obj.get(name) is value else {**obj, name: value}


def at(obj: Json, place: str) -> Json:
    """The member at `spec` or `metadata.labels`, or None."""
    for name in place.split("."):
        obj = (obj or {}).get(name)
    return obj


# --- pods

_NOT_READY = "node.kubernetes.io/not-ready"


def quality_of_service(spec: Json) -> str:
    """The QoS class that requests and limits give a pod."""
    holders = [spec] if spec.get("resources") else [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    requests, limits, guaranteed = False, False, True
    for holder in holders:
        resources = holder.get("resources") or {}
        asked, capped = _counted(resources.get("requests")), _counted(resources.get("limits"))
        requests, limits = requests or bool(asked), limits or bool(capped)
        if set(capped) != {"cpu", "memory"} or asked != capped:
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _counted(amounts: Json) -> dict[str, Json]:
    parsed = {name: quantity.parse(amount).value for name, amount in (amounts or {}).items() if name in ("cpu", "memory")}
    return {name: value for name, value in parsed.items() if value > 0}


def _create_pod(pod: Json) -> Json:
    spec = pod["spec"]
    status: dict[str, Json] = {"phase": "Pending", "qosClass": (pod.get("status") or {}).get("qosClass") or quality_of_service(spec)}
    if spec.get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
        }
        status["conditions"] = [
            {**gated, "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}
        ]
    return {**pod, "spec": spec, "status": status}


def _update_pod(new: Json, old: Json) -> Json:
    """Admission gives the default tolerations again, and the priority stays."""
    spec = admission.with_tolerations(new["spec"])
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and old["spec"].get(name) is not None:
            spec = {**spec, name: old["spec"][name]}
    return with_member(new, "spec", spec)


def _update_pod_status(new: Json, old: Json) -> Json:
    metadata = with_member(new["metadata"], "ownerReferences", old["metadata"].get("ownerReferences"))
    status = filled(new["status"], qosClass=old["status"]["qosClass"]) if old["status"].get("qosClass") else new["status"]
    return {**new, "metadata": metadata, "status": status}


# --- namespaces, volumes


def _create_namespace(namespace: Json) -> Json:
    finalizers = namespace["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        namespace = {**namespace, "spec": {**namespace["spec"], "finalizers": [*finalizers, "kubernetes"]}}
    return {**namespace, "status": {"phase": "Active"}}


def _update_namespace(new: Json, old: Json) -> Json:
    return {**new, "spec": with_member(new["spec"], "finalizers", old["spec"].get("finalizers"))}


def _protected(finalizer: str, obj: Json) -> Json:
    finalizers = obj["metadata"].get("finalizers") or []
    return obj if finalizer in finalizers else {**obj, "metadata": {**obj["metadata"], "finalizers": [*finalizers, finalizer]}}


_SNAPSHOTS = "snapshot.storage.k8s.io"


def _is_known_source(source: Json) -> bool:
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    return (group, kind) in (("", "PersistentVolumeClaim"), (_SNAPSHOTS, "VolumeSnapshot"))


def _normalised_sources(claim: Json, old: Json | None = None) -> Json:
    """Sources in other namespaces are behind a gate, unknown kinds are only taken from dataSourceRef, and the two members agree."""
    spec, before = claim["spec"], (old or {}).get("spec") or {}
    if (spec.get("dataSourceRef") or {}).get("namespace") and not before.get("dataSourceRef"):
        spec = with_member(spec, "dataSourceRef", None)
    if (
        spec.get("dataSource")
        and not spec.get("dataSourceRef")
        and not before.get("dataSource")
        and not _is_known_source(spec["dataSource"])
    ):
        spec = with_member(spec, "dataSource", None)
    if spec.get("dataSource") and not spec.get("dataSourceRef"):
        spec = {**spec, "dataSourceRef": spec["dataSource"]}
    elif spec.get("dataSourceRef") and not spec.get("dataSource") and not spec["dataSourceRef"].get("namespace"):
        spec = {**spec, "dataSource": spec["dataSourceRef"]}
    return with_member(claim, "spec", spec)


def _create_claim(claim: Json) -> Json:
    return _normalised_sources({**_protected("kubernetes.io/pvc-protection", claim), "status": {"phase": "Pending"}})


def _create_volume(volume: Json) -> Json:
    status = {"phase": "Pending", "lastPhaseTransitionTime": volume["metadata"].get("creationTimestamp")}
    return {**_protected("kubernetes.io/pv-protection", volume), "status": status}


def _create_node(node: Json) -> Json:
    taints = node["spec"].get("taints") or []
    if any(one.get("key") == _NOT_READY and one.get("effect") == "NoSchedule" for one in taints):
        return node
    return {**node, "spec": {**node["spec"], "taints": [*taints, {"key": _NOT_READY, "effect": "NoSchedule"}]}}


def _create_service_account(account: Json) -> Json:
    secrets = account.get("secrets")
    return {**account, "secrets": [{"name": one["name"]} if one.get("name") else {} for one in secrets]} if secrets else account


# --- workloads

_JOB_LABELS = (
    ("job-name", "name"),
    ("batch.kubernetes.io/job-name", "name"),
    ("controller-uid", "uid"),
    ("batch.kubernetes.io/controller-uid", "uid"),
)


def _create_job(job: Json) -> Json:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return job
    template = spec["template"]
    own = {label: metadata.get(source, "") for label, source in _JOB_LABELS}
    given = template["metadata"].get("labels")
    labels = {**own, **(given or {})}
    if given and metadata.get("labels") is given:
        job = {**job, "metadata": {**metadata, "labels": labels}}  # defaulted from the template: the server shares one map
    selector = spec.get("selector") or {}
    matched = {"batch.kubernetes.io/controller-uid": metadata.get("uid", ""), **(selector.get("matchLabels") or {})}
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    return {**job, "spec": {**spec, "template": template, "selector": {**selector, "matchLabels": matched}}}


_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _template_generation(obj: Json, number: int) -> Json:
    annotations = {**(obj["metadata"].get("annotations") or {}), _TEMPLATE_GENERATION: str(number)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _read_template_generation(obj: Json) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    try:
        return strconv.parse_int(text)
    except ValueError:
        return 0


def _create_daemon_set(daemons: Json) -> Json:
    return _template_generation(daemons, max(1, _read_template_generation(daemons)))


def _update_daemon_set(new: Json, old: Json) -> Json:
    number = _read_template_generation(old)
    moved = not same(new["spec"]["template"], old["spec"]["template"])
    return _template_generation(new, number + 1 if moved else number)


def _update_secret(new: Json, old: Json) -> Json:
    return new if new.get("type") else {**new, "type": old["type"]}


_SPEC = ("spec",)

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): Strategy(),
    ("", "Secret"): Strategy(update=_update_secret),
    ("", "ServiceAccount"): Strategy(
        delete_returns_object=True, create=_create_service_account, update=lambda new, old: _create_service_account(new)
    ),
    ("", "Namespace"): Strategy(delete_returns_object=True, create=_create_namespace, update=_update_namespace),
    ("", "Service"): Strategy(create_on_update=True, delete_returns_object=True),
    ("", "Endpoints"): Strategy(create_on_update=True),
    ("", "Event"): Strategy(create_on_update=True),
    ("", "Pod"): Strategy(
        generation=_SPEC, delete_returns_object=True, create=_create_pod, update=_update_pod, update_status=_update_pod_status
    ),
    ("", "PersistentVolumeClaim"): Strategy(delete_returns_object=True, create=_create_claim, update=_normalised_sources),
    ("", "PersistentVolume"): Strategy(delete_returns_object=True, create=_create_volume),
    ("", "Node"): Strategy(drops_status=False, create=_create_node),
    ("", "LimitRange"): Strategy(create_on_update=True),
    ("", "ResourceQuota"): Strategy(delete_returns_object=True),
    ("", "ReplicationController"): Strategy(generation=_SPEC, orphan_by_default=True),
    ("", "PodTemplate"): Strategy(generation=("template",), delete_returns_object=True),
    ("apps", "Deployment"): Strategy(generation=("spec", "metadata.annotations"), status_keeps=(("metadata", "labels"),)),
    ("apps", "StatefulSet"): Strategy(generation=_SPEC),
    ("apps", "DaemonSet"): Strategy(create=_create_daemon_set, update=_update_daemon_set, generation=_SPEC),
    ("apps", "ReplicaSet"): Strategy(generation=_SPEC),
    ("apps", "ControllerRevision"): Strategy(),
    ("batch", "Job"): Strategy(create=_create_job, orphan_by_default=True, generation=_SPEC),
    ("batch", "CronJob"): Strategy(generation=_SPEC),
    ("networking.k8s.io", "Ingress"): Strategy(generation=_SPEC),
    ("networking.k8s.io", "IngressClass"): Strategy(generation=_SPEC),
    ("networking.k8s.io", "NetworkPolicy"): Strategy(generation=_SPEC),
    ("policy", "PodDisruptionBudget"): Strategy(unconditional_update=False, generation=_SPEC),
    ("autoscaling", "HorizontalPodAutoscaler"): Strategy(),
    ("coordination.k8s.io", "Lease"): Strategy(create_on_update=True, unconditional_update=False),
    ("events.k8s.io", "Event"): Strategy(create_on_update=True),
    ("rbac.authorization.k8s.io", "Role"): Strategy(create_on_update=True),
    ("rbac.authorization.k8s.io", "RoleBinding"): Strategy(create_on_update=True),
    ("rbac.authorization.k8s.io", "ClusterRole"): Strategy(create_on_update=True),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): Strategy(create_on_update=True),
    ("storage.k8s.io", "StorageClass"): Strategy(delete_returns_object=True),
    ("storage.k8s.io", "CSIDriver"): Strategy(unconditional_update=False, delete_returns_object=True),
    ("storage.k8s.io", "CSINode"): Strategy(unconditional_update=False, delete_returns_object=True),
    ("storage.k8s.io", "CSIStorageCapacity"): Strategy(unconditional_update=False),
    ("storage.k8s.io", "VolumeAttachment"): Strategy(unconditional_update=False, delete_returns_object=True),
    ("storage.k8s.io", "VolumeAttributesClass"): Strategy(delete_returns_object=True),
    ("discovery.k8s.io", "EndpointSlice"): Strategy(generation=("endpoints", "ports", "addressType", "metadata.labels")),
    ("scheduling.k8s.io", "PriorityClass"): Strategy(first_generation=True),
    ("node.k8s.io", "RuntimeClass"): Strategy(create_on_update=True, unconditional_update=False),
}


def prepare_create(obj: Json, strategy: Strategy, has_status: bool) -> Json:
    """The object as a create stores it."""
    if strategy.generation or strategy.first_generation:
        obj = {**obj, "metadata": {**obj["metadata"], "generation": 1}}
    made = strategy.create(obj) if strategy.create else obj
    if has_status and strategy.drops_status and made.get("status") is obj.get("status"):
        return with_member(made, "status", None)
    return made


def prepare_update(new: Json, old: Json, strategy: Strategy, has_status: bool) -> Json:
    """The object as an update of the main resource stores it."""
    if has_status:
        new = with_member(new, "status", old.get("status"))
    if strategy.update:
        new = strategy.update(new, old)
    generation = old["metadata"].get("generation")
    if any(not same(at(new, place) or None, at(old, place) or None) for place in strategy.generation):
        generation = (generation or 0) + 1
    return with_member(new, "metadata", with_member(new["metadata"], "generation", generation))


def prepare_status_update(new: Json, old: Json, strategy: Strategy) -> Json:
    """The object as an update of its status stores it: everything else stays, metadata excepted."""
    new = with_member(new, "spec", old.get("spec"))
    metadata = with_member(new["metadata"], "generation", old["metadata"].get("generation"))
    for _, name in strategy.status_keeps:
        metadata = with_member(metadata, name, old["metadata"].get(name))
    new = with_member(new, "metadata", metadata)
    return strategy.update_status(new, old) if strategy.update_status else new
