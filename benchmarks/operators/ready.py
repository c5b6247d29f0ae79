"""A thousand objects that are there when the operator starts: seconds until all are Ready, requests, peak memory.

Then every object gets an annotation, so that each is reconciled again and nothing is to be written: requests of that round.
"""

from __future__ import annotations

import http.client
import os
import ssl
import statistics
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from ..apiserver import COLLECTION
from .contenders import CONCURRENCY, commands
from .places import embedded, real

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .places import Place

OBJECTS = 1000
ROUNDS = 3
PATIENCE = 180.0
ALL = "/apis/example.io/v1/gadgets"


def race(objects: int = OBJECTS, rounds: int = ROUNDS, only: tuple[str, ...] = ()) -> dict[str, Any]:
    """Both servers, each contender a few times in turns; medians."""
    contenders = {name: command for name, command in commands().items() if not only or name in only}
    result: dict[str, Any] = {"objects": objects, "concurrency": CONCURRENCY}
    for where, place_of in (("real", real), ("embedded", embedded)):
        with place_of() as place:
            turns: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
            for _ in range(rounds):
                for name, command in contenders.items():
                    turns[name].append(_turn(place, command, objects))
                    print(where, name, turns[name][-1], flush=True)
            result[where] = {name: _middle(samples) for name, samples in turns.items()}
    return result


def _middle(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The turn of median time, with the medians of the rest."""
    middle = sorted(samples, key=lambda sample: sample["seconds"])[len(samples) // 2]
    return {**middle, **{what: statistics.median(sample[what] for sample in samples) for what in ("memory", "cpu")}}


def _turn(place: Place, command: list[str], objects: int) -> dict[str, Any]:
    place.create(objects)
    with watching(place) as watch:
        place.asked()
        start = time.perf_counter()
        with operator(place, command) as process:
            _until_ready(watch, objects)
            seconds = time.perf_counter() - start
            until_idle(process.pid)
            cpu, requests, memory = cpu_seconds(process.pid), place.asked(), peak(process.pid)
            _touch(place, objects)
            until_idle(process.pid)
            again = place.asked()
    return {"seconds": seconds, "cpu": cpu, "requests": requests, "memory": memory, "again": again}


@contextmanager
def operator(place: Place, command: list[str], stdout: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """The contender, running."""
    variables = {**os.environ, "KUBECONFIG": str(place.kubeconfig), "CONCURRENCY": str(CONCURRENCY)}
    with subprocess.Popen(command, env=variables, stdout=stdout, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def watching(place: Place) -> Iterator[http.client.HTTPResponse]:
    """A watch of every object from now on."""
    version = msgspec.json.decode(place.send("GET", f"{ALL}?limit=1"))["metadata"]["resourceVersion"]
    parts = urlsplit(place.url)
    host, port = parts.hostname or "", parts.port or 0
    tls = ssl._create_unverified_context() if parts.scheme == "https" else None
    connection = (
        http.client.HTTPSConnection(host, port, timeout=PATIENCE, context=tls)
        if tls
        else http.client.HTTPConnection(host, port, timeout=PATIENCE)
    )
    headers = {"Authorization": f"Bearer {place.token}"} if place.token else {}
    place.own += 1
    connection.request("GET", f"{ALL}?watch=true&resourceVersion={version}", headers=headers)
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def _until_ready(watch: http.client.HTTPResponse, objects: int) -> None:
    ready: set[str] = set()
    while len(ready) < objects:
        line = watch.readline()
        if not line:
            raise RuntimeError(f"the watch ended after {len(ready)} of {objects} objects were Ready")
        changed = msgspec.json.decode(line)["object"]
        conditions = (changed.get("status") or {}).get("conditions") or []
        if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            ready.add(changed["metadata"]["name"])


def _touch(place: Place, objects: int) -> None:
    body = {"metadata": {"annotations": {"example.io/seen": "again"}}}
    for index in range(objects):
        place.send("PATCH", f"{COLLECTION}/g{index:05d}", body, "application/merge-patch+json")


def until_idle(pid: int) -> None:
    """Until the process has done next to nothing for a second."""
    spent = cpu_seconds(pid)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(1.0)
        before, spent = spent, cpu_seconds(pid)
        if spent - before <= 0.02:
            return


def cpu_seconds(pid: int) -> float:
    """Processor time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid: int) -> int:
    """The most that was resident, in bytes."""
    return _memory(pid, "VmHWM")


def resident(pid: int) -> int:
    """What is resident now, in bytes."""
    return _memory(pid, "VmRSS")


def _memory(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {pid} has ended")
