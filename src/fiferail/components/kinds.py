"""Every ready-made kind under one roof, and the static ones, which need nothing but to exist."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from .integrations import CronJob, HorizontalPodAutoscaler, Ingress, PersistentVolume, PersistentVolumeClaim, Service
from .resource import Static
from .workloads import DaemonSet, Deployment, Job, Pod, ReplicaSet, StatefulSet

if TYPE_CHECKING:
    from ..objects.tree import Json


class ConfigMap(Static):
    """v1 ConfigMap."""

    api_version, kind = "v1", "ConfigMap"


class Secret(Static):
    """v1 Secret. `stringData` is sent as `data`: the server would fold it in by itself, but then forget who owns which key, so that a
    key which is no longer desired would stay for ever."""

    api_version, kind = "v1", "Secret"

    def render(self, version: str | None) -> Json:
        """The desired object after its mutations, with its texts encoded."""
        obj = super().render(version)
        texts = obj.pop("stringData", None) or {}
        if texts:
            encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
            obj["data"] = {**(obj.get("data") or {}), **encoded}
        return obj


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
