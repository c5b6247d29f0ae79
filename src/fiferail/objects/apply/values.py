"""Single values as structured merge sees them: equality, the form a value takes under a type, and the step to a list item."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from .. import paths
from ..paths import Key, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tree import Json
    from .types import ListType, Type


class TypedErrors(Exception):
    """The value does not have the form that its schema gives it. Each error is (server path text, message)."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        texts = [f"{path}: {message}" if path else message for path, message in errors]
        super().__init__(texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)]))
        self.errors = errors


@contextmanager
def prefixed(text: str) -> Iterator[None]:
    """Says what was being done when a value turned out not to have its form."""
    try:
        yield
    except TypedErrors as error:
        raise TypedErrors([("", text + str(error))]) from error


def equal(left: Json, right: Json) -> bool:
    """Equality of the merge library: numbers by value, so 1 is 1.0 (unlike in a store); true is not 1, null is not empty."""
    if left is right:
        return True
    kind, other = type(left), type(right)
    if kind is dict:
        if other is not dict or len(left) != len(right):
            return False
        return all(name in right and equal(value, right[name]) for name, value in left.items())
    if kind is list:
        return other is list and len(left) == len(right) and all(map(equal, left, right))
    if kind is not other and not (kind in (int, float) and other in (int, float)):
        return False
    return bool(left == right)


#: The forms, in the order in which a value that fits none is taken for one.
MAP, SCALAR, LIST = "map", "scalar", "list"


def form(type_: Type, value: Json) -> str:
    """Which form of the type a value takes. A null, or a value of a form the type lacks, is taken for the first it has."""
    kind = type(value)
    if kind is dict:
        if type_.map is not None:
            return MAP
    elif kind is list:
        if type_.list is not None:
            return LIST
    elif value is not None and type_.scalar:
        return SCALAR
    if type_.map is not None:
        return MAP
    return SCALAR if type_.scalar else LIST


class ItemError(Exception):
    """A list item that has no step: it lacks its keys, or is no scalar."""


def item_step(list_: ListType, item: Json) -> str:
    """The FieldsV1 spelling of the step to an item of an associative list."""
    if len(list_.keys) == 1 and type(item) is dict:
        value = item.get(list_.keys[0])
        if type(value) is str:
            return _one_key(list_.keys[0], value)
    if list_.keys:
        return _keyed(list_, item)
    if isinstance(item, dict):
        raise ItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ItemError("not supported: associative list with lists as elements")
    if item is None:
        raise ItemError("associative list without keys has an element that's an explicit null")
    return paths.fields_v1(Value(item))


@lru_cache(maxsize=4096)
def _one_key(name: str, value: str) -> str:
    return paths.fields_v1(Key(((name, value),)))


def _keyed(list_: ListType, item: Json) -> str:
    if item is None:
        raise ItemError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ItemError("associative list with keys may not have non-map elements")
    element = list_.element.map
    fields = []
    for name in list_.keys:
        if name in item:
            fields.append((name, item[name]))
        elif element is None:
            raise ItemError(f"couldn't find default value for {name}: associative list may not have non-map types")
        elif name in element.defaults:
            fields.append((name, element.defaults[name]))
    if not fields:
        names = " ".join(f'"{name}"' for name in list_.keys)
        reason = "and doesn't have default values for any key fields"
        raise ItemError(f"associative list with keys has an element that omits all key fields [{names}] ({reason})")
    fields.sort(key=lambda field: field[0])
    return paths.fields_v1(Key(tuple(fields)))
