"""Models of every kind for the same status, and what a test asks of a stage: shared by the tests of `load` and `store`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import pydantic
import pytest

from fiferail.objects.paths import render
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.view import Status

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
