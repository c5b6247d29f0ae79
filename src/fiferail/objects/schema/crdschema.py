"""What the server says of one openAPIV3Schema inside a CRD: unsupported keywords, list and map types, defaults, rules.

Called by `crd`, with the schema as JSON. The structural checks are next door; here stands what apiextensions'
ValidateCustomResourceDefinitionOpenAPISchema and ValidateDefaults add.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .. import fielderrors
from ..fielderrors import FieldError, forbidden, invalid, not_supported, required
from ..tree import ABSENT, same
from . import cel, fieldpaths, internal, objectmeta, structural, validate
from .coerce import DecodeRefused, coerce, embedded_flaws
from .model import Schema
from .parse import parse_schema
from .prune import META_FIELDS, prune

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tree import Json
    from .structural import Source

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_AT_ROOT: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength", "MinLength",
    "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip


@dataclass(frozen=True)
class _Context:
    """What the place of a node in the schema forbids."""

    no_defaults: str = ""  # why, when defaults are forbidden here
    inside_meta: bool = False
    uncorrelatable: str = ""  # the ancestor below which no old value can be found
    rules: bool = True  # whether rules are compiled here: not inside combinations
    cardinality: int | None = 1  # how often such a value may stand in an object; None: without a bound


def flaws(schema: Source, path: str, *, status: bool, lenient: frozenset[str] = frozenset()) -> list[FieldError]:
    """Everything wrong with the schema of a version. `lenient` names checks that the old CRD already failed."""
    found = _root_flaws(schema, path, status=status)
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    sound = False
    convertible = structural.is_convertible(schema)
    if convertible:
        unsound = structural.flaws(schema, path) or default_flaws(parse_schema(schema), path, pruned="unpruned" not in lenient)
        found += unsound
        sound = not unsound
    rest: list[FieldError] = []
    rules: list[FieldError] = []
    compiler = cel.Compiler(schema) if sound else None
    _node(schema, path, _Context(), True, lenient, compiler, rest, rules)
    found += rest + rules
    if compiler is not None:
        found += compiler.total_flaws(path)
    if not found and not convertible:
        found.append(invalid(path, "", "OpenAPIV3Schema 'schema' is not supported"))
    return found


def _root_flaws(schema: Source, path: str, *, status: bool) -> list[FieldError]:
    if not status:
        return []
    for name, (key, _) in internal._SCHEMA.items():
        value = schema.get(key)
        if value is None or value is False or value == "":
            continue
        if name == "Type":
            if value != "object":
                text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
                return [invalid(f"{path}.type", value, text)]
        elif name not in _AT_ROOT:
            text = f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, internal.schema(schema), text)]
    return []


def _node(
    schema: Source,
    path: str,
    context: _Context,
    root: bool,
    lenient: frozenset[str],
    compiler: cel.Compiler | None,
    found: list[FieldError],
    rules: list[FieldError],
) -> None:
    own = len(found)
    found += _unsupported(schema, path, context, lenient)
    if schema.get("uniqueItems"):
        found.append(forbidden(f"{path}.uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"))
    for child, where, inside in _children(schema, path, context, root):
        _node(child, where, inside, False, lenient, compiler if inside.rules else None, found, rules)
    additional = schema.get("additionalProperties")
    if additional is not None and schema.get("properties") and (additional is False or isinstance(additional, dict)):
        found.append(forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"))
    found += _kubernetes_types(schema, path, lenient)
    entries = schema.get("x-kubernetes-validations") or ()
    for index, entry in enumerate(entries):
        found += _rule_flaws(entry, schema, f"{path}.x-kubernetes-validations[{index}]")
    if entries and len(found) == own and compiler is not None:
        rules += compiler.flaws(schema, path, context.uncorrelatable, context.cardinality)


def _repeated(schema: Source, context: _Context) -> _Context:
    """The context of a node's children as to how often they may stand."""
    most: int | None = 1
    if schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    elif schema.get("type") == "array":
        most = schema.get("maxItems")
    if context.cardinality is None or most is None:
        return replace(context, cardinality=None)
    return replace(context, cardinality=min(context.cardinality * max(most, 0), 2**64 - 1))


