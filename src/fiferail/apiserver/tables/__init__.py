"""Tables: how the server lays out objects for `kubectl get`, and the metadata-only form of objects.

Called for answers and watch events whose Accept header asks `as=Table` or `as=PartialObjectMetadata`. A custom kind gets the
columns of its CRD, a listed built-in kind those of `builtin.py`, any other its name and creation time. Mirrors apiextensions'
table convertor, the server's internal printers and meta/v1's table conversion. Descriptions of columns were recorded.
The time of asking is an argument: an age is text that was true when it was made.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import jsonpath
from .ages import age, since

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...objects.tree import Json
    from ..kinds import Kind

#: Their name, age and time of creation are described as every kind's are.
_ANY_KIND = ("/ConfigMap", "rbac.authorization.k8s.io/Role")

Cell: TypeAlias = "Callable[[Json, float], Json]"


class Column(msgspec.Struct, frozen=True):
    """A header and what fills its cells."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Json:
        """As it stands in columnDefinitions."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME = Column("Name", lambda obj, now: obj["metadata"].get("name", ""), format="name")
CREATED_AT = Column("Created At", lambda obj, now: obj["metadata"].get("creationTimestamp", "0001-01-01T00:00:00Z"), "date")


def columns(kind: Kind | None, version: str, object_kind: str) -> tuple[Column, ...]:
    """The columns of a kind; `object_kind` differs from the kind's own for the scale subresource."""
    from .builtin import COLUMNS, SCALE

    if object_kind == "Scale":
        return SCALE
    if kind is None or not kind.custom:
        return COLUMNS.get((kind.group, kind.kind) if kind else ("", ""), (NAME, CREATED_AT))
    served = kind.versions.get(version)
    custom = served.printer_columns if served else ()
    if not custom:
        return (NAME, Column("Age", _custom_cell(".metadata.creationTimestamp", "date"), "date"))
    return (NAME, *(_custom_column(definition) for definition in custom))


@cache
def _descriptions() -> Json:
    """What the real server says of its columns; recorded by scripts/record_columns.py."""
    return msgspec.json.decode(Path(__file__).with_name("descriptions.json").read_bytes())


def described(kind: Kind | None, column: Column) -> Json:
    """The definition of a column with the server's description of it."""
    definition = column.definition()
    if definition["description"]:
        return definition
    recorded = _descriptions()
    for name in (*([f"{kind.group}/{kind.kind}"] if kind and not kind.custom else []), *_ANY_KIND):
        found = recorded["columns"].get(name, {}).get(column.name)
        if found is not None:
            return {**definition, "description": recorded["texts"][found]}
    return definition


def _custom_column(definition: Json) -> Column:
    path = definition["jsonPath"]
    return Column(
        definition["name"],
        _custom_cell(path, definition["type"]),
        definition["type"],
        definition.get("format", ""),
        definition.get("priority", 0),
        definition.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
    )


def _custom_cell(path: str, kind: str) -> Cell:
    def cell(obj: Json, now: float) -> Json:
        try:
            found = jsonpath.find(path, obj)
        except ValueError:
            return None
        if not found:
            return None
        return jsonpath.text(found[0]) if kind == "string" else _typed(kind, found[0], now)

    return cell


def _typed(kind: str, value: Json, now: float) -> Json:
    """The value as the column's type allows; null where it does not fit."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "integer" and number:
        return int(value)
    if (kind == "number" and number) or (kind == "boolean" and isinstance(value, bool)):
        return value
    if kind == "date" and isinstance(value, str):
        return since(value, now)
    return None


def table(kind: Kind | None, version: str, document: Json, *, include: str, now: float, api_version: str = "meta.k8s.io/v1") -> Json:
    """An object or a list of objects as a Table. `include` says what each row carries: Metadata, Object or None."""
    is_list = isinstance(document.get("items"), list)
    items = document["items"] if is_list else [document]
    object_kind = "" if is_list else document.get("kind", "")
    laid_out = columns(kind, version, object_kind)
    meta = document.get("metadata", {})
    kept = ("resourceVersion", "continue", "remainingItemCount") if is_list else ("resourceVersion",)
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": {name: meta[name] for name in kept if meta.get(name, "") != ""},
        "columnDefinitions": [described(kind, column) for column in laid_out],
        "rows": [_row(laid_out, item, include, now, api_version) for item in items],
    }


def _row(laid_out: tuple[Column, ...], obj: Json, include: str, now: float, api_version: str) -> Json:
    from .builtin import row_conditions

    row: Json = {"cells": [column.cell(obj, now) for column in laid_out]}
    if conditions := row_conditions(obj):
        row["conditions"] = conditions
    row["object"] = None if include == "None" else obj if include == "Object" else partial(obj, api_version)
    return row


def partial(obj: Json, api_version: str = "meta.k8s.io/v1") -> Json:
    """The object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj.get("metadata", {})}


def partial_list(document: Json, api_version: str = "meta.k8s.io/v1") -> Json:
    """A list reduced to the metadata of its objects."""
    items = [partial(item, api_version) for item in document["items"]]
    return {"kind": "PartialObjectMetadataList", "apiVersion": api_version, "metadata": document.get("metadata", {}), "items": items}


__all__ = ["CREATED_AT", "NAME", "Column", "age", "columns", "partial", "partial_list", "table"]
