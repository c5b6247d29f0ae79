"""`fiferail check`: lost updates in the audit log of a kube-apiserver, for clusters that fiferail did not serve."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..history.findings import Finding
    from ..history.records import Record


class _Unreadable(Exception):
    """A log that cannot be checked; the text is for the user."""


def run(arguments: Sequence[str]) -> int:
    """Run the command; returns its exit code."""
    asked = parser().parse_args(arguments)
    from ..history.checker import Checker
    from ..history.records import Commit
    from ..history.words import explain

    try:
        found = _records(asked.file)
    except _Unreadable as error:
        print(f"fiferail: {error}", file=sys.stderr)
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
    print(summary(checker.findings, len(commits), len({commit.actor for commit in commits})))
    failing = [finding for finding in checker.findings if finding.is_loss or (asked.possible == "fail" and finding.is_possible)]
    return 1 if failing else 0


def summary(findings: Sequence[Finding], writes: int, clients: int) -> str:
    """The last line: what was lost for certain, by inference, possibly, and how much was checked."""
    inferred = sum(finding.is_loss and finding.certainty == "inferred" for finding in findings)
    lost = sum(finding.is_loss for finding in findings)
    possible = sum(finding.is_possible for finding in findings)
    others = len(findings) - lost - possible
    parts = [f"{_counted(lost, 'update') if lost else 'nothing'} lost in {_counted(writes, 'write')} by {_counted(clients, 'client')}"]
    if inferred:
        parts.append(f"{inferred} of them inferred")
    if possible:
        parts.append(f"{_counted(possible, 'possible loss', 'possible losses')}")
    if others:
        parts.append(_counted(others, "other finding"))
    return "fiferail: " + ", ".join(parts)


def parser() -> argparse.ArgumentParser:
    """The options, with their help."""
    made = argparse.ArgumentParser(
        prog="fiferail check",
        description="Find lost updates in the audit log of a kube-apiserver. Exit code 1 when there is one, 2 when a log cannot be read.",
        epilog="the audit policy must log the resources of interest at the level RequestResponse, reads and watches included",
    )
    made.add_argument("file", nargs="+", help="an audit log, one JSON event a line; - reads standard input")
    made.add_argument(
        "--possible", choices=("print", "fail"), default="print",
        help="losses that are only possible, because the old values may be meant: print them (the default), or exit with 1 for them too",
    )  # fmt: skip
    return made


def _records(files: Sequence[str]) -> list[Record]:
    from ..history.auditlog import MalformedLine, records

    places: list[tuple[str, int]] = []
    try:
        return records(_lines(files, places))
    except OSError as error:
        raise _Unreadable(f"cannot read {error.filename}: {error.strerror}") from None
    except MalformedLine as error:
        name, before = places[-1]
        raise _Unreadable(f"{name}:{error.number - before}: this line is no JSON document: {error.reason}") from None


def _lines(files: Sequence[str], places: list[tuple[str, int]]) -> Iterator[bytes]:
    """All lines of all files; `places` notes each file, and how many lines came before it."""
    count = 0
    for name in files:
        places.append((name, count))
        if name == "-":
            for line in sys.stdin.buffer:
                count += 1
                yield line
            continue
        with open(name, "rb") as file:
            for line in file:
                count += 1
                yield line


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
