"""Runs etcd and kube-apiserver on free loopback ports and stops them again.

Called by the test fixture, the conformance suite, the fuzzer and the benchmarks. It decides the flags: everything that changes
an answer stays as in a cluster, except that the ServiceAccount admission plugin is off (no controller makes the accounts it
wants); durability, which nobody needs here, is traded for speed. Nothing is left behind: no process, no file.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import http.client
import json
import os
import secrets
import socket
import ssl
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiferail.apiserver.real import build
from fiferail.apiserver.real.processes import Family
from fiferail.errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

START_SECONDS = 90.0
ATTEMPTS = 3

_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "RequestResponse"}],
}


class StartFailed(FiferailError):
    """etcd or kube-apiserver did not get ready; the message ends with what it logged."""


@dataclass(frozen=True, slots=True)
class User:
    """Who a bearer token stands for."""

    name: str
    token: str
    groups: tuple[str, ...] = ()


ADMIN = User("admin", "fiferail", ("system:masters",))


class RealServer:
    """A kube-apiserver with its etcd, as a context manager.

    `users` are accepted beside the admin; what they may do is up to RBAC objects. `audit_log=True` writes every request and
    answer to `audit_log_file`. `flags` are handed to kube-apiserver as they are.
    """

    def __init__(
        self,
        *,
        binaries: build.Binaries | None = None,
        users: Sequence[User] = (),
        audit_log: bool = False,
        flags: Sequence[str] = (),
    ) -> None:
        self._binaries = binaries
        self.users = (ADMIN, *users)
        self._audit = audit_log
        self._flags = tuple(flags)
        self._family: Family | None = None
        self._port = 0
        self._etcd_port = 0
        self.seconds_to_ready = 0.0

    # what a client needs

    @property
    def url(self) -> str:
        """The base URL; TLS with a certificate that `ca_file` verifies."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def token(self) -> str:
        """The admin's bearer token."""
        return ADMIN.token

    @property
    def directory(self) -> Path:
        """Where this server keeps its files while it runs."""
        if self._family is None:
            raise StartFailed("the server is not running: use it as `with RealServer() as server:`")
        return self._family.directory

    @property
    def ca_file(self) -> Path:
        """The certificate that clients trust."""
        return self.directory / "certs" / "apiserver.crt"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file for the admin."""
        return self.directory / "kubeconfig"

    @property
    def audit_log_file(self) -> Path:
        """One JSON document per line; there only with `audit_log=True`."""
        return self.directory / "audit.log"

    @property
    def etcd_url(self) -> str:
        """etcd's client URL, for tests that compact or corrupt what is stored."""
        return f"http://127.0.0.1:{self._etcd_port}"

    def ssl_context(self) -> ssl.SSLContext:
        """A context that trusts this server and nothing else."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    # life

    def __enter__(self) -> RealServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Starts both and waits until /readyz says yes. A port that somebody took meanwhile is replaced by another."""
        if self._binaries is None:
            self._binaries = build.ensure()
        started = time.monotonic()
        for attempt in range(ATTEMPTS):
            self._family = Family(_scratch())
            atexit.register(self.stop)
            try:
                self._write_files()
                self._start_etcd()
                self._start_apiserver()
                self._wait(started + START_SECONDS)
                break
            except StartFailed as failure:
                self.stop()
                if "address already in use" not in str(failure) or attempt == ATTEMPTS - 1:
                    raise
            except BaseException:
                self.stop()
                raise
        self.seconds_to_ready = time.monotonic() - started
        self.kubeconfig.write_text(json.dumps(self.kubeconfig_content(), indent=1))

    def stop(self) -> None:
        """Ends both and removes every file. Safe to call twice."""
        family, self._family = self._family, None
        if family is not None:
            family.end()
        atexit.unregister(self.stop)

    def restart(self) -> None:
        """Stops kube-apiserver and starts it again on the same port with the same etcd: objects stay, connections break."""
        family = self._running()
        family.stop("kube-apiserver", patience=0.5)
        self._start_apiserver()
        self._wait(time.monotonic() + START_SECONDS)

    # how it is started

    def _running(self) -> Family:
        if self._family is None:
            raise StartFailed("the server is not running: use it as `with RealServer() as server:`")
        return self._family

    def _write_files(self) -> None:
        directory = self._running().directory
        (directory / "service-account.key").write_text(_signing_key())
        rows = [f'{user.token},{user.name},{user.name}-uid,"{",".join(user.groups)}"\n' for user in self.users]
        (directory / "tokens.csv").write_text("".join(rows))
        if self._audit:
            (directory / "audit-policy.json").write_text(json.dumps(_AUDIT_POLICY))

    def _start_etcd(self) -> None:
        family, binaries = self._running(), self._binaries
        assert binaries is not None
        self._etcd_port, peer_port = _free_ports(2)
        client, peer = self.etcd_url, f"http://127.0.0.1:{peer_port}"
        family.start(
            "etcd",
            [
                str(binaries.etcd),
                f"--data-dir={family.directory / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )
        (self._port,) = _free_ports(1)

    def _start_apiserver(self) -> None:
        family, binaries = self._running(), self._binaries
        assert binaries is not None
        directory = family.directory
        command = [
            str(binaries.apiserver),
            f"--etcd-servers={self.etcd_url}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={directory / 'certs'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={directory / 'service-account.key'}",
            f"--service-account-signing-key-file={directory / 'service-account.key'}",
            "--service-account-issuer=https://fiferail.invalid",
            f"--token-auth-file={directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
            "--shutdown-delay-duration=0s",
            *self._flags,
        ]
        if self._audit:
            command += [f"--audit-log-path={self.audit_log_file}", f"--audit-policy-file={directory / 'audit-policy.json'}"]
        family.start("kube-apiserver", command)

    def _wait(self, deadline: float) -> None:
        """Returns when /readyz answers 200 and the namespace `default` is there, which a post-start hook makes."""
        family = self._running()
        while time.monotonic() < deadline:
            for name in ("etcd", "kube-apiserver"):
                if not family.alive(name):
                    raise StartFailed(f"{name} ended before it was ready. It said:\n{family.log(name)}")
            if self._answers("/readyz") and self._answers("/api/v1/namespaces/default"):
                return
            time.sleep(0.05)
        raise StartFailed(f"kube-apiserver was not ready after {START_SECONDS:.0f} s. It said:\n{family.log('kube-apiserver')}")

    def _answers(self, path: str) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            # The certificate does not exist until the server made it, and nothing but the answer's code is used.
            connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=5, context=ssl._create_unverified_context())
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
                return connection.getresponse().status == 200
            finally:
                connection.close()
        return False

    def kubeconfig_content(self, user: User = ADMIN) -> dict[str, Any]:
        """The kubeconfig of a user, as a document."""
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        return kubeconfig(self.url, token=user.token, authority=authority)


def kubeconfig(url: str, *, token: str | None = None, authority: str | None = None) -> dict[str, Any]:
    """A kubeconfig with one cluster, one user and the namespace `default`."""
    cluster = {"server": url, **({"certificate-authority-data": authority} if authority else {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fiferail", "cluster": cluster}],
        "users": [{"name": "fiferail", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "fiferail", "context": {"cluster": "fiferail", "user": "fiferail", "namespace": "default"}}],
        "current-context": "fiferail",
    }


def _scratch() -> Path:
    """A fresh directory, in memory where there is such a place: etcd writes a lot and nothing of it is kept."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fiferail-", dir=memory if os.access(memory, os.W_OK) else None))


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on right now. Held open together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _signing_key() -> str:
    """A fresh P-256 private key in SEC 1 form: version, scalar, curve. The public half is left out; Go computes it."""
    scalar = (secrets.randbelow(2**255) + 1).to_bytes(32, "big")
    curve = bytes.fromhex("a00a06082a8648ce3d030107")  # [0] { OID prime256v1 }
    content = b"\x02\x01\x01" + b"\x04\x20" + scalar + curve
    encoded = base64.b64encode(b"\x30" + bytes([len(content)]) + content).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{encoded}\n-----END EC PRIVATE KEY-----\n"
