"""Exit codes: 0 clean, 1 findings, 2 could not run. A crash, a pipe that closes and a wrong option are never 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fiferail import cli
from fiferail.cli import main

SOURCE = "import kopf\n"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("command", ["serve", "demo", "check", "audit", "rules"])
@pytest.mark.parametrize(
    ("problem", "words"),
    [
        pytest.param(IndexError("a\nb"), "IndexError: a (a defect of fiferail; FIFERAIL_TRACEBACK=1 shows where)", id="a defect"),
        pytest.param(MemoryError(), "MemoryError (a defect of fiferail; FIFERAIL_TRACEBACK=1 shows where)", id="no memory"),
        pytest.param(RecursionError("deep"), "RecursionError: deep (a defect of fiferail; FIFERAIL_TRACEBACK=1 shows where)", id="deep"),
        pytest.param(OSError(28, "No space left on device", "x\x1b"), "x\\x1b: No space left on device", id="the system"),
    ],
)
def test_a_crash_is_one_line_and_2(
    command: str, problem: Exception, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every command: no traceback, and never the exit code of findings."""

    def crash(*_: object, **__: object) -> int:
        raise problem

    monkeypatch.setattr(cli, "_quick", crash)
    monkeypatch.setattr(cli, "application", lambda: crash)
    assert run(command) == 2
    assert capsys.readouterr().err == f"fiferail: could not run: {words}\n"


def test_the_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """FIFERAIL_TRACEBACK=1 shows where a defect is; the exit code stays."""

    def crash(*_: object) -> int:
        raise IndexError("odd")

    monkeypatch.setattr(cli, "_quick", crash)
    monkeypatch.setenv("FIFERAIL_TRACEBACK", "1")
    assert run("demo") == 2
    said = capsys.readouterr().err
    assert "Traceback (most recent call last)" in said
    assert said.endswith("fiferail: could not run: IndexError: odd (a defect of fiferail; FIFERAIL_TRACEBACK=1 shows where)\n")


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends as a shell expects it."""

    def stop(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_quick", stop)
    assert run("demo") == 130


def test_text_as_an_exit_code_is_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Python would end with 1 for `sys.exit("why")`."""

    def leave(*_: object) -> int:
        sys.exit("no such thing")

    monkeypatch.setattr(cli, "_quick", leave)
    assert run("demo") == 2
    assert capsys.readouterr().err == "fiferail: no such thing\n"


@pytest.mark.parametrize(
    "arguments",
    [["audit", "--no-such-option"], ["audit", "--explain", "x"], ["serve", "--no-such-option"], ["check"], ["no-such-command"], []],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_a_wrong_command_line_is_2(arguments: list[str]) -> None:
    """Whichever library parses it."""
    assert run(*arguments) == 2


@pytest.mark.parametrize("module", ["fiferail", "fiferail.audit"])
def test_a_reader_that_leaves_is_not_a_finding(tmp_path: Path, module: str) -> None:
    """`fiferail audit | head`: a closed pipe is no traceback and no 1."""
    for number in range(300):
        (tmp_path / f"{'x' * 200}{number}.py").write_text("import kubernetes\ndef (:\n")
    (tmp_path / "a.py").write_text(SOURCE)
    arguments = [*(["audit"] if module == "fiferail" else []), str(tmp_path), "--no-cache"]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([sys.executable, "-m", module, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (2, "")


def test_the_module_of_the_auditor_is_the_same_command(tmp_path: Path) -> None:
    """`python -m fiferail.audit` has the same exit codes."""
    (tmp_path / "a.py").write_text(SOURCE)
    for path, code in ((str(tmp_path), 0), ("nowhere", 2)):
        ran = subprocess.run([sys.executable, "-m", "fiferail.audit", path, "--no-cache"], capture_output=True, check=False)
        assert ran.returncode == code, ran.stderr


def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path) -> None:
    """A name that the encoding lacks does not end the command."""
    (tmp_path / "日本.py").write_bytes(b"\0")
    (tmp_path / "a.py").write_text(SOURCE)
    ran = subprocess.run(
        [sys.executable, "-m", "fiferail", "audit", str(tmp_path), "--no-cache"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, b"skipped \\u65e5\\u672c.py: binary, not source" in ran.stdout) == (0, True), ran.stderr
