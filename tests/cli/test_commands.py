"""The other commands, run in this process."""

from __future__ import annotations

import re

import pytest

from fairlead.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_the_demo_loses_a_condition_and_then_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Two patches are both answered 200 and one condition is gone; the same two writes with the writer keep both."""
    assert run("demo") == 0
    told = capsys.readouterr().out
    assert len(re.findall(r"200 OK +\d+\.\d\d ms", told)) == 2
    assert "stored: Probed.  Lost: Ready." in told
    assert re.search(r"config-controller +Ready=True +applied, 1 request +\d+\.\d\d ms", told)
    assert "stored: Ready, Probed.  Nothing lost." in told


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
