"""`fiferail serve`: a Kubernetes API server in the foreground, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ..apiserver.embedded import EmbeddedServer
    from ..testing.checking import Watchman

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class CannotRun(Exception):
    """Why the server does not start, in one line."""


def run(arguments: Sequence[str]) -> int:
    """The command; gives back its exit code."""
    started = time.perf_counter()
    asked = parser().parse_args(arguments)
    try:
        server = _prepared(asked)
    except CannotRun as problem:
        print(f"fiferail: {problem}", file=sys.stderr)
        return 2
    if asked.host not in _LOOPBACK and not asked.token:
        warning = f"{asked.host} is not loopback and no --token is set: whoever reaches it may do everything"
        print(f"fiferail: warning: {warning}", file=sys.stderr)
    watchman = _checking(server) if asked.check else None
    calm_collector()
    _serve(server, lambda: _announce(server, asked.kubeconfig, time.perf_counter() - started))
    return _verdict(watchman) if watchman is not None else 0


def parser() -> argparse.ArgumentParser:
    """The options, with their help."""
    made = argparse.ArgumentParser(
        prog="fiferail serve",
        description="Serve the Kubernetes API from memory. Prints one line when ready; Ctrl-C ends it.",
        epilog="example: fiferail serve --crd ./crds --kubeconfig kc.yaml, then KUBECONFIG=kc.yaml kubectl get gadgets",
    )
    add = made.add_argument
    add("--port", type=_port, default=0, metavar="N", help="port to listen on; 0, the default, takes a free one")
    add("--crd", action="append", default=[], metavar="FILE_OR_DIR", help="CustomResourceDefinitions to start with; may be given again")
    add("--kubeconfig", default="", metavar="FILE", help="write a kubeconfig for this server")
    add("--controllers", action="store_true", help="run the garbage collector and the namespace lifecycle, which a bare API server lacks")
    add("--token", action="append", default=[], metavar="TOKEN[:USER]", help="accept only these bearer tokens; may be given again")
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s); beyond loopback use --token")
    add("--check", action="store_true", help="report lost updates among whatever talks to the server; exit code 1 when there was one")
    return made


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not between 0 and 65535")
    return number


def _prepared(asked: argparse.Namespace) -> EmbeddedServer:
    server = _server(asked.port, asked.crd, asked.controllers, asked.token, asked.host)
    if asked.kubeconfig:
        try:
            server.kubeconfig(asked.kubeconfig)
        except OSError as error:
            server.stop()
            raise CannotRun(f"cannot write {asked.kubeconfig}: {error.strerror or error}") from None
    return server


def _server(port: int, crd: list[str], controllers: bool, token: list[str], host: str) -> EmbeddedServer:
    try:
        from ..apiserver.embedded import EmbeddedServer
        from ..apiserver.kinds import User
        from ..apiserver.manifests import ManifestError
    except ModuleNotFoundError as missing:
        from ..errors import missing_extra

        raise CannotRun("serving " + missing_extra("server", missing.name)) from None
    tokens = {secret: User(name=name) if name else User() for secret, _, name in (entry.partition(":") for entry in token)}
    if "" in tokens:
        raise CannotRun("--token wants a token, optionally followed by a colon and a user name")
    try:
        return EmbeddedServer(host=host, port=port, tokens=tokens, crds=crd, controllers=controllers)
    except ManifestError as error:
        raise CannotRun(str(error)) from None
    except OSError as error:
        raise CannotRun(f"cannot listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}") from None


def _checking(server: EmbeddedServer) -> Watchman:
    """Lets the checker listen from now on, and prints what it finds at once."""
    from ..history.words import explain
    from ..testing.checking import Watchman

    watchman = Watchman(tell=lambda finding: print(explain(finding), flush=True))
    server.machine.recorder = watchman
    return watchman


def _verdict(watchman: Watchman) -> int:
    """At rest: what is lost for good, in one line; 1 when something is."""
    from .check import summary

    found = watchman.findings()
    print(summary(found, watchman.commits, len(watchman.actors)), flush=True)
    return 1 if any(finding.is_loss for finding in found) else 0


def calm_collector() -> None:
    """Let Python's garbage collector look less often. Stored trees have no cycles, and walking ten thousand of them again and again
    would make every request slower the more objects there are. Only for a process that is ours."""
    import gc

    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _serve(server: EmbeddedServer, ready: Callable[[], None]) -> None:
    """Serves on this thread until a signal says stop."""
    import asyncio

    loop = asyncio.new_event_loop()
    _on_signals(loop, server.http.finish)
    try:
        server.http.serve(loop, ready)
    finally:
        loop.close()
        server.stop()


def _on_signals(loop: asyncio.AbstractEventLoop, finish: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, finish)
        except NotImplementedError:  # the event loop of Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(finish))


def _announce(server: EmbeddedServer, kubeconfig: str, seconds: float) -> None:
    served = sum(kind.custom for kind in server.machine.kinds.values())
    told = f", {served} custom kind{'s' if served != 1 else ''}" if served else ""
    config = f", kubeconfig in {kubeconfig}" if kubeconfig else ""
    ready = f"(ready in {seconds * 1000:.0f} ms; Ctrl-C ends it)"
    print(f"fiferail: serving the Kubernetes 1.36 API at {server.url}{told}{config} {ready}", flush=True)
