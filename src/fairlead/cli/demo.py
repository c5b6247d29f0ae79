"""`fairlead demo`: one lost update, end to end, on a server that it starts itself."""

from __future__ import annotations

import argparse
import http.client
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..apiserver.embedded import EmbeddedServer

_GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"
_MERGE = "application/merge-patch+json"
_CONDITION = {"type": "object", "required": ["type", "status"], "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}
_CONDITIONS = {"type": "array", "items": _CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "properties": {"conditions": _CONDITIONS}},
                        },
                    }
                },
            }
        ],
    },
}


def run(arguments: Sequence[str]) -> int:
    """The command; gives back its exit code."""
    described = "Show a lost update: two writers, two status patches, both answered 200, one condition gone."
    argparse.ArgumentParser(prog="fairlead demo", description=described).parse_args(arguments)
    started = time.perf_counter()
    from ..apiserver.embedded import EmbeddedServer

    with EmbeddedServer(crds=[CRD]) as server:
        ready = time.perf_counter() - started
        _say(f"An API server in this process, with a CRD (conditions is a map list): ready in {ready * 1000:.0f} ms at {server.url}")
        _lose_a_condition(server)
    return 0


def _lose_a_condition(server: EmbeddedServer) -> None:
    actor = {name: _Actor(name, server.port) for name in ("config-controller", "probe-reporter")}
    controller, reporter = actor.values()
    controller.call("POST", _GADGETS, {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}})
    _say("\n1. Both read Gadget g, which has no conditions yet.")
    for each in actor.values():
        each.call("GET", f"{_GADGETS}/g")
    _say("2. Each sets its own condition with a merge patch of status, as most operators do:")
    for each, condition in ((controller, "Ready"), (reporter, "Probed")):
        code, _, spent = each.call("PATCH", f"{_GADGETS}/g/status", {"status": {"conditions": [{"type": condition, "status": "True"}]}})
        _say(f"     {each.name:<18} conditions: [{condition}=True]".ljust(56) + f"{code} OK   {spent * 1000:5.2f} ms")
    _, stored, _ = controller.call("GET", f"{_GADGETS}/g")
    kept = [condition["type"] for condition in stored["status"]["conditions"]]
    lost = [condition for condition in ("Ready", "Probed") if condition not in kept]
    _say(f"3. Stored: conditions: [{', '.join(f'{name}=True' for name in kept)}]")
    _say(f"\nLost: {', '.join(lost)}, written by config-controller, acknowledged with 200, erased by probe-reporter. Nobody was told.")


class _Actor:
    """One writer with its own connection and name."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any, float]:
        """Status, body and seconds of one request."""
        headers = {"User-Agent": f"{self.name}/1", "Content-Type": _MERGE if method == "PATCH" else "application/json"}
        started = time.perf_counter()
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text), time.perf_counter() - started


def _say(text: str) -> None:
    print(text, flush=True)
