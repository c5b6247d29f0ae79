"""Answers to requests that name no resource: documents in JSON or YAML, and caching by ETag.

Used by discovery and OpenAPI. Refuses as the server's generic routes do, whose words differ from those of resources.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from ..wire import Answer
from . import statuses
from .call import as_yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from ..wire import Request

_JSON = "application/json"
_YAML = "application/yaml"
_JSON_HEADERS = {"content-type": _JSON}
#: What the server's routes say they produce. It could also do protobuf, which is not done here.
MEDIA_TYPES = (_JSON, _YAML, "application/vnd.kubernetes.protobuf")


def reading(request: Request) -> None:
    """Refuses methods that do not read; a route for GET does not take HEAD."""
    if request.method != "GET":
        raise statuses.method_not_allowed()


def routed(request: Request, offered: Sequence[str] = MEDIA_TYPES) -> None:
    """Refuses a client that takes nothing of what the route offers; parameters of a media type do not count here."""
    accept = request.headers.get("accept", "")
    taken = {clause.partition(";")[0].strip() for clause in accept.split(",")} if accept else {"*/*"}
    if not taken & {*offered, "*/*"}:
        raise statuses.status(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}", {})


def respond(request: Request, document: Json) -> Answer:
    """A document in the form that the client likes best; no other shape of it is to be had."""
    accept = request.headers.get("accept", "")
    for media_type, shaped in _clauses(accept) if accept else [(_JSON, False)]:
        if shaped or media_type not in (_JSON, _YAML, "*/*", "application/*"):
            continue
        if media_type != _YAML:
            return Answer(200, msgspec.json.encode(document), _JSON_HEADERS)
        return Answer(200, as_yaml(document), {"content-type": _YAML})
    raise statuses.not_acceptable(MEDIA_TYPES)


def _clauses(accept: str) -> list[tuple[str, bool]]:
    """Media types in the client's order of preference, and whether each asks for another shape (`as=`)."""
    found = []
    for text in accept.split(","):
        media_type, *parameters = (part.strip() for part in text.split(";"))
        given = dict(part.partition("=")[::2] for part in parameters)
        found.append((_quality(given.get("q", "1")), media_type, bool(given.get("as"))))
    return [(media_type, shaped) for _, media_type, shaped in sorted(found, key=lambda entry: -entry[0])]


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def digest(body: bytes) -> str:
    """What the server calls the hash of a document."""
    return hashlib.sha512(body).hexdigest().upper()


def not_modified(request: Request, body: bytes, headers: dict[str, str]) -> Answer:
    """The body with its ETag, or 304 for a client that has it already."""
    tag = f'"{digest(body)}"'
    if tag in request.headers.get("if-none-match", ""):
        return Answer(304, b"", {**headers, "etag": tag})
    return Answer(200, body, {**headers, "etag": tag})
