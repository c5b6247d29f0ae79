"""Credential plugins and token files: when they are asked again, with what, and what is said when they fail."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fiferail
from fiferail.clients import execplugin
from fiferail.clients.credentials import TokenFile
from fiferail.clients.execplugin import Plugin
from fiferail.clients.kubefile import ExecConfig, ExecVariable
from fiferail.errors import ApiError, FiferailError

from .conftest import Secured

V1 = "client.authentication.k8s.io/v1"
NAMESPACE = ("v1", "Namespace", "default")


class Fake:
    """A plugin in a folder of its own: prints the lines of its script in turn, the last one again and again, and counts its runs."""

    def __init__(self, folder: Path, *answers: Any, before: str = "") -> None:
        self.folder = folder
        (folder / "answers").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        (folder / "runs").write_text("")
        script = folder / "plugin"
        script.write_text(
            f"#!{sys.executable}\nimport os, sys\nfrom pathlib import Path\n{before}\nhere = Path(__file__).parent\n"
            "with (here / 'runs').open('a') as runs: runs.write('x')\n"
            "answers = (here / 'answers').read_text().splitlines()\n"
            "print(answers[min(len((here / 'runs').read_text()), len(answers)) - 1])\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    @property
    def runs(self) -> int:
        """How often it ran."""
        return len((self.folder / "runs").read_text())

    @property
    def user(self) -> dict[str, Any]:
        """The user of a kubeconfig that names it by its full path."""
        return {"exec": {"apiVersion": V1, "command": str(self.folder / "plugin"), "interactiveMode": "Never"}}

    def plugin(self, **settings: Any) -> Plugin:
        """It, as the client runs it."""
        given = {"command": "./plugin", "api_version": V1, "interactive_mode": "Never", **settings}
        return Plugin(ExecConfig(**given), "me", self.folder)


def credential(token: str | None, **status: Any) -> dict[str, Any]:
    """What a plugin prints."""
    return {"apiVersion": V1, "kind": "ExecCredential", "status": {"token": token, **status}}


# -- after a 401, on both servers


def reads(kubeconfig: Path, times: int) -> None:
    """Read something with the blocking client, and watch."""
    with fiferail.connect(kubeconfig) as client:
        for _ in range(times):
            client.get(*NAMESPACE)


def reads_async(kubeconfig: Path, times: int) -> None:
    """The same with the async one."""

    async def read() -> None:
        async with fiferail.connect_async(kubeconfig) as client:
            for _ in range(times):
                await client.get(*NAMESPACE)

    asyncio.run(read())


@pytest.fixture(params=[reads, reads_async], ids=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Callable[[Path, int], None]:
    """Each client in turn."""
    found: Callable[[Path, int], None] = request.param
    return found


def test_a_plugin_runs_again_after_a_401(secured: Secured, read: Any, tmp_path: Path) -> None:
    """The request is sent again with the new token; while that is good the plugin rests."""
    fake = Fake(tmp_path, credential("revoked"), credential(secured.token))
    read(secured.kubeconfig(user=fake.user), 3)
    assert fake.runs == 2


def test_a_token_that_stays_wrong_is_a_401(secured: Secured, read: Any, tmp_path: Path) -> None:
    """The plugin has nothing better: the server's answer stands, and nothing is sent in a loop."""
    fake = Fake(tmp_path, credential("revoked"))
    with pytest.raises(ApiError) as refused:
        read(secured.kubeconfig(user=fake.user), 1)
    assert (refused.value.code, fake.runs) == (401, 2)


