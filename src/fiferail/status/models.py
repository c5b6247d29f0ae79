"""The status as the caller's own model: a dataclass, a msgspec Struct or a pydantic model.

`load` reads, and `store` stages, the members that the model declares (`declared`) and nothing else, at every level: a member that
the model does not know survives. A list of models is one value to readers; its entries are paired by the list's key when they are
stored, and where it has none nothing that the model does not know is thrown away: that is refused.

What the model made of the status is no change of it: a default for what is absent, a time written in another form. So `load` keeps
what the model gave back, and `store` stages what differs from that. Pydantic is never imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ..errors import FiferailError, NotOwner
from ..objects.paths import Path, find, render
from ..objects.tree import ABSENT, Json, lookup, removed, replaced, same, thaw
from .declared import PYDANTIC, Member, Shape, kind_of, shape_of
from .intents import placed
from .reads import Look
from .shapes import identities, key_of
from .view import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .shapes import Shapes
    from .view import Staging

Model = TypeVar("Model")
#: By class: the model, the base at the time, and what the model gave back when it was last loaded or stored.
Loaded: TypeAlias = "dict[type[Any], tuple[Any, Json, Json]]"
#: A path and what shall stand there (ABSENT: nothing).
Change: TypeAlias = "tuple[Path, Json]"


class _Unknown:
    """What a model gave back earlier is not known: compare with what is there."""


_UNKNOWN: Any = _Unknown()


# -- loading


def load(stage: Staging, root: Path, model: type[Model], loaded: Loaded) -> Model:
    """Read what the model declares and build an instance; the model's own error says what is wrong, and where."""
    shape = shape_of(model)
    instance: Model = _built(model, _read(stage, root, shape, at_root=True))
    loaded[type(instance)] = model, stage.base, _dumped(instance, root)
    return instance


def _read(stage: Staging, path: Path, shape: Shape, *, at_root: bool = False) -> Json:
    """Record reads of what is declared below the path; gives the input of the model's validation."""
    there = stage.get(path)
    if shape.is_map and (at_root or isinstance(there, dict)):
        if shape.others is not None:
            stage.read(path)  # which members there are is part of what the model gets
            return _fed(shape, there) if isinstance(there, dict) else {}
        found: Json = {}
        for member in shape.members.values():
            for place, expected in member.reads:
                value = _read(stage, (*path, *place), member.shape)
                if value is not ABSENT:
                    found = replaced(found, expected, value)
                    break
        if not found and not at_root:
            stage.read(path, Look.THERE)  # none of its members tells that the map is there
        return found
    stage.read(path)
    return _fed(shape, there)


def _fed(shape: Shape, value: Json) -> Json:
    """The declared part of a value, as the model's validation expects it."""
    if isinstance(value, dict) and shape.is_map:
        found: Json = {}
        if shape.others is not None:
            found = {name: _fed(shape.others, member) for name, member in value.items() if name not in shape.names}
        for member in shape.members.values():
            for place, expected in member.reads:
                given = lookup(value, place)
                if given is not ABSENT:
                    found = replaced(found, expected, _fed(member.shape, given))
                    break
        return found
    if isinstance(value, list) and shape.item is not None and shape.has_entries:
        return [_fed(shape.item, entry) for entry in value]
    return thaw(value)


def _built(model: Any, data: Json) -> Any:
    if kind_of(model) == PYDANTIC:  # from JSON: a strict model takes a text for a time there
        return model.__pydantic_validator__.validate_json(msgspec.json.encode(data))
    return msgspec.convert(data, model, dec_hook=_nested)


def _nested(model: type[Any], data: Any) -> Any:
    """A pydantic model inside a dataclass or Struct."""
    if kind_of(model) == PYDANTIC:
        return _built(model, data)
    raise NotImplementedError(f"{model.__name__} is not a type that msgspec can build")


# -- storing


def store(stage: Staging, root: Path, instance: Any, loaded: Loaded) -> None:
    """Stage what the instance changes of the members that its model declares; a member that is None, or left out, is removed."""
    kind = type(instance)
    model = loaded[kind][0] if kind in loaded else kind  # a generic model was loaded with its arguments
    shape = shape_of(model)
    after = _dumped(instance, root)
    there = stage.get(root)
    before = _before(stage, root, shape, loaded[kind]) if kind in loaded else _UNKNOWN
    current = there if isinstance(there, dict) else {}
    for path, value in list(_Storing(stage.shapes, kind).changes(shape, root, current, before, after)):
        _staged(stage, path, value)
    if kind in loaded:
        loaded[kind] = model, stage.base, after


