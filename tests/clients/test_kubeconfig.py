"""Kubeconfigs are read as kubectl reads them: the same are accepted, the same are refused, and no error quotes a secret."""

from __future__ import annotations

import base64
import os
import random
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fiferail
from fiferail.clients import kubeconfig
from fiferail.clients.kubeconfig import connect, connect_async, locate
from fiferail.errors import FiferailError

SECRET = "s3cr3t"
PEM = base64.b64encode(b"no certificate").decode()
HTTPS = "server: https://127.0.0.1:9"
V1 = "client.authentication.k8s.io/v1"


class Case(NamedTuple):
    """A kubeconfig, the error it gives (None: it is fine), and whether kubectl accepts it where that differs."""

    cluster: str = HTTPS
    user: str = "token: s3cr3t"
    error: str | None = None
    kubectl_accepts: bool | None = None
    more: str = ""
    context: str = "{cluster: there, user: me}"


CASES: dict[str, Case] = {
    "https": Case(),
    "http": Case("server: http://127.0.0.1:9"),
    "HTTPS in capitals": Case("server: HTTPS://127.0.0.1:9"),
    "a path": Case("server: https://127.0.0.1:9/clusters/a/"),
    "ftp": Case(
        "server: ftp://127.0.0.1:9",
        error="expected the server of cluster 'there' to be https://host:port or http://host:port, got 'ftp://127.0.0.1:9'",
    ),
    "no scheme": Case(
        "server: '127.0.0.1:9'",
        error="expected the server of cluster 'there' to be https://host:port or http://host:port, got '127.0.0.1:9'",
        kubectl_accepts=True,  # over http, without the credentials
    ),
    "a bad port": Case("server: https://127.0.0.1:99999", error="expected the server of cluster 'there' to be https://host:port"),
    "no server": Case("tls-server-name: a", error="expected a server in cluster 'there', got none", kubectl_accepts=True),
    "a password in the address": Case(
        "server: 'https://root:s3cr3t@127.0.0.1:9'",
        error="the server of cluster 'there' has a user or password in its address: put them under users",
        kubectl_accepts=True,
    ),
    "a password in a bad address": Case(
        "server: 'ftp://root:s3cr3t@127.0.0.1:9'",
        error="expected the server of cluster 'there' to be https://host:port or http://host:port",
    ),
    "a query": Case("server: 'https://127.0.0.1:9/?a=b'", error="the server of cluster 'there' has a query", kubectl_accepts=True),
    "clear text": Case(
        "server: http://192.0.2.1:9",
        error="http://192.0.2.1:9 is not https: the credentials of user 'me' would be sent in clear, so nothing is sent",
        kubectl_accepts=True,  # it drops the credentials
    ),
    "skip as text": Case(
        f"{HTTPS}, insecure-skip-tls-verify: 'false'",
        error="cannot read the kubeconfig FILE: expected `bool`, got `str` at clusters[0].cluster.insecure-skip-tls-verify",
    ),
    "skip as a number": Case(f"{HTTPS}, insecure-skip-tls-verify: 1", error="expected `bool`, got `int`"),
    "skip yes": Case(f"{HTTPS}, insecure-skip-tls-verify: yes"),
    "skip y": Case(f"{HTTPS}, insecure-skip-tls-verify: y"),
    "skip null": Case(f"{HTTPS}, insecure-skip-tls-verify: "),
    "a number as token": Case(user="token: 123", error="expected `str`, got `int` at users[0].user.token"),
    "a date as token": Case(user="token: 2024-01-01"),
    "a time as token": Case(user="token: 12:30:45"),
    "no token": Case(user="token: "),
    "a token of two lines": Case(
        user='token: "s3cr3t\\ns3cr3t"',
        error="the token of user 'me' has characters that do not fit in a header: line ends, control characters or non-ASCII",
    ),
    "token and password": Case(
        user="token: s3cr3t, username: a, password: s3cr3t",
        error="the user 'me' has a token and a username or password: only one is allowed",
    ),
    "groups of nobody": Case(
        user="as-groups: [a]", error="the user 'me' has as-uid, as-groups or as-user-extra without as: whom to impersonate is missing"
    ),
    "one group as text": Case(user="as: a, as-groups: b", error="expected `array`, got `str` at users[0].user.as-groups"),
    "somebody else": Case(user="as: a, as-uid: u, as-groups: [b, c], as-user-extra: {d: [e]}"),
    "an unknown proxy": Case(
        f"{HTTPS}, proxy-url: 'ftp://user:s3cr3t@x'",
        error="expected the proxy-url of cluster 'there' to be http://, https:// or socks5://host:port",
    ),
    "a proxy": Case(f"{HTTPS}, proxy-url: 'HTTP://127.0.0.1:9'"),
    "authority and insecure": Case(
        f"{HTTPS}, insecure-skip-tls-verify: true, certificate-authority-data: {PEM}",
        error="cluster 'there' has a certificate-authority and insecure-skip-tls-verify: only one is allowed",
    ),
    "authority twice": Case(
        f"{HTTPS}, certificate-authority: x, certificate-authority-data: {PEM}",
        error="cluster 'there' has certificate-authority and certificate-authority-data: only one is allowed",
    ),
    "authority that is no base64": Case(
        f"{HTTPS}, certificate-authority-data: '@@'", error="the certificate-authority of cluster 'there' is not base64"
    ),
    "authority that is no certificate": Case(
        f"{HTTPS}, certificate-authority-data: {PEM}", error="the certificate-authority of cluster 'there' is not a PEM certificate"
    ),
    "authority in no file": Case(
        f"{HTTPS}, certificate-authority: absent.crt", error="cannot read the certificate-authority of cluster 'there', "
    ),
    "certificate without a key": Case(
        user=f"client-certificate-data: {PEM}", error="user 'me' has a client-certificate without a client-key"
    ),
    "certificate twice": Case(
        user=f"client-certificate-data: {PEM}, client-certificate: x, client-key: x",
        error="user 'me' has client-certificate and client-certificate-data: only one is allowed",
    ),
    "certificate that is none": Case(
        user=f"client-certificate-data: {PEM}, client-key-data: {PEM}",
        error="the client-certificate and client-key of user 'me' are not a PEM pair",
    ),
    "auth provider": Case(
        user="auth-provider: {name: gcp}",
        error="the user 'me' has an auth-provider, which is not supported: use a credential plugin (exec)",
    ),
    "plugin without a command": Case(
        user=f"exec: {{apiVersion: {V1}, interactiveMode: Never}}", error="the user 'me' has an exec plugin without a command"
    ),
    "plugin without a version": Case(
        user="exec: {command: a, interactiveMode: Never}",
        error=f"expected apiVersion {V1} or {V1}beta1 for the exec plugin of user 'me', got none",
    ),
    "plugin of v1alpha1": Case(
        user=f"exec: {{command: a, apiVersion: {V1}alpha1}}",
        error=f"expected apiVersion {V1} or {V1}beta1 for the exec plugin of user 'me', got {V1}alpha1",
    ),
    "plugin without a mode": Case(
        user=f"exec: {{command: a, apiVersion: {V1}}}",
        error="expected interactiveMode Never or IfAvailable for the exec plugin of user 'me', got none",
    ),
    "plugin that asks": Case(
        user=f"exec: {{command: a, apiVersion: {V1}, interactiveMode: Always}}",
        error="the exec plugin of user 'me' has interactiveMode Always, and there is no terminal to ask on",
    ),
    "plugin with a variable without a name": Case(
        user=f"exec: {{command: a, apiVersion: {V1}, interactiveMode: Never, env: [{{value: a}}]}}",
        error="the exec plugin of user 'me' has an env variable without a name",
    ),
    "a name twice": Case(
        user="token: s3cr3t}}, {name: me, user: {token: s3cr3t", error="the kubeconfig FILE has the name 'me' more than once in users"
    ),
    "a key twice": Case(f"server: ftp://a, {HTTPS}"),
    "no such user": Case(
        context="{cluster: there, user: you}", error="expected a user named 'you' in the kubeconfig, found me", kubectl_accepts=True
    ),
    "no user": Case(context="{cluster: there}"),
    "no such cluster": Case(
        context="{cluster: here, user: me}", error="expected a cluster named 'here' in the kubeconfig, found there", kubectl_accepts=True
    ),
    "another kind": Case(more="kind: Pod", error="expected kind Config of apiVersion v1 in the kubeconfig FILE, got Pod of v1"),
    "unknown fields": Case(more="preferences: {colors: true}\nfurther: [1, 2024-01-01]"),
    "an alias": Case(more="a: &a {b: c}\nd: {<<: *a}"),
    "an unknown alias": Case(user="token: *s3cr3t", error="cannot read the kubeconfig FILE: it is not valid YAML at line 6, column"),
    "an unknown tag": Case(
        user="token: !s3cr3t x", error="cannot read the kubeconfig FILE: it is not valid YAML at line 6", kubectl_accepts=True
    ),
    "an open quote": Case(user="token: 's3cr3t", error="cannot read the kubeconfig FILE: it is not valid YAML at line"),
    "no mapping": Case(more="--- [s3cr3t]", error="cannot read the kubeconfig FILE: it is not valid YAML", kubectl_accepts=True),
}  # fmt: skip


