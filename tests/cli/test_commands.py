"""The other commands, run in this process."""

from __future__ import annotations

import re

import pytest

from fiferail.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Help names every command that there is."""
    assert run("--help") == 0
    told = capsys.readouterr().out
    assert "serve" in told
    assert "demo" in told


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints it and ends."""
    assert run("--version") == 0
    assert re.fullmatch(r"fiferail \d+\.\d+\S*\n", capsys.readouterr().out)


def test_unknown_commands_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that there is not is exit code 2."""
    assert run("frobnicate") == 2
    assert "frobnicate" in capsys.readouterr().err
