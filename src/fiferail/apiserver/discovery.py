"""What is served, told to clients: the plain discovery documents, the aggregated ones, /version and the health checks.

`install` hangs these on a machine's paths. Every document is made from the kinds that the machine serves at that moment, so a
new CRD shows at once. Mirrors apiserver's discovery package; groups come in the real server's order, custom ones after them by name.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from ..wire import JSON, Answer
from . import statuses
from .replies import not_modified, reading, respond, routed
from .versions import priority

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..objects.tree import Json
    from ..wire import Request
    from .kinds import Kind
    from .machine import Machine

SERVER_VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "fiferail",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
#: The order of the server's own groups; the core group has a path of its own.
_GROUP_ORDER = (
    *("apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch"),
    *("certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io"),
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io"),
    *("discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"),
)
_CUSTOM_VERB_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
#: Resources without objects: asked by POST, answered by `reviews`.
_REVIEWED = (("authentication.k8s.io", "v1"), ("authorization.k8s.io", "v1"))


def install(machine: Machine) -> None:
    """Serves discovery, /version and health on this machine."""
    machine.paths.update({"/": _root, "/api": _api, "/apis": _apis, "/api/": _group_version, "/apis/": _group_version})
    machine.paths["/version"] = _version
    for name in ("healthz", "livez", "readyz"):
        machine.paths.update({f"/{name}": _healthy, f"/{name}/": _healthy})


class Part(msgspec.Struct, frozen=True):
    """A resource or subresource as discovery lists it."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    namespaced: bool
    singular: str = ""
    group: str = ""
    version: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    hash: str = ""

    def plain(self) -> Json:
        """As it stands in an APIResourceList."""
        entry: Json = {"name": self.name, "singularName": self.singular, "namespaced": self.namespaced}
        if self.version:
            entry |= {"group": self.group, "version": self.version}
        entry |= {"kind": self.kind, "verbs": list(self.verbs)}
        if self.short_names:
            entry["shortNames"] = list(self.short_names)
        if self.categories:
            entry["categories"] = list(self.categories)
        if self.hash:
            entry["storageVersionHash"] = self.hash
        return entry

    def aggregated(self, group: str, version: str) -> Json:
        """As it stands in an APIGroupDiscovery, where a subresource is named without its parent."""
        own = {"group": group, "version": version}
        answered = {"group": self.group, "version": self.version} if self.version else own
        entry: Json = {"responseKind": {**answered, "kind": self.kind}}
        if "/" in self.name:
            return {"subresource": self.name.partition("/")[2], **entry, "verbs": list(self.verbs)}
        entry = {"resource": self.name, **entry, "scope": "Namespaced" if self.namespaced else "Cluster", "singularResource": self.singular}
        entry["verbs"] = list(self.verbs)
        if self.short_names:
            entry["shortNames"] = list(self.short_names)
        if self.categories:
            entry["categories"] = list(self.categories)
        return entry


def groups(machine: Machine) -> dict[str, list[str]]:
    """Every group but the core one with its versions, the preferred first."""
    found: dict[str, set[str]] = {group: {version} for group, version in _REVIEWED}
    for kind in machine.kinds.values():
        served = [name for name, version in kind.versions.items() if version.served]
        if kind.group and served:
            found.setdefault(kind.group, set()).update(served)
    known = [group for group in _GROUP_ORDER if group in found]
    return {group: sorted(found[group], key=priority, reverse=True) for group in (*known, *sorted(set(found) - set(known)))}


def parts(machine: Machine, group: str, version: str) -> list[Part]:
    """The resources of a group version with their subresources, by name."""
    asked = (group, version)
    found = [_review(entry) for entry in _published().values() if _group_version_of(entry) == asked] if asked in _REVIEWED else []
    for kind in machine.kinds.values():
        if kind.group == group and version in kind.versions and kind.versions[version].served:
            found.append(_resource(kind))
            found.extend(_subresources(kind, version))
    return sorted(found, key=lambda part: part.name.partition("/")[0])


def _resource(kind: Kind) -> Part:
    verbs = tuple(verb for verb in _CUSTOM_VERB_ORDER if verb in kind.verbs) if kind.custom else tuple(sorted(kind.verbs))
    return Part(
        kind.plural,
        kind.kind,
        verbs,
        kind.namespaced,
        kind.singular or kind.kind.lower(),
        short_names=kind.short_names,
        categories=kind.categories,
        hash=storage_hash(kind) if "create" in kind.verbs and "get" in kind.verbs else "",
    )


def _subresources(kind: Kind, version: str) -> Iterable[Part]:
    served = kind.versions[version]
    listed: dict[str, Part] = {}
    known = _published().get((kind.group, kind.plural), {}).get("subresources", {})
    for name in kind.other_subresources:
        entry = known.get(name) or {"kind": kind.kind, "verbs": _PART_VERBS}
        listed[name] = Part(
            f"{kind.plural}/{name}",
            entry["kind"],
            tuple(entry["verbs"]),
            kind.namespaced,
            group=entry.get("group", ""),
            version=entry.get("version", ""),
        )
    if served.status:
        listed["status"] = Part(f"{kind.plural}/status", kind.kind, _PART_VERBS, kind.namespaced)
    if served.scale is not None:
        listed["scale"] = Part(f"{kind.plural}/scale", _SCALE["kind"], _PART_VERBS, kind.namespaced, "", _SCALE["group"], _SCALE["version"])
    # Custom kinds list status before scale; the server's own are sorted by name.
    return listed.values() if kind.custom else [listed[name] for name in sorted(listed)]


