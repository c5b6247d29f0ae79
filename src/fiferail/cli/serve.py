"""`fiferail serve`: a Kubernetes API server in the foreground, until Ctrl-C.

Tokens come from the command line, from a file or from the environment. The process ends without taking its objects apart one by one,
which with a hundred thousand of them would take longer than whoever sent SIGTERM waits.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ..apiserver.embedded import EmbeddedServer
    from ..apiserver.kinds import User
    from ..testing.checking import Watchman

_TOKEN_VARIABLE = "FIFERAIL_TOKEN"


class CannotRun(Exception):
    """Why the server does not start, in one line."""


def run(arguments: Sequence[str]) -> int:
    """The command. Gives back its exit code if it does not serve; else the process ends with it."""
    started = time.perf_counter()
    asked = parser().parse_args(arguments)
    try:
        server = _prepared(asked)
    except CannotRun as problem:
        print(f"fiferail: {problem}", file=sys.stderr)
        return 2
    watchman = _checking(server) if asked.check else None
    _raise_descriptor_limit()
    _serve(server, lambda: _announce(server, asked.kubeconfig, time.perf_counter() - started))
    _leave(_verdict(watchman) if watchman is not None else 0)
    return 0


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
    add("--kubeconfig", default="", metavar="FILE", help="write a kubeconfig for this server, readable by you only")
    add("--force", action="store_true", help="let --kubeconfig replace a file that fiferail did not write")
    add("--controllers", action="store_true", help="run the garbage collector and the namespace lifecycle, which a bare API server lacks")
    token = f"accept only these bearer tokens; may be given again. Other users of the machine see it: prefer a file or {_TOKEN_VARIABLE}"
    add("--token", action="append", default=[], metavar="TOKEN[:USER]", help=token)
    add("--token-file", action="append", default=[], metavar="FILE", help="the same, one TOKEN[:USER] per line; may be given again")
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s); beyond loopback it wants a token")
    add("--anonymous", action="store_true", help="serve beyond loopback without a token: whoever reaches the server may do everything")
    add("--allow-host", action="append", default=[], metavar="NAME", help="a name, besides loopback, that requests may carry in Host")
    add("--allow-origin", action="append", default=[], metavar="URL", help="an origin whose web pages may use the server")
    add("--check", action="store_true", help="report lost updates among whatever talks to the server; exit code 1 when there was one")
    return made


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not between 0 and 65535")
    return number


def _prepared(asked: argparse.Namespace) -> EmbeddedServer:
    try:
        from ..apiserver import embedded  # noqa: F401
        from ..apiserver.http.access import is_loopback
    except ModuleNotFoundError as missing:
        from ..errors import missing_extra

        raise CannotRun("serving " + missing_extra("server", missing.name)) from None
    tokens = _tokens(asked)
    if not tokens and not asked.anonymous and not is_loopback(asked.host):
        ways = f"give --token, --token-file or {_TOKEN_VARIABLE}, or --anonymous to let everybody who reaches it do everything"
        raise CannotRun(f"{asked.host} is not loopback: {ways}")
    server = _server(asked, tokens)
    if asked.kubeconfig:
        try:
            server.kubeconfig(asked.kubeconfig, force=asked.force)
        except OSError as error:
            server.stop()
            if isinstance(error, FileExistsError):
                raise CannotRun(f"{asked.kubeconfig} was not written by fiferail: --force replaces it") from None
            raise CannotRun(f"cannot write {asked.kubeconfig}: {error.strerror or error}") from None
    return server


def _server(asked: argparse.Namespace, tokens: dict[str, User]) -> EmbeddedServer:
    from ..apiserver.embedded import EmbeddedServer
    from ..apiserver.manifests import ManifestError

    try:
        return EmbeddedServer(
            host=asked.host, port=asked.port, tokens=tokens, anonymous=asked.anonymous, crds=asked.crd, controllers=asked.controllers,
            allowed_hosts=asked.allow_host, allowed_origins=asked.allow_origin,
        )  # fmt: skip
    except ManifestError as error:
        raise CannotRun(str(error)) from None
    except OSError as error:
        raise CannotRun(f"cannot listen on {asked.host}:{asked.port}: {os.strerror(error.errno) if error.errno else error}") from None


def _tokens(asked: argparse.Namespace) -> dict[str, User]:
    """The tokens of the command line, of files and of the environment, with their users. No message shows a token."""
    from ..apiserver.kinds import User

    given = [("--token", entry) for entry in asked.token]
    for file in asked.token_file:
        given += [(file, line.strip()) for line in _lines(file) if line.strip()]
    if os.environ.get(_TOKEN_VARIABLE):
        given.append((_TOKEN_VARIABLE, os.environ[_TOKEN_VARIABLE].strip()))
    tokens = {}
    for origin, entry in given:
        secret, _, name = entry.partition(":")
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise CannotRun(f"{origin} wants a token, printable ASCII without blanks, optionally followed by a colon and a user name")
        tokens[secret] = User(name=name) if name else User()
    return tokens


def _lines(file: str) -> list[str]:
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except OSError as error:
        raise CannotRun(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CannotRun(f"{file}: is not text") from None
    if not any(line.strip() for line in lines):
        raise CannotRun(f"{file}: holds no token")
    return lines


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


def _serve(server: EmbeddedServer, ready: Callable[[], None]) -> None:
    """Serves on this thread until a signal says stop."""
    import asyncio

    from .collecting import Collector

    loop = asyncio.new_event_loop()
    _on_signals(loop, server.http.finish)
    Collector(lambda: server.http.answered).start(loop)
    try:
        server.http.serve(loop, ready)
    finally:
        loop.close()
        server.stop()


def _raise_descriptor_limit() -> None:
    """Let the process have as many connections as it may, as a Go program does."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _leave(code: int) -> None:
    """Ends the process at once: everything was closed, and memory needs no taking apart."""
    import logging

    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


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