def test_a_plugin_that_fails_after_a_401_leaves_the_401(
    secured: Secured, read: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is certain, so it is not turned into an unknown outcome; the plugin's failure is logged."""
    fake = Fake(tmp_path, credential("revoked"), credential(None))
    with pytest.raises(ApiError) as refused:
        read(secured.kubeconfig(user=fake.user), 1)
    assert refused.value.code == 401
    assert "the server answered 401, and there is no new credential: the credential plugin" in caplog.text


def test_a_watch_gets_a_new_token_too(secured: Secured, tmp_path: Path) -> None:
    """The stream is opened again after a 401, by both clients."""
    fake = Fake(tmp_path, credential(secured.token), credential("revoked"), credential(secured.token))
    watch = {"timeout_seconds": 1, "resource_version": "0"}
    with fiferail.connect(secured.kubeconfig(user=fake.user)) as client:
        client.get(*NAMESPACE)
        forget(client)
        assert next(client.watch("v1", "Namespace", **watch))[0] == "ADDED"  # type: ignore[arg-type]
    assert fake.runs == 3

    async def watched() -> str:
        again = Fake(tmp_path, credential(secured.token), credential("revoked"), credential(secured.token))
        async with fiferail.connect_async(secured.kubeconfig(user=again.user)) as client:
            await client.get(*NAMESPACE)
            forget(client)
            async for kind, _ in client.watch("v1", "Namespace", **watch):  # type: ignore[arg-type]
                return kind
        raise AssertionError("the watch ended")

    assert asyncio.run(watched()) == "ADDED"
    assert fake.runs == 3


def forget(client: Any) -> None:
    """Let the client's token be asked for again."""
    client.transport._credentials._plugin.forget()


def test_a_token_file_is_read_again_after_a_401(secured: Secured, tmp_path: Path) -> None:
    """Not only after a minute."""
    file = tmp_path / "token"
    file.write_text("revoked\n")
    config = secured.kubeconfig(user={"tokenFile": str(file)})
    with fiferail.connect(config) as client:
        with pytest.raises(ApiError, match="^401 Unauthorized"):
            client.get(*NAMESPACE)
        file.write_text(secured.token + "\n")
        assert client.get(*NAMESPACE)["kind"] == "Namespace"


# -- off the event loop


@pytest.fixture
def held(tmp_path: Path) -> tuple[Fake, Path]:
    """A plugin that waits until somebody opens a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    return Fake(tmp_path, credential("t"), before=f"open({str(pipe)!r}).read()"), pipe


async def release(pipe: Path) -> int:
    """Open the pipe once the plugin waits on it; returns how often the event loop got on meanwhile."""
    for turns in range(10_000_000):
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            await asyncio.sleep(0)
        else:
            return turns
    raise AssertionError("the plugin never started")


async def test_the_event_loop_goes_on_while_a_plugin_runs(held: tuple[Fake, Path]) -> None:
    """A plugin that blocks blocks nobody; all who need its token share one run."""
    fake, pipe = held
    plugin = fake.plugin()
    asking = [asyncio.ensure_future(plugin.token_async()) for _ in range(10)]
    assert await release(pipe) > 0
    assert await asyncio.gather(*asking) == ["t"] * 10
    assert (await plugin.token_async(), fake.runs) == ("t", 1)


async def test_who_stops_waiting_does_not_stop_the_others(held: tuple[Fake, Path]) -> None:
    """A request that is cancelled leaves the run to those who still wait."""
    fake, pipe = held
    plugin = fake.plugin()
    first, second = asyncio.ensure_future(plugin.token_async()), asyncio.ensure_future(plugin.token_async())
    await asyncio.sleep(0)
    first.cancel()
    await release(pipe)
    assert await second == "t"
    assert (first.cancelled(), fake.runs) == (True, 1)


def test_a_plugin_does_not_outlive_its_event_loop(tmp_path: Path) -> None:
    """A program that ends while the plugin runs is not held up, and leaves no process behind."""
    pipe, note = tmp_path / "pipe", tmp_path / "pid"
    os.mkfifo(pipe)
    plugin = Fake(tmp_path, before=f"Path({str(note)!r}).write_text(f'{{os.getpid()}}.'); open({str(pipe)!r}).read()").plugin()

    async def leave() -> asyncio.Task[str]:
        asking = asyncio.ensure_future(plugin.token_async())
        while not (note.exists() and note.read_text().endswith(".")):
            await asyncio.sleep(0)
        return asking

    assert asyncio.run(leave()).cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()[:-1]), 0)


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_a_plugin_that_hangs_is_stopped(held: tuple[Fake, Path], awaited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 60 s, here less; what it had started is stopped with it."""
    monkeypatch.setattr(execplugin, "SECONDS", 0.05)
    plugin = held[0].plugin()
    with pytest.raises(FiferailError, match=r"^the credential plugin './plugin' was stopped: it did not end within 0.05 s$"):
        asyncio.run(plugin.token_async()) if awaited else plugin.token()
    with pytest.raises(OSError):  # nobody waits on the pipe any more
        os.open(held[1], os.O_WRONLY | os.O_NONBLOCK)


# -- what it is run with


def test_a_command_with_a_slash_is_relative_to_the_kubeconfig(
    secured: Secured, read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to the working directory, as for kubectl; one without is found in PATH."""
    folder = secured.folder / "bin"
    folder.mkdir(exist_ok=True)
    fake = Fake(folder, credential(secured.token))
    spec = {"apiVersion": V1, "interactiveMode": "Never"}
    monkeypatch.chdir(tmp_path)
    read(secured.kubeconfig(user={"exec": {**spec, "command": "./bin/plugin"}}), 1)
    with pytest.raises(FiferailError, match="^the credential plugin 'plugin' is not installed"):
        read(secured.kubeconfig(user={"exec": {**spec, "command": "plugin"}}), 1)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    read(secured.kubeconfig(user={"exec": {**spec, "command": "plugin"}}), 1)
    assert fake.runs == 2


@pytest.mark.parametrize("informed", [False, True], ids=["without", "with cluster info"])
def test_a_plugin_gets_arguments_environment_and_no_input(secured_embedded: Secured, tmp_path: Path, informed: bool) -> None:
    """args, env, KUBERNETES_EXEC_INFO with the cluster where provideClusterInfo asks for it, and an empty standard input."""
    note = (
        "import json; info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "json.dump([sys.argv[1:], os.environ['COLOUR'], info, sys.stdin.read()], open({!r}, 'w'))"
    )
    fake = Fake(tmp_path, credential(secured_embedded.token), before=note.format(str(tmp_path / "note")))
    user = fake.user
    user["exec"] |= {"args": ["a b", "-c"], "env": [{"name": "COLOUR", "value": "red"}], "provideClusterInfo": informed}
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    reads(secured_embedded.kubeconfig({"tls-server-name": "server.example", "extensions": [extension]}, user), 1)
    arguments, colour, info, given = json.loads((tmp_path / "note").read_text())
    assert (arguments, colour, given) == (["a b", "-c"], "red", "")
    cluster = info["spec"].pop("cluster", None)
    assert info == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}
    if informed:
        assert cluster.pop("certificate-authority-data")
        assert cluster == {"server": secured_embedded.url, "tls-server-name": "server.example", "config": {"audience": "x"}}
    else:
        assert cluster is None


def test_a_token_of_the_kubeconfig_comes_before_the_plugin(secured: Secured, read: Any, tmp_path: Path) -> None:
    """As for client-go, the plugin is not run then."""
    fake = Fake(tmp_path, credential("revoked"))
    read(secured.kubeconfig(user={**fake.user, "token": secured.token}), 1)
    assert fake.runs == 0


def test_an_expired_token_is_renewed_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds early; one without an expiry is kept."""
    now = 1_700_000_000.0
    monkeypatch.setattr("fiferail.clients.execplugin.time.time", lambda: now)
    fake = Fake(tmp_path, credential("one", expirationTimestamp="2023-11-14T22:14:00Z"), credential("two"))
    plugin = fake.plugin()
    assert [plugin.token(), plugin.token()] == ["one", "one"]
    now += 31
    assert [plugin.token(), plugin.token(), fake.runs] == ["two", "two", 2]


# -- what is said when it fails


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("s3cr3t", "did not print an ExecCredential: "),
        ([1], "did not print an ExecCredential: "),
        (credential(5), "did not print an ExecCredential: "),  # type: ignore[arg-type]
        (credential(None), "returned no token"),
        (credential(""), "returned no token"),
        ({"apiVersion": V1, "kind": "ExecCredential"}, "returned no token"),
        (credential(None, clientCertificateData="s3cr3t"), "returned a client certificate: only tokens are supported"),
        ({**credential("s3cr3t"), "apiVersion": "v2"}, f"is configured for ExecCredential of {V1}, and returned ExecCredential of v2"),
        (credential("s3cr3t", expirationTimestamp="soon"), "returned an expirationTimestamp that is not a time"),
    ],
    ids=["text", "a list", "a number", "null", "empty", "no status", "certificate", "another version", "no time"],
)  # fmt: skip
def test_a_bad_answer_is_refused_without_quoting_it(answer: Any, text: str, tmp_path: Path) -> None:
    """The sentence names the plugin; what it printed may be a credential."""
    plugin = Fake(tmp_path, answer).plugin()
    with pytest.raises(FiferailError) as refused:
        plugin.token()
    assert str(refused.value).startswith(f"the credential plugin './plugin' {text}")
    assert "s3cr3t" not in str(refused.value)


