"""What a model declares: which members of a JSON value belong to it, at every level, and under which names.

Called by `models`, which reads and stages nothing else. Understands dataclasses, msgspec Structs, pydantic models and dataclasses,
TypedDicts, and lists, mappings and unions of them. A `Shape` is computed level by level on demand, so a model may contain itself.
Never looks at a status and never imports pydantic. What cannot be honoured is refused with a TypeError.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import msgspec

from ..objects.paths import meet

#: Where a member stands below its model: nearly always one name. An AliasPath has several.
Place: TypeAlias = "tuple[str, ...]"

_WRAPPERS = (typing.Annotated, typing.Required, typing.NotRequired, typing.Final)
_NOTHING = (type(None), msgspec.UnsetType)


class Member(msgspec.Struct, frozen=True):
    """One declared member.

    place: where it is stored.
    reads: where it may be found, in order of preference, each with where the model's validation expects it.
    dumped: its names in the model's own output; a member of a union may have several.
    """

    place: Place
    reads: tuple[tuple[Place, Place], ...]
    dumped: tuple[str, ...]
    shape: Shape
    #: False for a member that the model never writes (pydantic's `exclude=True`).
    stored: bool = True

    def merged(self, other: Member) -> Member:
        """The member of a union whose variants both declare it."""
        return Member(
            self.place,
            tuple(dict.fromkeys((*self.reads, *other.reads))),
            tuple(dict.fromkeys((*self.dumped, *other.dumped))),
            Shape((*self.shape.variants, *other.shape.variants), self.shape.owner),
            self.stored or other.stored,
        )


class Shape:
    """What is declared of one value. Without members, others or item it is a leaf: one value, whatever it holds."""

    def __init__(self, variants: tuple[Any, ...], owner: type[Any] | None = None) -> None:
        #: The types that the value may have, without None.
        self.variants = tuple(variants)
        #: The model in which this stands, for messages and for what its library can do.
        self.owner = owner

    @classmethod
    def of(cls, annotation: Any, owner: type[Any] | None = None) -> Shape:
        """The shape of an annotation."""
        return cls(tuple(_variants(annotation)), owner)

    @cached_property
    def _anything(self) -> bool:
        return any(variant is Any or variant is object for variant in self.variants)

    @cached_property
    def members(self) -> dict[Place, Member]:
        """The named members, by place."""
        found: dict[Place, Member] = {}
        for variant in () if self._anything else self.variants:
            for member in _members(variant, self.owner):
                known = found.get(member.place)
                found[member.place] = member if known is None else known.merged(member)
        return found

    @cached_property
    def others(self) -> Shape | None:
        """The shape of every member that is not named: of a mapping, or of a model that allows extra members."""
        found = () if self._anything else [args[-1] for variant in self.variants for args in _mapped(variant)]
        return Shape(tuple(one for each in found for one in _variants(each)), self.owner) if found else None

    @cached_property
    def item(self) -> Shape | None:
        """The shape of the entries of a list."""
        found = () if self._anything else [arg for variant in self.variants for arg in _listed(variant)]
        return Shape(tuple(one for each in found for one in _variants(each)), self.owner) if found else None

    @cached_property
    def is_map(self) -> bool:
        """Whether members are declared one by one."""
        return bool(self.members) or self.others is not None or any(kind_of(variant) for variant in self.variants)

    @cached_property
    def has_entries(self) -> bool:
        """Whether it is a list whose entries have declared members."""
        return self.item is not None and (self.item.is_map or self.item.has_entries)

    @cached_property
    def names(self) -> frozenset[str]:
        """The first names of every place that a named member stands at or is read from."""
        members = self.members.values()
        return frozenset({place[0] for member in members for place in (member.place, *(found for found, _ in member.reads))})

    @cached_property
    def dumped(self) -> frozenset[str]:
        """The names of the named members in the model's own output."""
        return frozenset({name for member in self.members.values() for name in member.dumped})


# -- kinds of models


PYDANTIC, STRUCT, DATACLASS, TYPED_DICT = "pydantic", "msgspec", "dataclass", "TypedDict"


