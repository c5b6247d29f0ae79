"""The types of CEL, and the type that a schema gives to a value.

Called by `celcheck`. A schema without a type (preserved unknown fields) has no CEL type: rules cannot see such values. Mirrors
SchemaDeclType of apiserver's cel/common.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..tree import Json

_RESERVED: Final = frozenset(
    # ruff: noqa: SIM905
    "true false null in as break const continue else for function if import let loop package namespace return var void while".split()
)
_ACCESSIBLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


@dataclass(frozen=True)
class Type:
    """A type: a name and its parameters. An object has fields by their escaped names; `member` maps those to JSON names."""

    name: str
    args: tuple[Type, ...] = ()
    fields: dict[str, tuple[str, Type]] | None = field(default=None, compare=False, hash=False)
    unordered: str = ""  # set or map: how a list of the schema compares
    keys: tuple[str, ...] = ()
    most: int = field(default=0, compare=False, hash=False)  # the largest size of such a value in a request
    least: int = field(default=2, compare=False, hash=False)  # the fewest bytes of one

    def __str__(self) -> str:
        if self.name in ("list", "map", "optional_type"):
            return f"{self.name}({', '.join(map(str, self.args))})"
        return "selfType" if self.name == "object" else self.name

    @property
    def cooked(self) -> bool:
        """Whether JSON values must be converted to become values of this type."""
        return self.name in ("double", "timestamp", "duration", "bytes") or (
            self.name in ("list", "map") and any(arg.cooked for arg in self.args)
        )


INT, DOUBLE, BOOL, STRING, NULL = Type("int"), Type("double"), Type("bool"), Type("string"), Type("null")
TIMESTAMP, DURATION, BYTES, DYN, ERROR = Type("timestamp"), Type("duration"), Type("bytes"), Type("dyn"), Type("!error!")


def list_of(item: Type) -> Type:
    """A plain list."""
    return Type("list", (item,))


def optional(inner: Type) -> Type:
    """A value that may be there."""
    return Type("optional_type", (inner,))


def escaped(name: str) -> str | None:
    """A property's name as rules spell it; None when rules cannot name it."""
    if not _ACCESSIBLE.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    name = name.replace("__", "__underscores__")
    return name.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


_META: Final = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
}


def of_schema(schema: Json, *, resource: bool = False) -> Type | None:
    """The type of values under a schema given as JSON; None where rules cannot look."""
    if schema.get("x-kubernetes-int-or-string"):
        return Type("dyn", most=_text_size(schema), least=1)
    if resource:
        schema = {**schema, "properties": {**(schema.get("properties") or {}), **_META}}
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        item = None if items is None else of_schema(items, resource=bool(items.get("x-kubernetes-embedded-resource")))
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        unordered = schema.get("x-kubernetes-list-type", "")
        if item is None:
            return None
        most = max(schema["maxItems"], 0) if schema.get("maxItems") is not None else (_REQUEST_BYTES - 2) // (item.least + 1)
        return Type("list", (item,), None, unordered if unordered in ("set", "map") else "", keys, most)
    if kind == "object":
        return _object(schema)
    if kind == "string":
        return _text(schema)
    return {"boolean": Type("bool", least=4), "number": Type("double", least=1), "integer": Type("int", least=1)}.get(kind or "")


_REQUEST_BYTES: Final = 3 * 1024 * 1024


def _text(schema: Json) -> Type:
    kinds = {"duration": Type("duration", most=32, least=3), "date": Type("timestamp", most=12, least=12)}
    kinds["date-time"] = Type("timestamp", most=32, least=21)
    known = kinds.get(schema.get("format", ""))
    if known is not None:
        return known
    if schema.get("format") == "byte":
        return Type("bytes", most=max(schema["maxLength"], 0) if schema.get("maxLength") is not None else _REQUEST_BYTES - 2)
    return Type("string", most=_text_size(schema))


def _text_size(schema: Json) -> int:
    if schema.get("maxLength") is not None:
        return int(max(schema["maxLength"], 0)) * 4
    texts = [choice for choice in schema.get("enum") or () if isinstance(choice, str)]
    if schema.get("enum") and not schema.get("x-kubernetes-int-or-string"):
        return max((len(text.encode()) for text in texts), default=0)
    return _REQUEST_BYTES - 2


def _object(schema: Json) -> Type | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        value = of_schema(additional, resource=bool(additional.get("x-kubernetes-embedded-resource")))
        if value is None:
            return None
        most = max(schema["maxProperties"], 0) if schema.get("maxProperties") is not None else (_REQUEST_BYTES - 2) // (value.least + 6)
        return Type("map", (STRING, value), most=most)
    fields: dict[str, tuple[str, Type]] = {}
    least = 2
    for name, child in (schema.get("properties") or {}).items():
        inner = of_schema(child, resource=bool(child.get("x-kubernetes-embedded-resource")))
        spelled = escaped(name)
        if inner is not None and name in (schema.get("required") or ()) and child.get("default") is None:
            least += len(name.encode()) + inner.least + 4
        if inner is not None and spelled is not None:
            fields[spelled] = (name, inner)
            if name == "namespace":
                # The one reserved word that may also stand as it is.
                fields[name] = (name, inner)
    return Type("object", (), fields, least=least)


def fits(given: Type, wanted: Type, bound: dict[str, Type]) -> bool:
    """Whether a value of the one type may stand where the other is wanted; type variables (one capital letter) are bound."""
    if len(wanted.name) == 1 and wanted.name.isupper():
        known = bound.get(wanted.name)
        if known is None or known.name in ("dyn", "!error!"):
            bound[wanted.name] = given
            return True
        return fits(given, known, bound) or fits(known, given, bound)
    if "dyn" in (given.name, wanted.name) or "!error!" in (given.name, wanted.name):
        return True
    if given.name == "null" and wanted.name in ("object", "timestamp", "duration", "null", "optional_type"):
        return True
    if given.name != wanted.name or len(given.args) != len(wanted.args):
        return False
    return all(fits(mine, other, bound) for mine, other in zip(given.args, wanted.args, strict=True))


def settled(type: Type, bound: dict[str, Type]) -> Type:
    """A result type with its variables filled in; one that nothing bound is dyn."""
    if len(type.name) == 1 and type.name.isupper():
        return bound.get(type.name, DYN)
    return Type(type.name, tuple(settled(arg, bound) for arg in type.args)) if type.args else type
