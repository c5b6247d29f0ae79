"""What changed between two objects, as sets of paths: removed, modified, added. Mirrors `typed.Compare`.

Called by `operations` on every write. Both sides must conform. Subtrees that both sides share are never entered, so a change
of one field costs the containers on its path.

Containers count too: adding `spec.size` to an object without `spec` adds both paths. An atomic container is one path. A
container that is empty or null on both sides is compared as one value. Repeated items of an associative list are one path.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..fieldset import EMPTY, Builder, FieldSet
from ..tree import ABSENT
from .values import LIST, MAP, SCALAR, equal, form, item_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tree import Json
    from .types import ListType, MapType, Type

_Way = tuple[str, ...]


class Comparison(NamedTuple):
    """Three disjoint sets; all empty: the objects are the same. `changed` is what was modified or added."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet
    changed: FieldSet

    def without(self, ignored: FieldSet) -> Comparison:
        """The comparison, blind to these paths and to all below them."""
        if not ignored:
            return self
        removed, modified, added = [part.recursive_difference(ignored) for part in self[:3]]
        if removed is self.removed and modified is self.modified and added is self.added:
            return self
        return _comparison(removed, modified, added)


def compare(old: Json, new: Json, type_: Type) -> Comparison:
    """What the new object changes."""
    walk = _Walk()
    walk.both(old, new, type_, ())
    return _comparison(walk.removed.build(), _modified(tuple(walk.modified)), walk.added.build())


def _modified(ways: tuple[_Way, ...]) -> FieldSet:
    """The set of these paths. Writers change the same few fields over and over: those sets are made once."""
    return _few(ways) if 0 < len(ways) <= _FEW else _made(ways)


def _made(ways: tuple[_Way, ...]) -> FieldSet:
    builder = Builder()
    for way in ways:
        builder.add(way)
    return builder.build()


_FEW = 16
_few = lru_cache(maxsize=1024)(_made)


def _comparison(removed: FieldSet, modified: FieldSet, added: FieldSet) -> Comparison:
    return Comparison(removed, modified, added, modified.union(added))


def whole(value: Json, type_: Type) -> FieldSet:
    """Every path below a value that appears or disappears as a whole."""
    shape = form(type_, value)
    if shape is MAP and type_.map is not None and not type_.map.atomic and type(value) is dict and value:
        return _whole_map(value, type_.map)
    if shape is LIST and type_.list is not None and type_.list.associative and type(value) is list and value:
        return _whole_list(value, type_.list)
    return EMPTY


def _whole_map(value: dict[str, Json], map_: MapType) -> FieldSet:
    children: dict[str, FieldSet] = {}
    for name, member in value.items():
        if type(member) is dict or type(member) is list:
            inner = whole(member, map_.fields.get(name) or map_.element or _never(name))
            if inner:
                children["f:" + name] = inner
    return FieldSet(frozenset(["f:" + name for name in value]), children)


def _whole_list(value: list[Json], list_: ListType) -> FieldSet:
    items = by_step(value, list_)
    children = {step: inner for step, same in items.items() if len(same) == 1 and (inner := whole(same[0], list_.element))}
    return FieldSet(frozenset(items), children)


def by_step(value: Json, list_: ListType) -> dict[str, list[Json]]:
    """The items of an associative list by their step; more than one under a step: duplicates."""
    items: dict[str, list[Json]] = {}
    for item in value if type(value) is list else ():
        items.setdefault(item_step(list_, item), []).append(item)
    return items


def _never(name: str) -> Type:
    raise AssertionError(f"{name} is not declared, and the object was said to conform")


def _aligned(old: Json, new: Json, list_: ListType) -> list[tuple[str, Json, Json]] | None:
    """The usual case made cheap: the same items in the same places, none twice. What differs in place, or None otherwise."""
    if type(old) is not list or type(new) is not list or len(old) != len(new):
        return None
    changed: list[tuple[str, Json, Json]] = []
    for left, right in zip(old, new, strict=True):
        if left is not right:
            step = item_step(list_, right)
            if item_step(list_, left) != step:
                return None
            changed.append((step, left, right))
    return changed if _are_single(new, list_) else None


