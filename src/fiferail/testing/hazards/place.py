"""Where a scenario happens: a server with the Gadget CRD, and actors that reach it under their own names.

Every request of an actor says what the checker would otherwise have to guess: the version that the decision stands on, and the
fields that were looked at. A real server ignores both headers.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from fiferail.apiserver.embedded import equip
from fiferail.apiserver.inprocess import Transport as InProcess
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import load_crds
from fiferail.clients.client import Client
from fiferail.wire import Answer, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fiferail.apiserver.recording import Recorder
    from fiferail.objects.tree import Json
    from fiferail.wire import Transport

GROUP, KIND, NAMESPACE = "hazards.example.io", "Gadget", "default"
NEWER, OLDER = f"{GROUP}/v2", f"{GROUP}/v1"
_WRITES = ("PUT", "PATCH", "POST")
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer", "format": "int64"}


class Place:
    """A server. `connect` gives a transport for an actor's name; the CRD is served already."""

    def __init__(self, connect: Callable[[str], Transport]) -> None:
        self._connect = connect
        self._names = itertools.count(1)
        self.maker = Client(connect("maker"), user_agent="maker")

    def actor(self, name: str) -> Actor:
        """Somebody who reads and writes."""
        return Actor(name, self._connect(name))

    def fresh_name(self) -> str:
        """A name that no scenario has used."""
        return f"g{next(self._names)}"

    def make(self, name: str) -> Json:
        """A new object without a status."""
        metadata = {"name": name, "namespace": NAMESPACE}
        return self.maker.create({"apiVersion": NEWER, "kind": KIND, "metadata": metadata, "spec": {"size": 1}})

    def get(self, name: str) -> Json:
        """The object as it is, unseen by any actor."""
        return self.maker.get(NEWER, KIND, name, namespace=NAMESPACE)

    def remove(self, obj: Json) -> None:
        """The object goes."""
        self.maker.delete(obj)


class Actor:
    """One writer with its own name, and what it says about its decisions."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.base = ""
        self.reads: tuple[str, ...] = ()
        #: A refusal ends its decision: it has no function to run again on a fresh read.
        self.once = False
        #: Called instead of passing on the next answer to a write: the write has landed, and the answer is lost.
        self.when_lost: Callable[[], None] | None = None
        #: How many writes were sent.
        self.writes = 0
        self._transport = transport
        self.client = Client(self, user_agent=name)

    def get(self, name: str, api_version: str = NEWER) -> Json:
        """Read the object."""
        return self.client.get(api_version, KIND, name, namespace=NAMESPACE)

    def decided(self, base: Json, reads: tuple[str, ...] = (), *, once: bool = False) -> None:
        """What the next writes stand on."""
        self.base, self.reads, self.once = base["metadata"]["resourceVersion"], reads, once

    # -- a transport

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Pass a request on, with what is known about its decision."""
        if request.method not in _WRITES:
            return self._transport.send(request, timeout=timeout)
        self.writes += 1
        said = {"x-fiferail-base": self.base, "x-fiferail-reads": json.dumps(self.reads)}
        if self.once:
            said["x-fiferail-decides"] = "once"
        headers = {**said, **request.headers, "user-agent": self.name}  # a writer that says these itself knows better
        told = Request(
            method=request.method, path=request.path, query=request.query, body=request.body, content_type=request.content_type,
            headers=headers,
        )  # fmt: skip
        answer = self._transport.send(told, timeout=timeout)
        meanwhile, self.when_lost = self.when_lost, None
        if meanwhile is not None:
            meanwhile()
            raise ConnectionError("the connection was closed before an answer came")
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """Watches are passed on as they are."""
        return self._transport.stream(request, timeout=timeout)


def _status(**more: Any) -> Any:
    members = {**dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), _TEXT), "observedGeneration": _NUMBER}
    condition = {"type": "object", "required": ["type", "status"], "properties": members}
    conditions = {"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    properties = {
        "phase": _TEXT, "message": _TEXT, "count": _NUMBER, "observedGeneration": _NUMBER, "lastPlan": _TEXT,
        "plan": {"type": "object", "properties": {"id": _TEXT, "steps": _NUMBER}},
        "references": {"type": "array", "items": _TEXT}, "conditions": conditions,
        "marks": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "mark": _TEXT}},
        },
        **more,
    }  # fmt: skip
    return {"type": "object", "properties": properties}


def _version(name: str, status: Any, *, storage: bool) -> Any:
    spec = {"type": "object", "properties": {"size": _NUMBER}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
    return {"name": name, "served": True, "storage": storage, "subresources": {"status": {}}, "schema": schema}


#: Two versions: only the newer one knows `status.novel`.
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gadgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": KIND, "listKind": "GadgetList"},
        "versions": [_version("v1", _status(), storage=False), _version("v2", _status(novel=_TEXT), storage=True)],
    },
}


def embedded(recorder: Recorder | None = None) -> Place:
    """A fresh server in this process. Its clock stands still."""
    machine = equip(Machine(clock=lambda: 1_767_225_600.0, recorder=recorder))
    load_crds(machine, [CRD])
    return Place(lambda actor: InProcess(machine, agent=actor))