def _before(stage: Staging, root: Path, shape: Shape, loaded: tuple[Any, Json, Json]) -> Json:
    """What the model gave back last; after a flush or on a newer object, what it makes of the status now."""
    model, base, before = loaded
    if base is stage.base:
        return before
    there = stage.get(root)
    try:
        return _dumped(_built(model, _fed(shape, there if isinstance(there, dict) else {})), root)
    except ValueError:  # msgspec's and pydantic's: the status is no such model any more
        return _UNKNOWN


def _staged(stage: Staging, path: Path, value: Json) -> None:
    there = stage.get(path)
    if same(there, value) and not same(find(stage.base, path), there):
        return  # staged by this session, maybe as a condition or a raised number: saying it again would make it a plain value
    try:
        if value is ABSENT:
            stage.drop(path)
        else:
            stage.put(path, value)
    except NotOwner:
        if not same(there, value):
            raise  # what is left as it is needs no claim


def _dumped(instance: Any, root: Path) -> Json:
    """What the model gives back, as plain JSON."""
    if kind_of(type(instance)) == PYDANTIC:
        found = _serialized(instance)
    else:
        found = msgspec.to_builtins(instance, str_keys=True, enc_hook=_serialized)
    if not isinstance(found, dict):
        raise TypeError(f"expected {type(instance).__name__} to give a mapping, got {type(found).__name__}: it cannot be a status")
    return plain(found, root)


def _serialized(instance: Any) -> Any:
    """What a pydantic model gives back."""
    if kind_of(type(instance)) != PYDANTIC:
        raise NotImplementedError(f"{type(instance).__name__} is not a type that msgspec can write")
    return type(instance).__pydantic_serializer__.to_python(instance, mode="json", by_alias=True)


class _Storing:
    """From what a model gave back to changes of the declared leaves. `before` and `after` are in the model's own names."""

    def __init__(self, shapes: Shapes, model: type[Any]) -> None:
        self._shapes = shapes
        self._model = model

    def changes(self, shape: Shape, path: Path, current: Json, before: Json, after: Json) -> Iterator[Change]:
        """What shall stand where. Every declared leaf is named, also one that stays: it is what the caller has decided."""
        if shape.is_map and isinstance(current, dict) and isinstance(after, dict):
            for member in shape.members.values():
                if member.stored:
                    yield from self._member(member, path, current, _picked(member, before), _picked(member, after))
            if shape.others is not None:
                yield from self._others(shape, shape.others, path, current, before, after)
        elif before is not _UNKNOWN and same(before, after):
            yield path, current
        elif after is None or after is ABSENT:
            yield path, None if current is None else ABSENT
        elif shape.item is not None and shape.has_entries and isinstance(current, list) and isinstance(after, list):
            yield from self._entries(shape.item, path, current, before, after)
        else:
            yield path, _cleaned(shape, after)

    def _member(self, member: Member, path: Path, current: dict[str, Json], before: Json, after: Json) -> Iterator[Change]:
        """A member that was found under another of its names moves to where it is stored, if it changes."""
        found = next((place for place, _ in member.reads if lookup(current, place) is not ABSENT), member.place)
        at = (*path, *found)
        changes = self.changes(member.shape, at, lookup(current, found), before, after)
        if found == member.place:
            yield from changes
            return
        tree = lookup(current, found)
        for where, value in list(changes):
            below = where[len(at) :]
            tree = placed(tree, below, value) if below else value
        if same(tree, lookup(current, found)):
            yield at, tree
            return
        for place, _ in member.reads:
            if place != member.place and lookup(current, place) is not ABSENT:
                yield (*path, *place), ABSENT
        yield (*path, *member.place), tree

    def _others(self, shape: Shape, other: Shape, path: Path, current: Json, before: Json, after: Json) -> Iterator[Change]:
        """Members that no name declares. One that appeared since the model was loaded is not the model's to remove."""
        mine = {name: member for name, member in after.items() if name not in shape.dumped}
        for name, member in mine.items():
            yield from self.changes(other, (*path, name), current.get(name, ABSENT), _at(before, name), member)
        for name in current:
            if name not in mine and name not in shape.names and (before is _UNKNOWN or _at(before, name) is not ABSENT):
                yield (*path, name), ABSENT

    def _entries(self, item: Shape, path: Path, current: list[Json], before: Json, after: list[Json]) -> Iterator[Change]:
        """A list of models: entries are paired by the list's key; without one, only where nothing unknown would be lost."""
        wanted = [_cleaned(item, entry) for entry in after]
        names = self._shapes.keys(path, current)
        keys = identities(wanted, names) if names is not None else None
        if names is None or keys is None:
            yield path, self._whole(item, path, current, before, after)
            return
        stored = dict(zip(identities(current, names) or [], current, strict=True))
        earlier = self._by_key(item, names, before)
        for key, entry, cleaned in zip(keys, after, wanted, strict=True):
            at = (*path, key_of(cleaned, names))
            if key in stored:
                yield from self.changes(item, at, stored[key], earlier.get(key, _UNKNOWN), entry)
            else:
                yield at, cleaned
        for key, entry in stored.items():
            if key not in keys and (before is _UNKNOWN or key in earlier):
                yield (*path, key_of(entry, names)), ABSENT

    def _by_key(self, item: Shape, names: tuple[str, ...], before: Json) -> dict[Any, Json]:
        """The entries that the model gave back earlier."""
        keys = identities([_cleaned(item, entry) for entry in before], names) if isinstance(before, list) else None
        return dict(zip(keys, before, strict=True)) if keys is not None else {}

    def _whole(self, item: Shape, path: Path, current: list[Json], before: Json, after: list[Json]) -> list[Json]:
        """The list as one value; entries that the model left as they were stay as they stand."""
        for index, entry in enumerate(current):
            unknown = _undeclared(item, entry, (*path, index))
            if unknown is not None:
                raise self._unpaired(path, unknown)
        known = list(zip(before, current, strict=True)) if isinstance(before, list) and len(before) == len(current) else []
        return [next((stored for old, stored in known if same(old, entry)), _cleaned(item, entry)) for entry in after]

    def _unpaired(self, path: Path, unknown: Path) -> FiferailError:
        field = ".".join(step for step in path[1:] if isinstance(step, str))
        return FiferailError(
            f"{render(path)} was changed through {self._model.__name__}, which does not declare {render(unknown)}. The entries of the "
            "list have no key to pair them by, so storing the list would remove that member. "
            f'Declare the key on the writer, keys={{"{field}": (...)}}, or declare {unknown[-1]!r} in the model'
        )


