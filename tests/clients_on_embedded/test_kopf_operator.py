"""A kopf operator, run as users run one, against the embedded server."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING, Any

from fiferail.apiserver.inprocess import request_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from fiferail.apiserver.embedded import EmbeddedServer

OPERATOR = """
    import kopf

    @kopf.on.login()
    def login(**given):
        return kopf.login_with_kubeconfig(**given)

    @kopf.on.create("example.io", "v1", "gadgets")
    def created(spec, patch, **_):
        patch.status["phase"] = f"made with size {spec['size']}"

    @kopf.on.delete("example.io", "v1", "gadgets")
    def deleted(**_):
        pass
"""


def test_an_operator_reacts_and_finalizes(
    server: EmbeddedServer, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gadget: dict[str, Any]
) -> None:
    """The operator sees a new gadget, writes its status, puts its finalizer on, and takes it off again when the gadget goes."""
    import kopf.testing

    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    operator = tmp_path / "operator.py"
    operator.write_text(textwrap.dedent(OPERATOR))
    gadgets = "/apis/example.io/v1/namespaces/default/gadgets"

    def call(method: str, path: str, body: Any = None) -> Any:
        with server.lock:
            answer: Any = server.machine.handle(request_of(method, path, body, manager="test"))
        return answer.json()

    settings = kopf.OperatorSettings()
    settings.queueing.exit_timeout = 30  # kopf's own two seconds are too few on a busy machine
    with kopf.testing.KopfRunner(["run", "--standalone", "-n", "default", str(operator)], timeout=60, settings=settings) as runner:
        call("POST", gadgets, gadget)
        _until(lambda: call("GET", f"{gadgets}/g").get("status", {}).get("phase") == "made with size 3", runner)
        assert call("GET", f"{gadgets}/g")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
        call("DELETE", f"{gadgets}/g")
        _until(lambda: call("GET", f"{gadgets}/g").get("code") == 404, runner)
    assert runner.exit_code == 0
    assert "Traceback" not in runner.output


def _until(reached: Any, runner: Any, seconds: float = 30.0) -> None:
    """Polls: the operator is a thread of its own and tells nobody when it is done."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, runner.output
        time.sleep(0.02)
