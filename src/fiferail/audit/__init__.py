"""The auditor: every write to the Kubernetes API in an operator's source, with a verdict, a reason and, where there is one, a fix.

    from fiferail.audit import audit
    report = audit(["./"])                 # a Report: report.facts.sites, report.findings

`sources` reads files; `golang` and `python` are front ends that find sites; `rules` judge, one file each; `render` prints; `fixes` mends.
It stands alone: it imports nothing of the other rooms but their errors, and it never talks to a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.config import Config
    from fiferail.audit.model import Report

__all__ = ["audit"]


def audit(paths: list[str], config: Config | None = None) -> Report:
    """Reads the paths and judges every write. Raises `config.ConfigError` for a configuration that cannot be used."""
    from fiferail.audit.run import run

    return run(paths, config)
