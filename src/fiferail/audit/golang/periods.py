"""What runs again by itself: handed on beside a period, in a loop that a ticker drives, or called by what is.

Called by `walk` for a write whose error goes nowhere: the next round writes again. Only functions without an error among their results are
meant; who returns one has a caller to answer to. What calls them may: that error is not the write's. Text tells, within one package:
nothing is parsed for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fiferail.audit.golang.trees import type_name

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func, Package, Project

_FUNCTION = re.compile(rb"^func (?:\([^)\n]*\) )?(\w+)[\[(]", re.M)
_TICKS = re.compile(rb"<-\s*[\w.]*[tT]ick\w*(?:\.C\b|\(\))|<-\s*time\.(?:After|Tick)\(")
_PERIODS = re.compile(rb"time\.\w|[pP]eriod|[iI]nterval|[fF]requency|[tT]icker")
_BESIDE = re.compile(rb"\s*[^)\n]*(?:time\.\w|[pP]eriod|[iI]nterval|[fF]requency)")
_MEMBER = re.compile(rb"\w+:\s+[\w.]*$")
_WITH = re.compile(rb"\n(?:[^\n{}]*,\n){0,3}?\s*\w*(?:[tT]icker|[iI]nterval|[pP]eriod)\w*:")
_TICKER = re.compile(r"^(?:\w+\.)*\w*[tT]ick(?:er)?\w*(?:\.C$|(?:\.\w+)?\()")
# A queue runs these when something happened.
_QUEUED = {b"Reconcile", b"SetupWithManager", b"main"}
_FAR = 5


def is_ticker(over: str) -> bool:
    """Whether a loop over that goes round by the clock: `ticker.C`, `time.Tick(...)`, `ticker.Context(ctx, interval)`."""
    return _TICKER.match(over) is not None


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
        if any(_ticks(body) for _, body in callers):
            return True
        level = {name for name, _ in callers} - seen - _QUEUED
        if not level:
            break
    return False


def _callers(name: bytes, package: Package) -> list[tuple[bytes, bytes]]:
    """Functions of the package that call one of that name: their names and texts."""
    calls = [before + name + b"(" for before in (b".", b"\t", b" ", b"(", b"!")]
    return [
        (one, body)
        for file in package.files
        if name + b"(" in file.source
        for one, body in _functions(file.source)
        if one != name and name + b"(" in body and any(call in body for call in calls)
    ]


@lru_cache(maxsize=64)
def _functions(source: bytes) -> list[tuple[bytes, bytes]]:
    starts = list(_FUNCTION.finditer(source))
    ends = [*(match.start() for match in starts[1:]), len(source)]
    return [(match[1], source[match.end() : end]) for match, end in zip(starts, ends, strict=False)]


def _ticks(body: bytes) -> bool:
    """A loop that a ticker drives. Plain bytes are looked for first: this is asked of many functions."""
    return b"<-" in body and (b"ick" in body or b"time.After" in body) and _TICKS.search(body) is not None


def _beside_a_period(name: bytes, package: Package) -> bool:
    """It is handed on beside a period: `wait.Until(c.schedule, time.Minute, stop)`, `Job{run: c.advance, ticker: ticker}`."""
    for file in package.files:
        at = file.source.find(name + b",")
        while at >= 0:
            after = at + len(name) + 1
            line = file.source[file.source.rfind(b"\n", 0, at) + 1 : at]
            if _BESIDE.match(file.source, after) or (_MEMBER.search(line) and _WITH.match(file.source, after)):
                return True
            at = file.source.find(name + b",", after)
    return False
