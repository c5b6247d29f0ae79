"""Cluster IPs and node ports: unique, repeatable, and refused when there are none left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fiferail.apiserver.machine import Machine
from fiferail.wire import Answer, Request

SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture
def machine() -> Machine:
    return Machine(clock=lambda: 1_800_000_000.0)


def created(machine: Machine, name: str, **spec: Any) -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    answer = machine.handle(Request(method="POST", path=SERVICES, body=json.dumps(body).encode(), content_type="application/json"))
    assert isinstance(answer, Answer)
    return answer.status, answer.json()


def test_addresses_are_unique_until_there_are_none(machine: Machine) -> None:
    """Every service gets an address of its own; the one after the last is refused as the real server refuses it."""
    given = [created(machine, f"s{number}")[1]["spec"]["clusterIP"] for number in range(253)]
    assert len(set(given)) == 253
    code, refusal = created(machine, "late")
    assert (code, refusal["reason"]) == (500, "InternalError")
    assert refusal["message"] == 'Internal error occurred: failed to allocate a serviceIP for Service "late": range is full'


def test_the_same_requests_get_the_same_addresses() -> None:
    """Two worlds that are asked the same give the same, node ports included."""
    worlds = [Machine(clock=lambda: 1_800_000_000.0) for _ in range(2)]
    first, second = (created(world, "s", type="NodePort")[1]["spec"] for world in worlds)
    assert first == second


def test_a_fork_allocates_on_its_own(machine: Machine) -> None:
    """What one world took is free in the other."""
    twin = machine.fork()
    assert created(machine, "a")[1]["spec"]["clusterIP"] == created(twin, "b")[1]["spec"]["clusterIP"]


def test_a_deleted_service_frees_its_address(machine: Machine) -> None:
    """The address of a deleted service is given again."""
    address = created(machine, "a")[1]["spec"]["clusterIP"]
    machine.handle(Request(method="DELETE", path=f"{SERVICES}/a"))
    assert created(machine, "b")[1]["spec"]["clusterIP"] == address
