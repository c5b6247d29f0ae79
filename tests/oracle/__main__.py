"""The oracle from the command line: `python -m tests.oracle --seconds 600 --seed 1 --server embedded`.

Plays seed after seed until the time is over. A violation is made smaller where a run can be repeated exactly (tasks on the embedded
server) and printed with its program. The exit code is 1 if there was any.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from . import cached, tasks, threads
from .judge import Violation, judge
from .program import Program, generate
from .records import Record
from .shrink import shrink
from .themes import THEMES

MODES = {"embedded": ("tasks", "tasks", "tasks", "threads", "cached"), "real": ("tasks", "threads", "processes")}


@dataclass
class Tally:
    """What has been played so far, and what was found."""

    programs: int = 0
    operations: int = 0
    troubles: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    versions: int = 0
    found: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> list[Violation]:
        """Judge a run and count it."""
        self.programs += 1
        self.operations += record.operations
        self.troubles.update(record.troubles)
        self.results.update(deed.result for deed in record.deeds)
        self.versions += sum(map(len, record.history.values()))
        violations = judge(record)
        self.found.update({violation.rule for violation in violations})
        return violations

    def __str__(self) -> str:
        return (
            f"{self.programs:,} programs, {self.operations:,} operations, {sum(self.troubles.values()):,} faults and cancellations,"
            f" {self.versions:,} versions, {sum(self.found.values()):,} violations {dict(self.found) or ''}"
        )


class Session:
    """One call of the command."""

    def __init__(self, server: str, say: Callable[[str], None]) -> None:
        self.tally = Tally()
        self._say = say
        self._stack = ExitStack()
        self._world = None
        if server == "real":
            from .realserver import real_world

            self._world = self._stack.enter_context(real_world())

    def close(self) -> None:
        """End the real server, if there is one."""
        self._stack.close()

    def play(self, seed: int, mode: str, theme: str) -> list[Violation]:
        """One seed."""
        if mode == "cached":
            differences = asyncio.run(cached.rest(seed))
            self.tally.programs += 1
            self.tally.found.update(["cache"] if differences else [])
            return [Violation("cache", f"seed {seed}", what) for what in differences]
        suffix = f"-{mode}-{seed}" if self._world else ""
        program = generate(seed, theme, threads=mode != "tasks", suffix=suffix)
        return self.tally.add(self.runner(mode)(program))

    def runner(self, mode: str) -> Callable[[Program], Record]:
        """How a program is played."""
        if self._world is not None:
            world = self._world
            return lambda program: world.run(program, mode)
        return tasks.run if mode == "tasks" else threads.run

    def report(self, seed: int, mode: str, theme: str, violations: list[Violation], small: bool) -> None:
        """Print what was found, as small as it can be had."""
        self._say(f"\nseed {seed} ({mode}{', theme ' + theme if theme else ''}):")
        if small and mode == "tasks" and self._world is None:
            program, violations = shrink(generate(seed, theme), violations[0].rule, tasks.run)
            self._say(str(program))
        for violation in violations[:8]:
            self._say(str(violation))


def main() -> int:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0, help="play so many seeds, whatever time they take")
    parser.add_argument("--server", choices=sorted(MODES), default="embedded")
    parser.add_argument("--mode", choices=("tasks", "threads", "processes", "cached"), help="one mode instead of all in turn")
    parser.add_argument("--theme", choices=[theme.name for theme in THEMES], default="")
    parser.add_argument("--most", type=int, default=10, help="end after so many seeds with violations")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    session = Session(options.server, print)
    modes = (options.mode,) if options.mode else MODES[options.server]
    deadline, seed, bad = time.monotonic() + options.seconds, options.seed, 0
    try:
        while bad < options.most and (seed < options.seed + options.count if options.count else time.monotonic() < deadline):
            mode = modes[seed % len(modes)]
            if violations := session.play(seed, mode, options.theme):
                bad += 1
                session.report(seed, mode, options.theme, violations, not options.no_shrink)
            seed += 1
    finally:
        session.close()
    print(session.tally)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
