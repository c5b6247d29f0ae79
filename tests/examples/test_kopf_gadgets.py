"""The kopf example, run as a user runs it, on both servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf.testing
import pytest

from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

EXAMPLE = Path(__file__).parents[2] / "examples" / "kopf_gadgets"
FOREIGN = {"type": "Foreign", "status": "True", "reason": "Other", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """Each server in turn."""
    if request.param == "embedded":
        backend: Any = EmbeddedBackend()
    else:
        backend = RealBackend(request.getfixturevalue("_fiferail_real_world"), request.getfixturevalue("tmp_path"))
    yield ApiServer(backend)
    backend.close()


def test_the_operator_writes_beside_others(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both handlers' conditions, the counter and a foreign controller's condition all stand; a new size is reconciled."""
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    server.apply(EXAMPLE / "crd.yaml", EXAMPLE / "gadget.yaml")
    gadget = server.get("example.io/v1", "Gadget", "g")
    server.client.patch(gadget, {"status": {"conditions": [FOREIGN]}}, subresource="status", field_manager="foreign")
    settings = kopf.OperatorSettings()
    settings.queueing.exit_timeout = 30  # kopf gives its workers two seconds to end, and fails when a busy machine needs three
    arguments = ["run", "--standalone", "-n", "default", str(EXAMPLE / "operator.py")]
    with kopf.testing.KopfRunner(arguments, timeout=60, settings=settings) as runner:
        first = server.wait_for("example.io/v1", "Gadget", "g", lambda obj: types(obj) == {"Foreign", "Ready", "Probed"}, timeout=30)
        server.client.patch(first, {"spec": {"size": 0}})
        second = server.wait_for("example.io/v1", "Gadget", "g", lambda obj: obj["status"].get("observedGeneration") == 2, timeout=30)
    assert runner.exit_code == 0, runner.output
    assert (second["status"]["ready"], second["status"]["probes"] >= 1) == (0, True)
    assert {entry["type"]: entry["status"] for entry in second["status"]["conditions"]} == {
        "Foreign": "True", "Ready": "False", "Probed": "True",
    }  # fmt: skip
    assert FOREIGN in second["status"]["conditions"]
    managers = {entry["manager"] for entry in second["metadata"]["managedFields"] if entry.get("subresource") == "status"}
    assert managers == {"foreign", "gadgets"}


def types(obj: Any) -> set[str]:
    """The condition types of an object."""
    return {entry["type"] for entry in obj.get("status", {}).get("conditions", [])}


def test_a_conflict_becomes_a_short_temporary_error() -> None:
    """kopf's own default for an exception is a minute; a conflict is worth another look at once."""
    import asyncio

    import fiferail

    @fiferail.kopf.requeue_conflicts(delay=0.5)
    async def awaited(**_: Any) -> None:
        raise fiferail.Conflict("something moved")

    @fiferail.kopf.requeue_conflicts
    def called(**_: Any) -> None:
        raise fiferail.Conflict("something moved")

    with pytest.raises(kopf.TemporaryError, match="something moved") as caught:
        asyncio.run(awaited())
    assert caught.value.delay == 0.5
    with pytest.raises(kopf.TemporaryError) as again:
        called()
    assert again.value.delay == 1.0


def test_other_errors_stay_what_they_are() -> None:
    """Only conflicts are translated: the rest is for kopf, or for the caller, to judge."""
    import fiferail

    @fiferail.kopf.requeue_conflicts
    def invalid(**_: Any) -> None:
        raise fiferail.Invalid("no such field")

    with pytest.raises(fiferail.Invalid, match="no such field"):
        invalid()