def written(case: Case, folder: Path) -> Path:
    """The case as a file."""
    file = folder / "config"
    file.write_text(
        f"apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{{name: here, context: {case.context}}}]\n"
        f"clusters: [{{name: there, cluster: {{{case.cluster}}}}}]\nusers: [{{name: me, user: {{{case.user}}}}}]\n{case.more}\n"
    )
    return file


def verdict(file: Path) -> str | None:
    """The error it gives, or None."""
    try:
        locate(file, None)
    except FiferailError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", CASES)
def test_a_kubeconfig_is_taken_or_refused(name: str, tmp_path: Path) -> None:
    """Anything that could not be honoured is an error that names the field, and quotes nothing of a credential."""
    case = CASES[name]
    file = written(case, tmp_path)
    said = verdict(file)
    if case.error is None:
        assert said is None
    else:
        assert said is not None
        assert case.error.replace("FILE", str(file)) in said
        assert SECRET not in said


@pytest.mark.parametrize("name", CASES)
def test_kubectl_gives_the_same_verdict(name: str, tmp_path: Path, kubectl: Path) -> None:
    """The cached kubectl accepts and refuses the same files, but for those where fiferail is stricter, which are marked."""
    case = CASES[name]
    file = written(case, tmp_path)
    command = [str(kubectl), "--kubeconfig", str(file), "get", "--raw", "/version", "--request-timeout=1s"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30, stdin=subprocess.DEVNULL)
    # Whatever it says once it has taken the file: nobody listens, no answer comes, or it would ask for a password.
    reached = ("was refused", "enter Username", "Client.Timeout", "context deadline", "i/o timeout", "dial tcp 192.0.2.1")
    accepted = any(text in done.stdout + done.stderr for text in reached)
    assert accepted is (case.error is None if case.kubectl_accepts is None else case.kubectl_accepts), done.stdout + done.stderr


