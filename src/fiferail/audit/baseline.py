"""The baseline: findings that were there when the auditor was adopted. They are shown as such and do not fail the run.

Called by the command line. A finding is known again by its fingerprint, which no moved line changes; when a place has more findings of
one fingerprint than
the baseline, the new ones count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fiferail.audit.config import ConfigError

if TYPE_CHECKING:
    from fiferail.audit.model import Report


def apply(report: Report, path: str) -> None:
    try:
        with open(path, encoding="utf-8") as handle:
            content = json.load(handle)
        known: dict[str, int] = {}
        for entry in content["findings"]:
            known[entry["fingerprint"]] = known.get(entry["fingerprint"], 0) + 1
    except FileNotFoundError as problem:
        raise ConfigError(f"{path}: no such baseline; write one with --write-baseline") from problem
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ConfigError(f"{path}: expected a baseline as --write-baseline makes it, got {type(problem).__name__}: {problem}") from problem
    for finding in report.findings:
        if known.get(finding.fingerprint, 0) > 0:
            known[finding.fingerprint] -= 1
            finding.baselined = True


def write(report: Report, path: str) -> int:
    entries = [
        {"code": finding.code, "file": finding.places[0].file, "fingerprint": finding.fingerprint, "message": finding.message}
        for finding in report.findings
    ]
    with open(path, "w", encoding="utf-8") as handle:
        json.dump({"version": 1, "findings": entries}, handle, indent=2)
        handle.write("\n")
    return len(entries)
