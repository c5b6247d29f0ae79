"""An object without some of its paths, or with nothing but them. Mirrors `typed.RemoveItems` and `typed.ExtractItems`.

Called by `operations.applied` (what an applier stops claiming goes) and by whoever wants what a manager owns. Whatever loses
its last member that way becomes null, not empty, unless its own path goes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY
from ..tree import ABSENT
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


def extract(value: Json, fields: FieldSet, type_: Type) -> Json:
    """The value with nothing but these paths, what leads to them, and the keys of list entries on the way; ABSENT when it has none."""
    if type_.map is not None and not type_.map.atomic and type(value) is dict:
        return _only_members(value, fields, type_.map)
    if type_.list is not None and type_.list.associative and type(value) is list:
        return _only_items(value, fields, type_.list)
    return value


def _only_members(value: dict[str, Json], fields: FieldSet, map_: MapType) -> Json:
    kept: dict[str, Json] = {}
    for name, member in value.items():
        step = "f:" + name
        below = fields.children.get(step)
        if below is None and step not in fields.members:
            continue
        type_ = map_.fields.get(name) or map_.element
        assert type_ is not None, name
        inner = extract(member, below or EMPTY, type_)
        if inner is not ABSENT:
            kept[name] = inner
        elif step in fields.members:
            kept[name] = type(member)()
    return kept or ABSENT


def _only_items(value: list[Json], fields: FieldSet, list_: ListType) -> Json:
    kept: list[Json] = []
    for item in value:
        step = item_step(list_, item)
        below = fields.children.get(step)
        if below is None and step not in fields.members:
            continue
        inner = extract(item, below or EMPTY, list_.element)
        if list_.keys and type(item) is dict:
            inner = {**{name: item[name] for name in list_.keys if name in item}, **({} if inner is ABSENT else inner)}
        if inner is not ABSENT:
            kept.append(inner)
    return kept or ABSENT
