"""`fiferail serve` as a process: its one line, its kubeconfig, its end, and its refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

CRDS = Path(__file__).parent.parent / "clients_on_embedded"
COMMAND = [sys.executable, "-c", "from fiferail.cli import main; main()"]


class Serving:
    """A running `fiferail serve`."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        command, pipe = [*COMMAND, "serve", *arguments], subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment})
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"http://\S+?:\d+", self.line)
        assert found, self.line + (self.process.stderr.read() if self.process.stderr else "")
        self.url = found.group()

    def get(self, path: str, **headers: str) -> Any:
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=10) as answer:
            return json.load(answer)

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """A server with a CRD and a kubeconfig."""
    running = Serving("--crd", str(CRDS / "gadgets.yaml"), "--kubeconfig", str(tmp_path / "kc.yaml"))
    yield running
    if running.process.poll() is None:
        running.stop()


def test_it_says_one_line_serves_and_ends_cleanly(serving: Serving, tmp_path: Path) -> None:
    """One line when ready, a kubeconfig that leads to it, the CRD served, and Ctrl-C ends it with 0 and silence."""
    assert serving.line.startswith(f"fiferail: serving the Kubernetes 1.36 API at {serving.url}, 1 custom kind, kubeconfig in ")
    config = yaml.safe_load((tmp_path / "kc.yaml").read_text())
    assert config["clusters"][0]["cluster"]["server"] == serving.url
    assert serving.get("/apis/example.io/v1/gadgets")["items"] == []
    assert serving.stop() == (0, "", "")


def test_a_termination_is_as_clean_as_an_interrupt(serving: Serving) -> None:
    """SIGTERM ends it with 0 too, even while a watch is open."""
    watch = urllib.request.urlopen(serving.url + "/api/v1/namespaces?watch=1", timeout=10)
    assert json.loads(watch.readline())["type"] == "ADDED"
    assert serving.stop(signal.SIGTERM) == (0, "", "")
    watch.close()


def test_tokens_are_asked_for() -> None:
    """With --token only bearers of it are served, under the name that was given."""
    running = Serving("--token", "secret:ada")
    try:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            running.get("/api/v1/namespaces")
        assert running.get("/api/v1/namespaces", Authorization="Bearer secret")["kind"] == "NamespaceList"
    finally:
        running.stop()


def refused(*arguments: str) -> str:
    done = subprocess.run([*COMMAND, "serve", *arguments], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_tokens_come_from_a_file_or_the_environment(tmp_path: Path) -> None:
    """--token-file has a token per line, FIFERAIL_TOKEN one; neither stands on the command line for others to read."""
    file = tmp_path / "tokens"
    file.write_text("first:ada\n\nsecond\n")
    running = Serving("--token-file", str(file), FIFERAIL_TOKEN="third:eve")
    try:
        for token in ("first", "second", "third"):
            assert running.get("/api/v1/namespaces", Authorization=f"Bearer {token}")["kind"] == "NamespaceList"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            running.get("/api/v1/namespaces")
    finally:
        running.stop()


def test_a_token_that_cannot_be_used_is_not_shown(tmp_path: Path) -> None:
    """A missing or empty file and a token with a blank are exit code 2, and no message repeats the token."""
    missing, empty = tmp_path / "none", tmp_path / "empty"
    empty.write_text("\n")
    assert refused("--token-file", str(missing)) == f"fiferail: {missing}: cannot be read: No such file or directory\n"
    assert refused("--token-file", str(empty)) == f"fiferail: {empty}: holds no token\n"
    wanted = "wants a token, printable ASCII without blanks, optionally followed by a colon and a user name"
    assert refused("--token", "se cret") == f"fiferail: --token {wanted}\n"
    assert refused("--token", ":ada") == f"fiferail: --token {wanted}\n"


def test_beyond_loopback_a_token_is_wanted() -> None:
    """0.0.0.0 without a token is refused, unless --anonymous says that this is meant."""
    ways = "give --token, --token-file or FIFERAIL_TOKEN, or --anonymous to let everybody who reaches it do everything"
    assert refused("--host", "0.0.0.0") == f"fiferail: 0.0.0.0 is not loopback: {ways}\n"
    running = Serving("--host", "0.0.0.0", "--anonymous")
    assert running.get("/api/v1/namespaces")["kind"] == "NamespaceList"
    assert running.stop() == (0, "", "")


def test_hosts_and_origins_are_allowed_by_name() -> None:
    """--allow-host and --allow-origin let in what is refused by default."""
    running = Serving("--allow-host", "api.test", "--allow-origin", "http://ui.test")
    try:
        assert running.get("/version", Host="api.test:80", Origin="http://ui.test")["major"] == "1"
        for headers in ({"Host": "evil.test"}, {"Origin": "http://evil.test"}):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                running.get("/version", **headers)
    finally:
        running.stop()


def test_the_kubeconfig_is_private_and_quoted(tmp_path: Path) -> None:
    """Its mode is 0600, also over an older file of ours, and a token of YAML's special characters is read back as it was given."""
    target = tmp_path / "kc.yaml"
    for token in ('a"b\\c#d', "{x}&*!|>%@`"):
        running = Serving("--kubeconfig", str(target), "--token", token)
        assert running.stop()[0] == 0
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert yaml.safe_load(target.read_text())["users"][0]["user"]["token"] == token
        target.chmod(0o644)
    assert [file.name for file in tmp_path.iterdir()] == ["kc.yaml"]


def test_a_foreign_kubeconfig_is_not_replaced(tmp_path: Path) -> None:
    """Somebody else's file stays as it is without --force; what is no file is never replaced."""
    target = tmp_path / "config"
    target.write_text("apiVersion: v1\nkind: Config\n")
    assert refused("--kubeconfig", str(target)) == f"fiferail: {target} was not written by fiferail: --force replaces it\n"
    assert target.read_text() == "apiVersion: v1\nkind: Config\n"
    assert refused("--kubeconfig", str(tmp_path), "--force") == f"fiferail: cannot write {tmp_path}: not a regular file\n"
    running = Serving("--kubeconfig", str(target), "--force")
    assert yaml.safe_load(target.read_text())["clusters"][0]["cluster"]["server"] == running.url
    assert running.stop()[0] == 0


TEARDOWN = """
import atexit
atexit.register(print, "taken apart")
from fiferail.cli import main
main()
"""


def test_it_ends_without_taking_its_objects_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM ends the process at once: freeing 100,000 objects one by one took 9 s, and whoever sent it may not wait."""
    monkeypatch.setitem(globals(), "COMMAND", [sys.executable, "-c", TEARDOWN])
    running = Serving()
    started = time.perf_counter()
    assert running.stop(signal.SIGTERM) == (0, "", "")
    assert time.perf_counter() - started < 1.0


def test_a_file_without_a_crd_is_told(tmp_path: Path) -> None:
    """--crd with a file or directory that holds none is an error, not a server that lacks the kind."""
    file = tmp_path / "configmap.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
    assert refused("--crd", str(file)) == f"fiferail: {file}: no CustomResourceDefinition in this file\n"
    assert refused("--crd", str(tmp_path)) == f"fiferail: {tmp_path}: no CustomResourceDefinition in this directory\n"


def test_bad_input_is_told_in_one_line(tmp_path: Path) -> None:
    """A missing file, text that is no YAML, and a CRD that the server refuses end in exit code 2 and name the file."""
    missing = tmp_path / "none.yaml"
    assert refused("--crd", str(missing)) == f"fiferail: {missing}: no such file or directory\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused("--crd", str(empty)) == f"fiferail: {empty}: no .yaml, .yml or .json file in this directory\n"
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1\nb: }")
    assert refused("--crd", str(broken)).startswith(f"fiferail: {broken}: not valid YAML: ")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((CRDS / "gadgets.yaml").read_text().replace("gadgets.example.io", "wrong.example.io"))
    assert refused("--crd", str(wrong)).startswith(f"fiferail: {wrong}: the server refuses this CRD: ")


def test_a_port_that_is_taken_is_told() -> None:
    """Another listener on the port is exit code 2 and a sentence."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused("--port", str(port)) == f"fiferail: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_an_unwritable_kubeconfig_is_told(tmp_path: Path) -> None:
    """A kubeconfig that cannot be written is exit code 2 and the reason."""
    target = tmp_path / "no" / "kc.yaml"
    assert refused("--kubeconfig", str(target)) == f"fiferail: cannot write {target}: No such file or directory\n"


GADGET = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}}
GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"


