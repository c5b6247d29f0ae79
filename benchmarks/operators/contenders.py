"""The contenders as commands. All do the same: one Ready condition per object, written once, said again only when it is not so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fiferail.apiserver.real.build import cache_directory
from fiferail.apiserver.real.toolchain import find

#: Workers of the contenders that have a number of workers; kopf has a task for each object.
CONCURRENCY = 10
SOURCE = Path(__file__).parent / "go"


def commands() -> dict[str, list[str]]:
    """By name."""
    return {
        "fiferail": [sys.executable, "-m", "benchmarks.operators.with_fiferail"],
        "kopf": [sys.executable, "-m", "benchmarks.operators.with_kopf"],
        "Go": [str(go_operator())],
    }


def go_operator() -> Path:
    """The Go program, built when its source is newer."""
    cache = cache_directory() / "benchmarks"
    program = cache / "operator"
    newest = max(file.stat().st_mtime for file in SOURCE.iterdir())
    if program.exists() and program.stat().st_mtime >= newest:
        return program
    cache.mkdir(parents=True, exist_ok=True)
    go = find(cache_directory())
    print("building the Go operator, once ...", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for file in SOURCE.iterdir():
            shutil.copy(file, work)
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
        subprocess.run(
            [str(go), "build", "-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", str(work / "operator"), "."],
            cwd=work, env=environment, check=True,
        )  # fmt: skip
        shutil.move(work / "operator", program)
    return program
