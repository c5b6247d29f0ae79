"""`Manager(...).run()` as a program: it finds its cluster, works, and ends on a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fiferail.testing.server import ApiServer, EmbeddedBackend

from .conftest import API, crd

PROGRAM = """
from fiferail import Controller, LeaderElection, Manager

async def reconcile(ctx):
    ctx.status["phase"] = "Seen"

Manager(Controller("example.io/v1", "Gadget", reconcile), leader_election=LeaderElection("operator")).run(json_logs=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_works_until_a_signal_and_leaves_no_lease_behind(number: signal.Signals, tmp_path: Path) -> None:
    """One line of JSON per log record; the lease is given up; exit code 0."""
    backend = EmbeddedBackend()
    server = ApiServer(backend)
    server.apply(crd("Gadget"), {"apiVersion": API, "kind": "Gadget", "metadata": {"name": "a"}})
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    with subprocess.Popen([sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, text=True) as program:
        guard = threading.Timer(60, program.kill)
        guard.start()
        server.wait_for(API, "Gadget", "a", lambda obj: (obj.get("status") or {}).get("phase") == "Seen", timeout=60)
        program.send_signal(number)
        assert program.stderr is not None
        said = [json.loads(line) for line in program.stderr]
        assert program.wait() == 0
        guard.cancel()
    assert any("holds the lease default/operator" in line["message"] for line in said)
    assert server.get("coordination.k8s.io/v1", "Lease", "operator")["spec"]["holderIdentity"] == ""
    backend.close()


def test_without_a_cluster_it_ends_with_one_sentence(tmp_path: Path) -> None:
    """No traceback."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")} | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    sentence = "FiferailError: found no cluster: no kubeconfig argument, no KUBECONFIG, no ~/.kube/config, and this is no pod\n"
    assert (done.returncode, done.stderr) == (1, sentence)
