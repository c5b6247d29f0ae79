"""Which object a write is about: its identity out of whatever the caller has, and its path on the server.

The kind becomes a path by discovery, one request per group and version, remembered by the writer. An object that cannot be
written is refused here, before anything is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import FiferailError
from ..segments import segment
from ..wire import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..objects.tree import Json


class Target(msgspec.Struct, frozen=True):
    """One object on the server."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    #: The API group, empty for the core.
    group: str
    #: `Gadget.example.io`, `Pod`.
    kind_name: str

    @property
    def kind_id(self) -> str:
        """The kind in this version: what memory of kinds is kept by."""
        return f"{self.api_version}/{self.kind}"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def prefix(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


class Resource(msgspec.Struct, frozen=True):
    """What discovery says of a kind."""

    plural: str
    namespaced: bool
    status: bool

    def path(self, target: Target, subresource: str = "") -> str:
        """The path of the object, or of a subresource of it."""
        if self.namespaced and not target.namespace:
            raise FiferailError(f"expected {target} to have metadata.namespace, got none, and its kind is namespaced: nothing was sent")
        namespace = f"/namespaces/{target.namespace}" if self.namespaced else ""
        tail = f"/{subresource}" if subresource else ""
        return f"{target.prefix}{namespace}/{self.plural}/{target.name}{tail}"


def target_of(obj: Json) -> Target:
    """Who the object is; what is missing for that is said."""
    if obj is None:
        raise FiferailError("expected an object to write to, got None: read it from the server first")
    if not isinstance(obj, dict):
        raise FiferailError(f"expected an object (a mapping with apiVersion, kind and metadata), got {type(obj).__name__}")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise FiferailError("expected an object with metadata, got one without: pass the object as the server returned it")
    api_version: Json = obj.get("apiVersion")
    kind: Json = obj.get("kind")
    name: Json = metadata.get("name")
    uid: Json = metadata.get("uid")
    if not (api_version and kind and name and uid) or not (type(api_version) is type(kind) is type(name) is type(uid) is str):
        _refuse_nameless({"apiVersion": api_version, "kind": kind, "metadata.name": name, "metadata.uid": uid})
    group, namespace = api_version.rpartition("/")[0], metadata.get("namespace") or ""
    segment(name, "metadata.name")
    segment(namespace, "metadata.namespace")
    return Target(api_version, kind, namespace, name, uid, group, f"{kind}.{group}" if group else kind)


def _refuse_nameless(identity: dict[str, Json]) -> None:
    for path, value in identity.items():
        if not value or not isinstance(value, str):
            raise FiferailError(f"expected an object with {path}, got one without: pass the object as the server returned it")


def discovery(target: Target) -> Request:
    """The request that tells what the group and version serve."""
    return Request(method="GET", path=target.prefix, headers={"accept": "application/json"})


def resources(document: Mapping[str, Json]) -> dict[str, Resource]:
    """Kind -> resource, out of an APIResourceList."""
    listed = document.get("resources") or []
    with_status = {entry["name"].removesuffix("/status") for entry in listed if entry["name"].endswith("/status")}
    return {
        entry["kind"]: Resource(entry["name"], bool(entry.get("namespaced")), entry["name"] in with_status)
        for entry in listed
        if "/" not in entry["name"]
    }