# -- which files

MISSING = "found no cluster: KUBECONFIG names {}, which does not exist, and this is no pod"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without any kubeconfig; its home."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_missing_file_of_kubeconfig_is_named(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBECONFIG is set, so the error does not say that there is none; ~/.kube/config is not used instead, as with kubectl."""
    (nowhere / ".kube").mkdir()
    written(Case(), nowhere).rename(nowhere / ".kube" / "config")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    for opening in (connect, connect_async):
        with pytest.raises(FiferailError) as refused:
            opening()
        assert str(refused.value) == MISSING.format("/nonexistent")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(("", "/a", "/b", "/a")))
    with pytest.raises(FiferailError) as refused:
        locate(None, None)
    assert str(refused.value) == MISSING.format("/a, /b")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("absent", "expected a kubeconfig file, found none at "),
        (".", "cannot read the kubeconfig "),
        ("a\0b", "cannot read the kubeconfig "),
    ],
    ids=["absent", "a folder", "no file name"],
)
def test_a_kubeconfig_argument_that_is_no_file_is_named(given: str, text: str, nowhere: Path) -> None:
    """Nothing else is tried."""
    with pytest.raises(FiferailError) as refused:
        connect(f"{nowhere}/{given}")
    assert str(refused.value).startswith(f"{text}{Path(nowhere, given)}")


