"""What models declare: aliases, unions, generics, extra and computed members; what cannot be honoured; and any status at all."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Annotated, Any, Generic, Literal, NewType, TypedDict, TypeVar

import msgspec
import pydantic
import pydantic.alias_generators
import pydantic.dataclasses
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .modelled import KINDS, NOW, DataStatus, DataZone, PydanticStatus, PydanticZone, each_kind, reads, staged, stored, wanted

# -- aliases


class Camel(pydantic.BaseModel):
    """Names by a generator."""

    model_config = pydantic.ConfigDict(alias_generator=pydantic.alias_generators.to_camel, populate_by_name=True)
    ready_replicas: int | None = None


class Outer(pydantic.BaseModel):
    """Every sort of alias."""

    model_config = pydantic.ConfigDict(populate_by_name=True)
    both: str | None = pydantic.Field(None, alias="aBoth")
    read: str | None = pydantic.Field(None, validation_alias="aRead")
    written: str | None = pydantic.Field(None, serialization_alias="aWritten")
    deep: str | None = pydantic.Field(None, validation_alias=pydantic.AliasPath("nest", "deep"))
    chosen: str | None = pydantic.Field(None, validation_alias=pydantic.AliasChoices("new", "old"))
    camel: Camel | None = None


class Renamed(msgspec.Struct, rename="camel"):
    """Names by msgspec."""

    ready_replicas: int | None = None
    last_seen: str | None = msgspec.field(default=None, name="seenAt")


@pytest.mark.parametrize(
    ("status", "model", "name", "place"),
    [
        ({"aBoth": "x"}, Outer, "both", "status.aBoth"),
        ({"both": "x"}, Outer, "both", "status.aBoth"),
        ({"aRead": "x"}, Outer, "read", "status.aRead"),
        ({"aWritten": "x"}, Outer, "written", "status.aWritten"),
        ({"nest": {"deep": "x", "theirs": 1}}, Outer, "deep", "status.nest.deep"),
        ({"new": "x"}, Outer, "chosen", "status.new"),
        ({"old": "x"}, Outer, "chosen", "status.new"),
        ({"seenAt": "x"}, Renamed, "last_seen", "status.seenAt"),
    ],
    ids=[
        "alias", "the name of a field with an alias", "validation_alias", "serialization_alias", "AliasPath", "the first of AliasChoices",
        "the second of AliasChoices", "msgspec rename",
    ],
)  # fmt: skip
def test_aliases_are_honoured(status: Any, model: Any, name: str, place: str) -> None:
    """A member is found under its alias, stored under it when changed, removed from it, and left alone when unchanged."""
    view, _ = staged(status)
    assert getattr(view.load(model), name) == "x"
    assert stored(status, model, lambda s: None) == {}
    assert stored(status, model, lambda s: setattr(s, name, "y"))[place] == "y"
    gone = stored(status, model, lambda s: setattr(s, name, None))
    assert list(gone.values()) == ["gone"]


def test_a_member_under_an_older_name_moves_with_all_that_it_holds() -> None:
    """The changed value stands under the name that the model writes, and no other; what the model does not know moves along."""

    class Moving(pydantic.BaseModel):
        nested: PydanticZone | None = pydantic.Field(
            None, validation_alias=pydantic.AliasChoices("nested", "former"), serialization_alias="nested"
        )

    view, stage = staged({"former": {"size": 1, "theirs": 2}})
    loaded = view.load(Moving)
    assert loaded.nested is not None
    loaded.nested.size = 5
    view.store(loaded)
    assert stage.tree["status"] == {"nested": {"size": 5, "theirs": 2}}


def test_generated_aliases_work_in_nested_models() -> None:
    """Each model has its own names."""
    status = {"camel": {"readyReplicas": 3, "other": 1}}
    assert stored(status, Outer, lambda s: setattr(s.camel, "ready_replicas", 4)) == {"status.camel.readyReplicas": 4}


def test_validation_by_alias_may_be_off() -> None:
    """The alias then is where the member stands, and the model is given its name."""

    class ByName(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(validate_by_alias=False, validate_by_name=True)
        phase: str = pydantic.Field("", alias="thePhase")

    assert stored({"thePhase": "x"}, ByName, lambda s: setattr(s, "phase", s.phase + "y")) == {"status.thePhase": "xy"}


class TwoNames(pydantic.BaseModel):
    """Read here, written there."""

    phase: str = pydantic.Field("", validation_alias="old", serialization_alias="new")


class Indexed(pydantic.BaseModel):
    """By index."""

    first: str = pydantic.Field("", validation_alias=pydantic.AliasPath("names", 0))


class Overlapping(pydantic.BaseModel):
    """One inside the other."""

    nest: dict[str, Any] = {}
    deep: str = pydantic.Field("", validation_alias=pydantic.AliasPath("nest", "deep"))


@pydantic.dataclasses.dataclass
class Aliased:
    """A pydantic dataclass."""

    size: int = pydantic.Field(0, alias="theSize")


@dataclasses.dataclass
class HoldsAliased:
    """A plain dataclass around it."""

    nested: Aliased | None = None


class RootList(pydantic.RootModel[list[int]]):
    """No members."""


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (dict, "expected a dataclass, msgspec.Struct or pydantic model with named members, got dict"),
        (RootList, "expected a dataclass, msgspec.Struct or pydantic model with named members, got RootList"),
        (
            TwoNames,
            "TwoNames.phase is read from 'old' and written to 'new', so what is stored could not be loaded again: name 'new' in its "
            "validation_alias too, for example with AliasChoices",
        ),
        (
            Indexed,
            "Indexed.first has the alias AliasPath(path=['names', 0]), which leads into a list by index: entries move, so it cannot be "
            "stored. Declare the list itself",
        ),
        (Overlapping, "Overlapping declares two members that overlap in JSON: 'nest' and 'nest.deep'"),
        (
            HoldsAliased,
            "HoldsAliased holds the pydantic dataclass Aliased, whose alias 'theSize' is not honoured there: make one a pydantic model, "
            "or both plain dataclasses",
        ),
    ],
    ids=["no model", "no members", "read and written apart", "an index", "an overlap", "a pydantic dataclass in a plain one"],
)
def test_what_cannot_be_honoured_is_refused(model: Any, text: str) -> None:
    """With a TypeError that says what to do, before anything is read."""
    view, stage = staged({"nested": {"theSize": 1}})
    with pytest.raises(TypeError) as refused:
        view.load(model)
    assert (str(refused.value), [path for path in reads(stage) if path != "status.nested"]) == (text, [])


# -- other models


class Extra(pydantic.BaseModel):
    """Takes what it does not name."""

    model_config = pydantic.ConfigDict(extra="allow")
    phase: str = ""


def test_a_model_that_allows_extra_members_declares_them_all() -> None:
    """They are read, kept, changed and removed as its own."""
    view, stage = staged({"phase": "Up", "other": 1, "more": 2})
    loaded = view.load(Extra)
    assert (loaded.model_extra, reads(stage)) == ({"other": 1, "more": 2}, ["status"])
    delattr(loaded, "other")
    setattr(loaded, "more", 3)  # noqa: B010
    view.store(loaded)
    assert wanted(stage) == {"status.more": 3, "status.other": "gone"}


class Computed(pydantic.BaseModel):
    """One member is computed, one is only read."""

    size: int = 0
    seen: int = pydantic.Field(0, exclude=True)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def doubled(self) -> int:
        """Twice the size."""
        return 2 * self.size


def test_computed_and_excluded_members() -> None:
    """A computed member is stored and never read; an excluded one is read and never stored."""
    view, stage = staged({"size": 1, "seen": 7, "doubled": 2})
    assert view.load(Computed).seen == 7
    assert reads(stage) == ["status.size", "status.seen"]
    assert stored({"size": 1, "seen": 7, "doubled": 2}, Computed, lambda s: setattr(s, "size", 2)) == {
        "status.size": 2, "status.doubled": 4,
    }  # fmt: skip


class Small(msgspec.Struct, tag="small"):
    """A variant."""

    grams: int = 0


class Big(msgspec.Struct, tag="big"):
    """Another."""

    tons: int = 0


class Weighed(msgspec.Struct):
    """One of two."""

    weight: Small | Big | None = None


class Cat(pydantic.BaseModel):
    """A variant."""

    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(pydantic.BaseModel):
    """Another."""

    kind: Literal["dog"] = "dog"
    tricks: int = 0


class Owner(pydantic.BaseModel):
    """One of two."""

    pet: Annotated[Cat | Dog, pydantic.Field(discriminator="kind")] | str | None = None


def test_a_union_declares_the_members_of_its_variants() -> None:
    """Another variant takes the members of the former away, and leaves what neither declares."""
    status = {"weight": {"type": "small", "grams": 5, "theirs": 1}}
    assert stored(status, Weighed, lambda s: setattr(s, "weight", Big(tons=2))) == {
        "status.weight.type": "big", "status.weight.grams": "gone", "status.weight.tons": 2,
    }  # fmt: skip
    pets = {"pet": {"kind": "cat", "lives": 8, "theirs": 1}}
    assert stored(pets, Owner, lambda s: setattr(s, "pet", Dog(tricks=1))) == {
        "status.pet.kind": "dog", "status.pet.lives": "gone", "status.pet.tricks": 1,
    }  # fmt: skip
    assert stored({"pet": "a fish"}, Owner, lambda s: setattr(s, "pet", "two fish")) == {"status.pet": "two fish"}


class Node(msgspec.Struct):
    """A model that contains itself."""

    name: str = ""
    left: Node | None = None


Item = TypeVar("Item")


@dataclasses.dataclass
class Box(Generic[Item]):
    """A generic model."""

    inner: Item | None = None


class TypedZone(TypedDict, total=False):
    """Plain data with names."""

    size: int


Name = NewType("Name", str)


@dataclasses.dataclass
class Mixed:
    """Kinds inside one another."""

    camel: Camel | None = None
    typed: TypedZone | None = None
    anything: Any = None
    name: Name | None = None


def test_models_that_contain_themselves_or_other_kinds() -> None:
    """Recursion, generics, TypedDicts and pydantic models in dataclasses."""
    assert stored({"left": {"left": {"name": "x", "t": 1}}}, Node, lambda s: setattr(s.left.left, "name", "y")) == {
        "status.left.left.name": "y"
    }
    assert stored({"inner": {"size": 1, "t": 1}}, Box[DataZone], lambda s: setattr(s.inner, "size", 2)) == {"status.inner.size": 2}
    mixed = {"camel": {"readyReplicas": 1, "t": 1}, "typed": {"size": 1, "t": 1}, "anything": {"a": 1}, "name": "n"}
    assert stored(mixed, Mixed, lambda s: setattr(s.camel, "ready_replicas", 2)) == {"status.camel.readyReplicas": 2}
    assert stored(mixed, Mixed, lambda s: s.typed.update(size=2)) == {"status.typed.size": 2}
    assert stored(mixed, Mixed, lambda s: s.anything.update(a=2)) == {"status.anything.a": 2}


def test_a_strict_pydantic_model_takes_json() -> None:
    """A time is a text in JSON, and a strict model accepts it there."""

    class Strict(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(strict=True)
        since: datetime.datetime | None = None

    view, _ = staged({"since": NOW})
    assert view.load(Strict).since == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("model", "text"),
    [(DataStatus, r"Expected `int`, got `str` - at `\$\.zones\[\.\.\.\]\.size`"), (PydanticStatus, r"zones\.a\.size\n.*valid integer")],
    ids=["msgspec", "pydantic"],
)
def test_a_status_that_does_not_fit_is_refused_with_its_path(model: Any, text: str) -> None:
    """The model's own error, which is a ValueError in both libraries."""
    view, _ = staged({"zones": {"a": {"size": "x"}}})
    with pytest.raises(ValueError, match=text):
        view.load(model)


