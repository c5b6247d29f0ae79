"""The real server: how its binaries are found and built, how it runs, and that nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fiferail.apiserver.real import build, launch, toolchain
from fiferail.testing.transport import HttpTransport
from fiferail.wire import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

UPSTREAM = """\
module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
\tgithub.com/a/b v1.0.0
)

replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""


@pytest.fixture
def binaries(request: pytest.FixtureRequest) -> build.Binaries:
    """The real binaries; a test that needs them is skipped where they were not built."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    return build.ensure()


def fake_binaries(directory: Path) -> Path:
    directory.mkdir(parents=True)
    for name in build.BINARIES:
        (directory / name).touch(mode=0o755)
    return directory


def test_module_replaces_staging() -> None:
    """The throwaway module replaces each in-tree module with its release and takes over Go's settings."""
    recipe = next(recipe for recipe in build.RECIPES if recipe.binary == "kube-apiserver")
    assert build.module_file(recipe, UPSTREAM).splitlines() == [
        "module fiferail.invalid/build",
        "go 1.26.0",
        "godebug default=go1.26",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/client-go => k8s.io/client-go v0.36.3",
    ]


def test_version_is_stamped() -> None:
    """Every Kubernetes binary carries a version that clients can parse."""
    stamps = dict(next(recipe for recipe in build.RECIPES if recipe.binary == "kube-apiserver").stamps)
    version = "k8s.io/component-base/version."
    assert (stamps[f"{version}gitVersion"], stamps[f"{version}gitMajor"], stamps[f"{version}gitMinor"]) == ("v1.36.3", "1", "36")


def test_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The binaries live under XDG_CACHE_HOME."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build.available() is None
    fake_binaries(tmp_path / "fiferail" / "kube-v1.36.3-etcd-v3.7.3")
    assert build.ensure().etcd == tmp_path / "fiferail" / "kube-v1.36.3-etcd-v3.7.3" / "etcd"


def test_assets_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """KUBEBUILDER_ASSETS is used as it is."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fake_binaries(tmp_path / "assets")))
    assert build.ensure().apiserver == tmp_path / "assets" / "kube-apiserver"


def test_incomplete_assets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An incomplete KUBEBUILDER_ASSETS is an error that names what is missing."""
    (fake_binaries(tmp_path / "assets") / "etcd").unlink()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    with pytest.raises(build.BuildFailed, match=r"has no etcd\. Unset it to build them instead"):
        build.ensure()


@pytest.mark.parametrize(
    ("said", "expected"),
    [("go version go1.26.8 linux/amd64", (1, 26)), ("go version go1.9 darwin/arm64", (1, 9)), ("flag provided but not defined", None)],
)
def test_go_versions(said: str, expected: tuple[int, int] | None) -> None:
    """The version of a Go compiler is read from what it says of itself."""
    assert toolchain.version_of(said) == expected


def test_old_go_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Go that is too old is passed over."""
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go version go1.20 linux/amd64\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.on_path() is None


def test_no_toolchain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without any Go the error says what to do, and nothing half made stays."""
    monkeypatch.setattr(toolchain, "CARRIER", "fiferail-no-such-package==0")
    monkeypatch.setattr(toolchain, "on_path", lambda: None)
    with pytest.raises(toolchain.NoToolchain, match="Install Go, or point KUBEBUILDER_ASSETS"):
        toolchain.find(tmp_path)
    assert list(tmp_path.iterdir()) == []


def a_go_that(tmp_path: Path, does: str) -> Path:
    """A compiler for tests: `mod download` gives a module file, `build` does what is said ($OUT is the target)."""
    (tmp_path / "upstream.mod").write_text("module m\n\ngo 1.26\n")
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    downloaded = json.dumps({"GoMod": str(tmp_path / "upstream.mod")})
    go.write_text(
        f"#!/bin/sh\ncase \"$1\" in mod) echo '{downloaded}';; build) "
        'for word in "$@"; do if [ "$last" = -o ]; then OUT="$word"; fi; last="$word"; done; ' + does + ";; esac\n"
    )
    go.chmod(0o755)
    return go


