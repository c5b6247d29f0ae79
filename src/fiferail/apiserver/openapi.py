"""OpenAPI v3 of what is served: the index, and one document per group version.

`install` hangs them on a machine's paths. Clients read them for `kubectl explain`, for list types and merge keys, and to learn that
fieldValidation is understood. Schemas of built-in kinds are the real server's less their descriptions; a custom kind's schema is
its CRD's, completed as the real server publishes it. Operations carry the parameters that clients look for and no prose.
OpenAPI v2 is not served: nothing that supports v3 asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..wire import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Answer
from . import discovery, statuses
from .replies import digest, not_modified

if TYPE_CHECKING:
    from ..objects.tree import Json
    from ..wire import Request
    from .kinds import Kind
    from .machine import Machine

_SCHEMAS = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_SCALE = "io.k8s.api.autoscaling.v1.Scale"
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_LISTING = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
    *("sendInitialEvents", "timeoutSeconds", "watch"),
)
_DELETING = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_SWITCHES = {"allowWatchBookmarks", "sendInitialEvents", "watch", "orphanDependents", "force"}
_NUMBERS = {"limit", "timeoutSeconds", "gracePeriodSeconds"}


def install(machine: Machine) -> None:
    """Serves OpenAPI v3 on this machine."""
    machine.paths.update({"/openapi/v3": _index, "/openapi/v3/": _document})


def _index(machine: Machine, request: Request) -> Answer:
    paths = {}
    for key, (group, version) in _group_versions(machine).items():
        paths[key] = {"serverRelativeURL": f"/openapi/v3/{key}?hash={_hash(machine, group, version)}"}
    return Answer(200, msgspec.json.encode({"paths": paths}), {"content-type": "text/plain; charset=utf-8"})


def _hash(machine: Machine, group: str, version: str) -> str:
    """What changes when the document does. The server's own groups never change, so theirs need not be made to be named."""
    if any(kind.custom for kind in machine.kinds.values() if kind.group == group):
        return digest(_encoded(machine, group, version))
    return digest(f"{discovery.SERVER_VERSION['gitVersion']} {group}/{version}".encode())


def _document(machine: Machine, request: Request) -> Answer:
    found = _group_versions(machine).get(request.path.removeprefix("/openapi/v3/"))
    if found is None:
        return Answer(404)
    accept = request.headers.get("accept", "")
    if accept and "application/json" not in accept and "*" not in accept:
        raise statuses.status(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: application/json", {})
    hashed = any(name == "hash" for name, _ in request.query)
    headers = {"content-type": JSON, "cache-control": "public, immutable" if hashed else "no-cache, private", "vary": "Accept"}
    return not_modified(request, _encoded(machine, *found), headers)


def _group_versions(machine: Machine) -> dict[str, tuple[str, str]]:
    served = {"api/v1": ("", "v1")}
    for group, versions in discovery.groups(machine).items():
        served |= {f"apis/{group}/{version}": (group, version) for version in versions}
    return served


_cached: dict[tuple[str, str], tuple[tuple[Kind, ...], bytes]] = {}


def _encoded(machine: Machine, group: str, version: str) -> bytes:
    """The document's bytes, made again only when one of its kinds has been replaced."""
    kinds = tuple(kind for kind in machine.kinds.values() if kind.group == group and version in kind.versions)
    known = _cached.get((group, version))
    if known is not None and len(known[0]) == len(kinds) and all(old is new for old, new in zip(known[0], kinds, strict=True)):
        return known[1]
    body = msgspec.json.encode(document(kinds, group, version))
    _cached[group, version] = (kinds, body)
    return body


def document(kinds: tuple[Kind, ...], group: str, version: str) -> Json:
    """The OpenAPI document of one group version."""
    components: dict[str, Json] = {}
    paths: dict[str, Json] = {}
    for kind in sorted(kinds, key=lambda kind: kind.plural):
        _add_schemas(components, kind, version)
        _add_paths(paths, kind, version)
        if kind.versions[version].scale is not None:
            _add_definition(components, _SCALE)
    title = "Kubernetes CRD Swagger" if any(kind.custom for kind in kinds) else "Kubernetes"
    info = {"title": title, "version": "v0.1.0" if any(kind.custom for kind in kinds) else discovery.SERVER_VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": dict(sorted(components.items()))}}


# schemas


def schema_name(kind: Kind, version: str) -> str:
    """The name of a kind's schema."""
    if not kind.custom:
        from .builtin.schemas import name_of

        return name_of(kind.group, version, kind.kind)
    return f"{'.'.join(reversed(kind.group.split('.')))}.{version}.{kind.kind}"


def _add_schemas(components: dict[str, Json], kind: Kind, version: str) -> None:
    name = schema_name(kind, version)
    if kind.custom:
        components[name] = {**_custom_schema(kind.versions[version].schema.source), **_identity(kind, version, kind.kind)}
        _add_definition(components, f"{_META}.ObjectMeta")
    else:
        _add_definition(components, name)
        if name in components:
            components[name] = {**components[name], **_identity(kind, version, kind.kind)}
    components[f"{name}List"] = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": _SCHEMAS + name}},
            "kind": {"type": "string"},
            "metadata": _reference(f"{_META}.ListMeta"),
        },
        **_identity(kind, version, kind.list_kind or f"{kind.kind}List"),
    }
    for shared in ("ListMeta", "DeleteOptions", "Status"):
        _add_definition(components, f"{_META}.{shared}")


