"""Models: `load` reads and `store` stages what the model declares, at every level, and nothing else."""

from __future__ import annotations

import copy
import dataclasses
import datetime
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, NewType, TypedDict, TypeVar

import msgspec
import pydantic
import pydantic.alias_generators
import pydantic.dataclasses
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fiferail import StatusWriter
from fiferail.errors import Conflict, FiferailError, NotOwner
from fiferail.objects.paths import render
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.view import Status
from fiferail.testing.server import ApiServer

SHELF = "models.example.io/v1"
NOW = "2026-01-02T03:04:05Z"
STATUS: dict[str, Any] = {
    "phase": "Up",
    "theirs": {"keep": True},
    "network": {"ip": "10.0.0.1", "theirs": "n", "dns": {"name": "a.b", "theirs": "d"}},
    "zones": {"a": {"size": 1, "theirs": "za"}, "b": {"size": 2}},
    "workloads": [{"name": "a", "ready": True, "theirs": "wa"}, {"name": "b", "ready": False, "theirs": "wb"}],
    "steps": [{"title": "one"}, {"title": "two"}],
}


@dataclasses.dataclass
class DataDns:
    """Two levels down."""

    name: str = ""
    ttl: int = 30


@dataclasses.dataclass
class DataNetwork:
    """One level down."""

    ip: str | None = None
    dns: DataDns | None = None


@dataclasses.dataclass
class DataZone:
    """An entry of a map."""

    size: int = 0


@dataclasses.dataclass
class DataWorkload:
    """An entry of a keyed list."""

    name: str
    ready: bool | None = None


@dataclasses.dataclass
class DataStep:
    """An entry of a plain list."""

    title: str


@dataclasses.dataclass
class DataStatus:
    """Models within models."""

    phase: str | None = None
    count: int = 0
    network: DataNetwork | None = None
    zones: dict[str, DataZone] = dataclasses.field(default_factory=dict)
    workloads: list[DataWorkload] = dataclasses.field(default_factory=list)
    steps: list[DataStep] = dataclasses.field(default_factory=list)


class StructDns(msgspec.Struct):
    """Two levels down."""

    name: str = ""
    ttl: int = 30


class StructNetwork(msgspec.Struct):
    """One level down."""

    ip: str | None = None
    dns: StructDns | None = None


class StructZone(msgspec.Struct):
    """An entry of a map."""

    size: int = 0


class StructWorkload(msgspec.Struct):
    """An entry of a keyed list."""

    name: str
    ready: bool | None = None


class StructStep(msgspec.Struct):
    """An entry of a plain list."""

    title: str


class StructStatus(msgspec.Struct):
    """Models within models."""

    phase: str | None = None
    count: int = 0
    network: StructNetwork | None = None
    zones: dict[str, StructZone] = {}
    workloads: list[StructWorkload] = []
    steps: list[StructStep] = []


class PydanticDns(pydantic.BaseModel):
    """Two levels down."""

    name: str = ""
    ttl: int = 30


class PydanticNetwork(pydantic.BaseModel):
    """One level down."""

    ip: str | None = None
    dns: PydanticDns | None = None


class PydanticZone(pydantic.BaseModel):
    """An entry of a map."""

    size: int = 0


class PydanticWorkload(pydantic.BaseModel):
    """An entry of a keyed list."""

    name: str
    ready: bool | None = None


class PydanticStep(pydantic.BaseModel):
    """An entry of a plain list."""

    title: str


class PydanticStatus(pydantic.BaseModel):
    """Models within models."""

    phase: str | None = None
    count: int = 0
    network: PydanticNetwork | None = None
    zones: dict[str, PydanticZone] = {}
    workloads: list[PydanticWorkload] = []
    steps: list[PydanticStep] = []


KINDS: dict[str, Any] = {"dataclass": DataStatus, "msgspec": StructStatus, "pydantic": PydanticStatus}
WORKLOADS: dict[Any, Any] = {DataStatus: DataWorkload, StructStatus: StructWorkload, PydanticStatus: PydanticWorkload}
STEPS: dict[Any, Any] = {DataStatus: DataStep, StructStatus: StructStep, PydanticStatus: PydanticStep}
each_kind = pytest.mark.parametrize("model", KINDS.values(), ids=KINDS)