# -- whatever stands there


TEXT = st.text("ab", max_size=2)
UNKNOWN = st.dictionaries(st.sampled_from(["theirs", "more"]), st.none() | st.integers() | TEXT | st.lists(st.integers(), max_size=2))


def _with_unknown(**members: Any) -> Any:
    """An object with some of the members, and some that no model declares."""
    return st.builds(lambda unknown, known: {**unknown, **known}, UNKNOWN, st.fixed_dictionaries({}, optional=members))


def _named(entry: Any) -> Any:
    """Entries with distinct names."""
    return st.lists(st.tuples(TEXT, entry), max_size=3, unique_by=lambda pair: pair[0]).map(
        lambda pairs: [{**entry, "name": name} for name, entry in pairs]
    )


STATUSES = _with_unknown(
    phase=st.none() | TEXT,
    count=st.integers(-5, 5),
    network=st.none() | _with_unknown(ip=st.none() | TEXT, dns=st.none() | _with_unknown(name=TEXT, ttl=st.integers())),
    zones=st.dictionaries(TEXT, _with_unknown(size=st.integers())),
    workloads=_named(_with_unknown(ready=st.none() | st.booleans())),
    steps=st.lists(st.builds(lambda unknown, title: {**unknown, "title": title}, UNKNOWN, TEXT), max_size=3),
    readyReplicas=st.none() | st.integers(),
    seenAt=st.none() | TEXT,
    aBoth=TEXT, both=TEXT, aRead=TEXT, aWritten=TEXT, new=TEXT, old=TEXT,
    nest=_with_unknown(deep=TEXT),
    camel=_with_unknown(readyReplicas=st.integers()),
)  # fmt: skip


@settings(derandomize=True, max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATUSES)
@pytest.mark.parametrize("model", [*KINDS.values(), Outer, Renamed, Camel], ids=lambda model: model.__name__)
def test_storing_what_was_loaded_stages_nothing(model: Any, status: Any) -> None:
    """For every model, whatever the status holds."""
    view, stage = staged(status)
    view.store(view.load(model))
    assert (wanted(stage), stage.tree is stage.base) == ({}, True)


@settings(derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATUSES, TEXT)
@each_kind
def test_one_change_leaves_everything_else(model: Any, status: Any, phase: str) -> None:
    """After a store the status differs at the changed member only."""
    view, stage = staged(status)
    loaded = view.load(model)
    loaded.phase = phase
    view.store(loaded)
    assert {**stage.tree["status"], "phase": None} == {**status, "phase": None}
    assert stage.tree["status"]["phase"] == phase
