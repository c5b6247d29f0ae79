"""A pass without news sends nothing; the slightest news is applied."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fiferail.components import Component, ConfigMap, Deployment, Mutation, Secret, Service
from fiferail.components.unchanged import is_applied
from fiferail.controllers.cache import Cache

WEB = {
    "metadata": {"name": "web", "labels": {"a": "b"}, "finalizers": ["example.io/one", "example.io/two"]},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "nodeSelector": {"zone": "a"},
                "containers": [
                    {
                        "name": "app",
                        "image": "example.io/app:2",
                        "args": ["-v", "x"],
                        "ports": [{"containerPort": 80}, {"containerPort": 81, "name": "m"}],
                        "env": [{"name": "B", "value": "1"}, {"name": "A", "value": "2"}],
                    },
                    {"name": "side", "image": "example.io/side:1"},
                ],
            },
        },
    },
}


def component(desired: Any) -> Component:
    return Component("web", condition="WebReady", resources=[Deployment(desired)])


def patches(stand: Any) -> int:
    return sum(request.startswith("PATCH") for request in stand.wire.requests)


async def test_what_stands_as_it_was_applied_is_not_sent_again(stand: Any) -> None:
    """Keyed lists, sets, maps, one-value lists, defaulted keys, owner references: all recognised."""
    await stand.reconcile(component(WEB).reconcile)
    assert patches(stand) == 1
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 2, "readyReplicas": 2})
    await stand.reconcile(component(WEB).reconcile)
    assert patches(stand) == 1
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_with_a_cache_a_pass_without_news_sends_nothing_at_all(stand: Any) -> None:
    """Not even a read."""
    await stand.reconcile(component(WEB).reconcile)
    cache = Cache()
    cache.saw(await stand.get("apps/v1", "Deployment", "web"))
    stand.caches.add("apps/v1", "Deployment", cache)
    await stand.reconcile(component(WEB).reconcile)  # what changed by being applied is told once
    stand.wire.requests.clear()
    stand.writes.requests.clear()
    await stand.reconcile(component(WEB).reconcile)
    assert (stand.wire.requests, stand.writes.requests) == ([], [])


def changed(*path: Any, to: Any = None) -> Any:
    """The desired object with another value somewhere; without a value it is left out."""
    desired: Any = deepcopy(WEB)
    at = desired
    for step in path[:-1]:
        at = at[step]
    if to is None:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return desired


POD = ("spec", "template", "spec")
FIRST = (*POD, "containers", 0)


@pytest.mark.parametrize(
    "desired",
    [
        pytest.param(changed("spec", "replicas", to=3), id="another value"),
        pytest.param(changed("spec", "replicas"), id="a field left out"),
        pytest.param(changed("metadata", "labels", to={"a": "b", "c": "d"}), id="a field added"),
        pytest.param(changed("metadata", "labels"), id="a map left out"),
        pytest.param(changed("metadata", "finalizers", to=["example.io/two"]), id="a set member left out"),
        pytest.param(changed(*FIRST, "args", to=["x", "-v"]), id="one value in another order"),
        pytest.param(
            changed(*FIRST, "env", to=[{"name": "A", "value": "2"}, {"name": "B", "value": "1"}]), id="keyed entries in another order"
        ),
        pytest.param(changed(*FIRST, "env", 0, "value", to="9"), id="a value in a keyed entry"),
        pytest.param(changed(*FIRST, "ports", 0, "containerPort", to=90), id="another key"),
        pytest.param(changed(*FIRST, "ports", 0, "protocol", to="UDP"), id="a key that was a default"),
        pytest.param(changed(*POD, "containers", 1), id="a keyed entry left out"),
        pytest.param(changed(*POD, "nodeSelector", to={"zone": "b"}), id="an atomic map"),
    ],
)
async def test_any_news_is_applied(stand: Any, desired: Any) -> None:
    """And the server has what is desired afterwards, as if everything were always sent."""
    await stand.reconcile(component(WEB).reconcile)
    before = await stand.get("apps/v1", "Deployment", "web")
    await stand.reconcile(component(desired).reconcile)
    assert patches(stand) == 2
    assert await stand.get("apps/v1", "Deployment", "web") != before


async def test_what_others_changed_is_put_back(stand: Any) -> None:
    """The desired object is the same, the live one is not."""
    await stand.reconcile(component(WEB).reconcile)
    await stand.outside.patch(await stand.get("apps/v1", "Deployment", "web"), {"spec": {"replicas": 7}})
    await stand.reconcile(component(WEB).reconcile)
    assert (await stand.get("apps/v1", "Deployment", "web"))["spec"]["replicas"] == 2


async def test_a_reference_that_somebody_dropped_is_put_back(stand: Any) -> None:
    """Ownership is part of what is applied."""
    await stand.reconcile(component(WEB).reconcile)
    await stand.outside.patch(await stand.get("apps/v1", "Deployment", "web"), {"metadata": {"ownerReferences": None}})
    await stand.reconcile(component(WEB).reconcile)
    assert len((await stand.get("apps/v1", "Deployment", "web"))["metadata"]["ownerReferences"]) == 1


async def test_what_the_server_stores_otherwise_is_applied_each_time(stand: Any) -> None:
    """A doubt costs a request, and changes nothing."""
    null = Mutation("null", lambda obj: obj["metadata"].update(annotations={"a": None}))
    resources = [
        ConfigMap({"metadata": {"name": "c"}}, mutations=[null]),
        Service({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
    ]
    versions = []
    for _ in range(3):
        await stand.reconcile(Component("web", condition="WebReady", resources=resources).reconcile)
        versions.append((await stand.get("v1", "ConfigMap", "c"))["metadata"]["resourceVersion"])
    assert patches(stand) == 3 + 1
    assert len(set(versions)) == 1


async def test_a_secrets_texts_are_owned_like_its_data(stand: Any) -> None:
    """Nothing is sent for the same texts, and a key that is no longer desired goes."""
    for texts in ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, {"a": "1"}):
        secret = Secret({"metadata": {"name": "s"}, "data": {"c": "Mw=="}, "stringData": texts})
        await stand.reconcile(Component("web", condition="WebReady", resources=[secret]).reconcile)
    assert patches(stand) == 2
    assert (await stand.get("v1", "Secret", "s"))["data"] == {"a": "MQ==", "c": "Mw=="}


@pytest.mark.parametrize(
    ("api_version", "live", "unchanged"),
    [
        pytest.param("networking.k8s.io/v1", [{"port": 80, "protocol": "TCP"}], True, id="a default that the server filled in"),
        pytest.param("networking.k8s.io/v1", [{"port": 80, "protocol": "UDP"}], False, id="another value"),
        pytest.param("networking.k8s.io/v1", [{"port": 80, "endPort": 90}], False, id="a member that was applied before"),
        pytest.param("networking.k8s.io/v1", [{"port": 80}, {"port": 81}], False, id="an entry that was applied before"),
        pytest.param("custom.example.io/v1", [{"port": 80, "protocol": "TCP"}], False, id="a custom kind, whose defaults are not known"),
    ],
)
def test_a_value_that_is_owned_as_a_whole_may_have_known_defaults_only(api_version: str, live: Any, unchanged: bool) -> None:
    """Anything else may be what this manager applied before and no longer wants."""
    managed = {"manager": "m", "operation": "Apply", "apiVersion": api_version, "fieldsV1": {"f:spec": {"f:ports": {}}}}
    there = {"metadata": {"name": "x", "managedFields": [managed]}, "spec": {"ports": live}}
    desired = {"apiVersion": api_version, "kind": "K", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}
    assert is_applied(desired, there, "m") is unchanged
