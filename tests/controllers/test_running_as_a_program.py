"""`Manager(...).run()` as a program: it finds its cluster, works, and ends on a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


STUCK = """
import asyncio, time
import fiferail.controllers.manager
from fiferail import Controller, Manager

fiferail.controllers.manager.CUT_OFF = {cut_off}

async def reconcile(ctx):
    print("begun", flush=True)
    {body}

Manager(Controller("example.io/v1", "Gadget", reconcile), grace={grace}).run(json_logs=True)
"""
SWALLOWS = """while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass"""
BODIES = {
    "swallows its cancellation": (SWALLOWS, "1 tasks ignored their cancellation"),
    "blocks the event loop": ("time.sleep(3600)", "the program had not ended 0.15 s after the signal"),
    "waits in a thread": ("await asyncio.to_thread(time.sleep, 3600)", "the program had not ended 0.15 s after the signal"),
}
CUT = ": the process ends at once, and what it was doing is cut off"


@contextmanager
def stuck(body: str, tmp_path: Path, grace: float, cut_off: float) -> Iterator[subprocess.Popen[str]]:
    """A program whose reconcile has begun and will not end."""
    backend = EmbeddedBackend()
    server = ApiServer(backend)
    server.apply(crd("Gadget"), {"apiVersion": API, "kind": "Gadget", "metadata": {"name": "a"}})
    script = tmp_path / "program.py"
    script.write_text(STUCK.format(body=body, grace=grace, cut_off=cut_off))
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(script)], env=environment, stdout=pipe, stderr=pipe, text=True) as program:
        guard = threading.Timer(60, program.kill)
        guard.start()
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        yield program
        guard.cancel()
    backend.close()


@pytest.mark.parametrize("kind", BODIES)
def test_a_reconcile_that_does_not_end_does_not_keep_the_process(kind: str, tmp_path: Path) -> None:
    """One signal is enough: after the grace and a few seconds more, here less, the process ends with exit code 1 and says why."""
    body, why = BODIES[kind]
    with stuck(body, tmp_path, grace=0.05, cut_off=0.05) as program:
        program.send_signal(signal.SIGTERM)
        assert program.stderr is not None
        said = [json.loads(line) for line in program.stderr]
        assert program.wait() == 1
    assert said[-1]["message"] == why + CUT


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_ends_the_process_at_once(second: signal.Signals, tmp_path: Path) -> None:
    """However long the grace, with exit code 1."""
    with stuck(SWALLOWS, tmp_path, grace=3600, cut_off=3600) as program:
        program.send_signal(signal.SIGTERM)
        assert program.stderr is not None
        for line in program.stderr:
            if json.loads(line)["message"] == "stopping: 1 reconciles have 3600 s to finish":
                break
        program.send_signal(second)
        last = json.loads(program.stderr.read().splitlines()[-1])
        assert program.wait() == 1
    assert (last["level"], last["message"]) == ("error", f"{second.name} came a second time{CUT}")


def test_without_a_cluster_it_ends_with_one_sentence(tmp_path: Path) -> None:
    """No traceback."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")} | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    sentence = "FiferailError: found no cluster: no kubeconfig argument, no KUBECONFIG, no ~/.kube/config, and this is no pod\n"
    assert (done.returncode, done.stderr) == (1, sentence)


def test_with_a_kubeconfig_that_is_missing_it_names_the_file(tmp_path: Path) -> None:
    """KUBECONFIG is set, and it is wrong."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    environment |= {"HOME": str(tmp_path), "KUBECONFIG": "/nonexistent"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    sentence = "FiferailError: found no cluster: KUBECONFIG names /nonexistent, which does not exist, and this is no pod\n"
    assert (done.returncode, done.stderr) == (1, sentence)
