"""PATCH of an object or of its status: JSON patch, merge patch, strategic merge patch and server-side apply.

The patch is applied to the live object, which is how the server makes patches without a resourceVersion safe from 409s: with
no second writer inside one call, once is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import fielderrors, gojson, gotext, jsonpatch, mergepatch
from ...objects.apply.managed import NOBODY
from ...objects.tree import ABSENT
from ...wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from .. import metadata, options, ownership, statuses
from ..kinds import DecodingRefused
from . import writing
from .bodies import from_yaml, not_an_object, wrong_type

if TYPE_CHECKING:
    from ...objects.apply.managed import Managed
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..options import Options
    from ..store import Entry

CUSTOM_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


def handle(call: Call) -> Answer:
    """Applies the patch and stores what comes out."""
    media_type = _media_type(call)
    if not call.route.name:
        raise statuses.bad_request("name must be provided")
    _ = call.output
    opts = options.writing(call.request, "PatchOptions")
    entry = call.table.entries.get(call.key)
    if media_type == APPLY_PATCH:
        return _applied(call, entry, opts)
    if entry is None:
        raise call.not_found()
    live = call.view(entry)
    new, managed = _patched(call, entry, live, media_type, opts)
    return call.entry_answer(200, writing.replaced(call, entry, live, new, managed, opts, call.route.subresource))


def _media_type(call: Call) -> str:
    media_type = call.request.content_type.partition(";")[0]
    if call.kind.custom:
        if media_type not in CUSTOM_TYPES:
            raise statuses.unsupported_media_type(CUSTOM_TYPES)
    elif media_type not in (*CUSTOM_TYPES, STRATEGIC_MERGE_PATCH):
        raise statuses.status(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return media_type


def _patched(call: Call, entry: Entry, live: Json, media_type: str, opts: Options) -> tuple[Json, Managed]:
    if media_type == JSON_PATCH:
        tree, complaints = _json_patched(call, live, opts)
    elif media_type == MERGE_PATCH:
        tree, complaints = _merge_patched(call, live, opts)
    else:
        tree, complaints = _strategic_patched(call, live, opts)
    shown = None if media_type != STRATEGIC_MERGE_PATCH else _go_text(gojson.decode(call.request.body) or {})
    new = _decoded(call, tree, live, complaints, opts, shown)
    subresource = call.route.subresource
    new, managed = ownership.updated(call, opts, live, ownership.of(entry), new, subresource)
    return _checked(call, new), managed


def _checked(call: Call, new: Json) -> Json:
    new = metadata.in_namespace(new, call.route.namespace)
    metadata.check_name(new, call.route.name)
    return metadata.without_duplicate_owners(new, call.warn, late=True)


def _json_patched(call: Call, live: Json, opts: Options) -> tuple[Json, list[str]]:
    try:
        patch = jsonpatch.parse(call.request.body, strict=opts.field_validation != "Ignore")
        return jsonpatch.apply(patch, live), list(patch.strict_errors)
    except jsonpatch.PatchError as error:
        if error.code == 413:
            raise statuses.patch_too_large(error.message) from None
        if error.code == 422:
            raise statuses.failed_test() from None
        if error.code == 400:
            raise statuses.bad_request(error.message) from None
        raise statuses.internal_error(error.message) from None


def _merge_body(call: Call, opts: Options) -> tuple[Json, list[str]]:
    """The body of a merge patch, and its duplicate fields."""
    body = call.request.body
    strict = opts.field_validation != "Ignore"
    try:
        patch = gojson.decode(body)
    except gojson.DecodeError as error:
        raise statuses.bad_request(f"error decoding patch: {error.message}" if strict else "Invalid JSON Patch") from None
    if patch is None or (not strict and not isinstance(patch, (dict, list))):
        raise statuses.bad_request("Invalid JSON Patch")
    if strict and not isinstance(patch, dict):
        found = _GO_NAMES[type(patch)]
        text = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(f"error decoding patch: {text}")
    return patch, (gojson.duplicates(body, patch) if strict else [])


def _merge_patched(call: Call, live: Json, opts: Options) -> tuple[Json, list[str]]:
    patch, doubled = _merge_body(call, opts)
    return (mergepatch.apply(live, patch) if isinstance(patch, dict) else patch), doubled


def _strategic_patched(call: Call, live: Json, opts: Options) -> tuple[Json, list[str]]:
    from ...objects import strategic

    body = call.request.body
    try:
        patch = gojson.decode(body)
    except gojson.DecodeError as error:
        raise statuses.bad_request(error.message) from None
    if patch is None:
        patch = {}
    if not isinstance(patch, dict):
        found = _GO_NAMES[type(patch)]
        raise statuses.bad_request(f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    doubled = gojson.duplicates(body, patch)
    try:
        return strategic.apply(live, patch, call.version.schema), ([] if opts.field_validation == "Ignore" else doubled)
    except strategic.PatchError as error:
        code, message = getattr(error, "code", 400), getattr(error, "message", str(error))
        if code == 422:
            raise statuses.unprocessable() from None
        raise (statuses.bad_request(message) if code == 400 else statuses.status(code, "", message)) from None


def _go_text(tree: Json) -> str:
    """A tree as Go's %+v prints a map: what refusals of strategic merge patches quote."""
    if isinstance(tree, dict):
        return f"map[{' '.join(f'{name}:{_go_text(tree[name])}' for name in sorted(tree))}]"
    if isinstance(tree, list):
        return f"[{' '.join(map(_go_text, tree))}]"
    if tree is None:
        return "<nil>"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    return tree if isinstance(tree, str) else gotext.number(tree)


