"""Ranges and multiples, with Go's integer and float arithmetic.

Called by `flaws`. The server compares an integer with the bound cut down to an integer, and reports a bound that does not fit
the declared type as a flaw of the value; so does this.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import gotext

if TYPE_CHECKING:
    from .flaws import Flaw
    from .model import Schema

_MAX_SAFE = float(2**53 - 1)
_MAX_FLOAT32 = 3.4028235677973366e38  # halfway to the next one after the largest: from here on it rounds to infinity


def int64(value: float) -> int:
    """A float cut down to an int64; out of range gives the least one, as amd64 does."""
    return int(value) if -(2.0**63) <= value < 2.0**63 else -(2**63)


def _uint64(value: float) -> int:
    return int(value) % 2**64 if -(2.0**63) <= value < 2.0**64 else 2**63


def is_json_integer(value: float) -> bool:
    """Whether a float passes for an integer: within 1e-9 of one, and safe in JSON."""
    if math.isnan(value) or not -_MAX_SAFE <= value <= _MAX_SAFE:
        return False
    if value == int(value):
        return True
    near = float(_uint64(value))
    if near == 0 or value == 0:
        return False
    return abs(value - near) / (abs(value) + abs(near)) < 1e-9


def number_flaws(value: float, schema: Schema, path: str) -> list[Flaw]:
    """What is wrong with a number: its range as a type, then multipleOf, minimum and maximum."""
    flaws = _representable(value, schema, "Checked", path)
    if schema.multiple_of is not None:
        flaws += _multiple(value, schema, path)
    if schema.minimum is not None:
        flaws += _bound(value, schema, path, float(schema.minimum), "Minimum")
    if schema.maximum is not None:
        flaws += _bound(value, schema, path, float(schema.maximum), "Maximum")
    return flaws


def _representable(value: float, schema: Schema, what: str, path: str) -> list[Flaw]:
    from .flaws import about_all, live_format

    type_ = "" if schema.int_or_string else schema.type
    wanted = live_format(schema)
    wanted = wanted if wanted in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(type_, ()) else ""
    if type_ == "integer":
        bits = 31 if wanted == "int32" else 63
        fits = float(value).is_integer() and -(2**bits) <= int(value) < 2**bits if type(value) is float else -(2**bits) <= value < 2**bits
    elif wanted == "float":
        fits = abs(value) < _MAX_FLOAT32
    else:
        return []
    if fits:
        return []
    suffix = f"with format {wanted}" if wanted else "(default format)"
    return [about_all(f"{what} value must be of type {type_} {suffix} in {path}")]


def _multiple(value: float, schema: Schema, path: str) -> list[Flaw]:
    from .flaws import invalid

    factor: float = float(schema.multiple_of or 0)
    flaws = _representable(factor, schema, "MultipleOf", path)
    if not flaws and type(value) is int:
        factor = int64(factor)
        if factor <= 0:
            flaws.append(invalid(path, factor, f"factor MultipleOf declared for {path} must be positive: {factor}"))
        elif value % factor:
            flaws.append(invalid(path, value, f"{path} in body should be a multiple of {factor}"))
        return flaws
    number = float(value)
    if factor <= 0:
        flaws.append(invalid(path, factor, f"factor MultipleOf declared for {path} must be positive: {gotext.number(factor)}"))
    elif not is_json_integer(1 / factor * number if factor < 1 else number / factor):
        flaws.append(invalid(path, number, f"{path} in body should be a multiple of {gotext.number(factor)}"))
    return flaws


def _bound(value: float, schema: Schema, path: str, bound: float, what: str) -> list[Flaw]:
    from .flaws import invalid

    flaws = _representable(bound, schema, f"{what} boundary", path)
    if flaws:
        value = float(value)
    limit: float = int64(bound) if type(value) is int else bound
    exclusive = schema.exclusive_minimum if what == "Minimum" else schema.exclusive_maximum
    below = value < limit if what == "Minimum" else value > limit
    if below or (exclusive and value == limit):
        side = "greater" if what == "Minimum" else "less"
        wording = f"{side} than" if exclusive else f"{side} than or equal to"
        flaws.append(invalid(path, value, f"{path} in body should be {wording} {gotext.number(limit)}"))
    return flaws
