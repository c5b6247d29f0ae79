"""A process that plays parts of programs: `python -m tests.oracle.worker`. It reads tasks from its input, and writes records."""

from __future__ import annotations

import logging
import pickle
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

from fiferail.testing.transport import HttpTransport

from . import threads
from .records import Record

ROOT = Path(__file__).parents[2]


class Worker:
    """The other end."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.oracle.worker"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)

    def begin(self, task: Any) -> None:
        """Send a task: address, program, number."""
        assert self._process.stdin is not None
        pickle.dump(task, self._process.stdin)
        self._process.stdin.flush()

    def result(self) -> Record:
        """Wait for what it wrote down."""
        assert self._process.stdout is not None
        record = pickle.load(self._process.stdout)
        assert isinstance(record, Record)
        return record

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()


def main() -> None:
    """Play until the input ends."""
    logging.disable(logging.WARNING)
    while True:
        try:
            (url, token, authority), program, number = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        server = HttpTransport(url, token=token, context=ssl.create_default_context(cafile=authority), user_agent="oracle")
        record = threads.play(program, server, first=1000 * number)
        pickle.dump(record, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
