"""What runs again by itself: handed on beside a period, in a loop that a ticker drives, or called by what is.

Called by `walk` for a write whose error goes nowhere: the next round writes again. Only functions without an error among their results are
meant; who returns one has a caller to answer to. What calls them may: that error is not the write's. Text tells, within one package.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairlead.audit.golang.trees import type_name

if TYPE_CHECKING:
    from fairlead.audit.golang.project import Func, Package, Project

_TICKS = re.compile(rb"<-\s*[\w.]*[tT]ick\w*(?:\.C\b|\(\))|<-\s*time\.(?:After|Tick)\(")
_FAR = 4


def runs_again(func: Func, project: Project, depth: int = 0, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a period, and nobody who could be told, runs the function."""
    if func.key in seen or (not depth and any(type_name(result[1]) == "error" for result in func.ir[5])):
        return False
    if not func.ir[5] and _beside_a_period(func):
        return True
    package = project.package_of(func.file.package)
    if package is None or depth >= _FAR:
        return False
    return any(_ticks(caller) or runs_again(caller, project, depth + 1, seen | {func.key}) for caller in _callers(func, package, project))


def _callers(func: Func, package: Package, project: Project) -> list[Func]:
    called = func.name.encode() + b"("
    for file in package.files:
        if called in file.source and not file.generated:
            project.facts(file, True)
    return [caller for file in package.files for caller in file.funcs if func.name in caller.ir[9] and caller.key != func.key]


def _beside_a_period(func: Func) -> bool:
    """Its own file hands it on beside a period: `wait.Until(c.schedule, time.Minute, stop)`, `Job{run: c.advance, ticker: ticker}`."""
    name = func.name.encode()
    if name + b"," not in func.file.source:
        return False
    beside = rb"[\w.]\b" + name + rb",\s*[^)\n]*(?:time\.\w|[pP]eriod|[iI]nterval|[fF]requency)"
    member = rb"\w+:\s+[\w.]*\b" + name + rb",\n(?:[^\n{}]*,\n){0,3}?\s*\w*(?:[tT]icker|[iI]nterval|[pP]eriod)\w*:"
    return re.search(beside, func.file.source) is not None or re.search(member, func.file.source) is not None


def _ticks(func: Func) -> bool:
    """A loop that a ticker drives."""
    if func.ir[5] or (b"ick" not in func.file.source and b"time.After" not in func.file.source):
        return False
    lines = func.file.source.split(b"\n")[func.line - 1 : int(func.ir[8])]
    return _TICKS.search(b"\n".join(lines)) is not None