def _children(schema: Source, path: str, context: _Context, root: bool) -> Iterator[tuple[Source, str, _Context]]:
    context = _repeated(schema, context)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata" if context.inside_meta else context.no_defaults
        yield additional, f"{path}.additionalProperties", replace(context, no_defaults=reason)
    unknown = schema.get("x-kubernetes-map-type", "granular") not in ("granular", "atomic")
    for name, child in (schema.get("properties") or {}).items():
        inside = replace(context, uncorrelatable=context.uncorrelatable or path) if unknown else context
        if (root or schema.get("x-kubernetes-embedded-resource")) and name in META_FIELDS:
            inside = replace(inside, inside_meta=True, no_defaults=f"in top-level {name}" if root else inside.no_defaults)
        yield child, f"{path}.properties[{name}]", inside
    bare = replace(context, rules=False)
    if schema.get("not") is not None:
        yield schema["not"], f"{path}.not", bare
    for name in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(schema.get(name) or ()):
            yield branch, f"{path}.{name}[{index}]", bare
    for name, child in (schema.get("definitions") or {}).items():
        yield child, f"{path}.definitions[{name}]", bare
    items = schema.get("items")
    keyed = schema.get("x-kubernetes-list-type") == "map"
    inside = context if keyed else replace(context, uncorrelatable=context.uncorrelatable or path)
    if isinstance(items, dict):
        yield items, f"{path}.items", inside
    elif isinstance(items, list):
        for index, child in enumerate(items):
            yield child, f"{path}.items[{index}]", inside
    for name, child in (schema.get("dependencies") or {}).items():
        if isinstance(child, dict):
            yield child, f"{path}.dependencies[{name}]", bare


def _unsupported(schema: Source, path: str, context: _Context, lenient: frozenset[str]) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES and "types" not in lenient:
        yield not_supported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and context.no_defaults:
        yield forbidden(f"{path}.default", f"must not be set {context.no_defaults}")
    if schema.get("id"):
        yield forbidden(f"{path}.id", "id is not supported")
    for name in ("additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        value = schema.get(name)
        if value is not None and (value or name not in ("patternProperties", "definitions")):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if context.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")


def _kubernetes_types(schema: Source, path: str, lenient: frozenset[str]) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    kind, list_type, map_type = schema.get("type", ""), schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-map-type")
    if map_type is not None and kind != "object":
        yield _wrong_container(kind, path, "must be object if x-kubernetes-map-type is specified")
    if map_type is not None and map_type not in ("atomic", "granular"):
        yield not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    items = schema.get("items")
    if list_type is not None and kind != "array":
        yield _wrong_container(kind, path, "must be array if x-kubernetes-list-type is specified")
    elif list_type == "set" and isinstance(items, dict) and "sets" not in lenient:
        yield from _set_items(items, f"{path}.items")
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        yield not_supported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map"))
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{path}.x-kubernetes-list-type"
        yield required(where, text) if list_type is None else invalid(where, list_type, text)
    if list_type == "map":
        yield from _map_list(items, keys, path)
    if isinstance(items, dict) and list_type in ("set", "map") and "keys" not in lenient:
        yield from list_key_flaws(items, keys, list_type, path)


def _wrong_container(kind: str, path: str, text: str) -> FieldError:
    return invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text)


def _set_items(items: Source, path: str) -> Iterator[FieldError]:
    inner = items.get("x-kubernetes-list-type")
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and inner not in (None, "atomic"):
        yield invalid(f"{path}.x-kubernetes-list-type", inner, text)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.x-kubernetes-map-type", inner, text)


def is_loose_set(schema: Source) -> bool:
    """Whether a set has entries that are not atomic, which older CRDs may have."""
    items = schema.get("items")
    return schema.get("x-kubernetes-list-type") == "set" and isinstance(items, dict) and any(True for _ in _set_items(items, ""))


def _map_list(items: Json, keys: list[str], path: str) -> Iterator[FieldError]:
    if not keys:
        yield required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, dict):
        return
    kind = items.get("type", "")
    if kind != "object":
        yield invalid(f"{path}.items.type", kind, "must be object if parent array's x-kubernetes-list-type is map")
        return
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", kind, text)
        if key in keys[:index]:
            yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, "must not contain duplicate entries")


def list_key_flaws(items: Source, keys: list[str], list_type: str, path: str) -> Iterator[FieldError]:
    """Keys that could be missing or null, and entries that could be."""
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type != "map":
        return
    why = "this property is in x-kubernetes-list-map-keys, so it"
    for key in keys:
        member = (items.get("properties") or {}).get(key)
        if member is None:
            continue
        if key not in (items.get("required") or ()) and member.get("default") is None:
            yield required(f"{path}.items.properties[{key}].default", f"{why} must have a default or be a required property")
        if member.get("nullable"):
            yield forbidden(f"{path}.items.properties[{key}].nullable", f"{why} cannot be nullable")


