"""Every ready-made kind, applied on both servers: the second time nothing is sent, because the first time is recognised."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fiferail.clients.kubeconfig import connect_async
from fiferail.components import kinds
from fiferail.components.apply import Hands
from fiferail.components.resource import Operation
from fiferail.controllers.context import Caches
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

LABELS = {"app": "x"}
PODS: Any = {
    "metadata": {"labels": LABELS},
    "spec": {
        "containers": [
            {
                "name": "a",
                "image": "example.io/a:1",
                "ports": [{"containerPort": 80}, {"name": "m", "containerPort": 81}],
                "env": [{"name": "Z", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "100m"}},
                "volumeMounts": [{"name": "tmp", "mountPath": "/scratch"}],
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
}
ONCE = {**PODS, "spec": {**PODS["spec"], "restartPolicy": "Never"}}
REPLICATED = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": PODS}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
SUBJECTS = [{"kind": "ServiceAccount", "name": "x", "namespace": "default"}]
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "name": "x"}
STORAGE = {"accessModes": ["ReadWriteOnce"]}
CLAIM = {"metadata": {"name": "c"}, "spec": {**STORAGE, "resources": {"requests": {"storage": "1Gi"}}}}

BODIES: dict[str, Any] = {
    "Deployment": {"spec": {**REPLICATED, "strategy": {"type": "Recreate"}}},
    "StatefulSet": {"spec": {**REPLICATED, "serviceName": "x", "volumeClaimTemplates": [CLAIM]}},
    "ReplicaSet": {"spec": REPLICATED},
    "DaemonSet": {"spec": {"selector": {"matchLabels": LABELS}, "template": PODS}},
    # Admission adds to a pod's tolerations, which are one value: a pod that has some is sent again each time.
    "Pod": {"spec": {name: member for name, member in PODS["spec"].items() if name != "tolerations"}},
    "Job": {"spec": {"backoffLimit": 2, "template": ONCE}},
    "CronJob": {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": ONCE}}}},
    "Service": {"spec": {"selector": LABELS, "ports": [{"name": "b", "port": 81}, {"name": "a", "port": 80}]}},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}, "tls": [{"hosts": ["example.org"]}]}},
    "HorizontalPodAutoscaler": {"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}},
    "PersistentVolume": {"spec": {**STORAGE, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}},
    "PersistentVolumeClaim": {"spec": {**STORAGE, "resources": {"requests": {"storage": "1Gi"}}}},
    "ConfigMap": {"data": {"a": "b"}},
    "Secret": {"stringData": {"a": "b"}},
    "ServiceAccount": {"imagePullSecrets": [{"name": "b"}, {"name": "a"}]},
    "Role": {"rules": RULES},
    "ClusterRole": {"rules": RULES},
    "RoleBinding": {"roleRef": {**ROLE, "kind": "Role"}, "subjects": SUBJECTS},
    "ClusterRoleBinding": {"roleRef": {**ROLE, "kind": "ClusterRole"}, "subjects": SUBJECTS},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}},
    "NetworkPolicy": {"spec": {"podSelector": {"matchLabels": LABELS}, "ingress": [{"ports": [{"port": 80}]}]}},
}


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiServer]:
    """Each in turn."""
    real = request.param == "real"
    backend: Any = RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path) if real else EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


async def test_every_ready_made_kind_is_sent_once(server: ApiServer) -> None:
    """Applied, then recognised; applied with another label, then recognised again."""
    owner = {"metadata": {"name": "o", "namespace": "default", "uid": "11111111-1111-1111-1111-111111111111"}}
    told: list[str] = []

    async def event(reason: str, note: str, **_: Any) -> None:
        told.append(reason)

    assert set(BODIES) == {getattr(kinds, name).kind for name in kinds.__all__}
    async with connect_async(server.kubeconfig, user_agent="operator") as client:
        snapshot = {"apiVersion": "example.io/v1", "kind": "WebApp", **owner}
        place: Any = SimpleNamespace(snapshot=snapshot, client=client, cache=Caches(), event=event)
        hands = Hands(place, "web")
        again = {}
        for kind, body in BODIES.items():
            for labels, wanted in (({}, Operation.CREATED), ({"l": "1"}, Operation.UPDATED)):
                resource = getattr(kinds, kind)({"metadata": {"name": "x", "labels": {"k": "v", **labels}}, **body})
                operations = []
                for _ in range(2):
                    sent = len(server.requests)
                    before = await hands.fetch(resource)
                    operations.append((await hands.apply(resource, resource.render(None), before))[1])
                patched = [seen.method for seen in server.requests[sent:]].count("PATCH")
                assert (kind, operations) == (kind, [wanted, Operation.NONE])
                again[kind] = patched
    assert {kind: count for kind, count in again.items() if count} == {}
    assert sorted(told) == sorted([f"{verb}{kind}" for kind in BODIES for verb in ("Created", "Updated")])