def _picked(member: Member, given: Json) -> Json:
    """The member in what a model gave back."""
    if not isinstance(given, dict):
        return _UNKNOWN if given is _UNKNOWN else ABSENT
    return next((given[name] for name in member.dumped if name in given), ABSENT)


def _at(given: Json, name: str) -> Json:
    if isinstance(given, dict):
        return given.get(name, ABSENT)
    return _UNKNOWN if given is _UNKNOWN else ABSENT


def _cleaned(shape: Shape, given: Json) -> Json:
    """What a model gave back, in the names of the status and without members that are None."""
    if isinstance(given, dict) and shape.is_map:
        found: Json = {}
        if shape.others is not None:
            found = {name: _cleaned(shape.others, value) for name, value in given.items() if name not in shape.dumped}
        for member in shape.members.values():
            value = _picked(member, given)
            if member.stored and value is not ABSENT and value is not None:
                found = replaced(found, member.place, _cleaned(member.shape, value))
        return found
    if isinstance(given, list) and shape.item is not None:
        return [_cleaned(shape.item, entry) for entry in given]
    return given


def _undeclared(shape: Shape, value: Json, at: Path) -> Path | None:
    """The first member of a stored value that the model does not declare."""
    if isinstance(value, list) and shape.item is not None:
        below = (_undeclared(shape.item, entry, (*at, index)) for index, entry in enumerate(value))
        return next((path for path in below if path is not None), None)
    if not isinstance(value, dict) or not shape.is_map:
        return None
    rest = value
    for member in shape.members.values():
        for place in dict.fromkeys([member.place, *(found for found, _ in member.reads)]):
            given = lookup(value, place)
            if given is not ABSENT:
                rest = removed(rest, place)
                unknown = _undeclared(member.shape, given, (*at, *place))
                if unknown is not None:
                    return unknown
    return _leftover(shape, rest, at)


def _leftover(shape: Shape, rest: Json, at: Path) -> Path | None:
    for name, member in rest.items():
        if shape.others is not None and name not in shape.names:
            unknown = _undeclared(shape.others, member, (*at, name))
            if unknown is not None:
                return unknown
        elif name not in shape.names or member:  # what an alias path leads through is empty without its end
            return (*at, name, *(list(member)[:1] if name in shape.names and isinstance(member, dict) else ()))
    return None