def _rule_flaws(rule: Json, schema: Source, path: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message", "")
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _broken(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _broken(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield not_supported(f"{path}.reason", rule["reason"], _REASONS)
    field_path = rule.get("fieldPath", "")
    if field_path and not field_path.strip():
        yield invalid(f"{path}.fieldPath", field_path, "must be non-empty if specified")
    if _broken(field_path):
        yield invalid(f"{path}.fieldPath", field_path, "must not contain line breaks")
    if field_path and structural.is_convertible(schema):
        try:
            fieldpaths.follow(field_path, schema)
        except fieldpaths.PathRefused:
            yield invalid(f"{path}.fieldPath", field_path, "must be a valid path")


def _broken(text: str) -> bool:
    return re.search(r"[\n\r]", text) is not None


def default_flaws(schema: Schema, path: str, *, pruned: bool) -> list[FieldError]:
    """Defaults that are not pruned, not valid, or break the metadata of a resource."""
    return list(_default_flaws(schema, path, True, None, pruned))


def _default_flaws(
    schema: Schema, path: str, resource: bool, meta_path: tuple[str | int, ...] | None, pruned: bool
) -> Iterator[FieldError]:
    """`meta_path`: inside the metadata of a resource, the way from the resource to here; None elsewhere."""
    resource = resource or schema.embedded_resource
    if resource:
        meta_path = None
    if schema.default is not ABSENT:
        if meta_path is not None:
            yield from _meta_default(schema, f"{path}.default", meta_path)
        else:
            yield from _plain_default(schema, f"{path}.default", pruned=pruned)
    if schema.items is not None:
        below = None if meta_path is None else (*meta_path, 0)
        yield from _default_flaws(schema.items, f"{path}.items", False, below, pruned)
    for name, child in schema.properties.items():
        below = (*meta_path, name) if meta_path is not None else (name,) if resource and name in META_FIELDS else None
        yield from _default_flaws(child, f"{path}.properties[{name}]", False, below, pruned)


def _plain_default(schema: Schema, at: str, *, pruned: bool) -> Iterator[FieldError]:
    value = schema.default
    if pruned and not same(prune(value, schema, root=schema.embedded_resource)[0], value):
        yield invalid(at, value, "must not have unknown fields")
    try:
        coerce(value, schema)
    except DecodeRefused as refusal:
        yield fielderrors.invalid(at, value, str(refusal))
        return
    wrong = embedded_flaws(value, schema, at) or validate.validate(value, _as_judged(schema), at=at)
    yield from wrong or cel.default_flaws(value, schema, at)


def _meta_default(schema: Schema, at: str, meta_path: tuple[str | int, ...]) -> Iterator[FieldError]:
    tree: Json = schema.default
    for step in reversed(meta_path):
        tree = [tree] if isinstance(step, int) else {step: tree}
    tree = {"kind": "Validation", "apiVersion": "validation/v1", **tree}
    try:
        meta, _ = objectmeta.decoded(tree.get("metadata", {}))
        wrong = embedded_flaws({**tree, "metadata": meta}, Schema(embedded_resource=True))
        text = fielderrors.aggregate(wrong) if wrong else ""
    except objectmeta.MetadataRefused as refusal:
        text = fielderrors.invalid("metadata", tree["metadata"], str(refusal)).full
    if text:
        yield invalid(at, schema.default, f"must result in valid metadata: {text}")
    else:
        yield from validate.validate(schema.default, _as_judged(schema), at=at)


def _as_judged(schema: Schema) -> Schema:
    """The schema as defaults are held against it: there an int-or-string may be anything, and every format counts as written."""
    source = schema.source if isinstance(schema.source, dict) else {}
    if not any(node.get("x-kubernetes-int-or-string") or node.get("format") for node in structural.nodes(source)):
        return schema
    return _heeding_formats(parse_schema(_without_marker(source)))


def _heeding_formats(schema: Schema) -> Schema:
    schema.format_as_written = True
    branches = (*schema.all_of, *schema.any_of, *schema.one_of)
    for child in (*schema.properties.values(), *branches, schema.items, schema.additional, schema.not_):
        if child is not None:
            _heeding_formats(child)
    return schema


def _without_marker(source: Json) -> Json:
    if isinstance(source, dict):
        return {name: _without_marker(value) for name, value in source.items() if name != "x-kubernetes-int-or-string" or value is not True}
    if isinstance(source, list):
        return [_without_marker(entry) for entry in source]
    return source


