"""The kinds of the demonstration: a Gadget with conditions, a config with a list of who refers to it, and those who do."""

from __future__ import annotations

from typing import Any

GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"
AUTH = "auth.example.io/v1"
CONFIGS = f"/apis/{AUTH}/namespaces/default/authconfigs"
WORKLOADS = ("Server", "Gateway", "Proxy")

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


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _keyed(entry: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {"type": "array", "items": entry, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def _crd(group: str, kind: str, spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """One kind with a status subresource."""
    plural = f"{kind.lower()}s".replace("ys", "ies")
    held = {"spec": _object(spec), "status": _object({"conditions": _keyed(_CONDITION, "type"), **status})}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": _object(held)}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


_REFERRER = _object({"kind": _TEXT, "name": _TEXT}, "kind", "name")
CRDS: list[dict[str, Any]] = [
    _crd("example.io", "Gadget", {"size": {"type": "integer"}}, {}),
    _crd("auth.example.io", "AuthConfig", {"issuer": _TEXT}, {"referencingWorkloads": _keyed(_REFERRER, "kind", "name")}),
    *(_crd("auth.example.io", kind, {"configRef": _object({"name": _TEXT})}, {}) for kind in WORKLOADS),
]


def gadget(name: str) -> dict[str, Any]:
    """A Gadget."""
    return {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 3}}


def config(name: str) -> dict[str, Any]:
    """An AuthConfig that can be used."""
    spec = {"issuer": "https://sso.example.io"}
    return {"apiVersion": AUTH, "kind": "AuthConfig", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def workload(kind: str, name: str, refers_to: str) -> dict[str, Any]:
    """A workload that uses a config."""
    spec = {"configRef": {"name": refers_to}}
    return {"apiVersion": AUTH, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
