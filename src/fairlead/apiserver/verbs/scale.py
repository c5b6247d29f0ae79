"""The scale subresource: autoscaling/v1 Scale as a view of two numbers and a selector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import fielderrors, gojson, jsonpatch, mergepatch
from ...objects.apply import operations
from ...objects.apply.managed import Entry, Managed, Owner
from ...objects.fieldset import FieldSet
from ...objects.schema.model import Schema
from ...objects.tree import ABSENT, lookup, replaced
from ...wire import APPLY_PATCH, JSON_PATCH
from .. import metadata, options, ownership, statuses
from . import writing
from .bodies import media
from .get import find
from .patch import CUSTOM_TYPES

if TYPE_CHECKING:
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..kinds import ScalePaths, Version
    from ..options import Options
    from ..store import Entry as Stored


_SCALE = "autoscaling/v1"
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
    opts = options.writing(call.request, verb)
    entry = call.table.entries.get(call.key)
    if entry is None:
        raise call.not_found()
    current = scale_of(call, call.view(entry), lenient=True)
    wanted = _put(call) if call.route.verb == "update" else _patched(call, current)
    metadata.check_name(wanted, call.route.name)
    metadata.in_namespace(wanted, call.route.namespace)
    return call.answer(200, scale_of(call, call.view(_written(call, entry, wanted, opts)), lenient=True))


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


def _put(call: Call) -> Json:
    media(call)
    try:
        tree = gojson.decode(call.request.body)
    except gojson.DecodeError as error:
        text = f"couldn't get version/kind; json parse error: {error.message}"
        raise statuses.bad_request(f"the object provided is unrecognized (must be of type Scale): {text}") from None
    if not isinstance(tree, dict):
        tree = {}
    if tree.get("apiVersion", "autoscaling/v1") != "autoscaling/v1" or tree.get("kind", "Scale") != "Scale":
        given = tree.get("apiVersion", "")
        raise statuses.bad_request(f"the API version in the data ({given}) does not match the expected API version (autoscaling/v1)")
    return tree


def _check_patch_type(call: Call) -> None:
    media_type = call.request.content_type.partition(";")[0]
    if media_type == APPLY_PATCH:
        raise statuses.unsupported("server-side apply to the scale subresource")
    if media_type not in CUSTOM_TYPES and call.kind.custom:
        raise statuses.unsupported_media_type(CUSTOM_TYPES)


def _patched(call: Call, current: Json) -> Json:
    body = call.request.body
    try:
        if call.request.content_type.startswith(JSON_PATCH):
            return jsonpatch.apply(jsonpatch.parse(body), current)
        return mergepatch.apply(current, gojson.decode(body))
    except gojson.DecodeError as error:
        raise statuses.bad_request(f"error decoding patch: {error.message}") from None
    except jsonpatch.PatchError as error:
        raise (statuses.failed_test() if error.code == 422 else statuses.bad_request(error.message)) from None


def _written(call: Call, entry: Stored, wanted: Json, opts: Options) -> Stored:
    """The object with the replicas that the Scale wants. No resourceVersion means the live one."""
    paths, live = _paths(call), call.view(entry)
    spec = wanted.get("spec") or {}
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else 0
    if type(replicas) is not int and replicas is not None:
        found = {str: "string", bool: "bool", list: "array", dict: "object"}.get(type(replicas), "number")
        text = f"json: cannot unmarshal {found} into Go struct field ScaleSpec.spec.replicas of type int32"
        raise statuses.bad_request(f'Scale in version "v1" cannot be handled as a Scale: {text}')
    if not call.kind.custom and replicas is not None and replicas < 0:
        error = fielderrors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise statuses.invalid("autoscaling", "Scale", call.route.name, [error])
    steps = _steps(paths.spec_replicas)
    missing = lookup(live, steps) is ABSENT
    new = live if (missing and not replicas) else replaced(live, steps, replicas or 0)
    version = metadata.of(wanted).get("resourceVersion")
    if version:
        new = metadata.with_metadata(new, resourceVersion=version)
    managed = _owned(call, opts, ownership.of(entry), scale_of(call, live, lenient=True), wanted)
    return writing.replaced(call, entry, live, ownership.with_managed(new, managed), managed, opts, "")


def _owned(call: Call, opts: Options, parent: Managed, before: Json, after: Json) -> Managed:
    """managedFields of the object after a write to its Scale: who owned the replicas is worked out on the Scale and carried back."""
    replicas = {call.kind.api_version(version.name): _replicas(version) for version in call.kind.versions.values()}
    seen = {
        one: held._replace(api_version=_SCALE, fields=_IN_SCALE)
        for one, held in parent.entries.items()
        if (path := replicas.get(held.api_version)) and held.fields.has(path)
    }
    scaled = operations.updated(
        before, after, Managed(seen), manager=ownership.manager(call, opts), api_version=_SCALE, subresource="scale",
        time=call.machine.now(), schema=_SCHEMA,
    )  # fmt: skip
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
    for one, held in left.items():
        mine = replicas[call.api_version]
        if mine and held.fields.has(("spec", "replicas")):
            kept[Owner(one.manager, one.operation, call.api_version, one.subresource)] = Entry(call.api_version, FieldSet.of(mine), None)
    return Managed(kept)


def _replicas(version: Version) -> tuple[str, ...]:
    return tuple(_steps(version.scale.spec_replicas)) if version.scale is not None else ()



