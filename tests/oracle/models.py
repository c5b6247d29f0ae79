"""Models of the status, of all three makes: nested, with members that they do not declare, one with another name in JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pydantic

from .kind import Path


@dataclasses.dataclass
class DataInner:
    """Declares one of two members."""

    known: str | None = None


@dataclasses.dataclass
class DataDeep:
    """Declares two of four members."""

    known: str | None = None
    inner: DataInner | None = None


@dataclasses.dataclass
class DataStatus:
    """Declares one member of many."""

    deep: DataDeep | None = None


class StructInner(msgspec.Struct):
    """Declares one of two members."""

    known: str | None = None


class StructDeep(msgspec.Struct, rename="camel"):
    """Declares three of four members, one under another name."""

    known: str | None = None
    inner: StructInner | None = None
    camel_case: str | None = None


class StructStatus(msgspec.Struct, rename="camel"):
    """Declares two members of many."""

    deep: StructDeep | None = None
    last_seen: str | None = None


class PydanticInner(pydantic.BaseModel):
    """Declares one of two members."""

    known: str | None = None


class PydanticDeep(pydantic.BaseModel):
    """Declares three of four members, one under another name."""

    known: str | None = None
    inner: PydanticInner | None = None
    camel_case: str | None = pydantic.Field(default=None, validation_alias="camelCase", serialization_alias="camelCase")


class PydanticStatus(pydantic.BaseModel):
    """Declares two members of many, one under another name for each direction."""

    deep: PydanticDeep | None = None
    last_seen: str | None = pydantic.Field(default=None, validation_alias="lastSeen", serialization_alias="lastSeen")


class Model(NamedTuple):
    """A model, and how the oracle reads and changes it."""

    type: Any
    inner: Callable[[], Any]
    deep: Callable[[], Any]
    renamed: bool

    def seen(self, loaded: Any) -> dict[Path, Any]:
        """Path -> value of what the model shows."""
        found: dict[Path, Any] = {}
        if self.renamed:
            found["lastSeen",] = loaded.last_seen
        if loaded.deep is None:
            return {**found, ("deep",): None}
        found["deep", "known"] = loaded.deep.known
        if self.renamed:
            found["deep", "camelCase"] = loaded.deep.camel_case
        if loaded.deep.inner is not None:
            found["deep", "inner", "known"] = loaded.deep.inner.known
        return found

    def change(self, loaded: Any, token: str) -> None:
        """Set the innermost declared member."""
        if loaded.deep is None:
            loaded.deep = self.deep()
        if loaded.deep.inner is None:
            loaded.deep.inner = self.inner()
        loaded.deep.inner.known = token


MODELS = (
    Model(DataStatus, DataInner, DataDeep, False),
    Model(StructStatus, StructInner, StructDeep, True),
    Model(PydanticStatus, PydanticInner, PydanticDeep, True),
)
