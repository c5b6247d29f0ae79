"""Smaller programs that still go wrong in the same manner."""

from __future__ import annotations

from collections.abc import Callable

from .judge import Violation, judge
from .program import Program, smaller
from .records import Record

#: Runs that a reduction may take.
BUDGET = 1500


def shrink(program: Program, rule: str, run: Callable[[Program], Record]) -> tuple[Program, list[Violation]]:
    """Take away steps, edits and options as long as the rule stays broken."""
    found = _broken(program, rule, run)
    left, progress = BUDGET, True
    while progress and left > 0:
        progress = False
        for candidate in smaller(program):
            left -= 1
            now = _broken(candidate, rule, run)
            if now:
                program, found, progress = candidate, now, True
                break
            if left <= 0:
                break
    return program, found


def _broken(program: Program, rule: str, run: Callable[[Program], Record]) -> list[Violation]:
    return [violation for violation in judge(run(program)) if violation.rule == rule]