def test_a_token_that_does_not_fit_in_a_header_is_not_quoted(secured_embedded: Secured, read: Any, tmp_path: Path) -> None:
    """A line end in a token would be a header of its own."""
    fake = Fake(tmp_path, credential("s3cr3t\r\nx: y"))
    with pytest.raises(FiferailError) as refused:
        read(secured_embedded.kubeconfig(user=fake.user), 1)
    text = "has characters that do not fit in a header: line ends, control characters or non-ASCII"
    assert str(refused.value) == f"the token of the credential plugin '{tmp_path}/plugin' {text}"


def test_a_plugin_that_fails_is_quoted_on_one_line(tmp_path: Path) -> None:
    """Its exit code and what it wrote to standard error, without control characters."""
    plugin = Fake(tmp_path, {}, before=r"sys.stderr.write('please\n\x1b[1mlog in\n'); sys.exit(3)").plugin()
    with pytest.raises(FiferailError, match=r"^the credential plugin './plugin' failed with exit code 3: please \[1mlog in$"):
        plugin.token()


def test_a_plugin_that_is_not_there_says_how_to_install_it(tmp_path: Path) -> None:
    """The kubeconfig's installHint, without control characters."""
    spec = ExecConfig(command="./absent", api_version=V1, interactive_mode="Never", install_hint="brew install \x1ba")
    plugin = Plugin(spec, "me", tmp_path)
    with pytest.raises(FiferailError, match=r"^the credential plugin './absent' is not installed. brew install a$"):
        plugin.token()


