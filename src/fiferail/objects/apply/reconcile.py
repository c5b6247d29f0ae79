"""Owned paths after the schema changed under them. Mirrors `typed.ReconcileFieldSetWithSchema`.

Called by `operations` for each entry that was not written under the schema of today: where a list or object has become atomic
since, owning something inside it becomes owning it as a whole. The way back needs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY, Builder, FieldSet

if TYPE_CHECKING:
    from .types import ListType, MapType, Type

_Way = tuple[str, ...]


def reconciled(fields: FieldSet, type_: Type) -> FieldSet:
    """The set in the spelling of this type; itself when nothing changes."""
    now_atomic = Builder()
    _visit(fields, type_, (), False, now_atomic)
    wholes = now_atomic.build()
    return fields.recursive_difference(wholes).union(wholes) if wholes else fields


def _visit(fields: FieldSet, type_: Type, way: _Way, is_whole: bool, out: Builder) -> None:
    if type_.map is not None:
        _map(fields, type_.map, way, is_whole, out)
    elif not type_.scalar and type_.list is not None:
        _list(fields, type_.list, way, is_whole, out)


def _map(fields: FieldSet, map_: MapType, way: _Way, is_whole: bool, out: Builder) -> None:
    if map_.is_deduced:
        return
    if map_.atomic and not is_whole:
        if fields:
            out.add(way)
        return
    for step in fields.members | fields.children.keys():
        inner = map_.fields.get(step[2:], map_.element) if step[0] == "f" else map_.element
        if inner is not None:
            _enter(fields, step, inner, way, out)


def _list(fields: FieldSet, list_: ListType, way: _Way, is_whole: bool, out: Builder) -> None:
    if not list_.associative and not is_whole:
        out.add(way)
        return
    for step in fields.members | fields.children.keys():
        _enter(fields, step, list_.element, way, out)


def _enter(fields: FieldSet, step: str, inner: Type, way: _Way, out: Builder) -> None:
    below = fields.children.get(step)
    _visit(below or EMPTY, inner, (*way, step), step in fields.members and below is None, out)