def staged(status: Any = STATUS, *, may_write: Callable[[Any], None] | None = None) -> tuple[Status, Stage]:
    """A status in which workloads are keyed by name, and its stage."""
    obj = {"metadata": {"name": "g", "uid": "u", "resourceVersion": "7"}}
    if status is not None:
        obj["status"] = status
    shapes = Shapes().declared({"workloads": ("name",)})
    stage = Stage(obj, shapes=shapes, now=lambda: NOW, may_write=may_write)
    return Status(stage, ("status",)), stage


def wanted(stage: Stage) -> dict[str, Any]:
    """What is staged: paths and values, and "gone" for a removal."""
    return {render(intent.path): getattr(intent, "value", "gone") for intent in stage.intents()}


def reads(stage: Stage) -> list[str]:
    """What was read, as text."""
    return [render(path) for path in stage.reads]


def stored(status: Any, model: Any, change: Callable[[Any], object]) -> dict[str, Any]:
    """What is staged after a load, a change and a store."""
    view, stage = staged(status)
    loaded = view.load(model)
    change(loaded)
    view.store(loaded)
    return wanted(stage)


# -- every level


@each_kind
def test_only_declared_leaves_count_as_read(model: Any) -> None:
    """Members of nested models are read one by one; a map or list of models is read as a whole, because its entries are counted."""
    view, stage = staged()
    loaded = view.load(model)
    assert (loaded.network.dns.name, loaded.zones["b"].size, loaded.workloads[0].ready) == ("a.b", 2, True)
    assert reads(stage) == [
        "status.phase", "status.count", "status.network.ip", "status.network.dns.name", "status.network.dns.ttl", "status.zones",
        "status.workloads", "status.steps",
    ]  # fmt: skip


@each_kind
def test_a_map_without_any_declared_member_is_read_as_one_value(model: Any) -> None:
    """The model tells an empty map from none, so that the map is there counts as read."""
    view, stage = staged({"network": {"theirs": "n"}})
    assert view.load(model).network is not None
    assert "status.network" in reads(stage)


@each_kind
def test_an_object_without_status_loads_as_the_defaults(model: Any) -> None:
    """Each declared member is read as absent, and nothing is staged by storing it again."""
    view, stage = staged(None)
    loaded = view.load(model)
    assert (loaded.phase, loaded.count, loaded.network) == (None, 0, None)
    view.store(loaded)
    assert wanted(stage) == {}


CHANGES: dict[str, tuple[Callable[[Any], object], dict[str, Any]]] = {
    "nothing": (lambda s: None, {}),
    "a member": (lambda s: setattr(s, "phase", "Down"), {"status.phase": "Down"}),
    "a member to None": (lambda s: setattr(s, "phase", None), {"status.phase": "gone"}),
    "a member that was absent": (lambda s: setattr(s, "count", 3), {"status.count": 3}),
    "a nested member": (lambda s: setattr(s.network, "ip", "10.0.0.2"), {"status.network.ip": "10.0.0.2"}),
    "a nested member to None": (lambda s: setattr(s.network, "ip", None), {"status.network.ip": "gone"}),
    "two levels down": (lambda s: setattr(s.network.dns, "ttl", 5), {"status.network.dns.ttl": 5}),
    "a nested model to None": (lambda s: setattr(s, "network", None), {"status.network": "gone"}),
    "an entry of a map": (lambda s: setattr(s.zones["a"], "size", 9), {"status.zones.a.size": 9}),
    "an entry less in a map": (lambda s: s.zones.pop("b"), {"status.zones.b": "gone"}),
    "an entry more in a map": (lambda s: s.zones.update(c=s.zones["b"]), {"status.zones.c.size": 2}),
    "an entry of a keyed list": (lambda s: setattr(s.workloads[0], "ready", None), {"status.workloads[name=a].ready": "gone"}),
    "the first entry of a keyed list": (lambda s: s.workloads.pop(0), {"status.workloads[name=a]": "gone"}),
    "the order of a keyed list": (lambda s: s.workloads.reverse(), {}),
    "the order of a plain list": (lambda s: s.steps.reverse(), {"status.steps": [{"title": "two"}, {"title": "one"}]}),
    "an entry of a plain list": (lambda s: setattr(s.steps[0], "title", "0"), {"status.steps": [{"title": "0"}, {"title": "two"}]}),
}


