"""Writes docs/conformance.md from a run of tests/conformance; with `--check` compares it with what is there instead.

Exit codes: 0 written or equal, 1 different or a row failed, 2 the suite could not run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"


def main(arguments: list[str]) -> int:
    """Runs the suite in one process, because the table is collected in it."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "conformance.md"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests" / "conformance")]
        done = subprocess.run([*command, "--conformance-table", str(fresh)], cwd=ROOT, check=False)
        if not fresh.exists() or done.returncode not in (0, 1):
            print("the conformance suite could not run", file=sys.stderr)
            return 2
        if "--check" in arguments:
            return _compared(fresh.read_text()) or done.returncode
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(fresh.read_text())
        return done.returncode


def _compared(fresh: str) -> int:
    kept = PAGE.read_text() if PAGE.exists() else ""
    if fresh == kept:
        return 0
    new = [line for line in fresh.splitlines() if line not in kept]
    told = f"{PAGE.relative_to(ROOT)} is not what the suite says; run scripts/conformance_table.py. New lines:"
    print(told, *new, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
