"""`fiferail demo`, run in this process: what it says is what happened in that run."""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.cli import demo, main
from fiferail.cli.demo import lists, operator, story
from fiferail.cli.demo.kinds import AUTH, CRDS
from fiferail.cli.demo.table import Row, conditions, listed
from fiferail.cli.demo.wires import connected
from fiferail.controllers.controller import Controller
from fiferail.testing.checking import Watchman

MS = r"\d+\.\d ms"


@pytest.fixture(scope="module")
def told() -> str:
    """What a whole run says to a pipe, with every run of white space as one blank."""
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SystemExit) as ended:
        patched.setattr("sys.stdout", written)
        started = time.perf_counter()
        main(["demo"])
    assert (ended.value.code, time.perf_counter() - started < 20) == (0, True)
    return " ".join(written.getvalue().split())


def test_the_demo_loses_a_condition_and_then_none(told: str) -> None:
    """Two patches are answered 200 and the checker names the lost condition and both writers; with the writer nothing is lost."""
    assert re.search(r"ready in \d+ ms at http://127\.0\.0\.1:\d+", told)
    assert len(re.findall(r"config-controller and probe-reporter both read version \d+ ", told)) == 2
    assert len(re.findall(r"with a merge patch 200 OK \d+\.\d\d ms", told)) == 2
    assert re.search(
        r"LOST status\.conditions\[Ready\] of gadgets default/patched: config-controller wrote .* at resourceVersion (\d+); "
        r"probe-reporter, based on resourceVersion",
        told,
    )
    assert re.search(r"config-controller sets Ready in a session applied \d+\.\d\d ms", told)
    assert re.search(r"PATCH \.\.\./gadgets/written/status json patch 422 \d+\.\d\d ms GET \.\.\./gadgets/written 200", told)
    assert "Stored: Ready, Probed. Nothing lost, says the checker." in told
    assert "fiferail serve --check" in told


def test_the_demo_loses_an_entry_that_was_answered_with_200(told: str) -> None:
    """The workload's PUT and the owner's patch both succeed, and the checker names the list, the entry and both writers."""
    assert re.search(r"server-controller appends Server a, which is new: PUT 200 OK \d+\.\d\d ms", told)
    assert re.search(r"config-controller writes the 0 it found: merge patch 200 OK \d+\.\d\d ms", told)
    assert re.search(
        r"LOST status\.referencingWorkloads\[[^]]*name=a[^]]*\] of authconfigs default/sso: server-controller wrote "
        r'\{"kind":"Server","name":"a"\} .* config-controller, based on resourceVersion \d+',
        told,
    )
    assert "Both were answered 200. The list has 0 entries; Server a still refers to sso." in told


@pytest.mark.parametrize(
    "row",
    [
        rf"start the operator {MS} [12] Server/a Valid ",
        rf"create Gateway g, Proxy p {MS} [12] Gateway/g, Proxy/p, Server/a Valid ",
        rf"probe-reporter sets Probed {MS} 0 Gateway/g, Proxy/p, Server/a Probed, Valid ",
        rf"point Proxy p elsewhere {MS} 1 Gateway/g, Server/a Probed, Valid ",
        rf"delete AuthConfig sso {MS} 1 Gateway/g, Server/a DeletionBlocked \(referenced by Gateway g, Server a\), Probed, Valid ",
        rf"delete Gateway g {MS} 1 Server/a DeletionBlocked \(referenced by Server a\), Probed, Valid ",
        rf"delete Server a {MS} 0 - the config is gone ",
    ],
    ids=["starts", "come", "beside another writer", "one leaves", "blocked", "blocked by fewer", "released"],
)
def test_the_mended_operator_answers_every_step(told: str, row: str) -> None:
    """A line for each, with the time that it took, its writes, and the list and conditions that a watch showed then."""
    assert re.search(row, told)


def test_nothing_is_lost_with_one_owner(told: str) -> None:
    """The checker heard every write of that part, and the operator's requests are counted."""
    found = re.search(r"The operator sent (\d+) requests, (\d+) of them status writes\. (\d+) writes were heard\. Nothing lost", told)
    assert found is not None
    requests, writes, heard = map(int, found.groups())
    assert 5 <= writes < requests
    assert heard > writes


