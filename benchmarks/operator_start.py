"""An operator starts and finds 1,000 objects: seconds until each has a Ready condition, requests, and peak memory.

Contenders are processes of their own on one real kube-apiserver, in turns: fairlead, kopf (event posting off), and a
controller-runtime operator where a Go toolchain and its modules can be had (benchmarks/operator_go). Objects are made anew for each
run. The embedded server is measured with fairlead's operator only. Run: `python -m benchmarks.operator_start`.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .measure import load, save, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OBJECTS = int(os.environ.get("FAIRLEAD_BENCH_OBJECTS", "1000"))
ROUNDS = int(os.environ.get("FAIRLEAD_BENCH_ROUNDS", "3"))
SECONDS = 120.0
API, KIND = "bench.example.io/v1", "Gadget"

FAIRLEAD = """
from fairlead import Controller, Manager

async def reconcile(ctx):
    ctx.status.conditions.set("Ready", True, reason="AllUp")

Manager(Controller("bench.example.io/v1", "Gadget", reconcile, concurrency=CONCURRENCY), events=False).run()
"""
KOPF = """
import asyncio, kopf

@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False

@kopf.on.create("bench.example.io", "v1", "gadgets")
@kopf.on.resume("bench.example.io", "v1", "gadgets")
async def reconcile(patch, **_):
    time = "2026-01-01T00:00:00Z"
    patch.status["conditions"] = [{"type": "Ready", "status": "True", "reason": "AllUp", "message": "", "lastTransitionTime": time}]

