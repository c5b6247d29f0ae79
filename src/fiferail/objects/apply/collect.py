"""The paths that a configuration claims. Mirrors `typed.ToFieldSet` and `EnsureNamedFieldsAreMembers`.

Called by `operations.applied`. Unlike in a comparison, a declared object that is there only for its members is not claimed
itself; members of a free map, items of an associative list, and what is null or an empty object are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY, FieldSet
from .compare import by_step
from .values import MAP, SCALAR, form

if TYPE_CHECKING:
    from ..tree import Json
    from .types import ListType, MapType, Type


def collect(value: Json, type_: Type) -> FieldSet:
    """Every path that the value claims."""
    return _collected(value, type_)[0]


def _collected(value: Json, type_: Type) -> tuple[FieldSet, bool]:
    """What is claimed below a value, and whether the value itself is."""
    shape = form(type_, value)
    if shape is SCALAR:
        return EMPTY, True
    if shape is MAP:
        if type_.map is None or type_.map.atomic:
            return EMPTY, True
        return (_members(value, type_.map) if type(value) is dict else EMPTY), False
    if type_.list is None or not type_.list.associative:
        return EMPTY, True
    return (_items(value, type_.list) if type(value) is list else EMPTY), False


def _members(value: dict[str, Json], map_: MapType) -> FieldSet:
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for name, member in value.items():
        type_ = map_.fields.get(name) or map_.element
        assert type_ is not None, name
        below, itself = _collected(member, type_)
        if itself or member is None or member == {} or name not in map_.fields:
            members.add("f:" + name)
        if below:
            children["f:" + name] = below
    return FieldSet(frozenset(members), children) if members or children else EMPTY


def _items(value: list[Json], list_: ListType) -> FieldSet:
    items = by_step(value, list_)
    children = {step: below for step, same in items.items() if len(same) == 1 and (below := collect(same[0], list_.element))}
    return FieldSet(frozenset(items), children) if items else EMPTY


def with_named(fields: FieldSet, type_: Type | None) -> FieldSet:
    """The set, where going through a declared field of an object means having it."""
    map_ = type_.map if type_ is not None else None
    declared = map_.fields if map_ is not None else {}
    named = [step for step in fields.children if step[0] == "f" and step[2:] in declared]
    children = {step: with_named(below, _inner(step, type_)) for step, below in fields.children.items()}
    return FieldSet(fields.members.union(named), children) if fields else EMPTY


def _inner(step: str, type_: Type | None) -> Type | None:
    if type_ is None:
        return None
    if step[0] == "f" and type_.map is not None:
        return type_.map.fields.get(step[2:]) or type_.map.element
    return type_.list.element if step[0] == "k" and type_.list is not None else None