def auth() -> tuple[Console, EmbeddedServer, Watchman]:
    """A terminal of 100 columns, and a server on which an entry was lost."""
    server, watchman = EmbeddedServer(crds=CRDS), Watchman()
    server.machine.recorder = watchman
    return Console(file=io.StringIO(), force_terminal=True, width=100, highlight=False), server, watchman


def lose_an_entry(console: Console, server: EmbeddedServer, watchman: Watchman) -> None:
    with connected(server.url, lists.WRITERS) as transports:
        lists.with_appends(console, transports, watchman)
    watchman.checker.findings.clear()


def output(console: Console) -> str:
    file: Any = console.file
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())


def test_on_a_terminal_the_table_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn anew in place, and its last state holds every step."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(story, "PAUSE", 0.0)
    console, server, watchman = auth()
    with server:
        lose_an_entry(console, server, watchman)
        assert story.with_one_owner(console, server, watchman)
    file: Any = console.file
    assert "\x1b[1A\x1b[2K" in file.getvalue()
    last = output(console).rpartition("what happens")[2]
    steps = ["start the operator", "create Gateway", "sets Probed", "point Proxy", "delete AuthConfig", "delete Gateway", "delete Server"]
    assert sorted(steps, key=last.find) == steps
    assert all(step in last for step in steps)
    assert max(map(len, output(console).splitlines())) <= 100


def test_an_operator_that_does_not_answer_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is canned: with a controller that does nothing the story ends at its first step, and it did not come out."""

    async def idle(ctx: Any) -> None: ...

    monkeypatch.setattr(story, "PATIENCE", 0.0)
    monkeypatch.setattr(story, "configs", lambda: Controller(AUTH, "AuthConfig", idle))
    console, server, watchman = auth()
    with server:
        lose_an_entry(console, server, watchman)
        assert not story.with_one_owner(console, server, watchman)
    assert "start the operator: no answer of the operator in 0 s" in " ".join(output(console).split())


def test_a_loss_in_the_mended_part_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is the checker's: what is found there is printed, and the demonstration did not come out."""
    monkeypatch.setattr(story, "PAUSE", 0.0)
    console, server, watchman = auth()
    with server:
        with connected(server.url, lists.WRITERS) as transports:
            lists.with_appends(console, transports, watchman)  # its finding is left standing
        assert not story.with_one_owner(console, server, watchman)
    assert "Nothing lost" not in output(console)


@pytest.mark.parametrize(("came_out", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_tells_whether_it_came_out(monkeypatch: pytest.MonkeyPatch, came_out: bool, code: int) -> None:
    """1 when what was to be shown did not happen."""
    monkeypatch.setattr(story, "with_one_owner", lambda *_: came_out)
    assert demo.run([]) == code


def test_an_interrupt_ends_it_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell expects it."""

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_run", interrupted)
    assert demo.run([]) == 130


def test_a_row_says_what_stands_there() -> None:
    """Conditions by type, with a status that is not True and a message where there are any; a step under way has no time yet."""
    entries = [{"type": "Valid", "status": "False", "message": "why"}, {"type": "Probed", "status": "True", "message": ""}]
    obj = {"status": {"conditions": entries}}
    assert Row("w", obj=obj).cells() == ("w", "...", "0", "nobody", "Probed, Valid=False (why)")
    assert (listed({}), conditions({})) == ([], [])


def test_the_demos_operator_is_the_examples() -> None:
    """The one that is shown and the one that is to be copied declare the same."""
    path = Path(__file__).parents[2] / "examples" / "reference_owner" / "main.py"
    spec = importlib.util.spec_from_file_location("reference_owner_for_demo", path)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    ours, theirs = operator.configs(), example.configs()
    assert (ours.kind_name, ours.claims, ours.finalizer, ours.rbac()) == (theirs.kind_name, theirs.claims, theirs.finalizer, theirs.rbac())
    assert [(source.api_version, source.kind) for source in ours.sources] == [(s.api_version, s.kind) for s in theirs.sources]


@pytest.mark.parametrize("module", ["rich", "httptools"])
def test_a_missing_extra_is_one_line(module: str) -> None:
    """Exit code 2 and the extra's name, instead of a traceback."""
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from fiferail.cli import main; main(['demo'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    said = f"fiferail: the demo needs the extra `server` ({module} is not installed); in a checkout of fiferail: pip install '.[server]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