@cache
def _published() -> dict[tuple[str, str], Json]:
    """The real server's own list of built-in resources, by group and plural."""
    from .builtin.served import discovery

    return {(_group_version_of(entry)[0], entry["name"]): entry for entry in discovery()}


def _group_version_of(entry: Json) -> tuple[str, str]:
    group, _, version = entry["groupVersion"].rpartition("/")
    return group, version


def _review(entry: Json) -> Part:
    return Part(entry["name"], entry["kind"], tuple(entry["verbs"]), entry["namespaced"], entry["singularName"])


def storage_hash(kind: Kind) -> str:
    """The hash by which clients tell that the storage version has changed."""
    named = f"{kind.group}/{kind.storage_version}/{kind.kind}"
    return base64.b64encode(hashlib.sha256(named.encode()).digest()[:8]).decode()


def _versions_entry(group: str, versions: list[str]) -> Json:
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _api(machine: Machine, request: Request) -> Answer:
    reading(request)
    if _wants_aggregated(request):
        return _aggregated(machine, request, [("", ["v1"])])
    address = request.headers.get("host", "127.0.0.1")
    routed(request)
    document = {"kind": "APIVersions", "versions": ["v1"]}
    return respond(request, {**document, "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]})


def _apis(machine: Machine, request: Request) -> Answer:
    """The aggregator answers here, which does not look at the method."""
    if _wants_aggregated(request):
        return _aggregated(machine, request, list(groups(machine).items()))
    listed = [_versions_entry(group, versions) for group, versions in groups(machine).items()]
    return respond(request, {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})


def _group_version(machine: Machine, request: Request) -> Answer:
    """`/api/v1`, `/apis/group` and `/apis/group/version`."""
    path = request.path.strip("/").split("/")
    if len(path) == 1:
        return _api(machine, request) if path[0] == "api" else _apis(machine, request)
    group, version = ("", path[1]) if path[0] == "api" else (path[1], path[2] if len(path) > 2 else "")
    served = {"": ["v1"], **groups(machine)}
    if group not in served:
        raise statuses.page_not_found()
    if not version:
        return respond(request, {"kind": "APIGroup", "apiVersion": "v1", **_versions_entry(group, served[group])})
    if version not in served[group]:
        custom = group not in _GROUP_ORDER and group != ""
        if custom:
            raise statuses.page_not_found()
        raise statuses.status(404, "NotFound", "the server could not find the requested resource", {})
    reading(request)
    routed(request)
    listed = [part.plain() for part in parts(machine, group, version)]
    document = {"kind": "APIResourceList", "groupVersion": f"{group}/{version}" if group else version, "resources": listed}
    if group:
        document["apiVersion"] = "v1"
    return respond(request, document)


def _wants_aggregated(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return "as=APIGroupDiscoveryList" in accept and _aggregated_version(accept) != ""


def _aggregated_version(accept: str) -> str:
    for clause in accept.split(","):
        if "as=APIGroupDiscoveryList" in clause and "g=apidiscovery.k8s.io" in clause and "json" in clause:
            for version in ("v2", "v2beta1"):
                if f"v={version}" in [part.strip() for part in clause.split(";")]:
                    return version
    return ""


def _aggregated(machine: Machine, request: Request, served: list[tuple[str, list[str]]]) -> Answer:
    version = _aggregated_version(request.headers["accept"])
    items = [_aggregated_group(machine, group, versions) for group, versions in served]
    listed = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}
    headers = {
        "content-type": f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList",
        "cache-control": "public",
        "vary": "Accept",
    }
    return not_modified(request, msgspec.json.encode(listed), headers)


def _aggregated_group(machine: Machine, group: str, versions: list[str]) -> Json:
    entries = []
    for version in versions:
        # The server names its own kinds without group and version here; only custom kinds spell them out.
        custom = any(kind.custom for kind in machine.kinds.values() if kind.group == group and version in kind.versions)
        resources: list[Json] = []
        for part in parts(machine, group, version):
            entry = part.aggregated(group if custom else "", version if custom else "")
            if "/" in part.name:
                resources[-1].setdefault("subresources", []).append(entry)
            else:
                resources.append(entry)
        entries.append({"version": version, "resources": resources, "freshness": "Current"})
    return {"metadata": {"name": group} if group else {}, "versions": entries}


def _version(machine: Machine, request: Request) -> Answer:
    reading(request)
    routed(request, (JSON,))
    return Answer(200, msgspec.json.encode(SERVER_VERSION), statuses.JSON_HEADERS)


def _root(machine: Machine, request: Request) -> Answer:
    """The list of paths; anything below `/` that nobody serves ends here too."""
    if request.path != "/":
        raise statuses.page_not_found()
    listed = {"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/openapi/v3", "/openapi/v3/", "/readyz", "/version"}
    for group, versions in groups(machine).items():
        listed |= {f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)}
    return respond(request, {"paths": sorted(listed)})


_CHECKS = ("ping", "log", "etcd")


def _healthy(machine: Machine, request: Request) -> Answer:
    """All checks, or one of them, pass as soon as there is somebody to answer; a trailing slash is another path."""
    name, _, check = request.path.removeprefix("/").partition("/")
    if request.path.endswith("/") or (check and check not in _CHECKS):
        raise statuses.page_not_found()
    text = "ok"
    if not check and any(option == "verbose" for option, _ in request.query):
        text = "".join(f"[+]{passed} ok\n" for passed in _CHECKS) + f"{name} check passed\n"
    return Answer(200, text.encode(), {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"})
