"""Parts of a CRD as the server's internal Go types print them in error texts: every field, by its Go name, in struct order.

Called by the CRD checks, only to word errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..fielderrors import Printed

if TYPE_CHECKING:
    from ..tree import Json

#: Go name -> (JSON name, the value when absent, as JSON).
_SCHEMA: Final = {
    "ID": ("id", '""'),
    "Schema": ("$schema", '""'),
    "Ref": ("$ref", "null"),
    "Description": ("description", '""'),
    "Type": ("type", '""'),
    "Nullable": ("nullable", "false"),
    "Format": ("format", '""'),
    "Title": ("title", '""'),
    "Default": ("default", "null"),
    "Maximum": ("maximum", "null"),
    "ExclusiveMaximum": ("exclusiveMaximum", "false"),
    "Minimum": ("minimum", "null"),
    "ExclusiveMinimum": ("exclusiveMinimum", "false"),
    "MaxLength": ("maxLength", "null"),
    "MinLength": ("minLength", "null"),
    "Pattern": ("pattern", '""'),
    "MaxItems": ("maxItems", "null"),
    "MinItems": ("minItems", "null"),
    "UniqueItems": ("uniqueItems", "false"),
    "MultipleOf": ("multipleOf", "null"),
    "Enum": ("enum", "null"),
    "MaxProperties": ("maxProperties", "null"),
    "MinProperties": ("minProperties", "null"),
    "Required": ("required", "null"),
    "Items": ("items", "null"),
    "AllOf": ("allOf", "null"),
    "OneOf": ("oneOf", "null"),
    "AnyOf": ("anyOf", "null"),
    "Not": ("not", "null"),
    "Properties": ("properties", "null"),
    "AdditionalProperties": ("additionalProperties", "null"),
    "PatternProperties": ("patternProperties", "null"),
    "Dependencies": ("dependencies", "null"),
    "AdditionalItems": ("additionalItems", "null"),
    "Definitions": ("definitions", "null"),
    "ExternalDocs": ("externalDocs", "null"),
    "Example": ("example", "null"),
    "XPreserveUnknownFields": ("x-kubernetes-preserve-unknown-fields", "null"),
    "XEmbeddedResource": ("x-kubernetes-embedded-resource", "false"),
    "XIntOrString": ("x-kubernetes-int-or-string", "false"),
    "XListMapKeys": ("x-kubernetes-list-map-keys", "null"),
    "XListType": ("x-kubernetes-list-type", "null"),
    "XMapType": ("x-kubernetes-map-type", "null"),
    "XValidations": ("x-kubernetes-validations", "null"),
}
_RULE: Final = {
    "Rule": ("rule", '""'),
    "Message": ("message", '""'),
    "MessageExpression": ("messageExpression", '""'),
    "Reason": ("reason", "null"),
    "FieldPath": ("fieldPath", '""'),
    "OptionalOldSelf": ("optionalOldSelf", "null"),
}
_VERSION: Final = {
    "Name": ("name", '""'),
    "Served": ("served", "false"),
    "Storage": ("storage", "false"),
    "Deprecated": ("deprecated", "false"),
    "DeprecationWarning": ("deprecationWarning", "null"),
    "Schema": ("schema", "null"),
    "Subresources": ("subresources", "null"),
    "AdditionalPrinterColumns": ("additionalPrinterColumns", "null"),
    "SelectableFields": ("selectableFields", "null"),
}
_COLUMN: Final = {
    "Name": ("name", '""'),
    "Type": ("type", '""'),
    "Format": ("format", '""'),
    "Description": ("description", '""'),
    "Priority": ("priority", "0"),
    "JSONPath": ("jsonPath", '""'),
}
_SELECTABLE: Final = {"JSONPath": ("jsonPath", '""')}
_SCALE: Final = {
    "SpecReplicasPath": ("specReplicasPath", '""'),
    "StatusReplicasPath": ("statusReplicasPath", '""'),
    "LabelSelectorPath": ("labelSelectorPath", "null"),
}
_SCHEMA_LISTS: Final = frozenset({"AllOf", "OneOf", "AnyOf"})
_SCHEMA_MAPS: Final = frozenset({"Properties", "PatternProperties", "Definitions"})


def schema(source: Json) -> Printed:
    """JSONSchemaProps."""
    return Printed(_schema(source))


def rule(source: Json) -> Printed:
    """ValidationRule."""
    return Printed(_struct(source, _RULE))


def versions(source: list[Json]) -> Printed:
    """A list of versions, as they are after what they have in common was moved to the top."""
    return Printed(f"[{','.join(_version(entry) for entry in source)}]")


def _json(value: Json) -> str:
    from ..gojson import encode

    return encode(value).decode()


def _struct(source: Json, fields: dict[str, tuple[str, str]], special: dict[str, str] | None = None) -> str:
    parts = []
    for name, (key, absent) in fields.items():
        value = source.get(key)
        shown = absent if value is None else (special or {}).get(name) or _json(value)
        parts.append(f'"{name}":{shown}')
    return "{" + ",".join(parts) + "}"


def _schema(source: Json) -> str:
    special: dict[str, str] = {}
    for name, (key, _) in _SCHEMA.items():
        value = source.get(key)
        if value is None:
            continue
        if name in _SCHEMA_LISTS:
            special[name] = f"[{','.join(map(_schema, value))}]"
        elif name in _SCHEMA_MAPS:
            special[name] = "{" + ",".join(f"{_json(member)}:{_schema(value[member])}" for member in sorted(value)) + "}"
        elif name == "Not":
            special[name] = _schema(value)
        elif name == "Items":
            whole = f'[{",".join(map(_schema, value))}]' if isinstance(value, list) else "null"
            special[name] = f'{{"Schema":{"null" if isinstance(value, list) else _schema(value)},"JSONSchemas":{whole}}}'
        elif name in ("AdditionalProperties", "AdditionalItems"):
            inner = _schema(value) if isinstance(value, dict) else "null"
            special[name] = f'{{"Allows":{_json(value if isinstance(value, bool) else True)},"Schema":{inner}}}'
        elif name == "XValidations":
            special[name] = f"[{','.join(_struct(entry, _RULE) for entry in value)}]"
    return _struct(source, _SCHEMA, special)


def _version(source: Json) -> str:
    special: dict[str, str] = {}
    if source.get("schema") is not None:
        inner = source["schema"].get("openAPIV3Schema")
        special["Schema"] = f'{{"OpenAPIV3Schema":{"null" if inner is None else _schema(inner)}}}'
    if source.get("subresources") is not None:
        status, scale = source["subresources"].get("status"), source["subresources"].get("scale")
        shown = "null" if scale is None else _struct(scale, _SCALE)
        special["Subresources"] = f'{{"Status":{"null" if status is None else "{}"},"Scale":{shown}}}'
    if source.get("additionalPrinterColumns") is not None:
        special["AdditionalPrinterColumns"] = f"[{','.join(_struct(entry, _COLUMN) for entry in source['additionalPrinterColumns'])}]"
    if source.get("selectableFields") is not None:
        special["SelectableFields"] = f"[{','.join(_struct(entry, _SELECTABLE) for entry in source['selectableFields'])}]"
    return _struct(source, _VERSION, special)
