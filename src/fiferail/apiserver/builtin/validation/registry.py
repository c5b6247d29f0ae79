"""Which function checks which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import access, claims, jobs, networks, plain, pods, scaling, services, workloads

if TYPE_CHECKING:
    from . import Create, Update

_CORE, _APPS, _BATCH, _NET, _RBAC = "", "apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io"

CREATE: dict[tuple[str, str], Create] = {
    (_CORE, "ConfigMap"): plain.config_map,
    (_CORE, "Secret"): plain.secret,
    (_CORE, "Namespace"): plain.namespace,
    (_CORE, "Event"): plain.event,
    (_CORE, "Pod"): pods.pod,
    (_CORE, "PodTemplate"): lambda obj: pods.template(obj["template"], "template"),
    (_CORE, "ReplicationController"): workloads.replication_controller,
    (_CORE, "Service"): services.service,
    (_CORE, "PersistentVolumeClaim"): claims.claim,
    (_CORE, "PersistentVolume"): claims.volume,
    (_APPS, "Deployment"): workloads.deployment,
    (_APPS, "ReplicaSet"): workloads.replica_set,
    (_APPS, "DaemonSet"): workloads.daemon_set,
    (_APPS, "StatefulSet"): workloads.stateful_set,
    (_BATCH, "Job"): jobs.job,
    (_BATCH, "CronJob"): jobs.cron_job,
    (_NET, "Ingress"): networks.ingress,
    (_NET, "IngressClass"): networks.ingress_class,
    (_NET, "NetworkPolicy"): networks.network_policy,
    (_RBAC, "Role"): access.role,
    (_RBAC, "ClusterRole"): access.cluster_role,
    (_RBAC, "RoleBinding"): access.role_binding,
    (_RBAC, "ClusterRoleBinding"): access.cluster_role_binding,
    ("events.k8s.io", "Event"): plain.events_event,
    ("coordination.k8s.io", "Lease"): plain.lease,
    ("policy", "PodDisruptionBudget"): scaling.budget,
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.autoscaler,
    ("storage.k8s.io", "StorageClass"): claims.storage_class,
    ("scheduling.k8s.io", "PriorityClass"): scaling.priority_class,
    ("node.k8s.io", "RuntimeClass"): scaling.runtime_class,
    (_APPS, "ControllerRevision"): scaling.controller_revision,
    ("discovery.k8s.io", "EndpointSlice"): scaling.endpoint_slice,
}
UPDATE: dict[tuple[str, str], Update] = {
    (_CORE, "ConfigMap"): plain.config_map_update,
    (_CORE, "Secret"): plain.secret_update,
    (_CORE, "Event"): plain.event_update,
    (_CORE, "Pod"): pods.pod_update,
    (_CORE, "PodTemplate"): lambda new, old: pods.template(new["template"], "template"),
    (_CORE, "ReplicationController"): workloads.replication_controller_update,
    (_CORE, "Service"): services.service_update,
    (_CORE, "PersistentVolumeClaim"): claims.claim_update,
    (_APPS, "Deployment"): workloads.deployment_update,
    (_APPS, "ReplicaSet"): workloads.replica_set_update,
    (_APPS, "DaemonSet"): workloads.daemon_set_update,
    (_APPS, "StatefulSet"): workloads.stateful_set_update,
    (_BATCH, "Job"): jobs.job_update,
    (_BATCH, "CronJob"): jobs.cron_job_update,
    (_NET, "Ingress"): networks.ingress_update,
    (_NET, "IngressClass"): networks.ingress_class_update,
    (_NET, "NetworkPolicy"): networks.network_policy_update,
    (_RBAC, "Role"): access.role_update,
    (_RBAC, "ClusterRole"): access.cluster_role_update,
    (_RBAC, "RoleBinding"): access.role_binding_update,
    (_RBAC, "ClusterRoleBinding"): access.cluster_role_binding_update,
    ("events.k8s.io", "Event"): plain.events_event_update,
    ("coordination.k8s.io", "Lease"): plain.lease_update,
    ("policy", "PodDisruptionBudget"): scaling.budget_update,
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.autoscaler_update,
    ("storage.k8s.io", "StorageClass"): claims.storage_class_update,
    ("scheduling.k8s.io", "PriorityClass"): scaling.priority_class_update,
    ("node.k8s.io", "RuntimeClass"): scaling.runtime_class_update,
    ("discovery.k8s.io", "EndpointSlice"): scaling.endpoint_slice_update,
    (_APPS, "ControllerRevision"): scaling.controller_revision_update,
}
UPDATE_STATUS: dict[tuple[str, str], Update] = {
    (_CORE, "Pod"): pods.pod_status,
    (_CORE, "ReplicationController"): workloads.replica_set_status,
    (_NET, "Ingress"): networks.ingress_status,
    (_CORE, "Service"): services.service_status,
    (_APPS, "Deployment"): workloads.deployment_status,
    (_APPS, "ReplicaSet"): workloads.replica_set_status,
    (_APPS, "DaemonSet"): workloads.daemon_set_status,
    (_APPS, "StatefulSet"): workloads.stateful_set_status,
    (_BATCH, "Job"): jobs.job_status,
    ("policy", "PodDisruptionBudget"): scaling.budget_status,
    ("autoscaling", "HorizontalPodAutoscaler"): scaling.autoscaler_status,
}