def kind_of(variant: Any) -> str:
    """Which kind of model it is; empty for what is none."""
    model = typing.get_origin(variant) or variant
    if not isinstance(model, type):
        return ""
    if hasattr(model, "__pydantic_validator__"):
        return PYDANTIC
    if issubclass(model, msgspec.Struct):
        return "" if model.__struct_config__.array_like else STRUCT
    if dataclasses.is_dataclass(model):
        return DATACLASS
    return TYPED_DICT if typing.is_typeddict(model) else ""


def shape_of(model: Any) -> Shape:
    """The shape of a model that stands for a whole status."""
    return _shape_of(model)


@lru_cache(maxsize=256)
def _shape_of(model: Any) -> Shape:
    if kind_of(model) not in (PYDANTIC, STRUCT, DATACLASS) or (_is_root(model) and not Shape.of(model).is_map):
        name = getattr(model, "__name__", repr(model))
        raise TypeError(f"expected a dataclass, msgspec.Struct or pydantic model with named members, got {name}")
    return Shape.of(model)


def _members(variant: Any, owner: type[Any] | None) -> list[Member]:
    model = typing.get_origin(variant) or variant
    kind = kind_of(variant)
    if not kind or _is_root(model):
        return []
    if kind == PYDANTIC:
        found = list(_pydantic_members(model))
        if owner is not None and kind_of(owner) != PYDANTIC:
            _refuse_ignored(model, owner, found)
    else:
        found = list(_plain_members(variant, model, kind))
    _refuse_overlaps(model, found)
    return found


def _plain_members(variant: Any, model: type[Any], kind: str) -> Iterator[Member]:
    """The members of a dataclass, a Struct or a TypedDict: read and stored under one name each."""
    hints = typing.get_type_hints(model, include_extras=True)
    bound = _bound(variant)
    if kind == STRUCT:
        names = dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))
        config = model.__struct_config__
        if config.tag_field is not None:
            yield _member(config.tag_field, Shape.of(str, model))
    elif kind == DATACLASS:
        names = {field.name: field.name for field in dataclasses.fields(model)}
    else:
        names = {name: name for name in hints}
    for name, spelled in names.items():
        yield _member(spelled, Shape.of(_resolved(hints.get(name, Any), bound), model))


def _member(name: str, shape: Shape) -> Member:
    return Member((name,), (((name,), (name,)),), (name,), shape)


# -- pydantic


def _pydantic_members(model: Any) -> Iterator[Member]:
    config = _config(model)
    for name, field in _fields(model).items():
        written = field.serialization_alias or field.alias or name
        reads = _reads(model, config, name, field, written)
        place = (written,) if field.serialization_alias else reads[0][0]
        if all(found != place for found, _ in reads):
            raise TypeError(
                f"{model.__name__}.{name} is read from {_choices(reads)} and written to {_text(place)}, so what is stored could not "
                f"be loaded again: name {_text(place)} in its validation_alias too, for example with AliasChoices"
            )
        yield Member(place, reads, (written,), Shape.of(field.annotation, model), stored=field.exclude is not True)
    for name, computed in model.__pydantic_decorators__.computed_fields.items():
        written = computed.info.alias or name
        yield Member((written,), (), (written,), Shape.of(computed.info.return_type, model))


def _reads(model: Any, config: Mapping[str, Any], name: str, field: Any, written: str) -> tuple[tuple[Place, Place], ...]:
    """Where a field may be found, and where the validation expects it."""
    by_alias = config.get("validate_by_alias") is not False
    by_name = bool(config.get("validate_by_name") or config.get("populate_by_name")) or not by_alias
    alias = (field.validation_alias or field.alias) if by_alias else None
    if alias is None:
        return (((written,), (name,)),)
    choices = [_place(model, name, choice) for choice in getattr(alias, "choices", [alias])]
    if by_name and (name,) not in choices:
        choices.append((name,))
    return tuple((choice, choice) for choice in choices)


def _place(model: Any, name: str, alias: Any) -> Place:
    steps = tuple(getattr(alias, "path", [alias]))
    if not all(isinstance(step, str) for step in steps):
        raise TypeError(
            f"{model.__name__}.{name} has the alias {alias!r}, which leads into a list by index: entries move, so it cannot be "
            "stored. Declare the list itself"
        )
    return steps