@each_kind
@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_model_stages_that_leaf(model: Any, change: Callable[[Any], object], expected: dict[str, Any]) -> None:
    """What the model does not declare survives at every level, in entries of maps and keyed lists too."""
    assert stored(STATUS, model, change) == expected


@each_kind
def test_a_new_entry_of_a_keyed_list_is_staged_by_its_key(model: Any) -> None:
    """Its members that are None are left out."""
    change = lambda s: s.workloads.insert(0, WORKLOADS[model](name="c"))  # noqa: E731
    assert stored(STATUS, model, change) == {"status.workloads[name=c]": {"name": "c"}}


@each_kind
def test_a_changed_list_without_keys_and_with_unknown_members_is_refused(model: Any) -> None:
    """The error names the list, the member and what to do, and nothing is staged; an unchanged list is left alone."""
    status = {"phase": "Up", "steps": [{"title": "one"}, {"title": "two", "owner": "them"}]}
    view, stage = staged(status)
    loaded = view.load(model)
    loaded.phase = "Down"
    loaded.steps.append(STEPS[model](title="three"))
    with pytest.raises(FiferailError) as refused:
        view.store(loaded)
    assert str(refused.value) == (
        f"status.steps was changed through {model.__name__}, which does not declare status.steps[1].owner. The entries of the list have "
        "no key to pair them by, so storing the list would remove that member. "
        "Declare the key on the writer, keys={\"steps\": (...)}, or declare 'owner' in the model"
    )  # fmt: skip
    assert stage.tree is stage.base
    assert stored(status, model, lambda s: setattr(s, "phase", "Down")) == {"status.phase": "Down"}


class Unnamed(msgspec.Struct):
    """A workload without the list's key."""

    ready: bool = False


class UnnamedStatus(msgspec.Struct):
    """A keyed list whose key the model does not declare."""

    workloads: list[Unnamed] = []


def test_a_keyed_list_whose_key_the_model_does_not_declare_is_refused() -> None:
    """Entries without their key cannot be paired."""
    with pytest.raises(FiferailError, match=r"does not declare status\.workloads\[0\]\.name\."):
        stored(STATUS, UnnamedStatus, lambda s: setattr(s.workloads[0], "ready", False))


# -- what was loaded before


@each_kind
def test_a_fresh_instance_stages_its_defaults_too(model: Any) -> None:
    """Nothing was loaded, so the caller means every member of it."""
    view, stage = staged({"phase": "Up", "theirs": 1})
    view.store(model(phase=None))
    assert stage.tree["status"] == {"theirs": 1, "count": 0, "zones": {}, "workloads": [], "steps": []}


@each_kind
def test_a_member_may_be_set_back(model: Any) -> None:
    """A change is judged against what was stored last, not only against what was loaded."""
    view, stage = staged()
    loaded = view.load(model)
    loaded.phase = "Down"
    view.store(loaded)
    loaded.phase = "Up"
    view.store(loaded)
    assert wanted(stage) == {}


@each_kind
def test_what_was_staged_otherwise_since_the_load_stays(model: Any) -> None:
    """Storing a model that was not touched there does not take back what the session staged by hand."""
    view, stage = staged()
    loaded = view.load(model)
    view["phase"] = "Down"
    view.entry("workloads", name="c")["ready"] = True
    loaded.workloads[0].ready = False
    view.store(loaded)
    assert wanted(stage) == {
        "status.phase": "Down", "status.workloads[name=a].ready": False, "status.workloads[name=c]": {"name": "c", "ready": True},
    }  # fmt: skip


@each_kind
def test_a_function_that_runs_again_stages_its_instance_again(model: Any) -> None:
    """On the live object an instance that was kept is compared with what stands there."""
    view, stage = staged()
    loaded = view.load(model)
    loaded.phase = "Down"
    view.store(loaded)
    stage.run_again({**stage.base, "status": {"phase": "Other"}})
    view.store(loaded)
    assert wanted(stage)["status.phase"] == "Down"
    assert "status.count" not in wanted(stage), "a default that stood for an absent member"


