"""`fairlead demo`: one lost update, end to end, on a server that it starts itself; and the same two writes with nothing lost."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..testing.transport import HttpTransport

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


def run(arguments: Sequence[str]) -> int:
    """The command; gives back its exit code."""
    described = "Show a lost update: two writers, two status patches, both answered 200, one condition gone. Then the same without loss."
    argparse.ArgumentParser(prog="fairlead demo", description=described).parse_args(arguments)
    started = time.perf_counter()
    from ..apiserver.embedded import EmbeddedServer
    from ..testing.transport import HttpTransport

    with EmbeddedServer(crds=[CRD]) as server:
        ready = time.perf_counter() - started
        _say(f"A Kubernetes API server in this process, with a CRD: ready in {ready * 1000:.0f} ms at {server.url}")
        transports = {name: HttpTransport(server.url, user_agent=f"{name}/1") for name in WRITERS}
        with_patches(transports)
        with_writers(transports)
        for transport in transports.values():
            transport.close()
    return 0


def with_patches(transports: dict[str, HttpTransport]) -> None:
    """Both read, both patch their own condition, one condition is gone."""
    from ..wire import JSON, MERGE_PATCH

    anyone = next(iter(transports.values()))
    _send(anyone, "POST", _GADGETS, JSON, _gadget("patched"))
    _say("\nTwo controllers read a Gadget that has no conditions, and each sets its own with a merge patch of status:")
    for name, condition in WRITERS.items():
        body = {"status": {"conditions": [{"type": condition, "status": "True"}]}}
        code, _, spent = _send(transports[name], "PATCH", f"{_GADGETS}/patched/status", MERGE_PATCH, body)
        _say(f"    {name:<18} {condition}=True".ljust(40) + f"{code} OK".ljust(24) + f"{spent * 1000:6.2f} ms")
    kept = _conditions(anyone, "patched")
    lost = [condition for condition in WRITERS.values() if condition not in kept]
    _say(f"    stored: {', '.join(kept)}.  Lost: {', '.join(lost)}. It was acknowledged, then erased, and nobody was told.")


def with_writers(transports: dict[str, HttpTransport]) -> None:
    """The same two writes, from the same stale read, through fairlead's writer."""
    import fairlead

    from ..wire import JSON

    anyone = next(iter(transports.values()))
    _, seen, _ = _send(anyone, "POST", _GADGETS, JSON, _gadget("written"))
    _say("\nThe same two writes from the same stale read, with fairlead.StatusWriter:")
    for name, condition in WRITERS.items():
        writer = fairlead.StatusWriter(fairlead.Client(transports[name]), field_manager=name)
        started = time.perf_counter()
        with writer.session(seen) as status:
            status.conditions.set(condition, True, reason="Observed")
        spent = time.perf_counter() - started
        outcome = status.outcome
        told = f"{outcome.kind}, {outcome.requests} request{'s' if outcome.requests > 1 else ''}" if outcome else ""
        _say(f"    {name:<18} {condition}=True".ljust(40) + told.ljust(24) + f"{spent * 1000:6.2f} ms")
    _say(f"    stored: {', '.join(_conditions(anyone, 'written'))}.  Nothing lost.")


def _gadget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 3}}


def _conditions(transport: HttpTransport, name: str) -> list[str]:
    _, stored, _ = _send(transport, "GET", f"{_GADGETS}/{name}")
    return [condition["type"] for condition in stored["status"]["conditions"]]


def _send(transport: HttpTransport, method: str, path: str, content_type: str = "", body: Any = None) -> tuple[int, Any, float]:
    """Status, body and seconds of one request."""
    import msgspec

    from ..wire import Request

    data = b"" if body is None else msgspec.json.encode(body)
    started = time.perf_counter()
    answer = transport.send(Request(method=method, path=path, body=data, content_type=content_type))
    return answer.status, answer.json(), time.perf_counter() - started


def _say(text: str) -> None:
    print(text, flush=True)
