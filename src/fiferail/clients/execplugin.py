"""Credential plugins (`exec` in a kubeconfig): a program that prints an ExecCredential with a token.

The rules are those of client-go's `plugin/pkg/client/auth/exec`: a command with a slash is relative to the kubeconfig's folder, any
other is found in PATH; the plugin gets KUBERNETES_EXEC_INFO; its answer has the apiVersion it was asked for. It has no standard
input and 60 s. `token` blocks; `token_async` runs it as a subprocess of the event loop, once for all who wait.
What the plugin prints on standard output is never quoted: it is a credential.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from ..errors import FiferailError

if TYPE_CHECKING:
    from pathlib import Path

    from .kubefile import ExecConfig

SECONDS = 60.0
#: A token is renewed this long before it expires.
EARLY = 10.0
VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_SHOWN = 500


class Status(msgspec.Struct, rename="camel"):
    """The credential. Shows nothing of it when it is printed."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None

    def __repr__(self) -> str:
        return "Status(...)"


class ExecCredential(msgspec.Struct, rename="camel"):
    """The answer of a plugin."""

    api_version: str | None = None
    kind: str | None = None
    status: Status | None = None


class Plugin:
    """One plugin and its token."""

    def __init__(self, spec: ExecConfig, user: str, folder: Path, cluster: dict[str, Any] | None = None) -> None:
        _check(spec, user)
        self._name = spec.command or ""
        command = os.path.join(folder.absolute(), self._name) if os.sep in self._name else self._name
        self._command = [command, *(spec.args or ())]
        self._hint = spec.install_hint or ""
        self._version = spec.api_version
        asked: dict[str, Any] = {"interactive": False}
        if spec.provide_cluster_info and cluster is not None:
            asked["cluster"] = cluster
        info = {"apiVersion": spec.api_version, "kind": "ExecCredential", "spec": asked}
        self._variables = {entry.name or "": entry.value or "" for entry in spec.env or ()}
        self._variables["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(info).decode()
        #: The token, until it is rejected; None before the plugin has run.
        self.cached: str | None = None
        self._expires = 0.0
        self._lock = threading.Lock()
        self._running: asyncio.Task[str] | None = None

    def __str__(self) -> str:
        return f"the credential plugin {self._name!r}"

    def forget(self) -> None:
        """Run the plugin for the next request."""
        self.cached = None

    # -- run it

    def token(self) -> str:
        """Return the token; run the plugin and wait for it if there is none, or if it expires."""
        with self._lock:
            return self._valid() or self._run()

    async def token_async(self) -> str:
        """Return the token without blocking the event loop. All who need one at a time share a run."""
        valid = self._valid()
        if valid is not None:
            return valid
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.done() or self._running.get_loop() is not loop:
            self._running = loop.create_task(self._run_async())
        return await asyncio.shield(self._running)

    def _valid(self) -> str | None:
        return self.cached if self.cached is not None and time.time() <= self._expires - EARLY else None

    def _run(self) -> str:
        with self._reporting():
            process = subprocess.Popen(
                self._command, env={**os.environ, **self._variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            with process:
                try:
                    printed, complained = process.communicate(timeout=SECONDS)
                except subprocess.TimeoutExpired:
                    self._too_slow()
                finally:
                    _end(process.pid, process.returncode)
        return self._take(process.returncode, printed, complained)

    async def _run_async(self) -> str:
        with self._reporting():
            process = await asyncio.create_subprocess_exec(
                *self._command, env={**os.environ, **self._variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            try:
                async with asyncio.timeout(SECONDS):
                    printed, complained = await process.communicate()
            except TimeoutError:
                self._too_slow()
            finally:
                if process.returncode is None:
                    _end(process.pid, None)
                    await process.wait()
        return self._take(process.returncode or 0, printed, complained)

    def _too_slow(self) -> NoReturn:
        raise FiferailError(f"{self} was stopped: it did not end within {SECONDS:g} s") from None

    @contextlib.contextmanager
    def _reporting(self) -> Any:
        try:
            yield
        except FileNotFoundError:
            hint = "".join(character for character in self._hint if character.isprintable() or character in "\n\t").strip()
            raise FiferailError(f"{self} is not installed. {hint}".strip()) from None
        except (OSError, ValueError) as error:
            raise FiferailError(f"{self} could not be started: {getattr(error, 'strerror', None) or error}") from None

    # -- read its answer

    def _take(self, code: int, printed: bytes, complained: bytes) -> str:
        if code:
            said = " ".join(complained.decode(errors="replace").split())[-_SHOWN:]
            said = "".join(character for character in said if character.isprintable())
            raise FiferailError(f"{self} failed with exit code {code}" + (f": {said}" if said else ""))
        try:
            answer = msgspec.json.decode(printed, type=ExecCredential)
        except msgspec.DecodeError as error:
            raise FiferailError(f"{self} did not print an ExecCredential: {error}") from None
        status = answer.status
        if (answer.api_version, answer.kind) != (self._version, "ExecCredential"):
            got = f"{answer.kind} of {answer.api_version}"
            raise FiferailError(f"{self} is configured for ExecCredential of {self._version}, and returned {got[:_SHOWN]}")
        if status is None or not status.token:
            certificate = status is not None and status.client_certificate_data
            raise FiferailError(f"{self} returned " + ("a client certificate: only tokens are supported" if certificate else "no token"))
        self._expires = self._moment(status.expiration_timestamp)
        self.cached = status.token
        return status.token

    def _moment(self, text: str | None) -> float:
        from datetime import datetime

        if not text:
            return float("inf")
        try:
            return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        except ValueError:
            raise FiferailError(f"{self} returned an expirationTimestamp that is not a time") from None


def _check(spec: ExecConfig, user: str) -> None:
    if not spec.command:
        raise FiferailError(f"the user {user!r} has an exec plugin without a command")
    if spec.api_version not in VERSIONS:
        known = " or ".join(VERSIONS)
        raise FiferailError(f"expected apiVersion {known} for the exec plugin of user {user!r}, got {spec.api_version or 'none'}")
    if any(not entry.name for entry in spec.env or ()):
        raise FiferailError(f"the exec plugin of user {user!r} has an env variable without a name")
    mode = spec.interactive_mode or ("IfAvailable" if spec.api_version != VERSIONS[0] else "")
    if mode == "Always":
        raise FiferailError(f"the exec plugin of user {user!r} has interactiveMode Always, and there is no terminal to ask on")
    if mode not in ("Never", "IfAvailable"):
        raise FiferailError(f"expected interactiveMode Never or IfAvailable for the exec plugin of user {user!r}, got {mode or 'none'}")


def _end(pid: int, code: int | None) -> None:
    """Kill the plugin and what it has started, if it still runs."""
    if code is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
