"""Child processes that cannot outlive this one.

Called by `launch`. Each child gets a session of its own, so that Ctrl-C reaches us first and they are stopped in order. A
watchdog, a shell that reads from a pipe which only we hold open, kills them and removes their directory when we die without a
chance to clean up; `prctl` is not used because it is bound to the thread that forked, not to the process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_WATCHDOG = 'trap "" INT TERM HUP; read line || { kill -9 $PIDS 2>/dev/null; rm -rf "$DIRECTORY"; }'


class Family:
    """Processes that live in one directory and end together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._members: dict[str, subprocess.Popen[bytes]] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None

    def start(self, name: str, command: list[str]) -> None:
        """Starts a member; what it prints goes to `<name>.log`."""
        with (self.directory / f"{name}.log").open("ab") as log:
            self._members[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, start_new_session=True
            )
        self._watch()

    def alive(self, name: str) -> bool:
        """Whether the member is running."""
        return name in self._members and self._members[name].poll() is None

    def log(self, name: str, tail: int = 3000) -> str:
        """The end of what the member printed."""
        with contextlib.suppress(OSError):
            return (self.directory / f"{name}.log").read_text(errors="replace")[-tail:]
        return ""

    def stop(self, name: str, patience: float = 0.0) -> None:
        """Ends a member: politely for `patience` seconds, then for good."""
        process = self._members.pop(name, None)
        if process is None:
            return
        if patience > 0 and process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
        if process.poll() is None:
            process.kill()
        process.wait()
        self._watch()

    def end(self) -> None:
        """Ends all, newest first, and removes the directory. Safe to call twice."""
        for name in reversed(list(self._members)):
            self.stop(name)
        self._dismiss()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _watch(self) -> None:
        """Gives the watchdog the current list: a new one takes over before the old one is dismissed."""
        old, self._watchdog = self._watchdog, None
        if self._members:
            pids = " ".join(str(process.pid) for process in self._members.values())
            environment = {"PATH": os.environ.get("PATH", os.defpath), "PIDS": pids, "DIRECTORY": str(self.directory)}
            self._watchdog = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHDOG],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        _dismiss(old)

    def _dismiss(self) -> None:
        old, self._watchdog = self._watchdog, None
        _dismiss(old)


def _dismiss(watchdog: subprocess.Popen[bytes] | None) -> None:
    if watchdog is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(watchdog.pid, signal.SIGKILL)
    watchdog.wait()
    if watchdog.stdin is not None:
        watchdog.stdin.close()
