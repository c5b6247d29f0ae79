"""Where the server is and who we are, as kubectl finds out: an argument, KUBECONFIG, ~/.kube/config, or the pod's own account.

Tokens from files are read again as they rotate; exec plugins run when their credential expires. Needs the extra `connect`.
"""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import AsyncClient, Client

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_AFTER = 60.0


class Server(msgspec.Struct, frozen=True):
    """How to reach a server."""

    url: str
    verify: ssl.SSLContext | bool
    credentials: Callable[[], dict[str, str]]


def connect(kubeconfig: str | os.PathLike[str] | None = None, *, context: str | None = None, user_agent: str = "fiferail") -> Client:
    """A blocking client of the server that the environment names."""
    import httpx2

    from .client import Client
    from .plainhttp import HttpxTransport

    server = locate(kubeconfig, context)
    http = httpx2.Client(base_url=server.url, verify=server.verify, trust_env=False)
    return Client(HttpxTransport(http, server.credentials), user_agent=user_agent)


def connect_async(
    kubeconfig: str | os.PathLike[str] | None = None, *, context: str | None = None, user_agent: str = "fiferail"
) -> AsyncClient:
    """An async client of the server that the environment names."""
    from .client import AsyncClient
    from .http1 import AsyncHttpTransport

    server = locate(kubeconfig, context)
    tls = None if isinstance(server.verify, bool) else server.verify
    return AsyncClient(AsyncHttpTransport(server.url, tls, server.credentials, user_agent=user_agent), user_agent=user_agent)


