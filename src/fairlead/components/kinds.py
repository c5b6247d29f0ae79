"""Every ready-made kind under one roof, and the static ones, which need nothing but to exist."""

from __future__ import annotations

from .integrations import CronJob, HorizontalPodAutoscaler, Ingress, PersistentVolume, PersistentVolumeClaim, Service
from .resource import Static
from .workloads import DaemonSet, Deployment, Job, Pod, ReplicaSet, StatefulSet


class ConfigMap(Static):
    """v1 ConfigMap."""

    api_version, kind = "v1", "ConfigMap"


class Secret(Static):
    """v1 Secret."""

    api_version, kind = "v1", "Secret"


class ServiceAccount(Static):
    """v1 ServiceAccount."""

    api_version, kind = "v1", "ServiceAccount"


class Role(Static):
    """rbac.authorization.k8s.io/v1 Role."""

    api_version, kind = "rbac.authorization.k8s.io/v1", "Role"


class RoleBinding(Static):
    """rbac.authorization.k8s.io/v1 RoleBinding."""

    api_version, kind = "rbac.authorization.k8s.io/v1", "RoleBinding"


class ClusterRole(Static):
    """rbac.authorization.k8s.io/v1 ClusterRole."""

    api_version, kind = "rbac.authorization.k8s.io/v1", "ClusterRole"


class ClusterRoleBinding(Static):
    """rbac.authorization.k8s.io/v1 ClusterRoleBinding."""

    api_version, kind = "rbac.authorization.k8s.io/v1", "ClusterRoleBinding"


class PodDisruptionBudget(Static):
    """policy/v1 PodDisruptionBudget."""

    api_version, kind = "policy/v1", "PodDisruptionBudget"


class NetworkPolicy(Static):
    """networking.k8s.io/v1 NetworkPolicy."""

    api_version, kind = "networking.k8s.io/v1", "NetworkPolicy"


#: The short names that people use.
HPA, PV, PVC, PDB = HorizontalPodAutoscaler, PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget

__all__ = [
    "HPA",
    "PDB",
    "PV",
    "PVC",
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "NetworkPolicy",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
]
