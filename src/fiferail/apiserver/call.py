"""One request on its way through the machine: what it targets, what it warns of, how its answer is written.

The machine makes a `Call`, a verb works with it. Content negotiation lives here because every verb ends in an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import gojson
from ..wire import Answer
from . import statuses
from .statuses import JSON_HEADERS

if TYPE_CHECKING:
    from ..objects.tree import Json
    from ..wire import Request
    from .kinds import Kind, User, Version
    from .machine import Machine
    from .routes import Route
    from .store import Entry, Table

_JSON = "application/json"
_YAML = "application/yaml"
_MEDIA_TYPES = (_JSON, _YAML, "application/vnd.kubernetes.protobuf")
_META_VERSIONS = ("v1", "v1beta1")
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")


class Call:
    """A resource request and everything that was found out about it."""

    __slots__ = ("_headed", "_output", "api_version", "key", "kind", "machine", "request", "route", "user", "version", "warnings")

    def __init__(self, machine: Machine, request: Request, route: Route, kind: Kind, version: Version, user: User) -> None:
        self.machine = machine
        self.request = request
        self.route = route
        self.kind = kind
        self.version = version
        self.user = user
        #: The group and version of the request.
        self.api_version = kind.api_version(version.name)
        #: Where the named object is kept.
        self.key = object_key(kind, route.namespace, route.name)
        self.warnings: list[str] = []
        self._output: Output | None = None
        #: Whether a Table of this watch has gone out: only the first carries the columns.
        self._headed = False

    @property
    def table(self) -> Table:
        """Where all objects of the kind are kept."""
        return self.machine.store.table(self.kind.key)

    def stored(self, group: str = "", plural: str = "") -> list[Json]:
        """All stored objects of the kind, or of another one."""
        return (self.machine.store.table((group, plural)) if plural else self.table).objects()

    def warn(self, text: str) -> None:
        """Adds a Warning header to whatever the answer will be."""
        self.warnings.append(text)

    def not_found(self, name: str = "") -> statuses.Refusal:
        """The named object is not there."""
        return statuses.not_found(self.kind.group, self.kind.plural, name or self.route.name)

    def conflict(self, text: str) -> statuses.Refusal:
        """The named object is not as the write expected."""
        return statuses.conflict(self.kind.group, self.kind.plural, self.route.name, text)

    @property
    def output(self) -> Output:
        """What the Accept header asks for; a refusal when that cannot be had."""
        if self._output is None:
            listing = self.route.verb in ("list", "watch")
            self._output = negotiate(self.request.headers.get("accept", ""), custom=self.kind.custom, listing=listing)
        return self._output

    def view(self, entry: Entry) -> Json:
        """A stored object in the version of the request."""
        return view(entry, self.kind, self.version)

    def entry_answer(self, code: int, entry: Entry) -> Answer:
        """A stored object as the answer; its bytes are made once."""
        if self.output.plain:
            return Answer(code, encoded(entry, self.kind, self.version), self.headers())
        return self.answer(code, self.view(entry))

    def answer(self, code: int, obj: Json) -> Answer:
        """Any object as the answer, in the form that was asked for."""
        output = self.output
        if output.plain:
            return Answer(code, gojson.encode(obj), self.headers())
        if output.transform and obj.get("kind") != "Status":
            obj = self._transformed(obj, output)
        if output.media_type == _YAML:
            return Answer(code, as_yaml(obj), self.headers(_YAML))
        return Answer(code, gojson.encode(obj), self.headers())

    def headers(self, media_type: str = _JSON) -> dict[str, str]:
        """The headers of a success."""
        headers = JSON_HEADERS if media_type == _JSON else {"content-type": media_type}
        return {**headers, "warning": statuses.warning_header(self.warnings)} if self.warnings else headers

    def _transformed(self, obj: Json, output: Output) -> Json:
        is_list = "items" in obj and self.route.verb in ("list", "deletecollection")
        if output.transform == "Table":
            return self.machine.render_table(self, obj["items"] if is_list else [obj], obj if is_list else None, output.version)
        if output.transform == "PartialObjectMetadata":
            if is_list:
                message = f"you requested PartialObjectMetadata, but the requested object is a list (*{self._go_type('List')})"
                raise statuses.status(406, "NotAcceptable", message)
            return partial(obj, output.version)
        if not is_list:
            if self.kind.custom:
                raise statuses.status(500, "", "content is not a list")
            message = f"you requested PartialObjectMetadataList, but the requested object is not a list (*{self._go_type('')})"
            raise statuses.status(406, "NotAcceptable", message)
        meta = {name: value for name, value in obj["metadata"].items() if value != ""}
        items = [partial(item, output.version) for item in obj["items"]]
        return {"kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{output.version}", "metadata": meta, "items": items}

    def _go_type(self, suffix: str) -> str:
        """What the server's code calls the answer."""
        if self.kind.custom:
            return f"unstructured.Unstructured{suffix}"
        group = self.kind.group.partition(".")[0] if self.kind.group not in ("", "events.k8s.io") else "core"
        return f"{group}.{self.kind.kind}{suffix}"

    def streamed(self, obj: Json) -> bytes:
        """An object inside a watch event, in the form that was asked for."""
        output = self.output
        if output.transform == "Table":
            table = self.machine.render_table(self, [obj], None, output.version)
            if self._headed:
                table = {**table, "columnDefinitions": None}
            self._headed = True
            return gojson.encode(table)
        return gojson.encode(partial(obj, output.version))


