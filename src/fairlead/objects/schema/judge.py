"""Everything that is checked of a custom resource besides its metadata, in the server's order.

Called by the API server's rules for custom kinds: `created`, `updated` and `status_updated` each give the whole list of field
errors: schema, scale, embedded resources, duplicates in lists, rules. Mirrors strategy.go and status_strategy.go of
apiextensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .. import gotext
from ..fielderrors import FieldError, invalid
from ..tree import ABSENT, Absent, Json
from .cel import rule_errors
from .coerce import embedded_flaws
from .listtypes import duplicates, duplicates_introduced
from .validate import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Schema


class Scale(Protocol):
    """Where the numbers of the scale subresource stand."""

    @property
    def spec_replicas(self) -> str: ...
    @property
    def status_replicas(self) -> str: ...
    @property
    def label_selector(self) -> str: ...


def created(obj: Json, schema: Schema, *, scale: Scale | None = None, earlier: Sequence[FieldError] = ()) -> list[FieldError]:
    """What is wrong with a new object. `earlier` are the errors of its metadata: they count for whether rules are run."""
    errors = validate(obj, schema)
    errors += _spec_scale(obj, scale) + _status_scale(obj, scale)
    errors += embedded_flaws(obj, schema)
    errors += duplicates(obj, schema)
    return errors + rule_errors(obj, ABSENT, schema, [*earlier, *errors])


def updated(new: Json, old: Json, schema: Schema, *, scale: Scale | None = None, earlier: Sequence[FieldError] = ()) -> list[FieldError]:
    """What is wrong with an update of the main resource."""
    errors = validate(new, schema, old)
    errors += _spec_scale(new, scale) + _status_scale(new, scale)
    errors += embedded_flaws(new, schema)
    errors += duplicates_introduced(new, old, schema)
    return errors + rule_errors(new, old, schema, [*earlier, *errors])


def status_updated(
    new: Json, old: Json, schema: Schema, *, scale: Scale | None = None, earlier: Sequence[FieldError] = ()
) -> list[FieldError]:
    """What is wrong with an update of the status subresource: only the status is held against its schema."""
    errors: list[FieldError] = []
    status = schema.properties.get("status")
    if "status" in new and status is not None:
        errors = validate(new["status"], status, old.get("status"), at="status")
    errors += _status_scale(new, scale)
    errors += duplicates_introduced(new, old, schema)
    return errors + rule_errors(new, old, schema, [*earlier, *errors])


def _spec_scale(obj: Json, scale: Scale | None) -> list[FieldError]:
    return [] if scale is None else _replicas(obj, scale.spec_replicas)


def _status_scale(obj: Json, scale: Scale | None) -> list[FieldError]:
    if scale is None:
        return []
    errors = _replicas(obj, scale.status_replicas)
    if scale.label_selector:
        value, problem = _nested(obj, scale.label_selector)
        if not problem and value is not ABSENT and type(value) is not str:
            problem = _wrong(scale.label_selector, value, "string")
        if problem:
            errors.append(invalid(scale.label_selector, "", problem))
    return errors


def _replicas(obj: Json, path: str) -> list[FieldError]:
    value, problem = _nested(obj, path)
    if not problem and value is not ABSENT and type(value) is not int:
        problem = _wrong(path, value, "int64")
    if problem:
        return [invalid(path, 0, problem)]
    if value is ABSENT or 0 <= value <= 2**31 - 1:
        return []
    return [invalid(path, value, "should be a non-negative integer" if value < 0 else "should be less than or equal to 2147483647")]


def _nested(obj: Json, path: str) -> tuple[Json | Absent, str]:
    value = obj
    steps = path.removeprefix(".").split(".")
    for index, step in enumerate(steps):
        if value is None:
            return ABSENT, ""
        if type(value) is not dict:
            return ABSENT, _wrong("." + ".".join(steps[: index + 1]), value, "map[string]interface{}")
        if step not in value:
            return ABSENT, ""
        value = value[step]
    return value, ""


def _wrong(path: str, value: Json, wanted: str) -> str:
    kinds = {str: "string", int: "int64", float: "float64", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}"}
    given = kinds.get(type(value), "<nil>")
    return f".{path.removeprefix('.')} accessor error: {_printed(value)} is of the type {given}, expected {wanted}"


def _printed(value: Json) -> str:
    """`%v` of a JSON value."""
    if value is None:
        return "<nil>"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is dict:
        return f"map[{' '.join(f'{name}:{_printed(value[name])}' for name in sorted(value))}]"
    if type(value) is list:
        return f"[{' '.join(map(_printed, value))}]"
    return value if type(value) is str else gotext.number(value)
