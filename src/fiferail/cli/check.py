"""`fiferail check`: lost updates in the audit log of a kube-apiserver, for clusters that fiferail did not serve."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def run(arguments: Sequence[str]) -> int:
    """The command; gives back its exit code."""
    asked = parser().parse_args(arguments)
    from ..history.auditlog import records
    from ..history.checker import Checker
    from ..history.records import Commit
    from ..history.words import explain

    try:
        found = records(line for name in asked.file for line in _lines(name))
    except OSError as error:
        print(f"fiferail: cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    commits = [record for record in found if isinstance(record, Commit)]
    if not commits:
        print("fiferail: no writes with their answers in there: the audit policy must have the level RequestResponse", file=sys.stderr)
        return 2
    checker = Checker()
    for record in found:
        checker.feed(record)
    checker.finish()
    for finding in checker.findings:
        print(explain(finding))
    lost = sum(finding.is_loss for finding in checker.findings)
    actors = len({commit.actor for commit in commits})
    told = f"{lost} update{'' if lost == 1 else 's'}" if lost else "nothing"
    print(f"fiferail: {told} lost in {len(commits)} write{'' if len(commits) == 1 else 's'} by {actors} client{'' if actors == 1 else 's'}")
    return 1 if lost else 0


def parser() -> argparse.ArgumentParser:
    """The options, with their help."""
    made = argparse.ArgumentParser(
        prog="fiferail check",
        description="Find lost updates in the audit log of a kube-apiserver. Exit code 1 when there is one.",
        epilog="the audit policy must log the resources of interest at the level RequestResponse, reads included",
    )
    made.add_argument("file", nargs="+", help="an audit log, one JSON event a line; - reads standard input")
    return made


def _lines(name: str) -> Iterator[bytes]:
    if name == "-":
        yield from sys.stdin.buffer
        return
    with open(name, "rb") as file:
        yield from file
