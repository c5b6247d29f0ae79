"""The schema of one value: everything that pruning, defaulting, validation, strategic merge and apply want to know.

One model serves CustomResourceDefinitions (parsed by `schema.parse`) and built-in kinds (data made from the real server's
OpenAPI). A schema is built once, may contain itself (JSONSchemaProps does), and is never changed after it was built.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..tree import ABSENT, Absent, Json


class Rule(msgspec.Struct, frozen=True):
    """One entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = "FieldValueInvalid"
    field_path: str = ""
    optional_old_self: bool | None = None  # None: not said, which only for transition rules differs from False


class Schema(msgspec.Struct, eq=False):
    """A node of the schema tree. Empty `type` means any value."""

    type: str = ""  # object | array | string | integer | number | boolean | ""
    nullable: bool = False
    properties: dict[str, Schema] = {}
    additional: Schema | None = None  # additionalProperties as a schema; `additionalProperties: true` is Schema() with preserve_unknown
    additional_any: bool = False  # `additionalProperties: true`: members of any name, of which nothing further is known
    items: Schema | None = None
    required: tuple[str, ...] = ()
    default: Json | Absent = ABSENT

    # x-kubernetes-*
    preserve_unknown: bool = False
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: str = ""  # "" | atomic | set | map
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""  # "" | granular | atomic
    rules: tuple[Rule, ...] = ()

    # strategic merge patch, built-in kinds only
    patch_strategy: tuple[str, ...] = ()  # of merge, replace, retainKeys
    patch_merge_key: str = ""

    # value validation
    format: str = ""
    format_as_written: bool = False  # heed the format even where the server ignores it: it does so when it judges defaults
    enum: tuple[Json, ...] = ()
    pattern: str = ""
    minimum: int | float | None = None
    exclusive_minimum: bool = False
    maximum: int | float | None = None
    exclusive_maximum: bool = False
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    not_: Schema | None = None

    #: The schema as the CRD's author wrote it (for OpenAPI and `kubectl explain`); not used for any decision.
    source: Json = None

    # Worked out on first use by the modules that need them, once per node. None: not yet.
    defaulted: tuple[tuple[str, Schema], ...] | None = None
    defaults: bool | None = None
    embeds: bool | None = None
    uniques: bool | None = None
    keyed_lists: bool | None = None
    checker: Any = None
    cel: Any = None
