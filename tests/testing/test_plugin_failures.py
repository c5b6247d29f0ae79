"""What a user reads when a test with the fixture `apiserver` fails: the line of the test and our message, none of our frames."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from fiferail.apiserver.real import build

pytest_plugins = ["pytester"]

OURS = re.compile(r"fiferail/(testing|apiserver|clients|history|wire)[/\w]*\.py:\d+")
HEAD = """
import threading
from fiferail.testing import ApiServer

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, "data": {"a": "1"}}
"""


def run(pytester: pytest.Pytester, body: str, *options: str) -> str:
    """The output of a session with these tests, which must show none of our frames."""
    pytester.makepyfile(HEAD + body)
    result = pytester.runpytest_subprocess("-q", "-ra", *options)
    text = result.stdout.str()
    assert OURS.findall(text) == [], text
    return text


@pytest.fixture(scope="session")
def binaries(request: pytest.FixtureRequest) -> str:
    """Where kube-apiserver and etcd are. Of the session: `pytester` changes the home directory, and with it the cache."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    return str(build.ensure().directory)


NEVER = """
def test_never(apiserver: ApiServer) -> None:
    apiserver.apply(CONFIG)
    apiserver.faults.next(verb="patch", kind="ConfigMap", name="d", answer=409)
    client = apiserver.client_as("operator")
    for size in "234":
        client.patch(CONFIG, {"data": {"a": size}})
    client.get("v1", "ConfigMap", "c", namespace="default")
"""


def check_never(text: str, file: str) -> None:
    assert "1 passed, 1 error" in text
    assert "ERROR at teardown of test_never" in text
    assert (
        "1 fault never struck\n"
        f"- patch ConfigMap d, answer=409 (given at {file}:8): no such request came. "
        'The closest: 3 x patch ConfigMap default/c by "operator" (other name).\n'
        "Give a fault that need not strike with optional=True, or withdraw it with apiserver.faults.clear().\n"
    ) in text


def test_a_fault_that_never_struck(pytester: pytest.Pytester) -> None:
    """The test fails at its end, with the fault, the line that gave it, and the requests that came closest."""
    check_never(run(pytester, NEVER), "test_a_fault_that_never_struck.py")


def test_a_fault_that_never_struck_on_real(binaries: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message on the real server is the same, and a fault that it cannot give skips the test at the line that asked for it."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", binaries)
    stale = "\ndef test_stale(apiserver: ApiServer) -> None:\n    apiserver.faults.next(verb='list', answer='stale')\n"
    text = run(pytester, NEVER + stale, "--fiferail-server=real")
    check_never(text.replace("1 passed, 1 skipped, 1 error", "1 passed, 1 error"), "test_a_fault_that_never_struck_on_real.py")
    why = "a real server cannot be made to give a stale answer: use the embedded one for this test"
    assert f"SKIPPED [1] test_a_fault_that_never_struck_on_real.py:15: {why}" in text


CASES = {
    "nothing came": (
        'apiserver.faults.next(verb="watch", kind="Pod", answer="dropped")',
        "- watch Pod, answer='dropped' (given at HERE): no request came but the fixture's own.",
    ),
    "the fixture's own request": (
        'apiserver.faults.next(verb="get", kind="ConfigMap"); apiserver.get("v1", "ConfigMap", "c")',
        "- get ConfigMap, answer=500 (given at HERE): 1 such request came from the fixture itself. "
        "apiserver.apply, get, list and wait_for are never hit or held: send the request with apiserver.client or a client of its own.",
    ),
    "too few": (
        'apiserver.faults.next(verb="get", after=2); apiserver.client.get("v1", "ConfigMap", "c", namespace="default")',
        "- get any kind, answer=500 (given at HERE): 1 such request came, and after=2 let it pass.",
    ),
    "too early": (
        'apiserver.client.get("v1", "ConfigMap", "c", namespace="default"); apiserver.faults.next(verb="get")',
        "- get any kind, answer=500 (given at HERE): no request came but the fixture's own. 1 such request came before.",
    ),
    "the other fault's": (
        'apiserver.faults.next(verb="get", answer=429); apiserver.faults.next(verb="get", answer=409); '
        "apiserver.client.transport.send(GET)",
        "- get any kind, answer=409 (given at HERE): such requests came, and another fault or hold took them.",
    ),
    "anything": (
        'apiserver.faults.next(namespace="x", subresource="status", client="op")',
        '- any request any kind/status x by "op", answer=500 (given at HERE): no request came but the fixture\'s own.',
    ),
}


def session_of(cases: dict[str, tuple[str, str]]) -> str:
    """One test for each case, in one session: sessions are slow."""
    return "\n".join(
        f"def test_{number}(apiserver: ApiServer) -> None:\n    apiserver.apply(CONFIG)\n    {line}\n"
        for number, (line, _) in enumerate(cases.values())
    )


