"""A real server shared by the tests of one worker, and how one test leaves no trace for the next.

The server and its proxy start once, when the first test asks. The proxy tells what each test created; when it ends, those objects
are removed, whatever finalizers hold them. CRDs that came through `apply` stay, because a CRD takes the real server two
seconds: a later test that applies the same content finds it served, one that applies other content under the same name replaces it.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.apiserver.faults import Faults, Unobtainable
from fiferail.apiserver.holds import Holds
from fiferail.apiserver.real.launch import RealServer, kubeconfig
from fiferail.apiserver.real.proxy import UNOBTAINABLE, Proxy
from fiferail.errors import FiferailError
from fiferail.history.auditlog import records
from fiferail.history.checker import Checker
from fiferail.testing.checking import said_in
from fiferail.testing.transport import HttpTransport
from fiferail.wire import JSON, MERGE_PATCH, Answer, Request

if TYPE_CHECKING:
    from pathlib import Path

    from fiferail.apiserver.aims import Served
    from fiferail.apiserver.real.proxy import Seen
    from fiferail.clients.client import Client
    from fiferail.history.findings import Finding
    from fiferail.objects.tree import Json

__tracebackhide__ = True  # pytest shows the test's line instead of this module

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED_SECONDS = 30.0


class RealWorld:
    """The server of one worker."""

    def __init__(self) -> None:
        self.server = RealServer(audit_log=True)  # what the checker of lost updates reads
        self.server.start()
        context = self.server.ssl_context()
        self.direct = HttpTransport(self.server.url, token=self.server.token, context=context, user_agent="fiferail-pool")
        self.proxy = Proxy(self.server.url, token=self.server.token, context=context)
        self.proxy.__enter__()
        #: The CRDs that stay: name to what was applied.
        self.kept: dict[str, str] = {}

    def ask(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> Answer:
        """A request past the proxy: neither counted nor troubled."""
        content = json.dumps(body).encode() if body is not None else b""
        return self.direct.send(Request(method=method, path=path, body=content, content_type=content_type if content else ""))

    def logged(self) -> int:
        """How much is in the audit log."""
        file = self.server.audit_log_file
        return file.stat().st_size if file.exists() else 0

    def log_since(self, start: int) -> list[bytes]:
        """The complete lines of the audit log from there on."""
        with self.server.audit_log_file.open("rb") as file:
            file.seek(start)
            return file.read().split(b"\n")[:-1]

    def close(self) -> None:
        """Ends everything."""
        self.proxy.__exit__()
        self.server.stop()

    def evict(self, name: str) -> None:
        """Removes a CRD and waits until it is gone."""
        self.kept.pop(name, None)
        self.ask("DELETE", f"{CRDS}/{name}")
        self._until(lambda: self.ask("GET", f"{CRDS}/{name}").status == 404, f"the removal of {name}")

    def serve(self, crd: Json) -> None:
        """Creates a CRD and waits until each of its versions answers."""
        answer = self.ask("POST", CRDS, crd)
        if answer.status != 201:
            raise FiferailError(f"the server refused the CRD {crd['metadata'].get('name')!r}: {answer.json().get('message')}")
        spec = crd["spec"]
        for version in spec["versions"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            if version.get("served"):
                self._until(lambda path=path: self.ask("GET", path).status == 200, path)

    def _until(self, done: Any, what: str) -> None:
        deadline = time.monotonic() + SERVED_SECONDS
        while not done():
            if time.monotonic() > deadline:
                raise FiferailError(f"the real server did not finish {what} within {SERVED_SECONDS:.0f} s")
            time.sleep(0.05)


class RealBackend:
    """The world of a worker, for one test."""

    def __init__(self, world: RealWorld, directory: Path) -> None:
        self._world, self._directory = world, directory
        self._made: list[str] = []
        self._defined: set[str] = set()
        proxy = world.proxy
        self.url = proxy.url
        self.requests: list[Seen] = []
        self.faults: Faults = SkippingFaults(self._served, lock=proxy.lock, unobtainable=UNOBTAINABLE, requests=self.requests)
        self.holds = Holds()
        proxy.faults, proxy.holds, proxy.requests = self.faults, self.holds, self.requests
        proxy.said = {}
        proxy.before, proxy.on_answer = self._before, self._answered
        self._log_starts = world.logged()

    def kubeconfig(self) -> Path:
        """Points at the proxy, so that every client is counted and troubled."""
        file = self._directory / "kubeconfig"
        file.write_text(json.dumps(kubeconfig(self.url, token=self._world.server.token)))
        return file

    def define(self, client: Client, crd: Json) -> None:
        """Keeps a CRD of the same content, replaces one of the same name."""
        del client
        name, content = crd["metadata"]["name"], json.dumps([crd["spec"], crd["metadata"].get("annotations")], sort_keys=True)
        self._defined.add(name)
        if self._world.kept.get(name) == content:
            return
        if self._world.ask("GET", f"{CRDS}/{name}").status == 200:
            self._world.evict(name)
        self._world.serve(crd)
        self._world.kept[name] = content

    def _served(self) -> list[Served]:
        """What this test may name: a CRD that only an earlier test applied is not there for it."""
        kept = self._world.kept.keys() - self._defined
        return [kind for kind in self._world.proxy.served() if f"{kind.plural}.{kind.group}" not in kept]

    def findings(self) -> list[Finding]:
        """What the checker finds in the audit log of this test, with what clients said to the proxy about their requests."""
        checker = Checker()
        said = {audit_id: said_in(headers) for audit_id, headers in self._world.proxy.said.items()}
        for record in records(self._world.log_since(self._log_starts), said):
            checker.feed(record)
        checker.finish()
        return checker.findings

    def close(self) -> None:
        """Removes what the test made, newest first; namespaces last, because nothing can be removed from one that is gone."""
        proxy = self._world.proxy
        proxy.before = proxy.on_answer = None
        proxy.faults.clear()
        proxy.holds.clear()
        ordered = sorted(
            dict.fromkeys(reversed(self._made)), key=lambda path: path.startswith("/api/v1/namespaces/") and path.count("/") == 4
        )
        for path in ordered:
            with contextlib.suppress(OSError):
                self._remove(path)

    def _remove(self, path: str) -> None:
        name = path.rpartition("/")[2]
        if path.startswith(CRDS):
            if name not in self._world.kept:
                self._world.evict(name)
            return
        self._world.ask("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if self._world.ask("GET", path).status == 404:
            return
        if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
            stored = self._world.ask("GET", path).json()
            self._world.ask("PUT", f"{path}/finalize", {**stored, "spec": {"finalizers": []}})
        else:
            self._world.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)

    def _before(self, method: str, path: str, body: bytes) -> None:
        """A test that creates a CRD by itself must not trip over a kept one."""
        if method == "POST" and path == CRDS and self._world.kept:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                name = json.loads(body)["metadata"]["name"]
                if name in self._world.kept:
                    self._world.evict(name)

    def _answered(self, seen: Seen, body: bytes) -> None:
        """Notes what was created, and which kept CRDs were touched."""
        if seen.path.startswith(f"{CRDS}/") and seen.method in ("PUT", "PATCH", "DELETE") and 200 <= seen.code < 300:
            self._world.kept.pop(seen.path.split("/")[5], None)
            self._made.append("/".join(seen.path.split("/")[:6]))
        elif seen.code == 201:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                name = json.loads(body)["metadata"]["name"]
                self._made.append(f"{seen.path}/{name}" if seen.method == "POST" else seen.path)


class SkippingFaults(Faults):
    """The faults of the proxy; one that cannot be had ends the test as skipped, by name."""

    __slots__ = ()

    def refuse(self, answer: str) -> None:
        """Skip the test."""
        pytest.skip(str(Unobtainable(answer)))
