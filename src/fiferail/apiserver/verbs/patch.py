"""PATCH of an object or of its status: JSON patch, merge patch, strategic merge patch and server-side apply.

The patch is applied to the live object, which is how the server makes patches without a resourceVersion safe from 409s: with
no second writer inside one call, once is enough.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...objects import fielderrors, gojson, gotext, jsonpatch, mergepatch, patchtext
from ...objects.apply.managed import NOBODY
from ...objects.tree import ABSENT
from ...wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from .. import goyaml, metadata, options, ownership, statuses
from ..kinds import DecodingRefused
from . import writing
from .bodies import not_an_object, wrong_type

if TYPE_CHECKING:
    from ...objects.apply.managed import Managed
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..options import Options
    from ..store import Entry

CUSTOM_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
#: Escapes, tabs and long keys, which YAML reads otherwise than JSON does, or not at all.
_YAML_DIFFERS = re.compile(rb'[\t\x7f]|\\[u/]|"[^"]{1000,}"\s*:')
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
        tree, complaints = json_patched(call, live, opts)
    elif media_type == MERGE_PATCH:
        tree, complaints = merge_patched(call, live, opts)
    else:
        tree, complaints = _strategic_patched(call, live, opts)
    new = _decoded(call, tree, live, complaints, opts, _Quoted(call, live, media_type), known=_defaulted(entry, live))
    subresource = call.route.subresource
    new, managed = ownership.updated(call, opts, live, ownership.of(entry), new, subresource)
    return _checked(call, new), managed


class _Quoted:
    """What a refusal of the patched object quotes: the text that the server's patch library leaves, or the strategic patch itself."""

    def __init__(self, call: Call, live: Json, media_type: str) -> None:
        self._body = call.request.body
        self._live = live
        self._media_type = media_type

    @property
    def strategic(self) -> bool:
        """Whether the patch is a strategic one, which is not applied to text."""
        return self._media_type == STRATEGIC_MERGE_PATCH

    @property
    def text(self) -> str:
        """The quoted text. Slow: made when it is shown."""
        if self.strategic:
            from ...objects import strategic

            return gotext.plain(strategic.spent(gojson.decode(self._body) or {}, self._live))
        after = patchtext.after_json_patch if self._media_type == JSON_PATCH else patchtext.after_merge_patch
        return after(self._body, self._live).decode(errors="replace")

    def refused(self, error: str) -> statuses.Refusal:
        """A 422 that quotes it."""
        return statuses.invalid("", "", "", [fielderrors.invalid("patch", self.text, error)])


def _checked(call: Call, new: Json) -> Json:
    new = metadata.in_namespace(new, call.route.namespace)
    metadata.check_name(new, call.route.name)
    return metadata.without_duplicate_owners(new, call.warn, late=True)


def json_patched(call: Call, live: Json, opts: Options) -> tuple[Json, list[str]]:
    """The live object after the JSON patch in the body, and what is wrong with the patch without stopping it."""
    try:
        strict = opts.field_validation != "Ignore"
        patch = jsonpatch.parse(call.request.body, strict=strict)
        tree, complaints = jsonpatch.apply(patch, live), list(patch.strict_errors)
        if complaints and gojson.duplicates(call.request.body):
            complaints += gojson.duplicates(patchtext.after_json_patch(call.request.body, live))
        return tree, complaints
    except jsonpatch.PatchError as error:
        if error.code == 413:
            raise statuses.patch_too_large(error.message) from None
        if error.code == 422:
            raise statuses.failed_test() from None
        if error.code == 400:
            raise statuses.bad_request(error.message) from None
        raise statuses.internal_error(error.message) from None


def merge_patched(call: Call, live: Json, opts: Options) -> tuple[Json, list[str]]:
    """The live object after the merge patch in the body, and the patch's duplicate fields."""
    try:
        patch = mergepatch.parse(call.request.body, strict=opts.field_validation != "Ignore")
    except mergepatch.PatchError as error:
        raise statuses.bad_request(error.message) from None
    return mergepatch.apply(live, patch.value), list(patch.strict_errors)


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


def _defaulted(entry: Entry, live: Json) -> Json:
    """The live object if it has the defaults of the version asked for: one that was converted has those of the stored one."""
    return live if live is entry.obj else ABSENT


def _decoded(
    call: Call, tree: Json, live: Json, complaints: list[str], opts: Options, quoted: _Quoted, *, known: Json
) -> Json:
    """The patched tree as the kind holds it; what it shares with the live object was decoded before."""
    kind = call.kind
    if tree is known and not complaints:
        return tree
    if tree is not None and not isinstance(tree, dict):
        raise quoted.refused(not_an_object(tree))
    tree = tree or {}
    _check_type_members(tree, quoted)
    if kind.custom:
        if not tree.get("kind"):
            raise quoted.refused(f"Object 'Kind' is missing in '{quoted.text}'")
    else:
        tree = _retyped(call, tree, quoted)
    try:
        new, unknown = kind.rules.decode(tree, call.version, live)
    except DecodingRefused as error:
        raise quoted.refused(_misfit(call, tree, quoted) or str(error)) from None
    if quoted.strategic:
        unknown = sorted(unknown, key=_as_steps)
    if opts.field_validation != "Ignore":
        _complain(call, [*complaints, *(f"unknown field {gotext.quoted(path)}" for path in unknown)], opts, quoted)
    if kind.custom and not new.get("apiVersion"):
        raise statuses.internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    return kind.rules.redefault(new, known)


def _as_steps(path: str) -> list[tuple[int, str]]:
    """A path to sort by: its names in the order of the alphabet, its indices in that of numbers."""
    return [(int(step[:-1]), "") if step.endswith("]") else (-1, step) for step in re.split(r"\.|\[", path)]