def test_a_file_without_end_is_not_read_to_its_end(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device, or a file that is something else."""
    monkeypatch.setattr("fiferail.clients.kubefile.MAXIMUM", 1 << 20)
    with pytest.raises(FiferailError, match="^the kubeconfig /dev/zero is larger than 1 MiB$"):
        connect("/dev/zero")


def _merge_bomb() -> str:
    levels = [f"m{n}: &m{n} {{<<: [{', '.join(f'*m{n - 1}' for _ in range(20))}], k{n}: 0}}" for n in range(1, 12)]
    return "\n".join(["m0: &m0 {a: 1, b: 2}", *levels])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"users: " + b"[" * 50_000, "it is nested deeper than 100 levels"),
        (b"- " * 50_000, "it is nested deeper than 100 levels"),
        (b"a: &a 1\nb: [" + b"*a, " * 2000 + b"*a]", "it has more than 1000 aliases"),
        (_merge_bomb().encode(), "its merge keys make a mapping of more than 10000 members"),
        (b"users: \xff", "byte 7 is not UTF-8"),
        (b"a: !!int x", "it has a value that does not fit its tag"),
    ],
    ids=["brackets", "dashes", "aliases", "merge keys", "not UTF-8", "a wrong tag"],
)
def test_a_hostile_file_is_refused_at_once(content: bytes, text: str, tmp_path: Path) -> None:
    """Depth, aliases and merge keys are bounded."""
    file = tmp_path / "config"
    file.write_bytes(content)
    with pytest.raises(FiferailError) as refused:
        connect(file)
    assert str(refused.value) == f"cannot read the kubeconfig {file}: {text}"


def test_a_pipe_is_a_kubeconfig_too(tmp_path: Path) -> None:
    """As in `--kubeconfig <(...)`: what is read need not be a regular file."""
    reading, writing = os.pipe()
    os.write(writing, written(Case("server: https://127.0.0.1:9/a"), tmp_path).read_bytes())
    os.close(writing)
    try:
        assert locate(f"/dev/fd/{reading}", None).url == "https://127.0.0.1:9/a"
    finally:
        os.close(reading)


def test_several_files_are_one(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first to name a thing wins, one that is missing is skipped, and a context of any of them can be chosen."""
    first, second = nowhere / "first", nowhere / "second"
    first.write_text("clusters: [{name: a, cluster: {server: 'https://first'}}]\ncurrent-context: a\n")
    second.write_text(
        "current-context: b\nclusters: [{name: a, cluster: {server: 'https://other'}}, {name: b, cluster: {server: 'https://second'}}]\n"
        "contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, (nowhere / "absent", first, second))))
    assert (locate(None, None).url, locate(None, "b").url) == ("https://first", "https://second")
    with pytest.raises(FiferailError, match="^expected a context named 'c' in the kubeconfig, found a, b$"):
        locate(None, "c")
    with pytest.raises(FiferailError, match="^expected a context named 'a' in the kubeconfig, found none$"):
        locate(first, None)


def test_a_kubeconfig_without_a_current_context_says_how_to_choose_one(tmp_path: Path) -> None:
    """The error names the file and both remedies."""
    file = tmp_path / "config"
    file.write_text("clusters: [{name: a, cluster: {server: 'https://a'}}]")
    with pytest.raises(FiferailError) as refused:
        connect(file)
    assert str(refused.value) == f"expected a current-context in {file}, got none: pass context=, or `kubectl config use-context`"


def test_a_pod_finds_its_own_account(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, secured_embedded: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when KUBECONFIG names a file that is missing, as client-go does, with a warning."""
    (nowhere / "token").write_text("t0k3n\n")
    (nowhere / "ca.crt").write_text(secured_embedded.authority)
    monkeypatch.setattr(kubeconfig, "ACCOUNT", nowhere)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    with pytest.raises(FiferailError, match="and this is no pod$"):  # the port is missing
        locate(None, None)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    server = locate(None, None)
    assert (server.url, server.credentials.headers()) == ("https://[fd00::1]:443", [("authorization", "Bearer t0k3n")])
    assert "KUBECONFIG names /nonexistent, which does not exist: using the pod's service account" in caplog.text
    (nowhere / "ca.crt").write_text("nothing")
    with pytest.raises(FiferailError, match=f"^cannot read the cluster's authority {nowhere}/ca.crt: it is not a PEM certificate$"):
        locate(None, None)


# -- extras

@pytest.mark.parametrize(
    ("module", "opening", "text"),
    [
        ("yaml", "connect", "reading a kubeconfig needs the extra `connect` (yaml is not installed)"),
        ("yaml", "connect_async", "reading a kubeconfig needs the extra `connect` (yaml is not installed)"),
        ("httpx2", "connect", "connect() needs the extra `connect` (httpx2 is not installed)"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named(module: str, opening: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line instead of a ModuleNotFoundError."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "fiferail.clients.kubeyaml", raising=False)
    with pytest.raises(FiferailError) as refused:
        getattr(fiferail, opening)(written(Case(), tmp_path))
    assert str(refused.value) == f"{text}; in a checkout of fiferail: pip install '.[connect]'"
    assert "\n" not in str(refused.value)


# -- damaged files

DAMAGED = f"""\
apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {{cluster: there, user: me}}
clusters:
- name: there
  cluster:
    server: https://127.0.0.1:9/a
    tls-server-name: a.example
    insecure-skip-tls-verify: false
    proxy-url: "http://user:{SECRET}@proxy.example:3128"
    extensions: [{{name: client.authentication.k8s.io/exec, extension: {{a: [1, 2.5, null, 2024-01-01]}}}}]
users:
- name: me
  user:
    token: &t {SECRET}
    as-uid: *t
    as: root
    as-groups: [a, b]
    as-user-extra: {{a: [b, "{SECRET}"]}}
    client-key-data: {base64.b64encode(SECRET.encode()).decode()}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin
      interactiveMode: Never
      env: [{{name: TOKEN, value: "{SECRET}"}}]
"""
PIECES = (
    "", " ", "\n", "\t", "- ", ": ", "[", "]", "{", "}", "&a ", "*a", "<<: ", "!!int ", "!x ", '"', "'", "|\n", "#", "%", "@", "---\n",
    "null", "true", "0", "1e999", "\0", "\r", "\u2028", "\ud83d", "é", "[" * 2000, "9" * 5000, "server", "token",
)  # fmt: skip


def damaged(seed: int) -> bytes:
    """The file with some of its pieces cut out, doubled or replaced."""
    chance = random.Random(seed)
    text = DAMAGED
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(text)), chance.choice((0, 1, 1, 3, 10))
        piece = chance.choice((*PIECES, text[at : at + 20]))
        text = text[:at] + piece + text[at + length :]
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("block", range(4))
def test_a_damaged_file_is_read_or_refused(block: int, tmp_path: Path) -> None:
    """Whatever is wrong with a kubeconfig, the error is ours, and no traceback of it shows a secret."""
    file = tmp_path / "config"
    for seed in range(block * 75, block * 75 + 75):
        file.write_bytes(damaged(seed))
        shown = ""
        try:
            locate(file, None)
        except FiferailError as error:
            shown = "".join(traceback.format_exception(error))
        assert SECRET not in shown, seed