def _are_single(items: list[Json], list_: ListType) -> bool:
    """Whether no two items have the same step."""
    if len(list_.keys) == 1:
        (key,) = list_.keys
        texts = {value for item in items if type(item) is dict and type(value := item.get(key)) is str}
        if len(texts) == len(items):
            return True
    return len({item_step(list_, item) for item in items}) == len(items)


def _has_items(value: Json) -> bool:
    return type(value) is list and bool(value)


def _is_single(type_: Type) -> bool:
    return (type_.map is not None) + (type_.list is not None) + bool(type_.scalar) == 1


class _Walk:
    """The walk over two trees at once."""

    def __init__(self) -> None:
        self.removed, self.added = Builder(), Builder()
        self.modified: list[_Way] = []

    def both(self, old: Json, new: Json, type_: Type, way: _Way) -> None:
        """Two values under one path, neither absent."""
        if old is new:
            return
        after = form(type_, new)
        if type(old) is not type(new):
            before = form(type_, old)
            if before is not after and not _is_single(type_):
                self._as(before, old, new, type_, way)
        elif after is MAP and old and type(new) is dict and type_.map is not None and not type_.map.atomic:
            self._members(old, new, type_.map, way)
            return
        self._as(after, old, new, type_, way)

    def _as(self, shape: str, old: Json, new: Json, type_: Type, way: _Way) -> None:
        """Compare as one form; a side of another form counts as empty there."""
        if shape is SCALAR:
            self._leaf(old, new, way)
        elif shape is MAP:
            left, right = old if type(old) is dict else {}, new if type(new) is dict else {}
            if type_.map is None or type_.map.atomic or not (left or right):
                self._leaf(old, new, way)
            else:
                self._members(left, right, type_.map, way)
        elif type_.list is None or not type_.list.associative or not (_has_items(old) or _has_items(new)):
            self._leaf(old, new, way)
        else:
            self._items(old, new, type_.list, way)

    def _leaf(self, old: Json, new: Json, way: _Way) -> None:
        if not equal(old, new):
            self.modified.append(way)

    def _members(self, old: dict[str, Json], new: dict[str, Json], map_: MapType, way: _Way) -> None:
        fields, element = map_.fields, map_.element
        for name, value in new.items():
            before = old.get(name, ABSENT)
            if before is value:
                continue
            type_ = fields.get(name) or element or _never(name)
            if type(value) is str and type(before) is str and type_.scalar:  # most leaves are texts
                if value != before:
                    self.modified.append((*way, "f:" + name))
            elif before is ABSENT:
                self.added.graft((*way, "f:" + name), whole(value, type_))
            else:
                self.both(before, value, type_, (*way, "f:" + name))
        if old.keys() <= new.keys():
            return
        for name, value in old.items():
            if name not in new:
                self.removed.graft((*way, "f:" + name), whole(value, fields.get(name) or element or _never(name)))

    def _items(self, old: Json, new: Json, list_: ListType, way: _Way) -> None:
        aligned = _aligned(old, new, list_)
        if aligned is not None:
            for step, left, right in aligned:
                self.both(left, right, list_.element, (*way, step))
            return
        before, after = by_step(old, list_), by_step(new, list_)
        for step in {**before, **after}:
            lefts, rights = before.get(step, ()), after.get(step, ())
            if len(lefts) <= 1 and len(rights) <= 1:
                self._item(lefts, rights, list_, (*way, step))
            elif len(lefts) >= 2 and len(rights) >= 2:
                if not equal(list(lefts), list(rights)):
                    self.modified.append((*way, step))
            elif len(lefts) >= 2:  # duplicates before, not any more
                if rights:
                    self.added.graft((*way, step), whole(rights[0], list_.element))
                self.removed.add((*way, step))
            else:  # duplicates now, not before
                if lefts:
                    self.removed.graft((*way, step), whole(lefts[0], list_.element))
                self.added.add((*way, step))

    def _item(self, lefts: Sequence[Json], rights: Sequence[Json], list_: ListType, way: _Way) -> None:
        if not rights:
            self.removed.graft(way, whole(lefts[0], list_.element))
        elif not lefts:
            self.added.graft(way, whole(rights[0], list_.element))
        else:
            self.both(lefts[0], rights[0], list_.element, way)
