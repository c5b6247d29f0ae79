"""Schemas of the built-in kinds for patches and ownership, built from the server's own OpenAPI when first asked for.

`data/openapi` holds the definitions without descriptions, references by bare name. Definitions refer to each other, and one to
itself, so a definition is registered before its members are built. `definition` also serves the OpenAPI documents.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ...objects.schema.model import Schema
from ...objects.tree import ABSENT, Json
from .gotypes import load

_BUILT: dict[str, Schema] = {}


def definition(name: str) -> Json:
    """One OpenAPI definition as the server publishes it, less its descriptions."""
    return _package(_file_of(name))[name]


def schema(name: str) -> Schema:
    """The schema of a definition such as `io.k8s.api.core.v1.Pod`."""
    known = _BUILT.get(name)
    if known is None:
        known = _BUILT[name] = Schema()
        _fill(known, definition(name))
    return known


def name_of(group: str, version: str, kind: str) -> str:
    """The definition that describes a kind."""
    if group == "apiextensions.k8s.io":
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}"
    package = {"": "core", "events.k8s.io": "events"}.get(group) or group.partition(".")[0]
    return f"io.k8s.api.{package}.{version}.{kind}"


@cache
def _package(name: str) -> dict[str, Any]:
    found: dict[str, Any] = load(f"openapi/{name}.json")["definitions"]
    return found


def _file_of(name: str) -> str:
    package = name.rpartition(".")[0].removeprefix("io.k8s.")
    return package.replace("apimachinery.pkg.", "").replace("apiextensions-apiserver.pkg.apis.", "")


def _build(source: Json) -> Schema:
    reference = source.get("$ref")
    if reference and set(source) <= {"$ref", "default"}:
        return schema(reference)  # a default beside a reference is the zero value: it decides nothing
    made = Schema()
    if reference:
        # List markers and patch strategies beside a reference belong to the member, not to the shared definition.
        _fill(made, {**definition(reference), **{key: value for key, value in source.items() if key != "$ref"}})
    else:
        _fill(made, source)
    return made


def _fill(made: Schema, source: Json) -> None:
    made.type = source.get("type", "")
    made.format = source.get("format", "")
    made.int_or_string = made.format == "int-or-string"
    made.required = tuple(source.get("required", ()))
    made.default = source.get("default", ABSENT)
    made.list_type = source.get("x-kubernetes-list-type", "")
    made.list_map_keys = tuple(source.get("x-kubernetes-list-map-keys", ()))
    made.map_type = source.get("x-kubernetes-map-type", "")
    made.patch_strategy = tuple(filter(None, source.get("x-kubernetes-patch-strategy", "").split(",")))
    made.patch_merge_key = source.get("x-kubernetes-patch-merge-key", "")
    made.enum = tuple(source.get("enum", ()))
    made.properties = {name: _build(member) for name, member in source.get("properties", {}).items()}
    if isinstance(source.get("items"), dict):
        made.items = _build(source["items"])
    if isinstance(source.get("additionalProperties"), dict):
        made.additional = _build(source["additionalProperties"])
    untyped = made.type == "object" and not made.properties and made.additional is None
    if untyped:
        made.map_type = "atomic"  # raw content is owned as one value
    made.preserve_unknown = untyped or (not made.type and not made.int_or_string)
