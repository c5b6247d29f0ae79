"""`fairlead demo`: one lost update, end to end, on a server that it starts itself; and the same race with nothing lost.

Every line is measured: the times are those of this run, the finding is the checker's, the requests are those that went over the wire.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from ..testing.checking import Watchman
    from ..testing.transport import HttpTransport
    from ..wire import Answer, Request

_GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"
_TEXT = {"type": "string"}
_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), _TEXT),
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer"},
    },
}
_CONDITIONS = {"type": "array", "items": _CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"conditions": _CONDITIONS}},
    },
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": _SCHEMA}},
        ],
    },
}
#: Who writes which condition.
WRITERS = {"config-controller": "Ready", "probe-reporter": "Probed"}
NEXT = (
    ("fairlead serve --check --crd ./crds", "this, for your operator, in any language"),
    ("fairlead audit ./my-operator", "unsafe writes in Go and Python source"),
    ("apiserver.assert_nothing_lost()", "in your tests: the pytest fixture"),
)


class Counted:
    """One writer's connection, and what went over it."""

    def __init__(self, inner: HttpTransport) -> None:
        self._inner = inner
        self.sent: list[tuple[Request, int, float]] = []

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Pass on, and take the time."""
        started = time.perf_counter()
        answer = self._inner.send(request, timeout=timeout)
        self.sent.append((request, answer.status, time.perf_counter() - started))
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """Not used here, but part of being a transport."""
        return self._inner.stream(request, timeout=timeout)

    def close(self) -> None:
        """End the connection."""
        self._inner.close()


def run(arguments: Sequence[str]) -> int:
    """The command; gives back its exit code."""
    described = "Show a lost update: two writers, two status patches, both answered 200, one condition gone. Then the same without loss."
    argparse.ArgumentParser(prog="fairlead demo", description=described).parse_args(arguments)
    started = time.perf_counter()
    from ..apiserver.embedded import EmbeddedServer

    with EmbeddedServer(crds=[CRD]) as server:
        ready = time.perf_counter() - started
        from rich.console import Console

        from ..testing.checking import Watchman
        from ..testing.transport import HttpTransport

        console, watchman = Console(highlight=False), Watchman()
        server.machine.recorder = watchman
        console.print(f"[bold]A Kubernetes API server, ready in {ready * 1000:.0f} ms[/] at {server.url}")
        transports = {name: Counted(HttpTransport(server.url, user_agent=name)) for name in WRITERS}
        with_patches(console, transports, watchman)
        with_writers(console, transports, watchman)
        for transport in transports.values():
            transport.close()
        _close(console, time.perf_counter() - started)
    return 0


def with_patches(console: Console, transports: dict[str, Counted], watchman: Watchman) -> None:
    """Both read, both patch their own condition, one condition is gone."""
    from rich.markup import escape

    from ..history.words import explain
    from ..wire import JSON, MERGE_PATCH

    console.rule("[bold]two controllers, one Gadget, plain merge patches", align="left")
    _send(next(iter(transports.values())), "POST", _GADGETS, JSON, _gadget("patched"))
    _both_read(console, transports, "patched")
    for name, condition in WRITERS.items():
        body = {"status": {"conditions": [{"type": condition, "status": "True"}]}}
        code, _, spent = _send(transports[name], "PATCH", f"{_GADGETS}/patched/status", MERGE_PATCH, body)
        console.print(_line(name, f"sets {condition} with a merge patch", f"[green]{code} OK[/]", spent))
    for finding in watchman.findings():
        console.print(f"\n[bold red]{escape(explain(finding))}[/]")
    console.print("Both were answered 200. Nobody was told.\n")
    watchman.checker.findings.clear()


def with_writers(console: Console, transports: dict[str, Counted], watchman: Watchman) -> None:
    """The same race through fairlead's writer."""
    import fairlead

    from ..wire import JSON

    console.rule("[bold]the same race with fairlead.StatusWriter", align="left")
    _send(next(iter(transports.values())), "POST", _GADGETS, JSON, _gadget("written"))
    seen = _both_read(console, transports, "written")
    for name, condition in WRITERS.items():
        transport = transports[name]
        transport.sent.clear()
        writer = fairlead.StatusWriter(transport, field_manager=name)
        started = time.perf_counter()
        with writer.session(seen[name]) as status:
            status.conditions.set(condition, True, reason="Observed")
        spent = time.perf_counter() - started
        assert status.outcome is not None, "a session that ended has an outcome"
        console.print(_line(name, f"sets {condition} in a session", f"[green]{status.outcome.kind}[/]", spent))
        for request, code, seconds in transport.sent:
            console.print(f"    [dim]{request.method:<6}{_short(request):<52}{code:>4}  {seconds * 1000:7.2f} ms[/]")
    kept = [condition["type"] for condition in _send(transport, "GET", f"{_GADGETS}/written")[1]["status"]["conditions"]]
    lost = watchman.lost()
    verdict = "[bold green]Nothing lost[/], says the checker." if not lost else "[bold red]" + "\n".join(lost) + "[/]"
    console.print(f"\nStored: {', '.join(kept)}. {verdict}\n")


def _both_read(console: Console, transports: dict[str, Counted], name: str) -> dict[str, Any]:
    seen = {writer: _send(transport, "GET", f"{_GADGETS}/{name}")[1] for writer, transport in transports.items()}
    versions = {obj["metadata"]["resourceVersion"] for obj in seen.values()}
    console.print(f"  {' and '.join(transports)} both read version {', '.join(sorted(versions))}")
    return seen


def _line(name: str, what: str, answer: str, seconds: float) -> str:
    return f"  {name:<18} {what:<34} {answer:<20} {seconds * 1000:7.2f} ms"


def _short(request: Request) -> str:
    path = request.path.replace("/apis/example.io/v1/namespaces/default", "...")
    kind = request.content_type.partition("/")[2].replace("-patch+json", " patch")
    return f"{path}  {kind}".rstrip()


def _close(console: Console, seconds: float) -> None:
    console.rule("[bold]what to run next", align="left")
    for command, what in NEXT:
        console.print(f"  [bold cyan]{command:<36}[/] {what}")
    console.print(f"\n[dim]This took {seconds:.1f} s.[/]")


def _gadget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 3}}


def _send(transport: Counted, method: str, path: str, content_type: str = "", body: Any = None) -> tuple[int, Any, float]:
    """Status, body and seconds of one request."""
    import msgspec

    from ..wire import Request

    data = b"" if body is None else msgspec.json.encode(body)
    answer = transport.send(Request(method=method, path=path, body=data, content_type=content_type))
    return answer.status, answer.json(), transport.sent[-1][2]