def _fields(model: Any) -> dict[str, Any]:
    if not getattr(model, "__pydantic_complete__", True) and hasattr(model, "model_rebuild"):
        model.model_rebuild()
    found: dict[str, Any] = model.__pydantic_fields__
    return found


def _config(model: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(model, "model_config", None) or getattr(model, "__pydantic_config__", None) or {}
    return found


def _is_root(model: Any) -> bool:
    return bool(getattr(model, "__pydantic_root_model__", False))


# -- refusals


def _refuse_overlaps(model: type[Any], members: Sequence[Member]) -> None:
    """Two members in one place, or one inside the other, would overwrite each other."""
    places = [member.place for member in members]
    for index, place in enumerate(places):
        for other in places[:index]:
            if meet(place, other):
                raise TypeError(f"{model.__name__} declares two members that overlap in JSON: {_text(other)} and {_text(place)}")


def _refuse_ignored(model: Any, owner: type[Any], members: Sequence[Member]) -> None:
    """msgspec fills a pydantic dataclass as a plain one: by its attribute names."""
    for member in members if dataclasses.is_dataclass(model) else ():
        if member.place[0] not in _fields(model):
            raise TypeError(
                f"{owner.__name__} holds the pydantic dataclass {model.__name__}, whose alias {_text(member.place)} is not honoured "
                "there: make one a pydantic model, or both plain dataclasses"
            )


def _choices(reads: Sequence[tuple[Place, Place]]) -> str:
    return " or ".join(_text(found) for found, _ in reads)


def _text(place: Place) -> str:
    return repr(".".join(place))


# -- annotations


def _variants(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation, without None and without wrappers."""
    origin = typing.get_origin(annotation)
    if origin in _WRAPPERS or getattr(origin, "__name__", "") == "ReadOnly":
        yield from _variants(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for one in typing.get_args(annotation):
            yield from _variants(one)
    elif hasattr(annotation, "__supertype__"):  # NewType
        yield from _variants(annotation.__supertype__)
    elif hasattr(annotation, "__value__"):  # type X = ...
        yield from _variants(annotation.__value__)
    elif isinstance(annotation, typing.TypeVar):
        yield from _variants(annotation.__bound__ if annotation.__bound__ is not None else Any)
    elif _is_root(annotation):
        yield from _variants(_fields(annotation)["root"].annotation)
    elif annotation is not None and annotation not in _NOTHING:
        yield annotation


def _mapped(variant: Any) -> Iterator[tuple[Any, ...]]:
    """The type arguments of a mapping; (Any,) for a model that allows extra members."""
    origin = typing.get_origin(variant) or variant
    if not isinstance(origin, type):
        return
    if kind_of(origin) == PYDANTIC:
        if _config(origin).get("extra") == "allow":
            yield (Any,)
    elif issubclass(origin, Mapping) and not typing.is_typeddict(origin):
        yield typing.get_args(variant) or (Any,)


def _listed(variant: Any) -> Iterator[Any]:
    """The types of the entries of a list, tuple or set."""
    origin = typing.get_origin(variant) or variant
    if isinstance(origin, type) and issubclass(origin, (Sequence, Set)) and not issubclass(origin, (str, bytes, bytearray)):
        yield from [arg for arg in typing.get_args(variant) if arg is not Ellipsis and arg != ()] or [Any]


def _bound(variant: Any) -> dict[Any, Any]:
    """What the type variables of a generic model stand for, those of its bases too."""
    model = typing.get_origin(variant) or variant
    bound = dict(zip(getattr(model, "__parameters__", ()), typing.get_args(variant), strict=False))
    for base in getattr(model, "__orig_bases__", ()):
        if typing.get_origin(base) not in (None, typing.Generic):
            bound |= {name: _resolved(given, bound) for name, given in _bound(base).items() if name not in bound}
    return bound


def _resolved(annotation: Any, bound: Mapping[Any, Any]) -> Any:
    """The annotation with its type variables replaced."""
    if isinstance(annotation, typing.TypeVar):
        return bound.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if parameters and typing.get_origin(annotation) is not None:
        return annotation[tuple(bound.get(one, Any) for one in parameters)]
    return annotation
