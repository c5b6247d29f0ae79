"""Whatever is desired, and whoever else writes: when an object is taken for applied already, applying it changes nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fiferail import Client, FiferailError
from fiferail.apiserver.embedded import equip
from fiferail.apiserver.inprocess import Transport
from fiferail.apiserver.machine import Machine
from fiferail.components.unchanged import is_applied
from fiferail.objects.tree import differences, thaw

PODS = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {
        "nodeSelector": {"zone": "a"},
        "containers": [
            {
                "name": "a",
                "image": "i:1",
                "args": ["x", "y"],
                "ports": [{"containerPort": 80}, {"containerPort": 81, "name": "m", "protocol": "TCP"}],
                "env": [{"name": "Z", "value": "1"}, {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "volumeMounts": [{"name": "t", "mountPath": "/t"}],
            },
            {"name": "b", "image": "i:2"},
        ],
        "volumes": [{"name": "t", "emptyDir": {}}],
    },
}
WORLDS: dict[str, Any] = {
    "Deployment": {
        "apiVersion": "apps/v1",
        "metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"c": "3"}, "finalizers": ["x.io/a", "x.io/b"]},
        "spec": {"replicas": 1, "minReadySeconds": 1, "selector": {"matchLabels": {"app": "x"}}, "template": PODS},
    },
    "NetworkPolicy": {
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"labels": {"a": "1"}},
        "spec": {
            "podSelector": {"matchLabels": {"app": "x"}},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": 80}, {"port": 81, "protocol": "TCP"}], "from": [{"podSelector": {"matchLabels": {"a": "b"}}}]}],
        },
    },
    "Service": {
        "apiVersion": "v1",
        "metadata": {"labels": {"a": "1"}},
        "spec": {
            "selector": {"app": "x"},
            "ports": [{"name": "p", "port": 80}, {"name": "q", "port": 81, "protocol": "TCP", "targetPort": 8081}],
        },
    },
    "ConfigMap": {"apiVersion": "v1", "metadata": {"annotations": {"a": "1", "b": "2"}}, "data": {"a": "1", "b": "2"}},
}


def places(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place below the root."""
    found = [at] if at else []
    members = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return found + [place for name, member in members for place in places(member, (*at, name))]


def edited(desired: Any, chance: random.Random) -> Any:
    """The desired object with one thing dropped, changed, moved or doubled."""
    tree = thaw(desired)
    editable = [place for place in places(tree) if len(place) > 1 and place[1] not in ("name", "namespace")]
    if not editable:
        return tree
    path = chance.choice(editable)
    at = tree
    for step in path[:-1]:
        at = at[step]
    value = at[path[-1]]
    if isinstance(value, list) and len(value) > 1 and chance.random() < 0.5:
        chance.shuffle(value)
    elif chance.random() < 0.5:
        del at[path[-1]]
    elif isinstance(value, str):
        at[path[-1]] = chance.choice(["1", "2", "x", "TCP"])
    elif isinstance(value, int):
        at[path[-1]] = chance.choice([1, 2, 80, 81])
    elif isinstance(value, dict):
        value["extra"] = "1"
    return tree


def foreign(live: Any, chance: random.Random) -> Any:
    """Another writer's merge patch: the live object with one edit, as far as a person would write it."""
    metadata = {name: live["metadata"][name] for name in ("labels", "annotations") if name in live["metadata"]}
    body = {name: member for name, member in live.items() if name in ("data", "spec")}
    return edited({**body, **({"metadata": metadata} if metadata else {})}, chance)


@pytest.mark.parametrize("kind", WORLDS)
def test_what_is_taken_for_applied_is_applied(kind: str) -> None:
    """Random edits of what is desired, and of what another writer does; recognised often enough for the claim to mean something."""
    chance = random.Random(kind)
    now = [1_800_000_000.0]
    machine = equip(Machine(clock=lambda: now[0]))
    client = Client(Transport(machine))
    first = {"kind": kind, **WORLDS[kind], "metadata": {**WORLDS[kind]["metadata"], "name": "x", "namespace": "default"}}
    recognised = applied = 0
    desired, live = first, client.patch(first, first, "apply", field_manager="m", force=True)
    for _ in range(150):
        now[0] += 1
        choice = chance.random()
        wanted = first if choice < 0.2 else edited(desired, chance) if choice < 0.7 else desired
        try:
            if chance.random() < 0.3:
                live = client.patch(live, foreign(live, chance), field_manager="other")
            known = is_applied(wanted, live, "m")
            after = client.patch(wanted, wanted, "apply", field_manager="m", force=True)
        except FiferailError:
            client.patch(first, {"metadata": {"finalizers": None}})
            client.delete(first)
            desired, live = first, client.patch(first, first, "apply", field_manager="m", force=True)
            continue
        if known:
            differs = [(path, was, now) for path, was, now in differences(live, after)]
            assert after["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"], differs
        recognised, applied = recognised + known, applied + (not known)
        desired, live = wanted, after
    assert recognised > 15
    assert applied > 15
