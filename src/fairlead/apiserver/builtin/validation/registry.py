"""Which function checks which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import jobs, plain, pods, workloads

if TYPE_CHECKING:
    from . import Create, Update

_CORE = ""
CREATE: dict[tuple[str, str], Create] = {
    (_CORE, "ConfigMap"): plain.config_map,
    (_CORE, "Secret"): plain.secret,
    (_CORE, "Namespace"): plain.namespace,
    (_CORE, "Event"): plain.event,
    (_CORE, "Pod"): pods.pod,
    (_CORE, "PodTemplate"): lambda obj: pods.template(obj["template"], "template"),
    (_CORE, "ReplicationController"): workloads.replication_controller,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("batch", "Job"): jobs.job,
    ("batch", "CronJob"): jobs.cron_job,
    ("events.k8s.io", "Event"): plain.events_event,
    ("coordination.k8s.io", "Lease"): plain.lease,
}
UPDATE: dict[tuple[str, str], Update] = {
    (_CORE, "ConfigMap"): plain.config_map_update,
    (_CORE, "Secret"): plain.secret_update,
    (_CORE, "Namespace"): plain.namespace_update,
    (_CORE, "Event"): plain.event_update,
    (_CORE, "Pod"): pods.pod_update,
    (_CORE, "ReplicationController"): workloads.replication_controller_update,
    ("apps", "Deployment"): workloads.deployment_update,
    ("apps", "ReplicaSet"): workloads.replica_set_update,
    ("apps", "DaemonSet"): workloads.daemon_set_update,
    ("apps", "StatefulSet"): workloads.stateful_set_update,
    ("batch", "Job"): jobs.job_update,
    ("batch", "CronJob"): jobs.cron_job_update,
    ("events.k8s.io", "Event"): plain.events_event_update,
    ("coordination.k8s.io", "Lease"): plain.lease_update,
}
UPDATE_STATUS: dict[tuple[str, str], Update] = {
    ("apps", "Deployment"): workloads.deployment_status,
    ("apps", "ReplicaSet"): workloads.replica_set_status,
    ("apps", "DaemonSet"): workloads.daemon_set_status,
    ("apps", "StatefulSet"): workloads.stateful_set_status,
    ("batch", "Job"): jobs.job_status,
}
