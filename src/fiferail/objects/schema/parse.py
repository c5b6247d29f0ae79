"""Reads schemas: a CRD's openAPIV3Schema, and the OpenAPI v3 components of built-in kinds.

Called when a CRD is served and when the data of a built-in kind is loaded. It takes what is there and judges nothing:
`schema.crd` says beforehand whether a CRD's schema is acceptable. References exist only in OpenAPI components; whoever reads
those passes a resolver, most easily a `Components`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from ..tree import ABSENT, Json
from .model import Rule, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Gives the schema that a `$ref` names.
Resolver: TypeAlias = "Callable[[str], Schema]"

_PLAIN: Final = {
    "type": "type",
    "nullable": "nullable",
    "format": "format",
    "pattern": "pattern",
    "minimum": "minimum",
    "exclusiveMinimum": "exclusive_minimum",
    "maximum": "maximum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-merge-key": "patch_merge_key",
}


def parse_schema(source: Json, resolve: Resolver | None = None) -> Schema:
    """The schema that this JSON describes. Without a resolver a `$ref` is a schema of any value."""
    target = _reference(source)
    if target is not None and resolve is not None:
        return _beside(resolve(target), source)
    node = Schema(source=source)
    _fill(node, source, resolve)
    return node


class Components:
    """The schemas of one OpenAPI document by their references, each built once, on demand; they may refer to themselves."""

    def __init__(self, sources: Mapping[str, Json]) -> None:
        self._sources = sources
        self._built: dict[str, Schema] = {}

    def schema(self, reference: str) -> Schema:
        """The schema of a component, by its name or by `#/components/schemas/<name>`."""
        name = reference.rpartition("/")[2]
        if name not in self._built:
            source = self._sources.get(name, {})
            # Registered before it is filled, so that a component which refers to itself finds itself.
            node = self._built[name] = Schema(source=source)
            _fill(node, source, self.schema)
        return self._built[name]


def _reference(source: Json) -> str | None:
    if not isinstance(source, dict):
        return None
    if "$ref" in source:
        return str(source["$ref"])
    if len(source.get("allOf", ())) == 1 and "$ref" in source["allOf"][0] and not source.get("properties"):
        return str(source["allOf"][0]["$ref"])
    return None


def _beside(target: Schema, source: Json) -> Schema:
    """The referenced schema with what the reference adds. `default: {}` stands beside every reference to a struct and says nothing."""
    changes: dict[str, Any] = {}
    if source.get("default") not in (None, {}):
        changes["default"] = source["default"]
    for name, field in _PLAIN.items():
        if name in source and name != "type":
            changes[field] = source[name]
    if "x-kubernetes-patch-strategy" in source:
        changes["patch_strategy"] = tuple(source["x-kubernetes-patch-strategy"].split(","))
    return msgspec.structs.replace(target, **changes) if changes else target


def _fill(node: Schema, source: Json, resolve: Resolver | None) -> None:
    if not isinstance(source, dict):
        return
    for name, field in _PLAIN.items():
        if source.get(name) is not None:
            setattr(node, field, source[name])
    if source.get("default") is not None:
        node.default = source["default"]
    node.required = tuple(source.get("required") or ())
    node.enum = tuple(source.get("enum") or ())
    node.list_map_keys = tuple(source.get("x-kubernetes-list-map-keys") or ())
    node.patch_strategy = tuple(filter(None, (source.get("x-kubernetes-patch-strategy") or "").split(",")))
    node.rules = tuple(map(_rule, source.get("x-kubernetes-validations") or ()))
    _fill_children(node, source, resolve)


def _fill_children(node: Schema, source: dict[str, Json], resolve: Resolver | None) -> None:
    node.properties = {name: parse_schema(member, resolve) for name, member in (source.get("properties") or {}).items()}
    if source.get("items") is not None:
        node.items = parse_schema(source["items"], resolve)
    additional = source.get("additionalProperties", ABSENT)
    if additional is True:
        node.additional_any = True
        node.additional = Schema(preserve_unknown=True)
    elif isinstance(additional, dict):
        node.additional = parse_schema(additional, resolve)
    node.all_of = tuple(parse_schema(part, resolve) for part in source.get("allOf") or ())
    node.any_of = tuple(parse_schema(part, resolve) for part in source.get("anyOf") or ())
    node.one_of = tuple(parse_schema(part, resolve) for part in source.get("oneOf") or ())
    if source.get("not") is not None:
        node.not_ = parse_schema(source["not"], resolve)


def _rule(source: Json) -> Rule:
    return Rule(
        rule=source.get("rule", ""),
        message=source.get("message") or "",
        message_expression=source.get("messageExpression") or "",
        reason=source.get("reason") or "FieldValueInvalid",
        field_path=source.get("fieldPath") or "",
        optional_old_self=source.get("optionalOldSelf"),
    )