@each_kind
def test_an_unchanged_member_needs_no_claim(model: Any) -> None:
    """A member that another claims may be declared, and may not be changed."""

    def may_write(path: Any) -> None:
        if "phase" in path:
            raise NotOwner("phase is theirs")

    view, stage = staged(may_write=may_write)
    loaded = view.load(model)
    loaded.count = 3
    view.store(loaded)
    assert wanted(stage) == {"status.count": 3}
    loaded.phase = "Down"
    with pytest.raises(NotOwner, match="phase is theirs"):
        view.store(loaded)


class Timed(msgspec.Struct):
    """A time that the model writes in another form."""

    since: datetime.datetime | None = None
    count: int = 0


def test_another_form_of_the_same_value_is_no_change() -> None:
    """A time with an offset loads as a datetime, and stays as it stands until it is changed."""
    status = {"since": "2026-01-01T00:00:00+00:00"}
    assert stored(status, Timed, lambda s: setattr(s, "count", 1)) == {"status.count": 1}
    later = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
    assert stored(status, Timed, lambda s: setattr(s, "since", later)) == {"status.since": "2027-01-01T00:00:00Z"}


def test_a_stored_null_is_left_where_the_model_says_none() -> None:
    """A nullable member keeps its null."""
    assert stored({"phase": None}, DataStatus, lambda s: setattr(s, "count", 1)) == {"status.count": 1}


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


# -- through a session


def _crd() -> Any:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": loose}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    names = {"plural": "shelves", "singular": "shelf", "kind": "Shelf"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "shelves.models.example.io"},
        "spec": {"group": "models.example.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }  # fmt: skip


@each_kind
def test_a_session_with_a_model_guards_what_it_declares(server: ApiServer, model: Any) -> None:
    """What the model does not declare survives and may change meanwhile; what it declares may not."""
    server.apply(_crd(), {"apiVersion": SHELF, "kind": "Shelf", "metadata": {"name": "s", "namespace": "default"}})
    writer = StatusWriter(server.client, field_manager="mine", keys={"workloads": ("name",)})
    given = server.client.patch(server.get(SHELF, "Shelf", "s"), {"status": STATUS}, subresource="status")
    server.client.patch(given, {"status": {"network": {"theirs": "changed"}}}, subresource="status")
    with writer.session(given) as status:
        loaded = status.load(model)
        loaded.network.ip = "10.0.0.2"
        loaded.workloads[0].ready = False
        status.store(loaded)
    expected = copy.deepcopy(STATUS)
    expected["network"] |= {"ip": "10.0.0.2", "theirs": "changed"}
    expected["workloads"][0]["ready"] = False
    assert server.get(SHELF, "Shelf", "s")["status"] == expected

    given = server.get(SHELF, "Shelf", "s")
    server.client.patch(given, {"status": {"network": {"dns": {"name": "c.d"}}}}, subresource="status")
    with pytest.raises(Conflict, match=r'status\.network\.dns\.name  was "a\.b", is now "c\.d"'), writer.session(given) as status:
        loaded = status.load(model)
        loaded.network.ip = "10.0.0.3"
        status.store(loaded)


@each_kind
def test_mutate_loads_again_when_what_it_loaded_has_changed(server: ApiServer, model: Any) -> None:
    """The function runs on the live status, and what it stores is computed from that."""
    server.apply(_crd(), {"apiVersion": SHELF, "kind": "Shelf", "metadata": {"name": "s", "namespace": "default"}})
    given = server.client.patch(server.get(SHELF, "Shelf", "s"), {"status": {"count": 1}}, subresource="status")
    server.client.patch(given, {"status": {"count": 5, "theirs": "new"}}, subresource="status")

    def count(status: Any) -> None:
        loaded = status.load(model)
        loaded.count += 1
        status.store(loaded)

    StatusWriter(server.client, field_manager="mine").mutate(given, count)
    assert server.get(SHELF, "Shelf", "s")["status"] == {"count": 6, "theirs": "new"}


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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STATUSES)
@pytest.mark.parametrize("model", [*KINDS.values(), Outer, Renamed, Camel], ids=lambda model: model.__name__)
def test_storing_what_was_loaded_stages_nothing(model: Any, status: Any) -> None:
    """For every model, whatever the status holds."""
    view, stage = staged(status)
    view.store(view.load(model))
    assert (wanted(stage), stage.tree is stage.base) == ({}, True)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
