"""An operator with 10,000 objects in its cache: memory per object, and the time from a change to its reconcile at 200 changes a second.

The operator is a process of its own; the server is the embedded one, in a second process (10,000 objects are made there in seconds);
this process makes the changes, each with the time at which it was sent. Run: `python -m benchmarks.operator_steady`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .measure import load, save, shown, table
from .operator_start import API, KIND, crd

OBJECTS = int(os.environ.get("FAIRLEAD_BENCH_OBJECTS", "10000"))
PER_SECOND, SECONDS = 200, 20

OPERATOR = '''
import asyncio, json, sys, time
from fairlead import Controller, Manager
seen = []

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

async def reconcile(ctx):
    sent = ctx.snapshot["spec"].get("sent")
    if sent is not None:
        seen.append(time.monotonic() - sent)

async def main():
    manager = Manager(Controller("bench.example.io/v1", "Gadget", reconcile), events=False)
    before = resident()
    task = asyncio.ensure_future(manager.serve())
    while not manager.ready or len(manager.running[0].queue):
        await asyncio.sleep(0.05)
    print(json.dumps({"bytes": resident() - before}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print(json.dumps(seen), flush=True)
    manager.stop()
    await task

asyncio.run(main())
'''


def run() -> Any:
    """One operator, one stream of changes."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--kubeconfig", str(kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            assert server.stdout is not None
            server.stdout.readline()
            try:
                return _measured(kubeconfig, Path(folder) / "operator.py")
            finally:
                server.terminate()


def _measured(kubeconfig: Path, script: Path) -> Any:
    from fairlead.clients.kubeconfig import connect

    client = connect(kubeconfig, user_agent="bench")
    client.create(crd())
    plain = {"apiVersion": API, "kind": KIND, "spec": {"text": "x" * 400}}
    objects = [client.create({**plain, "metadata": {"name": f"g{n:05d}", "namespace": "default"}}) for n in range(OBJECTS)]
    script.write_text(OPERATOR)
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    pipe, command = subprocess.PIPE, [sys.executable, str(script)]
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as operator:
        assert operator.stdout is not None
        assert operator.stdin is not None
        memory = json.loads(operator.stdout.readline())["bytes"]
        sent = _change(client, objects)
        time.sleep(1)
        operator.stdin.write("\n")
        operator.stdin.flush()
        seen = sorted(json.loads(operator.stdout.readline()))
    cuts = statistics.quantiles(seen, n=100)
    return {
        "objects": OBJECTS, "bytes_per_object": memory / OBJECTS, "object_bytes": len(json.dumps(objects[0])),
        "changes": len(sent), "per_second": len(sent) / (sent[-1] - sent[0]), "reconciles": len(seen), "p50": cuts[49], "p99": cuts[98],
    }  # fmt: skip


def _change(client: Any, objects: list[Any]) -> list[float]:
    """A steady stream; when the machine cannot keep up the changes come later, and the rate says so."""
    sent = []
    began = time.monotonic()
    for number in range(PER_SECOND * SECONDS):
        pause = began + number / PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        sent.append(time.monotonic())
        client.patch(objects[number * 7919 % len(objects)], {"spec": {"sent": sent[-1]}})
    return sent


def render() -> str:
    """For docs/benchmarks."""
    found = load("operator_steady")
    if found is None:
        return ""
    head = f"## An operator with {found['objects']} objects in its cache\n\nOn the embedded server; from just before a change is sent."
    row = [
        f"{found['bytes_per_object'] / 1024:.1f} KB (an object is {found['object_bytes'] / 1024:.1f} KB of JSON)",
        f"{found['per_second']:.0f}", shown(found["p50"]), shown(found["p99"]),
    ]  # fmt: skip
    return f"{head}\n\n{table(['memory per object', 'changes a second', 'to its reconcile, p50', 'p99'], [row])}"


if __name__ == "__main__":
    save("operator_steady", run())
    print(render())
