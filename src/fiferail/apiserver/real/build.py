"""Gets etcd, kube-apiserver and kubectl: from KUBEBUILDER_ASSETS, from the cache, or compiled once from the Go module proxy.

Called by `launch`, the tests and `make`. The sources are the released modules: our own throwaway module requires them, and for
Kubernetes replaces each of its in-tree ("staging") modules with the release of the same number, as its own go.mod would do
with directories. Every binary is compiled into a temporary directory and renamed into place under a lock, so a broken build
leaves nothing half done and two processes never build twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fiferail.apiserver.real import toolchain
from fiferail.errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KUBERNETES = "v1.36.3"
STAGING = "v0.36.3"
ETCD = "v3.7.3"
PROGRESS_SECONDS = 5.0


class BuildFailed(FiferailError):
    """A binary could not be had; the message ends with what the compiler said."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one binary is compiled: from which package of which module, stamped with which linker variables."""

    binary: str
    package: str
    module: str
    version: str
    minutes: str
    stamps: tuple[tuple[str, str], ...] = ()


# Without these clients cannot parse /version.
_STAMPS = (
    ("k8s.io/component-base/version.gitVersion", KUBERNETES),
    ("k8s.io/component-base/version.gitMajor", KUBERNETES.lstrip("v").split(".")[0]),
    ("k8s.io/component-base/version.gitMinor", KUBERNETES.split(".")[1]),
    ("k8s.io/client-go/pkg/version.gitVersion", KUBERNETES),
)
RECIPES = (
    Recipe("etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", ETCD, "1 to 2 minutes"),
    Recipe("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes", KUBERNETES, "5 to 6 minutes", _STAMPS),
    Recipe("kubectl", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes", KUBERNETES, "half a minute", _STAMPS),
)
BINARIES = tuple(recipe.binary for recipe in RECIPES)


def cache_directory() -> Path:
    """Where fiferail keeps what it builds: under XDG_CACHE_HOME, else ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fiferail"


def binaries_directory(cache: Path | None = None) -> Path:
    """Where the pinned binaries are, or will be."""
    return (cache or cache_directory()) / f"kube-{KUBERNETES}-etcd-{ETCD}"


@dataclass(frozen=True, slots=True)
class Binaries:
    """The three programs, all present."""

    directory: Path

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def apiserver(self) -> Path:
        return self.directory / "kube-apiserver"

    @property
    def kubectl(self) -> Path:
        return self.directory / "kubectl"


def available() -> Binaries | None:
    """The binaries when they are there already, without building anything."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    directory = Path(assets) if assets else binaries_directory()
    return Binaries(directory) if not _missing(directory) else None


def ensure(say: Callable[[str], None] | None = None, *, cache: Path | None = None, only: tuple[str, ...] = BINARIES) -> Binaries:
    """The binaries, built first when they are missing. `say` gets the progress, one line at a time; default: standard error."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        absent = [name for name in _missing(Path(assets)) if name in only]
        if absent:
            raise BuildFailed(f"KUBEBUILDER_ASSETS is {assets!r}, and it has no {' and no '.join(absent)}. Unset it to build them instead.")
        return Binaries(Path(assets))
    cache = cache or cache_directory()
    directory = binaries_directory(cache)
    if any(name in only for name in _missing(directory)):
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"{directory.name}.lock", say or _to_stderr):
            _build_missing(directory, cache, only, say or _to_stderr)
    return Binaries(directory)


def _missing(directory: Path) -> list[str]:
    return [name for name in BINARIES if not os.access(directory / name, os.X_OK)]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _locked(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the build lock; says so while another process has it."""
    with path.open("w") as lock:
        started, told = time.monotonic(), -PROGRESS_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if waited - told >= PROGRESS_SECONDS:
                    told = waited
                    say(f"fiferail: another process is building the real API server; waiting, {waited:.0f} s so far")
                time.sleep(0.2)
        yield


def _build_missing(directory: Path, cache: Path, only: tuple[str, ...], say: Callable[[str], None]) -> None:
    wanted = [recipe for recipe in RECIPES if recipe.binary in only and recipe.binary in _missing(directory)]
    if not wanted:
        return  # the process that held the lock has built them
    go = toolchain.find(cache)
    directory.mkdir(parents=True, exist_ok=True)
    say(f"fiferail: building {', '.join(recipe.binary for recipe in wanted)} into {directory}, once; later runs reuse them")
    with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as work:
        for recipe in wanted:
            _build(recipe, go, Path(work), directory, say)


def _build(recipe: Recipe, go: Path, work: Path, directory: Path, say: Callable[[str], None]) -> None:
    """Compiles one binary beside its destination and renames it into place."""
    module = work / recipe.module.replace("/", "_")
    module.mkdir(exist_ok=True)
    fetched = _run(
        [str(go), "mod", "download", "-json", f"{recipe.module}@{recipe.version}"], work, f"fetching {recipe.module} {recipe.version}", say
    )
    (module / "go.mod").write_text(module_file(recipe, Path(json.loads(fetched)["GoMod"]).read_text()))
    fresh = work / recipe.binary
    flags = " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in recipe.stamps)])
    command = [str(go), "build", "-mod=mod", "-trimpath", "-ldflags", flags, "-o", str(fresh), recipe.package]
    _run(command, module, f"compiling {recipe.binary} {recipe.version} (about {recipe.minutes} on two cores)", say)
    os.replace(fresh, directory / recipe.binary)


def module_file(recipe: Recipe, upstream: str) -> str:
    """The go.mod of the throwaway module: the requirement, and upstream's in-tree replacements turned into releases."""
    language = re.search(r"^go (\S+)$", upstream, re.MULTILINE)
    lines = ["module fiferail.invalid/build", f"go {language[1] if language else '1.26'}"]
    # A module's godebug settings bind its own binaries only; ours must say the same to behave the same.
    lines += re.findall(r"^godebug \S+$", upstream, re.MULTILINE)
    lines.append(f"require {recipe.module} {recipe.version}")
    lines += [
        f"replace {name} => {name} {STAGING}" for name in re.findall(r"^\s*(?:replace )?(\S+) => \./staging/\S+$", upstream, re.MULTILINE)
    ]
    return "\n".join(lines) + "\n"


def _run(command: list[str], cwd: Path, doing: str, say: Callable[[str], None]) -> str:
    """Runs a step to its end with a line of progress every few seconds; what it printed, or BuildFailed with the tail of it."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    started = time.monotonic()
    say(f"fiferail: {doing}")
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            while True:
                try:
                    output, _ = process.communicate(timeout=PROGRESS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    say(f"fiferail: {doing}: {time.monotonic() - started:.0f} s")
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode != 0:
            errors.seek(0)
            said = (output + errors.read()).decode(errors="replace").strip()
            raise BuildFailed(
                f"{doing} failed after {time.monotonic() - started:.0f} s with exit code {process.returncode}:\n{said[-2000:]}"
            )
    say(f"fiferail: {doing}: done in {time.monotonic() - started:.0f} s")
    return output.decode()
