"""The baseline: findings that were there when the auditor was adopted. They are shown as such and do not fail the run.

Called by the command line. A finding is known again by its fingerprint, which no moved line changes; when a place has more findings of
one fingerprint than the baseline, the new ones count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fiferail.audit import files
from fiferail.audit.config import ConfigError

if TYPE_CHECKING:
    from fiferail.audit.model import Report

_LIMIT = 100_000_000


def apply(report: Report, path: str) -> None:
    """Mark the findings that the baseline at a path holds. Raises `ConfigError` where it is none."""
    try:
        content = json.loads(files.read(path, _LIMIT))
        known: dict[str, int] = {}
        for entry in content["findings"]:
            known[entry["fingerprint"]] = known.get(entry["fingerprint"], 0) + 1
    except files.Unreadable as problem:
        if isinstance(problem.__cause__, FileNotFoundError):
            raise ConfigError(f"{path}: no such baseline; write one with --write-baseline") from problem
        raise ConfigError(f"{path}: the baseline {problem}") from problem
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise ConfigError(f"{path}: expected a baseline as --write-baseline makes it, got {type(problem).__name__}: {problem}") from problem
    for finding in report.findings:
        if known.get(finding.fingerprint, 0) > 0:
            known[finding.fingerprint] -= 1
            finding.baselined = True


def write(report: Report, path: str) -> int:
    """Write all findings as a baseline, and return how many. Raises `ConfigError` where the file cannot be written."""
    entries = [
        {"code": finding.code, "file": finding.places[0].file, "fingerprint": finding.fingerprint, "message": finding.message}
        for finding in report.findings
    ]
    try:
        files.write(path, (json.dumps({"version": 1, "findings": entries}, indent=2) + "\n").encode())
    except files.Unwritable as problem:
        raise ConfigError(f"{path}: the baseline {problem}") from problem
    return len(entries)
