"""Request bodies: media types, decoding, strict decoding, and the texts of everything that can go wrong there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import gojson, gotext
from .. import goyaml, statuses
from ..kinds import DecodingRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...objects.tree import Json
    from ..call import Call
    from ..options import Options

MEDIA_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_HEADER = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


def decoded(call: Call, options: Options) -> Json:
    """The object that a create or update sends, as the kind holds it. Unknown and duplicate fields are warned of or refused."""
    body = call.request.body
    media_type = media(call)
    tree, complaints = _read(call, body, media_type)
    if not isinstance(tree, dict):
        tree = {}
    tree = _typed(call, tree, body, lenient=options.field_validation == "Ignore")
    if options.field_validation == "Ignore":
        complaints = []
    try:
        obj, unknown = call.kind.rules.decode(tree, call.version)
    except DecodingRefused as error:
        raise _cannot_handle(call, tree, str(error)) from None
    if options.field_validation != "Ignore":
        if complaints and unknown and not call.kind.custom and media_type == "application/json":
            complaints = _in_order_of_text(body, unknown)
        else:
            complaints += [f"unknown field {gotext.quoted(path)}" for path in unknown]
        if complaints and options.field_validation == "Strict":
            raise _cannot_handle(call, tree, f"strict decoding error: {', '.join(complaints)}")
        for text in (line for complaint in complaints for line in warned(complaint)):
            call.warn(text)
    if call.kind.custom and obj.get("apiVersion") != call.api_version:
        raise _other_version(call, obj.get("apiVersion") or "")
    return call.kind.rules.default(obj)


def media(call: Call) -> str:
    """The media type of the body: JSON unless it says otherwise."""
    media_type = call.request.content_type.partition(";")[0].strip().lower()
    if media_type in ("", "application/json"):
        return "application/json"
    if media_type != "application/yaml":
        raise statuses.unsupported_media_type(MEDIA_TYPES, media_type)
    return media_type


def not_an_object(tree: Json) -> str:
    """The decoder's complaint about a value that is no object."""
    return f"couldn't get version/kind; json parse error: json: cannot unmarshal {_GO_NAMES[type(tree)]} into Go value of type {_HEADER}"


def summary(body: bytes) -> str:
    """The beginning of a body, as errors show it."""
    if not body:
        return "<empty>"
    cut = body[:30]
    shown = cut.decode(errors="replace") if body[:1] == b"{" else cut.hex()
    return f"{shown} ..." if len(body) > 30 else shown


def _read(call: Call, body: bytes, media_type: str) -> tuple[Json, list[str]]:
    """The tree that the body holds, and what a strict reader has to say about members that stand twice."""
    if media_type == "application/yaml":
        try:
            document = goyaml.read(body)
        except goyaml.YamlError as error:
            raise _unrecognized(call, str(error), body) from None
        tree = gojson.decode(gojson.encode(document.tree))  # in the order of JSON, which is that of complaints
        complaints = [document.strict_error] if document.doubled else []
    else:
        try:
            tree = gojson.decode(body)
        except gojson.DecodeError as error:
            raise _unrecognized(call, f"couldn't get version/kind; json parse error: {error.message}", body) from None
        complaints = None
    if tree is not None and not isinstance(tree, dict):
        raise _unrecognized(call, not_an_object(tree), body)
    return tree, gojson.duplicates(body, tree) if complaints is None else complaints


def _in_order_of_text(body: bytes, unknown: list[str]) -> list[str]:
    """Complaints about unknown and duplicate fields of a built-in kind, which is decoded in one go."""
    return list(dict.fromkeys(_strange(gojson.decode_pairs(body), "", frozenset(unknown))))[: gojson.MOST_STRICT_ERRORS]


