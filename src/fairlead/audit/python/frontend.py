"""stub"""
from __future__ import annotations

from fairlead.audit.model import Facts


def audit_python(files: dict[str, bytes]) -> Facts:
    return Facts()
