"""The scale subresource: autoscaling/v1 Scale as a view of two numbers and a selector."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...objects import fielderrors, gojson, gotext
from ...objects.apply import operations
from ...objects.apply.managed import Entry, Managed, Owner
from ...objects.fieldset import FieldSet
from ...objects.schema.model import Schema
from ...objects.tree import ABSENT, lookup, replaced
from ...wire import APPLY_PATCH, JSON_PATCH
from .. import metadata, options, ownership, statuses
from ..builtin import gotypes
from ..kinds import DecodingRefused
from . import writing
from .bodies import media, not_an_object, summary
from .get import find
from .patch import CUSTOM_TYPES, json_patched, merge_patched

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..kinds import ScalePaths, Version
    from ..options import Options
    from ..store import Entry as Stored


_SCALE = "autoscaling/v1"
#: What stands for replicas that an object does not have, while its Scale is patched.
_UNSET = -(2**31)
_IN_SCALE = FieldSet.of(("spec", "replicas"))
_SCHEMA = Schema(
    type="object",
    properties={
        "spec": Schema(type="object", properties={"replicas": Schema(type="integer")}),
        "status": Schema(type="object", properties={"replicas": Schema(type="integer"), "selector": Schema(type="string")}),
    },
)


def handle(call: Call) -> Answer:
    """GET, PUT and PATCH of a Scale."""
    _ = call.output
    if call.route.verb == "get":
        return call.answer(200, scale_of(call, call.view(find(call))))
    verb = "UpdateOptions" if call.route.verb == "update" else "PatchOptions"
    if call.route.verb == "patch":
        _check_patch_type(call)
    applying = call.route.verb == "patch" and call.request.content_type.startswith(APPLY_PATCH)
    opts = options.writing(call.request, verb)
    entry = call.table.entries.get(call.key)
    if entry is None:
        raise call.not_found()
    current = scale_of(call, call.view(entry), lenient=True)
    if call.kind.custom and lookup(call.view(entry), _steps(_paths(call).spec_replicas)) is ABSENT:
        current = {**current, "spec": {"replicas": _UNSET}}
    parent = ownership.of(entry)
    if applying:
        raise statuses.unsupported("server-side apply to the scale subresource")
    wanted = _put(call, opts) if call.route.verb == "update" else _patched(call, current, opts)
    scaled = _updated(call, opts, _seen(call, parent), scale_of(call, call.view(entry), lenient=True), wanted)
    metadata.check_name(wanted, call.route.name)
    metadata.in_namespace(wanted, call.route.namespace)
    managed, listed = _carried_back(call, parent, scaled)
    after = _written(call, entry, wanted, managed, listed, opts)
    return call.answer(200, scale_of(call, call.view(after), lenient=True))


def scale_of(call: Call, obj: Json, *, lenient: bool = False) -> Json:
    """The Scale that an object shows."""
    paths = _paths(call)
    meta = obj["metadata"]
    kept = {name: meta[name] for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if name in meta}
    replicas = lookup(obj, _steps(paths.spec_replicas))
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        if not lenient and call.kind.custom:
            raise statuses.internal_error(f'the spec replicas field "{paths.spec_replicas}" does not exist')
        replicas = 0
    found = lookup(obj, _steps(paths.status_replicas))
    status: Json = {"replicas": found if isinstance(found, int) else 0}
    selector = _selector(lookup(obj, _steps(paths.label_selector))) if paths.label_selector else ""
    if selector:
        status["selector"] = selector
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": kept, "spec": spec, "status": status}


def _selector(value: Json) -> str:
    """A label selector as text: it is text in custom kinds, a LabelSelector in built-in ones."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    terms = [(key, f"{key}={text}") for key, text in (value.get("matchLabels") or {}).items()]
    for term in value.get("matchExpressions") or ():
        key, values = term["key"], ",".join(sorted(term.get("values") or ()))
        shown = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
        terms.append((key, shown.get(term["operator"], key)))
    return ",".join(text for _, text in sorted(terms, key=lambda pair: pair[0]))