def _strange(tree: Json, at: str, unknown: frozenset[str]) -> Iterator[str]:
    if isinstance(tree, gojson.Pairs):
        seen: set[str] = set()
        for name, member in tree:
            path = f"{at}.{name}" if at else name
            if path in unknown:
                yield f"unknown field {gotext.quoted(path)}"
                continue
            if name in seen:
                yield f"duplicate field {gotext.quoted(path)}"
            seen.add(name)
            yield from _strange(member, path, unknown)
    elif isinstance(tree, list):
        for index, entry in enumerate(tree):
            yield from _strange(entry, f"{at}[{index}]", unknown)


def warned(complaint: str) -> list[str]:
    """A strict reader's complaint as warnings: YAML's comes as one text of several lines."""
    head, _, lines = complaint.partition("\n  ")
    return lines.split("\n  ") if head == "yaml: unmarshal errors:" else [complaint]


def _typed(call: Call, tree: Json, body: bytes, *, lenient: bool = False) -> Json:
    """The tree with apiVersion and kind, which a built-in kind may leave out and a custom one may not."""
    kind, version = tree.get("kind"), tree.get("apiVersion")
    for name, value in (("kind", kind), ("apiVersion", version)):
        if value is not None and not isinstance(value, str):
            found = "object" if isinstance(value, dict) else _GO_NAMES[type(value)]
            text = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
            raise _unrecognized(call, f"couldn't get version/kind; json parse error: {text}", body)
    if call.kind.custom:
        if not kind:
            text = f"Object 'Kind' is missing in '{body.decode(errors='replace')}'"
            if lenient:  # the decoder that is not strict knows which kind was expected
                version = gotext.quoted(call.version.name)
                raise statuses.bad_request(f"{call.kind.kind} in version {version} cannot be handled as a {call.kind.kind}: {text}")
            raise _unrecognized(call, text, body)
        if version is None and "apiVersion" in tree:
            raise _cannot_handle(call, tree, ".apiVersion accessor error: <nil> is of the type <nil>, expected string")
        return tree
    if not version or not kind:
        tree = {**tree, "apiVersion": version or call.api_version, "kind": kind or call.kind.kind}
    if (tree["apiVersion"], tree["kind"]) != (call.api_version, call.kind.kind):
        raise _other_type(call, tree["apiVersion"], tree["kind"])
    return tree


def _other_version(call: Call, version: str) -> statuses.Refusal:
    text = f"the API version in the data ({version}) does not match the expected API version ({call.api_version})"
    return statuses.bad_request(text)


def _other_type(call: Call, api_version: str, kind: str) -> statuses.Refusal:
    group, _, version = api_version.rpartition("/")
    if kind == call.kind.kind and group == call.kind.group and version in call.kind.versions:
        return _other_version(call, api_version)
    text = wrong_type(call, api_version, kind)
    return statuses.bad_request(f"{kind} in version {gotext.quoted(version)} cannot be handled as a {call.kind.kind}: {text}")


def wrong_type(call: Call, api_version: str, kind: str) -> str:
    """The decoder's complaint about a type that is not the one of a built-in kind."""
    group, _, version = api_version.rpartition("/")
    served = [known for known in call.machine.kinds.values() if not known.custom and known.kind == kind and known.group == group]
    if not any(version in known.versions for known in served):
        return f'no kind {gotext.quoted(kind)} is registered for version {gotext.quoted(api_version)} in scheme "pkg/runtime/scheme.go:111"'
    mine = call.kind.group.partition(".")[0] or "core"
    return f"converting ({version}.{kind}) to ({mine}.{call.kind.kind}): unknown conversion"


def _unrecognized(call: Call, error: str, body: bytes) -> statuses.Refusal:
    text = f"the object provided is unrecognized (must be of type {call.kind.kind}): {error} ({summary(body)})"
    return statuses.bad_request(text)


def _cannot_handle(call: Call, tree: Json, error: str) -> statuses.Refusal:
    version = gotext.quoted((tree.get("apiVersion") or "").rpartition("/")[2])
    return statuses.bad_request(f"{tree['kind']} in version {version} cannot be handled as a {call.kind.kind}: {error}")
