"""The rules, one file each. A rule's module docstring is its page; its `check` reads facts and answers findings.

Called by `judge`. A rule never changes facts, and never reads a file: what it needs is in `model.Facts`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding

SLUGS = (
    "whole_status_put", "unlocked_status_patch", "unlocked_list_patch", "foreign_status_write", "repeated_status_write", "late_patch_base",
    "stale_patch_base", "blind_retry", "swallowed_conflict", "blind_status_apply", "unconditional_status_write", "append_only_references",
    "unused_status_grant", "missing_status_grant", "bad_suppression", "mixed_api_versions", "wrong_patch_in_python",
)  # fmt: skip


class Rule(Protocol):
    CODE: str
    SEVERITY: str

    def check(self, facts: Facts, policy: str) -> list[Finding]: ...


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code."""
    modules = [import_module(f"fiferail.audit.rules.{slug}") for slug in SLUGS]
    return {module.CODE: module for module in modules}


def slug_of(code: str) -> str:
    return SLUGS[int(code[2:]) - 1].replace("_", "-")


def page_of(code: str) -> str:
    """The page of a rule as it stands in its module, dedented."""
    import inspect

    return inspect.cleandoc(rules()[code].__doc__ or "")