def _paths(call: Call) -> ScalePaths:
    paths = call.version.scale
    assert paths is not None
    return paths


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _put(call: Call, opts: Options) -> Json:
    media(call)
    body = call.request.body
    try:
        tree = gojson.decode(body)
    except gojson.DecodeError as error:
        raise _unrecognized(f"couldn't get version/kind; json parse error: {error.message}", body) from None
    if tree is not None and not isinstance(tree, dict):
        raise _unrecognized(not_an_object(tree), body)
    tree = {"apiVersion": _SCALE, "kind": "Scale", **(tree or {})}

    def refused(text: str) -> statuses.Refusal:
        if call.kind.custom:
            return statuses.bad_request('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
        return statuses.bad_request(f'Scale in version "v1" cannot be handled as a Scale: {text}')

    if not isinstance(tree["apiVersion"], str) or not isinstance(tree["kind"], str):
        raise refused("")
    if (tree["apiVersion"], tree["kind"]) != (_SCALE, "Scale"):
        given = tree["apiVersion"]
        raise statuses.bad_request(f"the API version in the data ({given}) does not match the expected API version ({_SCALE})")
    return _decoded(call, tree, gojson.duplicates(body, tree), opts, refused)


def _unrecognized(text: str, body: bytes) -> statuses.Refusal:
    return statuses.bad_request(f"the object provided is unrecognized (must be of type Scale): {text} ({summary(body)})")


@cache
def _go_type() -> gotypes.StructType:
    """Scale is no kind of its own, so its struct is put together here, of structs that kinds have."""

    def struct(name: str, **members: tuple[str, gotypes.Type, str]) -> gotypes.StructType:
        made = gotypes.StructType(f"autoscaling/v1.{name}", f"v1.{name}")
        for key, (omit, type_, place) in members.items():
            made.members[key] = member = gotypes.Member(key, omit, type_, place or key, name, ABSENT)
            if not omit:
                made.always.append(member)
        return made

    int32, string = gotypes.parse("int32"), gotypes.parse("string")
    spec = struct("ScaleSpec", replicas=("e", int32, ""))
    status = struct("ScaleStatus", replicas=("", int32, ""), selector=("e", string, ""))
    meta = gotypes.struct("meta/v1.ObjectMeta")
    return struct(
        "Scale", apiVersion=("e", string, ""), kind=("e", string, ""), metadata=("", meta, ""), spec=("", spec, ""), status=("", status, "")
    )


def _decoded(call: Call, tree: Json, complaints: list[str], opts: Options, refused: Callable[[str], statuses.Refusal]) -> Json:
    """The Scale through its Go type; unknown fields are warned of or refused."""
    try:
        scale, unknown = gotypes.decode(tree, _go_type())
    except DecodingRefused as error:
        raise refused(str(error)) from None
    if opts.field_validation != "Ignore":
        complaints = [*complaints, *(f"unknown field {gotext.quoted(path)}" for path in unknown)]
        if complaints and opts.field_validation == "Strict":
            raise refused(f"strict decoding error: {', '.join(complaints)}")
        for text in complaints:
            call.warn(text)
    return scale


def _check_patch_type(call: Call) -> None:
    media_type = call.request.content_type.partition(";")[0]
    if media_type not in CUSTOM_TYPES and call.kind.custom:
        raise statuses.unsupported_media_type(CUSTOM_TYPES)


def _patched(call: Call, current: Json, opts: Options) -> Json:
    if call.request.content_type.startswith(JSON_PATCH):
        tree, complaints = json_patched(call, current, opts)
    else:
        tree, complaints = merge_patched(call, current, opts)

    def refused(text: str) -> statuses.Refusal:
        return statuses.invalid("", "", "", [fielderrors.invalid("patch", gojson.encode(tree).decode(), text)])

    if not isinstance(tree, dict):
        raise refused(not_an_object(tree))
    return _decoded(call, tree, complaints, opts, refused)


def _written(call: Call, entry: Stored, wanted: Json, managed: Managed, listed: list[Json], opts: Options) -> Stored:
    """The object with the replicas that the Scale wants. No resourceVersion means the live one."""
    paths, live = _paths(call), call.view(entry)
    spec = wanted.get("spec") or {}
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else 0
    if not call.kind.custom and replicas is not None and replicas < 0:
        error = fielderrors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise statuses.invalid("autoscaling", "Scale", call.route.name, [error])
    if replicas == _UNSET:
        raise statuses.bad_request(f'the spec replicas field "{paths.spec_replicas}" cannot be empty')
    steps = _steps(paths.spec_replicas)
    new = replaced(live, steps, replicas or 0)
    if call.kind.custom and lookup(live, steps[:-1]) is ABSENT:
        new = call.kind.rules.default(new)  # an object came into being on the way, and every read shows its defaults
    version = metadata.of(wanted).get("resourceVersion")
    if version:
        new = metadata.with_metadata(new, resourceVersion=version)
    return writing.replaced(call, entry, live, metadata.with_metadata(new, managedFields=listed or None), managed, opts, "")


def _seen(call: Call, parent: Managed) -> Managed:
    """Who owns the replicas, as entries of the Scale."""
    replicas = _paths_by_version(call)
    return Managed(
        {
            one._replace(api_version=_SCALE if one.api_version else ""): held._replace(api_version=_SCALE, fields=_IN_SCALE)
            for one, held in parent.entries.items()
            if (path := replicas.get(held.api_version)) and held.fields.has(path)
        }
    )


def _updated(call: Call, opts: Options, seen: Managed, before: Json, after: Json) -> Managed:
    return operations.updated(
        before, after, seen, manager=ownership.manager(call, opts), api_version=_SCALE, subresource="scale",
        time=call.machine.now(), schema=_SCHEMA,
    )  # fmt: skip


def _carried_back(call: Call, parent: Managed, scaled: Managed) -> tuple[Managed, list[Json]]:
    """Who owns what of the object after a write to its Scale, and the list that says so.

    The server tells updaters of the Scale from those of the object by their apiVersion, which both lose on the way back: an
    updater whose replicas nobody changed stands in the list twice, and the next reader takes the entry that comes last.
    """
    replicas = _paths_by_version(call)
    left = dict(scaled.entries)
    kept = {}
    for one, held in parent.entries.items():
        if held.api_version not in replicas:
            continue
        path = replicas[held.api_version]
        if path and held.fields.has(path) and left.pop(one, None) is None:
            held = held._replace(fields=held.fields.difference(FieldSet.of(path)))
        if held.fields:
            kept[one] = held
    mine = replicas[call.api_version]
    twice: dict[Owner, Entry] = {}
    for one, held in left.items():
        if mine and held.fields.has(("spec", "replicas")):
            key = Owner(one.manager, one.operation, call.api_version if one.api_version else "", one.subresource)
            (twice if key in kept else kept)[key] = Entry(call.api_version, FieldSet.of(mine), None)
    after = Managed(kept)
    if not twice:
        return after, after.encode()
    return after, sorted([*after.encode(), *Managed(twice).encode()], key=_position)


def _position(entry: Json) -> tuple[str, str, str, str]:
    return entry["operation"], entry.get("time", ""), entry["manager"], entry["apiVersion"]


def _paths_by_version(call: Call) -> dict[str, tuple[str, ...]]:
    return {call.kind.api_version(version.name): _replicas(version) for version in call.kind.versions.values()}


def _replicas(version: Version) -> tuple[str, ...]:
    return tuple(_steps(version.scale.spec_replicas)) if version.scale is not None else ()



