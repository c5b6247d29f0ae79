"""Collects audit logs of Go operators' own envtest suites on the real kube-apiserver.

A suite is a test package of a released module. The module comes from the Go module proxy and is copied, because a suite may need a
directory that its Makefile makes; no source file is changed. The test binary runs with a KUBEBUILDER_ASSETS directory whose
kube-apiserver is a script that adds an audit log to envtest's flags. The log is kept, compressed, in the user's cache directory.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fiferail.apiserver.real import build, toolchain

from .callers import name_callers

_QUIET = {
    "": ["events", "endpoints"],
    "events.k8s.io": ["events"],
    "coordination.k8s.io": ["leases"],
    "discovery.k8s.io": ["endpointslices"],
    "authentication.k8s.io": ["tokenreviews"],
    "authorization.k8s.io": ["subjectaccessreviews"],
}
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["*"]},
        {"level": "None", "resources": [{"group": group, "resources": names} for group, names in _QUIET.items()]},
        {"level": "RequestResponse"},
    ],
}
#: `exec` keeps the process id, so that servers which a suite leaves behind can be ended.
_WRAPPER = """\
#!/bin/sh
echo $$ >> {scratch}/pids
exec {binary} "$@" {flags}
"""


@dataclass(frozen=True)
class Suite:
    """One test package of one operator."""

    operator: str
    module: str
    version: str
    package: str
    #: Directories of the module that its Makefile would copy before the tests: from, to.
    copies: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    minutes: int = 8

    @property
    def name(self) -> str:
        """A file name: the operator and the last part of the package."""
        return f"{self.operator}-{self.package.strip('./').replace('/', '-')}"


def directory() -> Path:
    """Where sources, test binaries and logs are kept."""
    return build.cache_directory() / "traces"


def log_of(suite: Suite) -> Path:
    """The compressed audit log of a suite, there or not."""
    return directory() / f"{suite.name}.jsonl.gz"


def collect(suite: Suite) -> Path:
    """The audit log of a suite; downloads, compiles and runs it when it is not in the cache."""
    log = log_of(suite)
    if log.exists():
        return log
    source = _source(suite)
    binary = _compiled(suite, source)
    print(f"  running {suite.name}, at most {suite.minutes} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="fiferail-traces-") as scratch:
        _run(suite, source, binary, Path(scratch))
        lines = [line for file in sorted(Path(scratch).glob("audit-*.log")) for line in file.read_bytes().splitlines(keepends=True)]
    partial = log.with_suffix(".partial")
    with gzip.open(partial, "wb", compresslevel=4) as packed:
        packed.writelines(lines)
    partial.rename(log)
    return log


def _source(suite: Suite) -> Path:
    """A writable copy of the module, with the directories that the suite expects."""
    go = str(toolchain.find(build.cache_directory()))
    target = directory() / "src" / f"{suite.operator}-{suite.version}"
    if not target.exists():
        print(f"  downloading {suite.module}@{suite.version}", flush=True)
        told = subprocess.run(
            [go, "mod", "download", "-json", f"{suite.module}@{suite.version}"], capture_output=True, text=True, check=True
        )
        shutil.copytree(json.loads(told.stdout)["Dir"], target, copy_function=shutil.copyfile)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    name_callers(go, target, suite.module)
    for start, end in suite.copies:
        shutil.copytree(target / start, target / end, dirs_exist_ok=True)
    return target


def _compiled(suite: Suite, source: Path) -> Path:
    go = str(toolchain.find(build.cache_directory()))
    binary = directory() / f"{suite.name}.test"
    if not binary.exists():
        print(f"  compiling {suite.name}", flush=True)
        command = ["nice", "-n", "10", go, "test", "-c", "-p", "2", "-o", str(binary), suite.package]
        done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{suite.name} does not compile:\n{done.stderr[-2000:]}")
    return binary


def _assets(scratch: Path) -> Path:
    """A KUBEBUILDER_ASSETS directory whose kube-apiserver writes an audit log for every process."""
    found, assets = build.ensure(), scratch / "assets"
    assets.mkdir()
    policy = scratch / "policy.json"
    policy.write_text(json.dumps(POLICY))
    audit = f"--audit-policy-file={policy} --audit-log-path={scratch}/audit-$$.log --audit-log-maxsize=100000"
    for name, binary, flags in (("etcd", found.etcd, ""), ("kube-apiserver", found.apiserver, audit)):
        (assets / name).write_text(_WRAPPER.format(scratch=scratch, binary=binary, flags=flags))
        (assets / name).chmod(0o755)
    (assets / "kubectl").symlink_to(found.kubectl)
    return assets


def _run(suite: Suite, source: Path, binary: Path, scratch: Path) -> None:
    """Run a suite; specs may fail (they do on a slow machine), what they wrote is a trace all the same."""
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(_assets(scratch)), "USE_EXISTING_CLUSTER": "false"}
    command = ["nice", "-n", "10", str(binary), f"-test.timeout={suite.minutes + 1}m", *suite.arguments]
    began = time.monotonic()
    with (directory() / f"{suite.name}.log").open("wb") as output:
        running = subprocess.Popen(command, cwd=source / suite.package, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            code = running.wait((suite.minutes + 2) * 60)
        except subprocess.TimeoutExpired:
            running.kill()
            code = running.wait()
        finally:
            _end(scratch / "pids")
    print(f"  {suite.name} ended with {code} after {time.monotonic() - began:.0f} s", flush=True)


def _end(pids: Path) -> None:
    """End the servers of a suite that did not stop them itself."""
    for line in pids.read_text().split() if pids.exists() else []:
        arguments = Path("/proc") / line / "cmdline"
        with contextlib.suppress(OSError):
            if any(name in arguments.read_bytes() for name in (b"kube-apiserver", b"etcd")):
                os.kill(int(line), signal.SIGKILL)