class Output:
    """The outcome of content negotiation. `plain`: JSON as it is."""

    __slots__ = ("media_type", "plain", "transform", "version")

    def __init__(self, media_type: str = _JSON, transform: str = "", version: str = "v1") -> None:
        self.media_type = media_type
        self.transform = transform
        self.version = version
        self.plain = media_type == _JSON and not transform


_PLAIN = Output()
_negotiated: dict[str, Output] = {"": _PLAIN, "*/*": _PLAIN, _JSON: _PLAIN}


def _check_route(accept: str, listing: bool) -> None:
    """The routes of built-in kinds look at media types before anything else does, and know no `application/*`."""
    if {clause.partition(";")[0].strip() for clause in accept.split(",")} & {*_MEDIA_TYPES, "*/*"}:
        if len(_routed) < 200 and len(accept) < 1000:
            _routed.add(accept)
        return
    offered = (*_MEDIA_TYPES, f"{_JSON};stream=watch", f"{_MEDIA_TYPES[2]};stream=watch") if listing else _MEDIA_TYPES
    raise statuses.status(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}", {})


_routed = {"", "*/*", _JSON}


def negotiate(accept: str, *, custom: bool = True, listing: bool = False, tables: bool = True) -> Output:
    """The best offer that the Accept header takes, in its order of preference. `tables`: whether a Table can be had."""
    if not custom and accept not in _routed:
        _check_route(accept, listing)
    known = _negotiated.get(accept)
    if known is not None and (tables or known.transform != "Table"):
        return known
    clauses = [_clause(text) for text in accept.split(",") if text.strip()]
    for media_type, parameters in sorted(clauses, key=lambda clause: -_quality(clause[1])):
        output = _offer(media_type, parameters)
        if output is not None and (tables or output.transform != "Table"):
            if tables and len(_negotiated) < 200 and len(accept) < 1000:
                _negotiated[accept] = output
            return output
    raise statuses.not_acceptable(_MEDIA_TYPES)


def _clause(text: str) -> tuple[str, dict[str, str]]:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    return media_type.lower(), dict(part.partition("=")[::2] for part in parameters)


def _quality(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 1.0


def _offer(media_type: str, parameters: dict[str, str]) -> Output | None:
    if media_type in ("*/*", "application/*", _JSON):
        media_type = _JSON
    elif media_type != _YAML:
        return None
    wanted = parameters.get("as", "")
    if not wanted:
        return Output(media_type)
    if parameters.get("g") != "meta.k8s.io" or parameters.get("v") not in _META_VERSIONS or wanted not in ("Table", *_PARTIAL):
        return None
    return Output(media_type, wanted, parameters["v"])


def as_yaml(obj: Json) -> bytes:
    """YAML as the server writes it."""
    from . import goyaml

    return goyaml.write(obj)


def partial(obj: Json, version: str = "v1") -> Json:
    """The object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": obj.get("metadata", {})}


def object_key(kind: Kind, namespace: str, name: str) -> str:
    """The key of an object in its table: what etcd sorts by."""
    return f"{namespace}/{name}" if kind.namespaced else name


def view(entry: Entry, kind: Kind, version: Version) -> Json:
    """A stored object in a version, as the kind stands now."""
    if entry.kind is kind and version.name == kind.storage_version:
        return entry.obj
    found = entry.views.get(version)
    if found is None:
        found = kind.rules.read(entry.obj, version)
        if entry.caching:
            entry.views = {**entry.views, version: found}
    return found


def untyped(obj: Json) -> Json:
    """Items in lists of built-in kinds do not say what they are."""
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}


def item(entry: Entry, kind: Kind, version: Version) -> bytes:
    """The bytes of an object inside a list, made once."""
    if kind.custom:
        return encoded(entry, kind, version)
    data: bytes | None = entry.encoded.get((version, "item"))
    if data is None:
        data = gojson.encode(untyped(view(entry, kind, version)))
        if entry.caching:
            entry.encoded = {**entry.encoded, (version, "item"): data}
    return data


def encoded(entry: Entry, kind: Kind, version: Version) -> bytes:
    """The bytes of `view`, made once."""
    data: bytes | None = entry.encoded.get(version)
    if data is None:
        data = gojson.encode(view(entry, kind, version))
        if entry.caching:
            entry.encoded = {**entry.encoded, version: data}
    return data