def send(running: Serving, agent: str, method: str, path: str, body: Any, kind: str = "json") -> Any:
    headers = {"User-Agent": agent, "Content-Type": f"application/{kind}"}
    request = urllib.request.Request(running.url + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def test_the_checker_tells_of_a_loss_at_once_and_in_the_exit_code() -> None:
    """Two clients of any kind, one update lost: a sentence while it serves, a count at the end, and exit code 1."""
    running = Serving("--check", "--crd", str(CRDS / "gadgets.yaml"))
    send(running, "maker", "POST", GADGETS, GADGET)
    go = "manager/v0.0.0 (linux/amd64) kubernetes/$Format/{}"
    for agent in ("one", "two"):
        running.get(f"{GADGETS}/g", **{"User-Agent": go.format(agent)})
    for agent in ("one", "two"):
        conditions = [{"type": agent.title(), "status": "True"}]
        send(running, go.format(agent), "PATCH", f"{GADGETS}/g/status", {"status": {"conditions": conditions}}, "merge-patch+json")
    assert running.process.stdout is not None
    told = running.process.stdout.readline()
    assert told.startswith("LOST status.conditions[One] of gadgets default/g: manager/v0.0.0 one wrote ")
    assert "manager/v0.0.0 two, based on " in told
    assert running.stop() == (1, "fiferail: 1 update lost in 3 writes by 3 clients\n", "")


def test_the_checker_ends_with_0_when_nothing_was_lost() -> None:
    """One client that writes what it read loses nothing."""
    running = Serving("--check", "--crd", str(CRDS / "gadgets.yaml"))
    send(running, "maker", "POST", GADGETS, GADGET)
    assert running.stop() == (0, "fiferail: nothing lost in 1 write by 1 client\n", "")


def test_the_checker_knows_what_was_refused_and_given_up() -> None:
    """A conflict that its client swallows is told at the end: the update is not there, and nobody comes back for it."""
    running = Serving("--check", "--crd", str(CRDS / "gadgets.yaml"))
    read = send(running, "maker", "POST", GADGETS, GADGET)
    send(running, "one", "PUT", f"{GADGETS}/g/status", {**read, "status": {"phase": "Running"}})
    with pytest.raises(urllib.error.HTTPError, match="409"):
        send(running, "two", "PUT", f"{GADGETS}/g/status", {**read, "status": {"phase": "Failed"}})
    code, out, _ = running.stop()
    assert code == 1
    assert out.splitlines()[0] == (
        'LOST status.phase of gadgets default/g: two wanted "Failed", was refused (PUT on /status) and never sent it again. '
        'It is "Running", as one left it. Handle the conflict: read the object, decide again, write.'
    )


def test_an_empty_server_is_small(serving: Serving) -> None:
    """At most 60 MB resident with a CRD and nothing else."""
    status = Path(f"/proc/{serving.process.pid}/status")
    if not status.exists():
        pytest.skip("resident size is read from /proc")
    resident = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    assert resident < 60_000, f"{resident} kB"
