"""`fairlead serve`: a Kubernetes API server in the foreground, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ..apiserver.embedded import EmbeddedServer

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("serve")(serve)


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    crd: Annotated[
        list[str] | None, typer.Option(metavar="FILE_OR_DIR", help="CustomResourceDefinitions to start with; may be given again.")
    ] = None,
    kubeconfig: Annotated[str, typer.Option(metavar="FILE", help="Write a kubeconfig for this server.", show_default=False)] = "",
    controllers: Annotated[bool, typer.Option("--controllers", help="Run the garbage collector and the namespace lifecycle.")] = False,
    token: Annotated[
        list[str] | None, typer.Option(metavar="TOKEN[:USER]", help="Accept only these bearer tokens; may be given again.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on. Without --token, whoever reaches it may do everything.")] = "127.0.0.1",
    check: Annotated[bool, typer.Option("--check", help="Report lost updates among whatever talks to the server.")] = False,
) -> None:
    """Serve the Kubernetes API from memory. Prints one line when ready; Ctrl-C ends it."""
    started = time.perf_counter()
    if check:
        _fail("--check comes with the checker, which this version does not have yet")
    server = _server(port, crd or [], controllers, token or [], host)
    if kubeconfig:
        try:
            server.kubeconfig(kubeconfig)
        except OSError as error:
            server.stop()
            _fail(f"cannot write {kubeconfig}: {error.strerror or error}")
    if host not in _LOOPBACK and not token:
        print(f"fairlead: warning: {host} is not loopback and no --token is set: whoever reaches it may do everything", file=sys.stderr)
    _run(server, lambda: _announce(server, kubeconfig, time.perf_counter() - started))


def _server(port: int, crd: list[str], controllers: bool, token: list[str], host: str) -> EmbeddedServer:
    try:
        from ..apiserver.embedded import EmbeddedServer
        from ..apiserver.kinds import User
        from ..apiserver.manifests import ManifestError
    except ModuleNotFoundError as missing:
        _fail(f"serving needs an extra ({missing.name} is missing): pip install 'fairlead[server]'")
    tokens = {secret: User(name=name) if name else User() for secret, _, name in (entry.partition(":") for entry in token)}
    if "" in tokens:
        _fail("--token wants a token, optionally followed by a colon and a user name")
    try:
        return EmbeddedServer(host=host, port=port, tokens=tokens, crds=crd, controllers=controllers)
    except ManifestError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"cannot listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}")


def _run(server: EmbeddedServer, ready: Callable[[], None]) -> None:
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
    print(f"fairlead: serving the Kubernetes 1.36 API at {server.url}{told}{config} {ready}", flush=True)


def _fail(message: str) -> NoReturn:
    print(f"fairlead: {message}", file=sys.stderr)
    raise typer.Exit(2)
