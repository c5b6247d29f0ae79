"""An object without some of its paths. Mirrors `typed.RemoveItems`.

Called by `prune`: what an applier stops claiming goes. Whatever loses its last member that way becomes null, not empty, unless
its own path goes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .values import LIST, MAP, form, item_step

if TYPE_CHECKING:
    from ..fieldset import FieldSet
    from ..tree import Json
    from .types import ListType, MapType, Type


def remove(value: Json, fields: FieldSet, type_: Type) -> Json:
    """The value without these paths; itself when it has none of them."""
    if not fields:
        return value
    shape = form(type_, value)
    if shape is MAP:
        if type(value) is not dict or not value or type_.map is None or type_.map.atomic:
            return None
        return _without_members(value, fields, type_.map)
    if shape is LIST:
        if type(value) is not list or not value or type_.list is None or not type_.list.associative:
            return None
        return _without_items(value, fields, type_.list)
    return value


def _without_members(value: dict[str, Json], fields: FieldSet, map_: MapType) -> Json:
    kept: dict[str, Json] = {}
    same = True
    for name, member in value.items():
        step = "f:" + name
        if step in fields.members:
            same = False
            continue
        below = fields.children.get(step)
        if below is not None:
            type_ = map_.fields.get(name) or map_.element
            assert type_ is not None, name
            reduced = remove(member, below, type_)
            same = same and reduced is member
            member = reduced
        kept[name] = member
    return value if same else kept or None


def _without_items(value: list[Json], fields: FieldSet, list_: ListType) -> Json:
    kept: list[Json] = []
    same = True
    for item in value:
        step = item_step(list_, item)
        if step in fields.members:
            same = False
            continue
        below = fields.children.get(step)
        if below is not None:
            reduced = remove(item, below, list_.element)
            same = same and reduced is item
            item = reduced
        kept.append(item)
    return value if same else kept or None
