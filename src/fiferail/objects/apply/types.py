"""What structured merge needs to know of a schema: for each value the scalar, list and map forms it may take.

Compiled once per root schema, by the other modules of this package. Mirrors what the server's schemaconv makes of OpenAPI,
with its quirks: preserved unknown fields are inherited by everything below; an object without properties takes anything; text
with a format is any scalar; a list without a list type is atomic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..tree import ABSENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schema.model import Schema
    from ..tree import Json


class MapType:
    """An object: its declared fields, the type of any other (None: refused), and whether it is owned as one value."""

    __slots__ = ("atomic", "defaults", "element", "fields")

    def __init__(self, fields: dict[str, Type], element: Type | None, atomic: bool = False, defaults: Mapping[str, Json] = {}) -> None:
        self.fields = fields
        self.element = element
        self.atomic = atomic
        self.defaults = defaults

    @property
    def is_deduced(self) -> bool:
        """Whether nothing is declared and anything goes."""
        return not self.fields and self.element is not None and self.element.scalar == UNTYPED_SCALAR


class ListType:
    """A list: of values owned as one (atomic), of members (associative without keys), or of entries by key."""

    __slots__ = ("associative", "element", "keys")

    def __init__(self, element: Type, associative: bool = False, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.associative = associative
        self.keys = keys


class Type:
    """The forms that a value may take. Filled after creation, because a schema may contain itself."""

    __slots__ = ("list", "map", "scalar")

    def __init__(self, scalar: str = "", list_: ListType | None = None, map_: MapType | None = None) -> None:
        self.scalar = scalar
        self.list = list_
        self.map = map_


UNTYPED_SCALAR: Final = "untyped"
_STRING, _NUMERIC, _BOOLEAN = Type("string"), Type("numeric"), Type("boolean")
_SCALAR = Type(UNTYPED_SCALAR)


def _any(granular: bool) -> Type:
    """A value of which nothing is known: an object member by member when granular, otherwise as a whole."""
    made = Type(UNTYPED_SCALAR)
    made.list = ListType(made if not granular else ATOMIC)
    made.map = MapType({}, made, atomic=not granular)
    return made


ATOMIC: Final = _any(granular=False)
DEDUCED: Final = _any(granular=True)

#: managedFields themselves: one value, which is read elsewhere, and which nobody owns.
UNCHECKED: Final = Type(list_=ListType(DEDUCED))

_OWNER_REFERENCE = Type(
    map_=MapType(
        {
            "apiVersion": _STRING,
            "blockOwnerDeletion": _BOOLEAN,
            "controller": _BOOLEAN,
            "kind": _STRING,
            "name": _STRING,
            "uid": _STRING,
        },
        None,
        atomic=True,
        defaults={"apiVersion": "", "kind": "", "name": "", "uid": ""},
    )
)
_TEXTS = Type(map_=MapType({}, _STRING))
OBJECT_META: Final = Type(
    map_=MapType(
        {
            "annotations": _TEXTS,
            "creationTimestamp": _SCALAR,
            "deletionGracePeriodSeconds": _NUMERIC,
            "deletionTimestamp": _SCALAR,
            "finalizers": Type(list_=ListType(_STRING, associative=True)),
            "generateName": _STRING,
            "generation": _NUMERIC,
            "labels": _TEXTS,
            "managedFields": UNCHECKED,
            "name": _STRING,
            "namespace": _STRING,
            "ownerReferences": Type(list_=ListType(_OWNER_REFERENCE, associative=True, keys=("uid",))),
            "resourceVersion": _STRING,
            "selfLink": _STRING,
            "uid": _STRING,
        },
        None,
    )
)
_RESOURCE_FIELDS = {"apiVersion": _STRING, "kind": _STRING, "metadata": OBJECT_META}


@lru_cache(maxsize=1024)
def root_type(schema: Schema) -> Type:
    """The type of whole objects of this schema: whatever it says of them, metadata is ObjectMeta."""
    compiler = _Compiler()
    made = compiler.compile(schema, False)
    fields = made.map.fields if made.map is not None else {}
    element = made.map.element if made.map is not None else DEDUCED
    return Type(map_=MapType({**fields, **_RESOURCE_FIELDS}, element, defaults=made.map.defaults if made.map else {}))


class _Compiler:
    """Compiles one root; what was met before, under the same inheritance, is met again as the same type."""

    def __init__(self) -> None:
        self.made: dict[tuple[int, bool], Type] = {}

    def compile(self, schema: Schema, preserve: bool) -> Type:
        preserve = preserve or schema.preserve_unknown
        known = self.made.get((id(schema), preserve))
        if known is not None:
            return known
        made = self.made[id(schema), preserve] = Type()
        kind = "" if schema.int_or_string else schema.type
        if kind == "":
            made.scalar, made.list, made.map = UNTYPED_SCALAR, self._list(schema, preserve), self._map(schema, preserve)
        elif kind == "object":
            made.map = self._map(schema, preserve)
        elif kind == "array":
            made.list = self._list(schema, preserve)
        else:
            made.scalar = _scalar(kind, schema.format)
        return made

    def _map(self, schema: Schema, preserve: bool) -> MapType:
        fields = {name: self.compile(member, preserve) for name, member in schema.properties.items()}
        if schema.embedded_resource:
            fields.update(_RESOURCE_FIELDS)
        if schema.additional is not None:
            element: Type | None = self.compile(schema.additional, preserve)
        else:
            element = DEDUCED if preserve or not fields else None
        defaults = {name: member.default for name, member in schema.properties.items() if member.default not in (ABSENT, None)}
        return MapType(fields, element, schema.map_type == "atomic", defaults)

    def _list(self, schema: Schema, preserve: bool) -> ListType:
        element = ATOMIC if schema.items is None else self.compile(schema.items, preserve)
        if schema.list_type in ("set", "map"):
            return ListType(element, associative=True, keys=schema.list_map_keys if schema.list_type == "map" else ())
        if not schema.list_type and {"merge"} & set(schema.patch_strategy):
            return ListType(element, associative=True, keys=(schema.patch_merge_key,) if schema.patch_merge_key else ())
        return ListType(element)


def _scalar(kind: str, form: str) -> str:
    if kind in ("integer", "number"):
        return "numeric"
    if kind == "boolean":
        return "boolean"
    return "string" if kind == "string" and form in ("", "byte") else UNTYPED_SCALAR
