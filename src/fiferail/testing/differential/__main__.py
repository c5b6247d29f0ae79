"""`python -m fiferail.testing.differential [--seconds N] [--seed N] [--keep DIRECTORY] [--self]`: fuzz until the time is over."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path

from fiferail.testing.differential import cases, servers
from fiferail.testing.differential.session import Session


def main(arguments: list[str]) -> int:
    """0 when both servers agreed, 1 when they differed."""
    parser = argparse.ArgumentParser(prog="python -m fiferail.testing.differential")
    parser.add_argument("--seconds", type=float, default=60.0, help="when to stop")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; each batch of kinds takes the next one")
    parser.add_argument("--kinds", choices=("custom", "builtin", "both"), default="custom", help="what the conversations are about")
    parser.add_argument("--keep", type=Path, help="a directory for the smallest conversation of each difference")
    parser.add_argument("--no-shrink", action="store_true", help="report differing conversations as they are")
    parser.add_argument("--self", action="store_true", help="the real server against itself: what differs then is a defect of the fuzzer")
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        right = stack.enter_context(servers.real())
        left = right if given.self else stack.enter_context(servers.embedded())
        session = Session(left, right, shrink=not given.no_shrink)
        until, seed = time.monotonic() + given.seconds, given.seed
        while time.monotonic() < until:
            if given.kinds != "builtin":
                session.batch(seed, until=until)
            if given.kinds != "custom":
                session.built_in(seed, until=until)
            print(f"# seed {seed}: {session.tally.summary()}", flush=True)
            seed += 1
    for number, finding in enumerate(session.tally.findings.values()):
        print(f"# seen {finding.count} times: {finding.signature}")
        if given.keep and finding.conversation is not None:
            cases.save(given.keep / f"difference-{given.seed}-{number}.json", finding.conversation)
    print(f"# {session.tally.summary()}")
    return 1 if session.tally.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
