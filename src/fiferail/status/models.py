"""The status as the caller's own model: a dataclass, a msgspec Struct or a pydantic model. Pydantic is never imported here."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

Model = TypeVar("Model")


def names(model: type[Any]) -> list[str]:
    """The members that the model declares, as they are spelled in JSON."""
    fields = getattr(model, "model_fields", None)
    if fields is not None:  # pydantic
        return [field.alias or name for name, field in fields.items()]
    if issubclass(model, msgspec.Struct):
        return list(model.__struct_encode_fields__)
    if dataclasses.is_dataclass(model):
        return [field.name for field in dataclasses.fields(model)]
    raise TypeError(f"expected a dataclass, msgspec.Struct or pydantic model, got {model.__name__}")


def load(model: type[Model], status: dict[str, Any]) -> Model:
    """An instance with what the status has; what is wrong is said with its path."""
    validate = getattr(model, "model_validate", None)
    if validate is not None:
        loaded: Model = validate(status)
        return loaded
    return msgspec.convert(status, model)


def dump(instance: Any) -> dict[str, Any]:
    """Every declared member; None for what has no value."""
    declared = names(type(instance))
    to_json = getattr(instance, "model_dump", None)
    given = to_json(mode="json", by_alias=True) if to_json is not None else msgspec.to_builtins(instance)
    return {name: given.get(name) for name in declared}
