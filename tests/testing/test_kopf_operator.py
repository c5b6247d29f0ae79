"""A kopf operator whose handler patches a list that has grown while it waited: the checker names it, on both servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fiferail.testing.hazards.place import CRD, GROUP, NEWER
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

kopf = pytest.importorskip("kopf")
pytestmark = pytest.mark.xdist_group("fixture")

WAIT = 60.0
CONDITION = {"status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
READY, PROBED, SYNCED = ({"type": type_, **CONDITION} for type_ in ("Ready", "Probed", "Synced"))


@pytest.fixture(params=["embedded", "real"])
def apiserver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiServer]:
    """Each server in turn."""
    embedded = request.param == "embedded"
    backend: Any = EmbeddedBackend() if embedded else RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path)
    yield ApiServer(backend)
    backend.close()


def _gadget(name: str) -> Any:
    return {"apiVersion": NEWER, "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 1}}


class Operator:
    """kopf in a thread. Its handler reads the conditions, waits until the watch has delivered a later event, and then patches."""

    def __init__(self, url: str) -> None:
        self.started, self.delivered = threading.Event(), threading.Event()
        self._stop, self._registry = threading.Event(), kopf.OperatorRegistry()
        kopf.on.startup(registry=self._registry)(self._configure)
        kopf.on.login(registry=self._registry)(lambda **_: kopf.ConnectionInfo(server=url))
        kopf.on.create(GROUP, "v2", "gadgets", registry=self._registry, when=lambda name, **_: name == "g")(self._created)
        kopf.on.event(GROUP, "v2", "gadgets", registry=self._registry, when=lambda name, **_: name == "later")(self._later)
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def __enter__(self) -> Operator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.delivered.set()
        self._stop.set()
        self._thread.join(WAIT)

    def _run(self) -> None:
        kopf.run(registry=self._registry, standalone=True, namespaces=["default"], stop_flag=self._stop)

    def _configure(self, settings: Any, **_: Any) -> None:
        settings.posting.enabled = False

    async def _created(self, body: Any, patch: Any, **_: Any) -> None:
        conditions = [dict(entry) for entry in body.status["conditions"]]
        self.started.set()
        await asyncio.to_thread(self.delivered.wait, WAIT)
        patch.status["conditions"] = [*conditions, PROBED]

    def _later(self, **_: Any) -> None:
        self.delivered.set()


def test_a_stale_list_of_a_kopf_handler_is_reported(apiserver: Any) -> None:
    """`patch.status["conditions"]` is a merge patch without a lock: the condition that the watch had delivered meanwhile is gone."""
    apiserver.apply(CRD)
    reporter = apiserver.client_as("reporter")
    reporter.create(_gadget("g"))
    reporter.patch(_gadget("g"), {"status": {"conditions": [READY]}}, subresource="status")
    with Operator(apiserver.url) as operator:
        assert operator.started.wait(WAIT)
        reporter.patch(_gadget("g"), {"status": {"conditions": [READY, SYNCED]}}, subresource="status")
        reporter.create(_gadget("later"))  # in the same stream, behind the patch
        assert operator.delivered.wait(WAIT)
        apiserver.wait_for(NEWER, "Gadget", "g", "Probed", timeout=WAIT)
    assert [entry["type"] for entry in apiserver.get(NEWER, "Gadget", "g")["status"]["conditions"]] == ["Ready", "Probed"]
    with pytest.raises(AssertionError) as failed:
        apiserver.assert_nothing_lost()
    first, second = str(failed.value).splitlines()
    assert first == "1 update lost"
    assert second.startswith("LOST (inferred) status.conditions[Synced] of gadgets default/g: reporter wrote ")
    assert "; kopf/" in second