def test_a_plugin_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    """No execute permission."""
    (tmp_path / "plugin").write_text("#!/bin/sh\n")
    plugin = Plugin(ExecConfig(command="./plugin", api_version=V1, interactive_mode="Never", env=[ExecVariable("a", "b")]), "me", tmp_path)
    with pytest.raises(FiferailError, match=r"^the credential plugin './plugin' could not be started: Permission denied$"):
        plugin.token()


# -- token files


def test_a_token_file_is_read_again_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And kept in use while it cannot be read."""
    now = 0.0
    monkeypatch.setattr("fiferail.clients.credentials.time.monotonic", lambda: now)
    file = tmp_path / "token"
    file.write_text("one\n")
    source = TokenFile(file)
    assert source.headers() == [("authorization", "Bearer one")]
    file.write_text("two")
    assert source.headers() == [("authorization", "Bearer one")]
    now = 60.0
    assert source.headers() == [("authorization", "Bearer two")]
    file.unlink()
    now = 120.0
    with caplog.at_level(logging.WARNING):
        assert source.headers() == [("authorization", "Bearer two")]
    assert f"cannot read the token file {file} again: No such file or directory" in caplog.text


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "cannot read the token file {}: No such file or directory"), (b" \n", "the token file {} is empty"),
     (b"\xff", "cannot read the token file {}: it is not UTF-8"),
     (b"s3cr3t\ns3cr3t", "the token in {} has characters that do not fit in a header: line ends, control characters or non-ASCII")],
    ids=["absent", "empty", "not UTF-8", "two lines"],
)  # fmt: skip
def test_a_token_file_that_holds_no_token_is_named(content: bytes | None, text: str, tmp_path: Path) -> None:
    """The file, not what is in it."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(FiferailError) as refused:
        TokenFile(file).headers()
    assert str(refused.value) == text.format(file)
