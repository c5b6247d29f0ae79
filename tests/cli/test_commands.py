"""The other commands, run in this process."""

from __future__ import annotations

import re
import time

import pytest

from fairlead.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_the_demo_loses_a_condition_and_then_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Two patches are answered 200 and the checker names the lost condition and both writers; with the writer nothing is lost."""
    started = time.perf_counter()
    assert run("demo") == 0
    assert time.perf_counter() - started < 10
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"ready in \d+ ms at http://127\.0\.0\.1:\d+", told)
    assert len(re.findall(r"config-controller and probe-reporter both read version \d+ ", told)) == 2
    assert len(re.findall(r"with a merge patch 200 OK \d+\.\d\d ms", told)) == 2
    assert re.search(
        r"LOST status\.conditions\[Ready\] of gadgets default/patched: config-controller wrote .* at (\d+); probe-reporter, based on", told
    )
    assert re.search(r"config-controller sets Ready in a session applied \d+\.\d\d ms", told)
    assert re.search(r"PATCH \.\.\./gadgets/written/status json patch 422 \d+\.\d\d ms GET \.\.\./gadgets/written 200", told)
    assert "Stored: Ready, Probed. Nothing lost, says the checker." in told
    assert "fairlead serve --check" in told


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Help names every command that there is."""
    assert run("--help") == 0
    told = capsys.readouterr().out
    assert "serve" in told
    assert "demo" in told


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints it and ends."""
    assert run("--version") == 0
    assert re.fullmatch(r"fairlead \d+\.\d+\S*\n", capsys.readouterr().out)


def test_unknown_commands_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that there is not is exit code 2."""
    assert run("frobnicate") == 2
    assert "frobnicate" in capsys.readouterr().err
