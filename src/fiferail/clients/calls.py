"""The plain client's calls without I/O: each is a generator that yields requests and receives answers.

One implementation for Client and AsyncClient. Kinds become paths by discovery, remembered per client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ..errors import AlreadyExists, ApiError, Cause, FiferailError, Forbidden, Invalid, NotFound
from ..segments import api_prefix, required_segment, segment
from ..wire import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Answer, Request
from .given import plain_part

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..objects.tree import Json

Result = TypeVar("Result")
Call: TypeAlias = "Generator[Request, Answer, Result]"

PATCH_TYPES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "apply": APPLY_PATCH, "strategic": STRATEGIC_MERGE_PATCH}
_ERRORS: dict[int, type[ApiError]] = {404: NotFound, 403: Forbidden}


class Resource(msgspec.Struct, frozen=True):
    """What discovery says of a kind."""

    prefix: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str = "", subresource: str | None = None) -> str:
        """The path of the collection, of an object in it, or of its subresource. A part that is not one path segment is refused."""
        parts = [self.prefix]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{segment(namespace, 'namespace')}")
        parts.append(self.plural)
        parts += [segment(part, what) for part, what in ((name, "name"), (subresource, "subresource")) if part]
        return "/".join(parts)


class Page(msgspec.Struct):
    """A part of a list; its objects are not decoded yet."""

    apiVersion: str | None = None
    kind: str = ""
    metadata: dict[str, Any] | None = None
    items: list[msgspec.Raw] | None = None


_decoded = msgspec.json.Decoder(Page).decode


class Calls:
    """Builds the calls; remembers what the server serves."""

    def __init__(self, user_agent: str) -> None:
        self._headers = {"accept": JSON, "user-agent": user_agent}
        self._known: dict[str, dict[str, Resource]] = {}

    def resource(self, api_version: str, kind: str) -> Call[Resource]:
        """The kind's place on the server."""
        if kind not in self._known.get(api_version, {}):
            prefix = api_prefix(api_version)
            document = checked((yield Request(method="GET", path=prefix, headers=self._headers)))
            self._known[api_version] = {
                entry["kind"]: Resource(prefix, entry["name"], bool(entry.get("namespaced")))
                for entry in document.get("resources") or []
                if "/" not in entry["name"]
            }
        found = self._known[api_version].get(kind)
        if found is None:
            raise NotFound(404, "NotFound", f"the server has no kind {kind} in {api_version}: is its CRD installed?")
        return found

    def get(self, api_version: str, kind: str, name: str, namespace: str | None) -> Call[Json]:
        """One object."""
        required_segment(name, "name", kind)
        resource = yield from self.resource(api_version, kind)
        return checked((yield self._request("GET", resource.path(_namespace(resource, namespace, kind), name))))

    def list(
        self, api_version: str, kind: str, namespace: str | None, labels: str | None, fields: str | None, limit: int,
        each: Callable[[Json], Json] | None = None,
    ) -> Call[tuple[list[Json], str]]:  # fmt: skip
        """Every object, page by page, and the version of the list. A list that expires on the way starts again.

        `each` makes of an object what is kept of it. Objects are decoded one by one, so that what one does not keep has made room
        for the next: in one go the holes would stay for as long as the list.
        """
        resource = yield from self.resource(api_version, kind)
        items: list[Json] = []
        query = _query(labelSelector=labels, fieldSelector=fields, limit=str(limit) if limit else None)
        token = ""
        while True:
            page = yield self._request("GET", resource.path(namespace), (*query, *_query(**{"continue": token})))
            if page.status == 410 and token:
                items, token = [], ""
                continue
            if page.status >= 400:
                checked(page)
            document = _decoded(page.body)
            given = {"apiVersion": document.apiVersion, "kind": document.kind.removesuffix("List")}
            for raw in document.items or ():
                item = {**given, **msgspec.json.decode(raw)}
                items.append(each(item) if each is not None else item)
            metadata = document.metadata or {}
            token = metadata.get("continue") or ""
            if not token:
                return items, metadata.get("resourceVersion") or ""

    def create(self, obj: Json, field_manager: str | None) -> Call[Json]:
        """A new object. The name may be missing: with generateName the server makes one."""
        resource, namespace = yield from self._identified(obj)
        path, query = resource.path(namespace), _query(fieldManager=field_manager)
        return checked((yield self._request("POST", path, query, _encoded(obj), JSON)))

    def replace(self, obj: Json, subresource: str | None, field_manager: str | None) -> Call[Json]:
        """PUT, guarded by the resourceVersion in the object."""
        resource, namespace, name = yield from self._named(obj)
        path, query = resource.path(namespace, name, subresource), _query(fieldManager=field_manager)
        return checked((yield self._request("PUT", path, query, _encoded(obj), JSON)))

    def patch(self, obj: Json, body: Any, type: str, subresource: str | None, field_manager: str | None, force: bool) -> Call[Json]:
        """One of the four patches."""
        if type not in PATCH_TYPES:
            raise FiferailError(f"expected a patch type of {', '.join(PATCH_TYPES)}, got {type!r}")
        resource, namespace, name = yield from self._named(obj)
        query = _query(fieldManager=field_manager, force="true" if force else None)
        content = body if isinstance(body, bytes) else _encoded(body)
        return checked((yield self._request("PATCH", resource.path(namespace, name, subresource), query, content, PATCH_TYPES[type])))

    def delete(self, obj: Json, uid: str | None, resource_version: str | None, propagation: str | None) -> Call[Json]:
        """Delete, if it is still the one that is meant."""
        resource, namespace, name = yield from self._named(obj)
        conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if conditions:
            options["preconditions"] = conditions
        if propagation:
            options["propagationPolicy"] = propagation
        return checked((yield self._request("DELETE", resource.path(namespace, name), (), _encoded(options), JSON)))

    def watch(
        self, api_version: str, kind: str, namespace: str | None, resource_version: str | None, labels: str | None, fields: str | None,
        timeout_seconds: int | None,
    ) -> Call[Request]:  # fmt: skip
        """The request that opens the stream."""
        resource = yield from self.resource(api_version, kind)
        query = _query(
            watch="true", allowWatchBookmarks="true", resourceVersion=resource_version, labelSelector=labels, fieldSelector=fields,
            timeoutSeconds=str(timeout_seconds) if timeout_seconds is not None else None,
        )  # fmt: skip
        return self._request("GET", resource.path(namespace), query)

    def _named(self, obj: Json) -> Call[tuple[Resource, str | None, str]]:
        """Where the object is. One without a name is refused before anything is sent: its path would be that of the collection."""
        _check_object(obj)
        name = required_segment(obj["metadata"].get("name"), "metadata.name", obj["kind"])
        resource, namespace = yield from self._identified(obj)
        return resource, namespace, name

    def _identified(self, obj: Json) -> Call[tuple[Resource, str | None]]:
        """The object's resource and namespace."""
        _check_object(obj)
        resource = yield from self.resource(obj["apiVersion"], obj["kind"])
        return resource, _namespace(resource, obj["metadata"].get("namespace"), obj["kind"])

    def _request(
        self, method: str, path: str, query: tuple[tuple[str, str], ...] = (), body: bytes = b"", content_type: str = ""
    ) -> Request:
        return Request(method=method, path=path, query=query, body=body, content_type=content_type, headers=self._headers)