def test_each_reason(pytester: pytest.Pytester) -> None:
    """The message says why nothing was hit: nothing came, too early, too few, or only the fixture itself asked."""
    get = 'from fiferail.wire import Request\nGET = Request(method="GET", path="/api/v1/namespaces/default/configmaps/c")\n'
    text = re.sub(r"test_each_reason\.py:\d+", "HERE", run(pytester, get + session_of(CASES)))
    assert [name for name, (_, reason) in CASES.items() if f"\n{reason}\n" not in text] == [], text
    assert f"{len(CASES)} passed, {len(CASES)} errors" in text


def test_a_failed_test_shows_the_faults_beside_its_failure(pytester: pytest.Pytester) -> None:
    """A test that fails by itself is reported once; the fault that never struck stands below as a hint."""
    text = run(
        pytester, "def test_it(apiserver: ApiServer) -> None:\n    apiserver.faults.next(verb='get', kind='Pod')\n    assert 1 == 2\n"
    )  # fmt: skip
    assert "1 failed" in text
    assert "error" not in text.splitlines()[-1]
    assert re.search(r"-+ fiferail -+\n1 fault never struck\n- get Pod, answer=500", text)


def test_a_skipped_test_is_not_failed(pytester: pytest.Pytester) -> None:
    """A test that skips itself after giving a fault stays skipped."""
    body = "import pytest\ndef test_it(apiserver: ApiServer) -> None:\n    apiserver.faults.next(verb='get')\n    pytest.skip('no')\n"
    assert "1 skipped in" in run(pytester, body)


def test_a_fault_that_strikes_while_fixtures_end(pytester: pytest.Pytester) -> None:
    """Requests of a fixture that ends before `apiserver` still count."""
    body = """
import pytest

@pytest.fixture
def operator(apiserver: ApiServer):
    yield
    try:
        apiserver.client.get("v1", "ConfigMap", "c", namespace="default")
    except Exception:
        pass

def test_it(apiserver: ApiServer, operator: None) -> None:
    apiserver.faults.next(verb="get", kind="ConfigMap")
"""
    assert "1 passed in" in run(pytester, body)


FRAMES = {
    "wait_for": (
        'apiserver.wait_for("v1", "ConfigMap", "c", "Ready", timeout=0.1)',
        "ConfigMap default/c did not fulfil 'Ready' within 0.1 s",
    ),
    "get": ('apiserver.get("v1", "ConfigMap", "d")', '404 NotFound: configmaps "d" not found'),
    "apply": ('apiserver.apply({**CONFIG, "data": 7})', "ConfigMap"),
    "a misspelt fault": ('apiserver.faults.next(verb="ptach")', "ValueError: verb='ptach' is no verb of the API: did you mean 'patch'?"),
    "a misspelt hold": ('apiserver.hold(kind="gadget")', "ValueError: kind='gadget' is not served"),
    "a hold in vain": (
        'with apiserver.hold(verb="patch", kind="ConfigMap") as held: held.wait(timeout=0.05)',
        "AssertionError: no request arrived at the hold of patch ConfigMap within 0.05 s",
    ),
    "a hold at which nothing arrived": (
        'with apiserver.hold(verb="patch", kind="ConfigMap"): pass',
        "AssertionError: no request arrived at the hold of patch ConfigMap before its block ended",
    ),
    "nothing lost": (
        'a, b = (apiserver.client_as(n) for n in "ab"); r = [c.get("v1", "ConfigMap", "c", "default") for c in (a, b)]; '
        'a.patch(r[0], {"data": {"a": "2"}}); b.patch(r[1], {"data": {"a": "3"}}); apiserver.assert_nothing_lost()',
        "LOST data.a of configmaps default/c",
    ),
}


def test_a_failure_ends_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    """Each failure shows the line of the test and our message, and no frame of ours."""
    text = run(pytester, session_of(FRAMES))
    shown = re.split(r"^_+ test_\d+ _+$", text, flags=re.M)[1:]
    assert len(shown) == len(FRAMES)
    for part, (line, message) in zip(shown, FRAMES.values(), strict=True):
        assert f">       {line}" in part
        assert message in part
        assert len(re.findall(r"^\S+\.py:\d+: \w+$", part, flags=re.M)) == 1


def test_the_types_are_imported_when_they_are_used() -> None:
    """`fiferail.testing` gives the types of the fixture; loading the plugin loads no server."""
    code = (
        "import sys, fiferail.testing, fiferail.testing.plugin; assert 'fiferail.testing.server' not in sys.modules; "
        "from fiferail.testing import ApiServer, Fault, Faults, Held, Seen; print(ApiServer.__name__, sorted(fiferail.testing.__all__))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "ApiServer ['ApiServer', 'Fault', 'Faults', 'Held', 'Seen']\n"


def test_a_name_that_is_not_there() -> None:
    """A name that the package does not have is an AttributeError as usual."""
    import fiferail.testing

    with pytest.raises(AttributeError, match=r"module 'fiferail\.testing' has no attribute 'ApiSever'"):
        fiferail.testing.ApiSever  # type: ignore[attr-defined]
    assert {"ApiServer", "Held"} <= set(dir(fiferail.testing))
