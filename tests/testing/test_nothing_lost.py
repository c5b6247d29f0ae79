"""`apiserver.assert_nothing_lost()`: what a test learns about the writers that it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fiferail
from fiferail.testing.hazards.place import CRD, NEWER
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

GADGET = {"apiVersion": NEWER, "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}, "spec": {"size": 1}}


pytestmark = pytest.mark.xdist_group("fixture")


@pytest.fixture(params=["embedded", "real"])
def apiserver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiServer]:
    """The plugin's fixture on each server in turn: the embedded one tells the checker itself, the real one through its audit log."""
    backend: Any = (
        EmbeddedBackend() if request.param == "embedded" else RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path)
    )
    yield ApiServer(backend)
    backend.close()


def _race(apiserver: Any, strategy: Any) -> None:
    """Two writers, each with its own condition, from the same read."""
    apiserver.apply(CRD, GADGET)
    clients = {name: apiserver.client_as(name) for name in ("controller", "reporter")}
    read = {name: client.get(NEWER, "Gadget", "g", namespace="default") for name, client in clients.items()}
    for (name, client), condition in zip(clients.items(), ("Ready", "Probed"), strict=True):
        writer = fiferail.StatusWriter(client, field_manager=name, strategy=strategy)
        with writer.session(read[name]) as status:
            status.conditions.set(condition, True, reason="Test")


def test_a_race_that_loses_something_fails_the_test_with_the_story(apiserver: Any) -> None:
    """The failure names the field, what was written, and both writers."""
    _race(apiserver, fiferail.MERGE)
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    first, second = str(failed.value).splitlines()
    assert first == "1 update lost"
    assert re.match(
        r"LOST status\.conditions\[Ready\] of gadgets default/g: controller wrote .*; reporter, based on resourceVersion \d+, overwrote it",
        second,
    )


def test_the_same_race_with_the_default_strategy_passes(apiserver: Any) -> None:
    """Nothing is lost, so nothing is raised, however often it is asked."""
    _race(apiserver, fiferail.COMPARE)
    apiserver.assert_nothing_lost()
    apiserver.assert_nothing_lost()


def test_a_conflict_that_is_swallowed_fails_the_test(apiserver: Any) -> None:
    """An update that was refused and never made again is lost, though its writer was told."""
    apiserver.apply(CRD, {**GADGET, "status": {"phase": "Pending"}})
    one, two = apiserver.client_as("one"), apiserver.client_as("two")
    read = two.get(NEWER, "Gadget", "g", namespace="default")
    one.patch(GADGET, {"status": {"count": 1}}, subresource="status")
    with pytest.raises(fiferail.ApiError):
        two.replace({**read, "status": {"phase": "Failed"}}, subresource="status")
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    assert str(failed.value) == (
        '1 update lost\nLOST status.phase of gadgets default/g: two wanted "Failed", was refused (PUT on /status) and never sent it again. '
        'It is "Pending", as test left it. Handle the conflict: read the object, decide again, write.'
    )
