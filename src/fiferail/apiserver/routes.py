"""From a method and a path to a verb and a resource. Nothing here knows which kinds are served.

Mirrors the request-info resolver of apiserver: `/api/v1/...` and `/apis/group/version/...`, an optional namespace, a resource, a name,
a subresource; `/watch/` before the resource is the old spelling of a watch.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

_SINGLE = {"GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_NAMESPACE_PARTS = frozenset({"status", "finalize"})


class Route(msgspec.Struct, frozen=True):
    """A resource request."""

    verb: str
    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse(method: str, path: str) -> Route | None:
    """The route, or None for a path that names no resource (discovery, health, version...)."""
    return _remembered(method, path) if len(path) <= _USUAL else _parsed(method, path)


def _parsed(method: str, path: str) -> Route | None:
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    verb = _SINGLE.get(method, "")
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    namespace = ""
    inside = False
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 3 or (len(rest) > 2 and rest[2] not in _NAMESPACE_PARTS):
            rest = rest[2:]
            inside = True
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if resource == "namespaces" and not group and not inside:
        namespace = ""
    if not name and verb in ("get", "delete"):
        verb = {"get": "list", "delete": "deletecollection"}[verb]
    return Route(verb, group, version, resource, namespace, name, subresource)


#: Longer paths are not remembered: they are nobody's, and thousands of them would fill the memory.
_USUAL = 600
_remembered = lru_cache(maxsize=8192)(_parsed)
