"""Does a value have the form its schema gives it? Called before every merge and compare; raises `TypedErrors` as the server words it.

This is not validation (that is `schema.validate`): only shapes, undeclared fields, and the keys of associative lists matter
here. What was found well-formed before is not walked again: pass it as `known`, and subtrees that it shares are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import gotext, paths
from ..tree import ABSENT, counterparts
from .types import UNCHECKED
from .values import LIST, SCALAR, ItemError, TypedErrors, form, item_step

if TYPE_CHECKING:
    from ..tree import Json
    from .types import ListType, MapType, Type

_Errors = list[tuple[str, str]]
_FINE: _Errors = []


def conform(value: Json, type_: Type, *, duplicates: bool = False, known: Json = ABSENT) -> None:
    """Raise TypedErrors unless the value fits; `duplicates` tolerates repeated items, as everything but apply does."""
    errors = _walk(value, known, type_, duplicates)
    if errors:
        raise TypedErrors(errors)


def _walk(value: Json, known: Json, type_: Type, duplicates: bool) -> _Errors:
    if value is known:
        return _FINE
    shape = form(type_, value)
    if shape is SCALAR:
        message = scalar_error(type_.scalar, value)
        return [("", message)] if message else _FINE
    if value is None:
        return _FINE
    if shape is LIST:
        if type(value) is not list:
            return [("", f"expected list, got {gotext.pointed(value)}")]
        return _items(value, known, type_.list, duplicates) if type_.list is not None else _FINE
    if type(value) is not dict:
        return [("", f"expected map, got {gotext.pointed(value)}")]
    return _members(value, known, type_.map, duplicates) if type_.map is not None else _FINE


def _members(value: dict[str, Json], known: Json, map_: MapType, duplicates: bool) -> _Errors:
    before = known if type(known) is dict else {}
    errors = _FINE
    for name, member in value.items():
        counterpart = before.get(name, ABSENT)
        if member is counterpart:
            continue
        type_ = map_.fields.get(name) or map_.element
        if type_ is None:
            return [*errors, (f".{name}", "field not declared in schema")]  # the server stops at the first one of each object
        if type_ is UNCHECKED or (type(member) is str and type_.scalar in ("string", "untyped")):
            continue
        below = _walk(member, counterpart, type_, duplicates)
        if below:
            errors = [*errors, *((f".{name}{path}", message) for path, message in below)]
    return errors


def _items(value: list[Json], known: Json, list_: ListType, duplicates: bool) -> _Errors:
    errors = _FINE
    seen: set[str] = set()
    for index, (item, counterpart) in enumerate(zip(value, counterparts(value, known), strict=True)):
        if item is counterpart and (duplicates or not list_.associative):
            continue
        step = f"i:{index}"
        if list_.associative:
            try:
                step = item_step(list_, item)
            except ItemError as error:
                return [*errors, ("", f"element {index}: {error}")]
            if step in seen and not duplicates:
                errors = [*errors, ("", f"duplicate entries for key {_place(step)}")]
            seen.add(step)
        below = _walk(item, counterpart, list_.element, duplicates)
        if below:
            errors = [*errors, *((_place(step) + path, message) for path, message in below)]
    return errors


def _place(step: str) -> str:
    read = paths.from_fields_v1(step)
    return paths.server_text([step if read is None else read])  # index 0 is a step, though a falsy one


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
