"""`python -m fiferail.apiserver.real build` gets the binaries; `... run` starts a server and stays until it is interrupted."""

from __future__ import annotations

import signal
import sys
import threading

from fiferail.apiserver.real import build, launch
from fiferail.errors import FiferailError

USAGE = "usage: python -m fiferail.apiserver.real build | run [--audit]"


def main(arguments: list[str]) -> int:
    """The exit code: 0 when done, 2 when it could not run."""
    try:
        if arguments == ["build"]:
            print(build.ensure().directory)
            return 0
        if arguments[:1] == ["run"] and set(arguments[1:]) <= {"--audit"}:
            return _run(audit="--audit" in arguments)
    except FiferailError as error:
        print(error, file=sys.stderr)
        return 2
    print(USAGE, file=sys.stderr)
    return 2


def _run(audit: bool) -> int:
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with launch.RealServer(audit_log=audit) as server:
        print(f"{server.url} ready in {server.seconds_to_ready:.1f} s; token {server.token}; KUBECONFIG={server.kubeconfig}", flush=True)
        over.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