def test_build_is_atomic_and_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two builders at once make each binary once, and progress is told."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    go = a_go_that(tmp_path, f'echo "$OUT" >> {tmp_path}/built; echo x > "$OUT"; chmod +x "$OUT"')
    monkeypatch.setattr(toolchain, "find", lambda cache: go)
    said: list[str] = []
    builders = [threading.Thread(target=build.ensure, args=(said.append,), kwargs={"cache": tmp_path / "cache"}) for _ in range(2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert [Path(line).name for line in (tmp_path / "built").read_text().split()] == ["etcd", "kube-apiserver", "kubectl"]
    assert any("compiling etcd v3.7.3" in line and "done in" in line for line in said)
    leftovers = {path.name for path in (tmp_path / "cache").iterdir()}
    assert leftovers == {"kube-v1.36.3-etcd-v3.7.3", "kube-v1.36.3-etcd-v3.7.3.lock"}


def test_failed_build_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A build that fails ends with the compiler's words and leaves no binary."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    go = a_go_that(tmp_path, 'echo half > "$OUT"; echo "undefined: everything" >&2; exit 1')
    monkeypatch.setattr(toolchain, "find", lambda cache: go)
    with pytest.raises(build.BuildFailed, match=r"compiling etcd(.|\n)*exit code 1:\nundefined: everything"):
        build.ensure(lambda line: None, cache=tmp_path / "cache")
    assert list((tmp_path / "cache" / "kube-v1.36.3-etcd-v3.7.3").iterdir()) == []


def test_start_failure_shows_the_log(tmp_path: Path) -> None:
    """A server that does not start says what it logged, and its files are gone."""
    directory = fake_binaries(tmp_path / "assets")
    for name in build.BINARIES:
        (directory / name).write_text("#!/bin/sh\necho cannot: no such flag\nexit 3\n")
    server = launch.RealServer(binaries=build.Binaries(directory))
    with pytest.raises(launch.StartFailed, match=r"ended before it was ready\. It said:\ncannot: no such flag"):
        server.start()
    with pytest.raises(launch.StartFailed, match="not running"):
        server.directory


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[launch.RealServer]:
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    with launch.RealServer(binaries=build.ensure(), users=[launch.User("ann", "anns-token")], audit_log=True) as running:
        yield running


def get(server: launch.RealServer, path: str, token: str) -> int:
    return HttpTransport(server.url, token=token, context=server.ssl_context()).send(Request(method="GET", path=path)).status


@pytest.mark.xdist_group("real-server")
def test_users(server: launch.RealServer) -> None:
    """The admin may do everything, another user what RBAC says, a stranger nothing; TLS is verified."""
    assert get(server, "/api/v1/namespaces", server.token) == 200
    assert get(server, "/api/v1/namespaces", "anns-token") == 403
    assert get(server, "/api/v1/namespaces", "nobody") == 401


@pytest.mark.xdist_group("real-server")
def test_kubectl_and_audit(server: launch.RealServer) -> None:
    """kubectl works with the kubeconfig, and the audit log has its request."""
    kubectl = build.ensure().kubectl
    done = subprocess.run(
        [kubectl, "--kubeconfig", server.kubeconfig, "create", "configmap", "audited"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "configmap/audited created\n"
    entries = [json.loads(line) for line in server.audit_log_file.read_text().splitlines()]
    created = [entry for entry in entries if entry["verb"] == "create" and entry.get("objectRef", {}).get("name") == "audited"]
    assert [(entry["user"]["username"], entry["responseStatus"]["code"]) for entry in created] == [("admin", 201)]


@pytest.mark.xdist_group("real-server")
def test_restart_keeps_objects(server: launch.RealServer) -> None:
    """After a restart the same URL has the same objects."""
    url = server.url
    server.restart()
    assert server.url == url
    assert get(server, "/api/v1/namespaces/default", server.token) == 200


@pytest.mark.xdist_group("real-server")
def test_killed_parent_leaves_nothing(binaries: build.Binaries) -> None:
    """When the process that started the server is killed, etcd, kube-apiserver and their directory go too."""
    code = (
        "import sys, time\nfrom fiferail.apiserver.real.launch import RealServer\nserver = RealServer(); server.start()\n"
        "print(server.directory, *[p.pid for p in server._family._members.values()], flush=True)\ntime.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    directory, *pids = parent.stdout.readline().split()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while Path(directory).exists() or any(_runs(int(pid)) for pid in pids):
        assert time.monotonic() < deadline, f"{directory} or one of {pids} is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