def _identity(kind: Kind, version: str, name: str) -> Json:
    return {"x-kubernetes-group-version-kind": [{"group": kind.group, "kind": name, "version": version}]}


def _reference(name: str) -> Json:
    return {"allOf": [{"$ref": _SCHEMAS + name}]}


def _add_definition(components: dict[str, Json], name: str) -> None:
    """A built-in definition and everything it refers to."""
    from .builtin.schemas import definition

    if name in components:
        return
    try:
        source = definition(name)
    except (KeyError, OSError):
        return
    components[name] = {}  # holds the place: definitions may refer to themselves
    components[name] = _rewritten(components, source)


def _rewritten(components: dict[str, Json], source: Json) -> Json:
    """A definition with its references as this document spells them, and what they name added to it."""
    if isinstance(source, list):
        return [_rewritten(components, entry) for entry in source]
    if not isinstance(source, dict):
        return source
    made = {name: _rewritten(components, member) for name, member in source.items() if name != "$ref"}
    if isinstance(source.get("$ref"), str):
        _add_definition(components, source["$ref"])
        target = {"$ref": _SCHEMAS + source["$ref"]}
        return {**made, "allOf": [target]} if made else target
    return made


def _custom_schema(source: Json) -> Json:
    """The root of a CRD's schema, with the members that every object has."""
    if not isinstance(source, dict) or not source:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return _published({**source, "properties": {**source.get("properties", {}), **_TYPE_MEMBERS}})


_TYPE_MEMBERS = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"allOf": [{"$ref": f"{_SCHEMAS}{_META}.ObjectMeta"}]},
}


def _published(source: Json) -> Json:
    """A node of a CRD's schema, completed where an extension stands for more than it says."""
    if not isinstance(source, dict):
        return source
    made = dict(source)
    for name in ("items", "not"):
        if isinstance(made.get(name), dict):
            made[name] = _published(made[name])
    if isinstance(made.get("additionalProperties"), dict):
        made["additionalProperties"] = _published(made["additionalProperties"])
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: _published(member) for name, member in made["properties"].items()}
    if made.get("x-kubernetes-int-or-string") is True and "anyOf" not in made:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if made.get("x-kubernetes-embedded-resource") is True:
        made["properties"] = {**made.get("properties", {}), **_TYPE_MEMBERS}
        made["required"] = list(dict.fromkeys([*made.get("required", []), "kind", "apiVersion"]))
    return made


# operations


def _add_paths(paths: dict[str, Json], kind: Kind, version: str) -> None:
    base = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    scoped = f"{base}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{base}/{kind.plural}"
    verbs = set(kind.verbs)
    if kind.namespaced and "list" in verbs:
        paths[f"{base}/{kind.plural}"] = {"get": _operation(kind, version, "list", f"{kind.kind}ForAllNamespaces", _LISTING)}
    collection = {}
    if "list" in verbs:
        collection["get"] = _operation(kind, version, "list", kind.kind, _LISTING)
    if "create" in verbs:
        collection["post"] = _operation(kind, version, "create", kind.kind, _WRITING, (JSON,))
    if "deletecollection" in verbs:
        collection["delete"] = _operation(kind, version, "deletecollection", kind.kind, (*_DELETING, *_LISTING))
    paths[scoped] = collection
    single = _single(kind, version, "")
    if "delete" in verbs:
        single["delete"] = _operation(kind, version, "delete", kind.kind, _DELETING)
    paths[f"{scoped}/{{name}}"] = single
    if kind.versions[version].status:
        paths[f"{scoped}/{{name}}/status"] = _single(kind, version, "Status")
    if kind.versions[version].scale is not None:
        paths[f"{scoped}/{{name}}/scale"] = _single(kind, version, "Scale")


def _single(kind: Kind, version: str, part: str) -> Json:
    patches = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH) if kind.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
    name = kind.kind + part
    return {
        "get": _operation(kind, version, "get", name, ("resourceVersion",)),
        "put": _operation(kind, version, "put", name, _WRITING, (JSON,)),
        "patch": _operation(kind, version, "patch", name, (*_WRITING, "force"), patches),
    }


def _operation(kind: Kind, version: str, action: str, name: str, parameters: tuple[str, ...], bodies: tuple[str, ...] = ()) -> Json:
    schema = schema_name(kind, version) + ("List" if action == "list" else "")
    identity = {"group": kind.group, "version": version, "kind": kind.kind}
    if name.endswith("Scale") and name != kind.kind:
        schema, identity = _SCALE, {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    reference = {"schema": {"$ref": _SCHEMAS + schema}}
    made: Json = {
        "operationId": f"{action}{name}",
        "parameters": [{"name": parameter, "in": "query", "schema": _parameter(parameter)} for parameter in parameters],
        "responses": {"200": {"description": "OK", "content": {JSON: reference}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": identity,
    }
    if bodies:
        body = {"schema": {"type": "object"}} if action == "patch" else reference
        made["requestBody"] = {"content": dict.fromkeys(bodies, body), "required": True}
    return made


def _parameter(name: str) -> Json:
    return {"type": "boolean" if name in _SWITCHES else "integer" if name in _NUMBERS else "string", "uniqueItems": True}
