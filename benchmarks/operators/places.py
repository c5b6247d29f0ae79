"""The two servers that operators are measured on, the same to the benchmark: a way in, a kubeconfig, and who asked how often."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..apiserver import COLLECTION, CONDITION, CRD, Server

if TYPE_CHECKING:
    from collections.abc import Iterator

POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}


def definition() -> dict[str, Any]:
    """The kind of the other benchmarks, whose conditions may also say which generation they are about."""
    crd: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(CRD))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    items = {**CONDITION, "properties": {**CONDITION["properties"], "observedGeneration": {"type": "integer"}}}  # type: ignore[dict-item]
    schema["properties"]["status"]["properties"]["conditions"]["items"] = items
    return crd


class Place:
    """A server. `asked` empties its count: what operators have asked since the last time, by verb."""

    def __init__(self, url: str, token: str | None, kubeconfig: Path, pid: int = 0) -> None:
        self.url, self.token, self.kubeconfig, self.pid = url, token, kubeconfig, pid
        self.server = Server(url, token)
        #: Requests of the benchmark itself since the last count.
        self.own = 0

    def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """A request of the benchmark itself."""
        self.own += 1
        return self.server.send(method, path, body, content_type)

    def create(self, count: int) -> None:
        """Fresh objects, and no others."""
        self.send("DELETE", COLLECTION)
        for index in range(count):
            self.send("POST", COLLECTION, gadget(index))

    def asked(self) -> dict[str, int]:
        """How often operators have asked, by verb."""
        raise NotImplementedError


def gadget(index: int) -> dict[str, Any]:
    """One of many objects, with what objects have: labels, an annotation, a small spec."""
    metadata = {
        "name": f"g{index:05d}", "namespace": "default", "labels": {"app.kubernetes.io/name": "gadget", "team": f"team-{index % 7}"},
        "annotations": {"example.io/note": f"number {index}"},
    }  # fmt: skip
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": metadata, "spec": {"size": index, "text": "t" * 60}}


class Embedded(Place):
    """`fiferail serve`, which numbers its answers."""

    def __init__(self, url: str, kubeconfig: Path, pid: int) -> None:
        super().__init__(url, None, kubeconfig, pid)
        self._last = self._number()

    def _number(self) -> int:
        connection = self.server._connection
        connection.request("GET", "/version")
        answer = connection.getresponse()
        answer.read()
        return int(answer.headers["Audit-Id"].rpartition("-")[2], 16)

    def asked(self) -> dict[str, int]:
        """All in one."""
        before, self._last = self._last, self._number()
        own, self.own = self.own, 0
        return {"all": self._last - before - 1 - own}


class Real(Place):
    """kube-apiserver, whose audit log names who asked; the benchmark itself gives no name."""

    def __init__(self, url: str, token: str, kubeconfig: Path, log: Path) -> None:
        super().__init__(url, token, kubeconfig)
        self._log = log
        self._at = 0
        self._seen: set[str] = set()

    def asked(self) -> dict[str, int]:
        """By verb; patches of the status apart from those of the object."""
        found: Counter[str] = Counter()
        with self._log.open("rb") as log:
            log.seek(self._at)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._at += len(line)
                entry = msgspec.json.decode(line)
                if entry["user"]["username"] != "admin" or not entry.get("userAgent") or entry["auditID"] in self._seen:
                    continue
                self._seen.add(entry["auditID"])
                found[_verb(entry)] += 1
        return {"all": found.total(), **found}


def _verb(entry: dict[str, Any]) -> str:
    target = entry.get("objectRef") or {}
    if target.get("resource") != "gadgets":
        return "other kinds" if target.get("resource") else "discovery"
    verb: str = entry["verb"]
    return f"{verb} {target['subresource']}" if target.get("subresource") else verb


@contextmanager
def embedded() -> Iterator[Place]:
    """`fiferail serve`."""
    with tempfile.TemporaryDirectory() as folder:
        crd, kubeconfig = Path(folder, "crd.json"), Path(folder, "kubeconfig")
        crd.write_bytes(msgspec.json.encode(definition()))
        command = [sys.executable, "-m", "fiferail", "serve", "--crd", str(crd), "--kubeconfig", str(kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"https?://[\w.]+:\d+", process.stdout.readline())
                assert found is not None
                yield Embedded(found.group(), kubeconfig, process.pid)
            finally:
                process.terminate()


@contextmanager
def real() -> Iterator[Place]:
    """kube-apiserver and etcd."""
    from fiferail.apiserver.real.launch import RealServer

    with tempfile.TemporaryDirectory() as folder:
        policy, log = Path(folder, "policy.json"), Path(folder, "audit.log")
        policy.write_bytes(msgspec.json.encode(POLICY))
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={log}"]
        with RealServer(flags=flags) as running:
            place = Real(running.url, running.token, running.kubeconfig, log)
            place.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
            for _ in range(200):
                try:
                    place.send("GET", COLLECTION)
                    break
                except RuntimeError:
                    time.sleep(0.1)
            yield place
