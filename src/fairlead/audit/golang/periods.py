"""What runs again by itself: handed on beside a period, in a loop that a ticker drives, or called by what is.

Called by `walk` for a write whose error goes nowhere: the next round writes again. Only functions without an error among their results are
meant; who returns one has a caller to answer to. What calls them may: that error is not the write's. Text tells, within one package:
nothing is parsed for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fairlead.audit.golang.trees import type_name

if TYPE_CHECKING:
    from fairlead.audit.golang.project import Func, Package, Project

_FUNCTION = re.compile(rb"^func (?:\([^)\n]*\) )?(\w+)[\[(]", re.M)
_TICKS = re.compile(rb"<-\s*[\w.]*[tT]ick\w*(?:\.C\b|\(\))|<-\s*time\.(?:After|Tick)\(")
_PERIODS = re.compile(rb"time\.\w|[pP]eriod|[iI]nterval|[fF]requency|[tT]icker")
_FAR = 5


def runs_again(func: Func, project: Project) -> bool:
    """Whether a period, and nobody who could be told, runs the function."""
    package = project.package_of(func.file.package)
    if package is None or any(type_name(result[1]) == "error" for result in func.ir[5]):
        return False
    if not any(_PERIODS.search(file.source) for file in package.files):
        return False
    level, seen = {func.name.encode()}, set[bytes]()
    for far in range(_FAR):
        if any(_beside_a_period(name, package) for name in level if far or not func.ir[5]):
            return True
        seen |= level
        callers = [caller for name in level for caller in _callers(name, package)]
        if any(_TICKS.search(body) for _, body in callers):
            return True
        level = {name for name, _ in callers} - seen
        if not level:
            break
    return False


def _callers(name: bytes, package: Package) -> list[tuple[bytes, bytes]]:
    """Functions of the package that call one of that name: their names and texts."""
    called = re.compile(rb"[^\w\n ]" + name + rb"\(|[=!(,;\t] *" + name + rb"\(")
    out = []
    for file in package.files:
        if name + b"(" in file.source:
            out += [(one, body) for one, body in _functions(file.source) if one != name and called.search(body)]
    return out


@lru_cache(maxsize=64)
def _functions(source: bytes) -> list[tuple[bytes, bytes]]:
    starts = list(_FUNCTION.finditer(source))
    ends = [*(match.start() for match in starts[1:]), len(source)]
    return [(match[1], source[match.end() : end]) for match, end in zip(starts, ends, strict=False)]


def _beside_a_period(name: bytes, package: Package) -> bool:
    """It is handed on beside a period: `wait.Until(c.schedule, time.Minute, stop)`, `Job{run: c.advance, ticker: ticker}`."""
    beside = rb"[\w.]\b" + name + rb",\s*[^)\n]*(?:time\.\w|[pP]eriod|[iI]nterval|[fF]requency)"
    member = rb"\w+:\s+[\w.]*\b" + name + rb",\n(?:[^\n{}]*,\n){0,3}?\s*\w*(?:[tT]icker|[iI]nterval|[pP]eriod)\w*:"
    return any(name + b"," in file.source and re.search(beside + rb"|" + member, file.source) is not None for file in package.files)
