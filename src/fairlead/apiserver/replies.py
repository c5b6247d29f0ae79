"""Answers to requests that name no resource: documents in JSON or YAML, and caching by ETag.

Used by discovery and OpenAPI. Refuses as the server's generic routes do, whose words differ from those of resources.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from ..wire import Answer
from . import statuses

if TYPE_CHECKING:
    from ..objects.tree import Json
    from ..wire import Request

_JSON_HEADERS = {"content-type": "application/json"}
_OFFERED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def reading(request: Request) -> None:
    """Refuses methods that do not read."""
    if request.method not in ("GET", "HEAD"):
        raise statuses.method_not_allowed()


def respond(request: Request, document: Json) -> Answer:
    """A document in the form that the client takes."""
    accept = request.headers.get("accept", "")
    if not accept or "application/json" in accept or "*/*" in accept:
        return Answer(200, msgspec.json.encode(document), _JSON_HEADERS)
    if "application/yaml" in accept:
        import yaml

        return Answer(200, yaml.safe_dump(document, sort_keys=True).encode(), {"content-type": "application/yaml"})
    raise statuses.status(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {_OFFERED}", {})


def digest(body: bytes) -> str:
    """What the server calls the hash of a document."""
    return hashlib.sha512(body).hexdigest().upper()


def not_modified(request: Request, body: bytes, headers: dict[str, str]) -> Answer:
    """The body with its ETag, or 304 for a client that has it already."""
    tag = f'"{digest(body)}"'
    if tag in request.headers.get("if-none-match", ""):
        return Answer(304, b"", {**headers, "etag": tag})
    return Answer(200, body, {**headers, "etag": tag})