def _decoded(call: Call, tree: Json, live: Json, complaints: list[str], opts: Options, shown: str | None = None) -> Json:
    """The patched tree as the kind holds it; what it shares with the live object was decoded before."""
    kind = call.kind
    if tree is live and not complaints:
        return tree
    if tree is not None and not isinstance(tree, dict):
        raise _refused(tree, not_an_object(tree))
    tree = tree or {}
    if kind.custom and not tree.get("kind"):
        raise _refused(tree, f"Object 'Kind' is missing in '{gojson.encode(tree).decode()}'")
    if not isinstance(tree.get("apiVersion", ""), str) or not isinstance(tree.get("kind", ""), str):
        name = "apiVersion" if not isinstance(tree.get("apiVersion", ""), str) else "kind"
        found = "object" if isinstance(tree[name], dict) else _GO_NAMES.get(type(tree[name]), "null")
        text = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
        raise _refused(tree, f"couldn't get version/kind; json parse error: {text}")
    if not kind.custom:
        tree = _retyped(call, tree, strategic=shown is not None)
    try:
        new, unknown = kind.rules.decode(tree, call.version, live)
    except DecodingRefused as error:
        raise _refused(tree, str(error), shown) from None
    if opts.field_validation != "Ignore":
        complaints = complaints + [f"unknown field {gotext.quoted(path)}" for path in unknown]
        if complaints and opts.field_validation == "Strict":
            raise _refused(tree, f"strict decoding error: {', '.join(complaints)}", shown)
        for text in complaints:
            call.warn(text)
    return kind.rules.redefault(new, live)


def _retyped(call: Call, tree: Json, *, strategic: bool) -> Json:
    """The tree with the type of the kind: a built-in kind's may be left out, and a strategic patch cannot change it."""
    api_version, kind = tree.get("apiVersion") or call.api_version, tree.get("kind") or call.kind.kind
    if (api_version, kind) == (tree.get("apiVersion"), tree.get("kind")) == (call.api_version, call.kind.kind):
        return tree
    if not strategic and (api_version, kind) != (call.api_version, call.kind.kind):
        raise _refused(tree, wrong_type(call, api_version, kind))
    return {**tree, "apiVersion": call.api_version, "kind": call.kind.kind}


def _refused(tree: Json, error: str, shown: str | None = None) -> statuses.Refusal:
    value = gojson.encode(tree).decode() if shown is None else shown
    return statuses.invalid("", "", "", [fielderrors.invalid("patch", value, error)])


def _applied(call: Call, entry: Entry | None, opts: Options) -> Answer:
    """Server-side apply: creates where there is nothing, except through a subresource."""
    if entry is None and call.route.subresource:
        raise call.not_found()
    patch = _apply_body(call, opts)
    live = call.view(entry) if entry is not None else ABSENT
    new, managed = ownership.applied(call, opts, live, ownership.of(entry) if entry else NOBODY, patch)
    new = _settled(call, new, live)
    _strict_yaml(call, opts)
    if entry is None:
        uid = metadata.of(new).get("uid")
        if uid:
            raise call.conflict(f"uid mismatch: the provided object specified uid {uid}, and no existing object was found")
        new = _checked(call, new)
        writing.admitted(call, call.route.name)
        return call.entry_answer(201, writing.created(call, new, managed, opts))
    new = _checked(call, new)
    return call.entry_answer(200, writing.replaced(call, entry, live, new, managed, opts, call.route.subresource))


def _settled(call: Call, new: Json, live: Json) -> Json:
    """What an apply made, as the kind holds it."""
    rules = call.kind.rules
    if new is live:
        return new
    try:
        decoded, _ = rules.decode(new, call.version, live)
    except DecodingRefused as error:
        raise statuses.status(500, "", str(error)) from None
    return rules.redefault(decoded, live)


def _apply_body(call: Call, opts: Options) -> Json:
    body = call.request.body
    try:
        tree = gojson.decode(body) if body[:1] == b"{" else from_yaml(body)
    except gojson.DecodeError:
        tree = _yaml(body)
    except ValueError as error:
        raise statuses.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if tree is None:
        tree = {}
    if not isinstance(tree, dict):
        found = _GO_NAMES[type(tree)]
        text = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}")
    del opts
    return tree


def _yaml(body: bytes) -> Json:
    try:
        return from_yaml(body)
    except ValueError as error:
        raise statuses.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None


def _strict_yaml(call: Call, opts: Options) -> None:
    """Keys that stand twice in the applied body: warned of, or refused."""
    if opts.field_validation == "Ignore":
        return
    doubled = gojson.duplicates(call.request.body) if call.request.body[:1] == b"{" else []
    texts = [f'line 1: key "{_last(text)}" already set in map' for text in doubled]
    if texts and opts.field_validation == "Strict":
        listed = "\n  ".join(texts)
        raise statuses.bad_request(f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {listed}")
    for text in texts:
        call.warn(text)



def _last(text: str) -> str:
    """The member that a complaint about a duplicate names."""
    return text.rpartition(' "')[2].rstrip('"').rpartition(".")[2]
