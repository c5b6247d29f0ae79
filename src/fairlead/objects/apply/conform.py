"""Does a value have the form its schema gives it? Called before every merge and compare; raises `TypedErrors` as the server words it.

This is not validation (that is `schema.validate`): only shapes, undeclared fields, and the keys of associative lists matter
here. What was found well-formed before is not walked again: pass it as `known`, and subtrees that it shares are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import gotext, paths
from ..tree import ABSENT
from .values import LIST, SCALAR, ItemError, TypedErrors, form, item_step

if TYPE_CHECKING:
    from ..tree import Json
    from .types import ListType, MapType, Type

_Errors = list[tuple[str, str]]


def conform(value: Json, type_: Type, *, duplicates: bool = False, known: Json = ABSENT) -> None:
    """Raise TypedErrors unless the value fits; `duplicates` tolerates repeated items, as everything but apply does."""
    errors: _Errors = []
    _walk(value, known, type_, duplicates, "", errors)
    if errors:
        raise TypedErrors(errors)


def _walk(value: Json, known: Json, type_: Type, duplicates: bool, path: str, errors: _Errors) -> None:
    if value is known:
        return
    shape = form(type_, value)
    if shape is SCALAR:
        message = scalar_error(type_.scalar, value)
        if message:
            errors.append((path, message))
    elif value is None:
        return
    elif shape is LIST:
        if not isinstance(value, list):
            errors.append((path, f"expected list, got {gotext.pointed(value)}"))
        elif type_.list is not None:
            _items(value, known, type_.list, duplicates, path, errors)
    elif not isinstance(value, dict):
        errors.append((path, f"expected map, got {gotext.pointed(value)}"))
    elif type_.map is not None:
        _members(value, known, type_.map, duplicates, path, errors)


def _members(value: dict[str, Json], known: Json, map_: MapType, duplicates: bool, path: str, errors: _Errors) -> None:
    before = known if type(known) is dict else {}
    for name, member in value.items():
        counterpart = before.get(name, ABSENT)
        if member is counterpart:
            continue
        type_ = map_.fields.get(name) or map_.element
        if type_ is None:
            errors.append((f"{path}.{name}", "field not declared in schema"))
            return  # the server stops at the first one of each object
        if type(member) is str and type_.scalar in ("string", "untyped"):
            continue
        _walk(member, counterpart, type_, duplicates, f"{path}.{name}", errors)


def _items(value: list[Json], known: Json, list_: ListType, duplicates: bool, path: str, errors: _Errors) -> None:
    before = known if type(known) is list else []
    seen: set[str] = set()
    for index, item in enumerate(value):
        counterpart = before[index] if index < len(before) else ABSENT
        if item is counterpart and (duplicates or not list_.associative):
            continue
        place = f"[{index}]"
        if list_.associative:
            try:
                step = item_step(list_, item)
            except ItemError as error:
                errors.append((path, f"element {index}: {error}"))
                return
            place = paths.server_text([paths.from_fields_v1(step) or step])
            if step in seen and not duplicates:
                errors.append((path, f"duplicate entries for key {place}"))
            seen.add(step)
        _walk(item, counterpart, list_.element, duplicates, path + place, errors)


def scalar_error(scalar: str, value: Json) -> str:
    """What is wrong with a value where a scalar is expected; empty when nothing is."""
    if value is None:
        return ""
    if scalar == "numeric":
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "" if good else f"expected numeric (int or float), got {gotext.type_name(value)}"
    if scalar == "string":
        return "" if isinstance(value, str) else f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"
    if scalar == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got {gotext.pointed(value)}"
    return f"expected any scalar, got {gotext.pointed(value)}" if isinstance(value, (dict, list)) else ""