def locate(kubeconfig: str | os.PathLike[str] | None, context: str | None) -> Server:
    """Argument, KUBECONFIG, ~/.kube/config, in-cluster: the first that is there."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    given = [os.fspath(kubeconfig)] if kubeconfig is not None else [part for part in named if part]
    if kubeconfig is not None and not Path(given[0]).is_file():
        raise FiferailError(f"expected a kubeconfig file, found none at {given[0]}")
    files = [Path(part) for part in given if Path(part).is_file()] or ([] if given else [Path.home() / ".kube" / "config"])
    files = [file for file in files if file.is_file()]
    if files:
        return _from_files(files, context)
    if "KUBERNETES_SERVICE_HOST" in os.environ and (ACCOUNT / "token").is_file():
        return _in_cluster()
    raise FiferailError("found no cluster: no kubeconfig argument, no KUBECONFIG, no ~/.kube/config, and this is no pod")


def _in_cluster() -> Server:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    return Server(f"https://{host}:{port}", ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")), _token_file(ACCOUNT / "token"))


def _from_files(files: list[Path], context: str | None) -> Server:
    config = _merged(files)
    name = context or config["current-context"]
    if not name:
        raise FiferailError(f"expected a current-context in {files[0]}, got none: pass context=, or `kubectl config use-context`")
    chosen = _pick(config["contexts"], name, "context")
    cluster, folder = _pick(config["clusters"], chosen[0].get("cluster"), "cluster")
    user, user_folder = _pick(config["users"], chosen[0].get("user"), "user") if chosen[0].get("user") else ({}, folder)
    if not cluster.get("server"):
        raise FiferailError(f"expected a server in the cluster of context {name!r}, got none")
    return Server(cluster["server"].rstrip("/"), _tls(cluster, folder, user, user_folder), _credentials(user, user_folder))


def _merged(files: list[Path]) -> dict[str, Any]:
    """Several files as one: the first to name a thing wins, and paths are relative to the file that names them."""
    import yaml

    merged: dict[str, Any] = {"contexts": {}, "clusters": {}, "users": {}, "current-context": ""}
    for file in files:
        try:
            content = yaml.safe_load(file.read_text()) or {}
        except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
            raise FiferailError(f"{file} is no readable kubeconfig: {error}") from error
        if not isinstance(content, dict):
            raise FiferailError(f"expected a mapping in the kubeconfig {file}, got {type(content).__name__}")
        merged["current-context"] = merged["current-context"] or content.get("current-context") or ""
        for kind in ("contexts", "clusters", "users"):
            for entry in content.get(kind) or []:
                merged[kind].setdefault(entry.get("name"), (entry.get(kind[:-1]) or {}, file.parent))
    return merged


def _pick(entries: dict[str, tuple[dict[str, Any], Path]], name: str | None, what: str) -> tuple[dict[str, Any], Path]:
    if name not in entries:
        known = ", ".join(sorted(str(entry) for entry in entries)) or "none"
        raise FiferailError(f"expected a {what} named {name!r} in the kubeconfig, found {known}")
    return entries[name]


def _tls(cluster: dict[str, Any], folder: Path, user: dict[str, Any], user_folder: Path) -> ssl.SSLContext | bool:
    if not cluster["server"].startswith("https"):
        return False
    authority = cluster.get("certificate-authority-data")
    file = cluster.get("certificate-authority")
    tls = ssl.create_default_context(
        cafile=str(folder / file) if file and not authority else None, cadata=base64.b64decode(authority).decode() if authority else None
    )
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate = _material(user, "client-certificate", user_folder)
    key = _material(user, "client-key", user_folder)
    if certificate and key:
        _load_chain(tls, certificate, key)
    return tls


def _material(user: dict[str, Any], name: str, folder: Path) -> bytes | None:
    data = user.get(f"{name}-data")
    if data:
        return base64.b64decode(data)
    return (folder / user[name]).read_bytes() if user.get(name) else None


def _load_chain(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module reads only files: write them where only we can read, and remove them at once."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "cert"), Path(folder, "key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.touch(mode=0o600)
            file.write_bytes(content)
        tls.load_cert_chain(*files)


def _credentials(user: dict[str, Any], folder: Path) -> Callable[[], dict[str, str]]:
    if user.get("exec"):
        return _Plugin(user["exec"])
    if user.get("tokenFile"):
        return _token_file(folder / user["tokenFile"])
    if user.get("token"):
        return lambda: {"authorization": f"Bearer {user['token']}"}
    if user.get("username"):
        basic = base64.b64encode(f"{user['username']}:{user.get('password', '')}".encode()).decode()
        return lambda: {"authorization": f"Basic {basic}"}
    return dict


def _token_file(file: Path) -> Callable[[], dict[str, str]]:
    token, until = "", 0.0

    def read() -> dict[str, str]:
        nonlocal token, until
        now = time.monotonic()
        if now >= until:
            token, until = file.read_text().strip(), now + REREAD_AFTER
        return {"authorization": f"Bearer {token}"}

    return read


class _Plugin:
    """A credential plugin: run when there is no token yet, or when it has expired."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._token = ""
        self._expires = 0.0

    def __call__(self) -> dict[str, str]:
        if not self._token or time.time() > self._expires - 10:
            self._refresh()
        return {"authorization": f"Bearer {self._token}"}

    def _refresh(self) -> None:
        spec = self._spec
        environment = {**os.environ, **{entry["name"]: entry["value"] for entry in spec.get("env") or []}}
        environment["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(
            {"apiVersion": spec.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
        ).decode()
        named = f"the credential plugin {spec['command']!r}"
        command = [spec["command"], *(spec.get("args") or [])]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
            status = msgspec.json.decode(done.stdout)["status"]
            self._token = status["token"]
        except FileNotFoundError as error:
            raise FiferailError(f"{named} is not installed. {spec.get('installHint') or ''}".strip()) from error
        except subprocess.CalledProcessError as error:
            raise FiferailError(f"{named} failed: {error.stderr.decode(errors='replace').strip()}") from error
        except (KeyError, msgspec.DecodeError, subprocess.TimeoutExpired) as error:
            raise FiferailError(f"{named} gave no token: {error}") from error
        self._expires = _moment(status.get("expirationTimestamp"))


def _moment(text: str | None) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else float("inf")