kopf.configure(verbose=False)
asyncio.run(kopf.operator(clusterwide=True, standalone=True))
"""


def crd() -> Any:
    """Gadgets with conditions."""
    text = {"type": "string"}
    condition = {"type": "object", "required": ["type", "status"], "properties": {
        **dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), text), "observedGeneration": {"type": "integer"},
    }}  # fmt: skip
    conditions = {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    status = {"type": "object", "properties": {"conditions": conditions}, "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": loose, "status": status}}}}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.bench.example.io"},
        "spec": {"group": "bench.example.io", "scope": "Namespaced", "names": {"plural": "gadgets", "singular": "gadget", "kind": KIND},
                 "versions": [version]},
    }  # fmt: skip


class Place:
    """A server with fresh objects."""

    def __init__(self, kubeconfig: Path, requests: Callable[[], int]) -> None:
        from fairlead.clients.kubeconfig import connect

        self.kubeconfig = kubeconfig
        self.client = connect(kubeconfig, user_agent="bench")
        self._requests = requests
        self.client.create(crd())
        self._served()

    def _served(self) -> None:
        from fairlead.errors import ApiError

        for _ in range(200):
            try:
                self.client.list(API, KIND)
                return
            except ApiError:
                time.sleep(0.1)
        raise AssertionError("the CRD was never served")

    def renew(self) -> None:
        """Objects that nobody has touched."""
        for obj in self.client.list(API, KIND):
            if obj["metadata"].get("finalizers"):
                self.client.patch(obj, {"metadata": {"finalizers": None}})
            self.client.delete(obj)
        for number in range(OBJECTS):
            metadata = {"name": f"g{number:04d}", "namespace": "default", "labels": {"app": "bench"}}
            self.client.create({"apiVersion": API, "kind": KIND, "metadata": metadata, "spec": {"size": number, "text": "x" * 200}})

    def run(self, command: list[str]) -> dict[str, float]:
        """One start of an operator."""
        self.renew()
        _, version = self.client.snapshot(API, KIND)
        before = self._requests()
        began = time.monotonic()
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PYTHONDONTWRITEBYTECODE": ""}
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
            try:
                self._all_ready(version, began, process)
                found = {"seconds": time.monotonic() - began, "cpu": _cpu(process.pid), "megabytes": _peak(process.pid)}
                time.sleep(1.0)  # what is still to come is counted too
                return {**found, "requests": self._requests() - before - 1}
            except AssertionError as error:
                said.seek(0)
                raise AssertionError(f"{error}\n{said.read()[-3000:].decode(errors='replace')}") from None
            finally:
                process.kill()
                process.wait(20)

    def _all_ready(self, version: str, began: float, process: subprocess.Popen[bytes]) -> None:
        ready: set[str] = set()
        for _, obj in self._watched(version):
            conditions = (obj.get("status") or {}).get("conditions") or []
            if any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions):
                ready.add(obj["metadata"]["name"])
            if len(ready) == OBJECTS:
                return
            if process.poll() is not None:
                raise AssertionError("the operator ended")
        raise AssertionError(f"only {len(ready)} of {OBJECTS} were ready after {time.monotonic() - began:.0f} s")

    def _watched(self, version: str) -> Iterator[tuple[str, Any]]:
        return self.client.watch(API, KIND, None, version, timeout_seconds=int(SECONDS))


def _peak(pid: int) -> float:
    """The most memory that the process has had, in megabytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _cpu(pid: int) -> float:
    """Seconds of processor time so far: what a loaded machine does not distort as much."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _commands(folder: Path) -> dict[str, list[str]]:
    (folder / "fairlead_operator.py").write_text(FAIRLEAD.replace("CONCURRENCY", "16"))
    (folder / "kopf_operator.py").write_text(KOPF)
    commands = {name: [sys.executable, str(folder / f"{name}_operator.py")] for name in ("fairlead", "kopf")}
    binary = _go_binary()
    if binary is not None:
        commands["controller-runtime (Go)"] = [str(binary)]
    return commands


def _go_binary() -> Path | None:
    """The Go operator, built where that is possible."""
    source, target = Path(__file__).parent / "operator_go", Path(tempfile.gettempdir()) / "fairlead-bench-operator-go"
    if not (source / "main.go").exists():
        return None
    done = subprocess.run(["go", "build", "-o", str(target), "."], cwd=source, capture_output=True, check=False)
    return target if done.returncode == 0 else None


def _real(commands: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    from fairlead.apiserver.real.launch import RealServer

    with RealServer() as server:
        import urllib.request

        def requests() -> int:
            asked = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"})
            with urllib.request.urlopen(asked, context=server.ssl_context()) as answer:
                text = answer.read().decode()
            lines = re.findall(r'^apiserver_request_total\{[^}]*resource="gadgets"[^}]*\} (\d+)', text, re.M)
            return sum(map(int, lines))

        return _in_turns(Place(server.kubeconfig, requests), commands)


def _embedded(commands: dict[str, list[str]], folder: Path) -> dict[str, dict[str, float]]:
    """The server in a process of its own, as `fairlead serve` runs it."""
    kubeconfig = folder / "embedded"
    command = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            return _in_turns(Place(kubeconfig, lambda: 0), commands)
        finally:
            server.terminate()


def _in_turns(place: Place, commands: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            runs[name].append(place.run(command))
            print(name, json.dumps(runs[name][-1]), flush=True)
    return {name: {key: statistics.median(run[key] for run in done) for key in done[0]} for name, done in runs.items()}


def run() -> Any:
    """All contenders."""
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
        real = _real(commands)
        embedded = _embedded({"fairlead": commands["fairlead"]}, Path(folder))
    return {"objects": OBJECTS, "real": real, "embedded": embedded}


def render() -> str:
    """For docs/benchmarks."""
    result = load("operator_start")
    if result is None:
        return ""
    all_runs = [*result["real"].items(), *((f"{name}, embedded server", found) for name, found in result["embedded"].items())]
    rows = [
        [
            name, f"{found['seconds']:.1f} s", f"{found['cpu']:.1f} s", f"{found['requests']:.0f}" if found["requests"] > 0 else "",
            f"{found['megabytes']:.0f} MB",
        ]
        for name, found in all_runs
    ]  # fmt: skip
    head = f"## An operator that starts with {result['objects']} objects\n\nFrom its start until each has its Ready condition."
    return f"{head}\n\n{table(['operator', 'all ready after', 'its processor time', 'requests', 'peak memory'], rows)}"


if __name__ == "__main__":
    save("operator_start", run())
    print(render())