def _misfit(call: Call, tree: Json, quoted: _Quoted) -> str:
    """Why the patched object of a built-in kind does not fit, as the server finds it: it converts trees, and reads text in its order."""
    if call.kind.custom:
        return ""
    if quoted.strategic:
        return call.kind.rules.misfit(tree)
    try:
        call.kind.rules.decode(gojson.decode(quoted.text.encode()), call.version)
    except DecodingRefused as error:
        return str(error)
    return ""


def _check_type_members(tree: Json, quoted: _Quoted) -> None:
    for name in ("apiVersion", "kind"):
        value = tree.get(name)
        if value is not None and not isinstance(value, str):
            found = "object" if isinstance(value, dict) else _GO_NAMES[type(value)]
            text = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
            raise quoted.refused(f"couldn't get version/kind; json parse error: {text}")


def _complain(call: Call, complaints: list[str], opts: Options, quoted: _Quoted) -> None:
    """Warns of what strict decoding refuses, or refuses it."""
    if complaints and opts.field_validation == "Strict":
        raise quoted.refused(f"strict decoding error: {', '.join(complaints)}")
    for text in complaints:
        call.warn(text)


def _retyped(call: Call, tree: Json, quoted: _Quoted) -> Json:
    """The tree with the type of the kind: a built-in kind's may be left out, and a strategic patch cannot change it."""
    api_version, kind = tree.get("apiVersion") or call.api_version, tree.get("kind") or call.kind.kind
    if (api_version, kind) == (tree.get("apiVersion"), tree.get("kind")) == (call.api_version, call.kind.kind):
        return tree
    if not quoted.strategic and (api_version, kind) != (call.api_version, call.kind.kind):
        raise quoted.refused(wrong_type(call, api_version, kind))
    return {**tree, "apiVersion": call.api_version, "kind": call.kind.kind}


def _applied(call: Call, entry: Entry | None, opts: Options) -> Answer:
    """Server-side apply: creates where there is nothing, except through a subresource."""
    if entry is None and call.route.subresource:
        raise call.not_found()
    document = _apply_body(call)
    live = call.view(entry) if entry is not None else ABSENT
    new, managed = ownership.applied(call, opts, live, ownership.of(entry) if entry else NOBODY, document.tree)
    if live is ABSENT or not _untouched(new, live):
        new = _settled(call, new, _defaulted(entry, live) if entry is not None else ABSENT)
    _strict_yaml(call, document, opts)
    if entry is None:
        uid = metadata.of(new).get("uid")
        if uid:
            raise call.conflict(f"uid mismatch: the provided object specified uid {uid}, and no existing object was found")
        new = _checked(call, new)
        writing.admitted(call, call.route.name)
        return call.entry_answer(201, writing.created(call, new, managed, opts))
    new = _checked(call, new)
    return call.entry_answer(200, writing.replaced(call, entry, live, new, managed, opts, call.route.subresource))


def _untouched(new: Json, live: Json) -> bool:
    """Whether an apply changed nothing but managedFields: then not even defaults are filled in, which a converted object may lack."""
    if len(new) != len(live) or any(value is not live.get(name, ABSENT) for name, value in new.items() if name != "metadata"):
        return False
    mine, held = metadata.of(new), metadata.of(live)
    return mine is held or all(mine.get(name) == held.get(name) for name in (mine.keys() | held.keys()) - {"managedFields"})


def _settled(call: Call, new: Json, live: Json) -> Json:
    """What an apply made, as the kind holds it."""
    rules = call.kind.rules
    if new is live:
        return new
    if call.kind.custom:
        return rules.redefault(new, live)
    try:
        decoded, _ = rules.decode(new, call.version, live)
    except DecodingRefused as error:
        group, slash, version = call.api_version.rpartition("/")
        shown = f"{group}{slash or '/'}{version}, Kind={call.kind.kind}"
        text = f"failed to convert new object (/{call.route.name}; {shown}) to proper version: "
        raise statuses.status(500, "", f"{text}unable to convert unstructured object to {shown}: {rules.misfit(new) or error}") from None
    return rules.redefault(decoded, live)


def _apply_body(call: Call) -> goyaml.Document:
    """The configuration that an apply sends. It is YAML, whatever it looks like."""
    body = call.request.body
    try:
        document = _plain_json(body) or goyaml.read(body)
    except goyaml.YamlError as error:
        raise statuses.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    tree = {} if document.tree is None else document.tree
    if not isinstance(tree, dict):
        found = _GO_NAMES[type(tree)]
        text = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}")
    return goyaml.Document(gojson.normalised(tree), document.doubled)  # YAML goes through JSON text, in which 1.0 is 1


def _plain_json(body: bytes) -> goyaml.Document | None:
    """A body that JSON and YAML read alike, which is quicker read as JSON; None where the two may differ."""
    if body[:1] != b"{" or not body.isascii() or _YAML_DIFFERS.search(body):
        return None
    try:
        tree = gojson.decode(body)
        return None if gojson.duplicates(body, tree) else goyaml.Document(tree, [])
    except gojson.DecodeError:
        return None


def _strict_yaml(call: Call, document: goyaml.Document, opts: Options) -> None:
    """Keys that stand twice in the applied body: warned of, or refused."""
    if opts.field_validation == "Strict" and document.doubled:
        raise statuses.bad_request(f"error strict decoding YAML: error converting YAML to JSON: {document.strict_error}")
    if opts.field_validation != "Ignore":
        for text in document.doubled:
            call.warn(text)