def checked(answer: Answer) -> Json:
    """The body of a success; any other answer is raised."""
    if answer.status < 400:
        return answer.json()
    try:
        status = answer.json()
    except msgspec.DecodeError:
        status = {"message": answer.body.decode("utf-8", "replace").strip()}
    reason, message = status.get("reason") or "", status.get("message") or ""
    details = status.get("details") or {}
    causes = [Cause(c.get("reason", ""), c.get("message", ""), c.get("field", "")) for c in details.get("causes") or []]
    if answer.status == 422:
        raise Invalid(message, causes)
    kind: Callable[..., ApiError] = AlreadyExists if reason == "AlreadyExists" else _ERRORS.get(answer.status, ApiError)
    raise kind(answer.status, reason, message, causes)


def event(line: bytes) -> tuple[str, Json]:
    """One line of a watch: type and object. An ERROR event is raised."""
    decoded = msgspec.json.decode(line)
    if decoded["type"] == "ERROR":
        status = decoded["object"]
        raise ApiError(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
    return decoded["type"], decoded["object"]


def _check_object(obj: Json) -> None:
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        raise FiferailError(f"expected an object with apiVersion, kind and metadata, got {_short(obj)}")
    for field in ("apiVersion", "kind"):
        if not obj.get(field) or not isinstance(obj[field], str):
            raise FiferailError(f"expected an object with {field}, got {_short(obj)}")


def _namespace(resource: Resource, namespace: str | None, kind: str) -> str | None:
    if resource.namespaced and not namespace:
        raise FiferailError(f"expected a namespace: {kind} lives in one")
    return namespace


def _query(**given: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in given.items() if value)


def _encoded(body: Any) -> bytes:
    return msgspec.json.encode(body, enc_hook=plain_part)


def _short(obj: Any) -> str:
    text = repr(obj)
    return text if len(text) < 80 else text[:77] + "..."
