"""Merge patch as the API server applies it, and the smallest merge patch between two trees.

Called by the API server's patch verb and by the writer. RFC 7396 with the habits of evanphx/json-patch v4: where a patch value
lands on nothing or on something that is no object, null members are dropped from it at any depth, inside lists too; where a
list replaces an object they stay. Neither function changes what it is given; `apply` shares whatever the patch does not touch.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

import msgspec

from ..errors import Unsupported
from . import gojson
from .tree import ABSENT, same

if TYPE_CHECKING:
    from .tree import Json


class PatchError(Exception):
    """The patch is refused: `.code` and `.message` of the answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Patch(msgspec.Struct, frozen=True, eq=False):
    """A parsed patch. `strict_errors`: what fieldValidation Strict refuses and Warn warns about, in the server's words."""

    value: Json
    strict_errors: tuple[str, ...] = ()


_KINDS = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def parse(body: bytes, *, strict: bool = True) -> Patch:
    """Read a patch; PatchError 400. `strict`: fieldValidation is Warn (the default) or Strict, not Ignore.

    Without it the value may be a list, which then becomes the whole object, and fails as such.
    """
    try:
        value = gojson.decode(body)
    except gojson.DecodeError as error:
        if strict:
            raise PatchError(400, f"error decoding patch: {error.message}") from None
        if error.syntax:
            raise PatchError(400, "Invalid JSON Patch") from None
        raise Unsupported("numbers past float64 in a patch with fieldValidation=Ignore") from None
    if type(value) is dict:
        return Patch(value, tuple(gojson.duplicates(body, value)) if strict else ())
    if strict and value is not None:
        kind = _KINDS[type(value)]
        raise PatchError(400, f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if type(value) is list:
        return Patch(value)
    raise PatchError(400, "Invalid JSON Patch")


def apply(target: Json, patch: Json) -> Json:
    """The target after the patch; the same object when the patch changes nothing."""
    if type(patch) is not dict or type(target) is not dict:
        return _without_nulls(patch)
    return _merged(target, patch)


def diff(old: Json, new: Json) -> Json:
    """The smallest merge patch that turns one object into the other; {} when they are the same.

    A null inside the new tree cannot be said in a merge patch; it comes out as absent.
    """
    if type(old) is not dict or type(new) is not dict:
        return new
    patch: dict[str, Json] = {}
    for name, member in new.items():
        before = old.get(name, ABSENT)
        if before is member or same(before, member):
            continue
        patch[name] = diff(before, member) if type(before) is dict and type(member) is dict else member
    patch.update({name: None for name in old if name not in new})
    return patch


def _merged(target: dict[str, Json], patch: dict[str, Json]) -> dict[str, Json]:
    result: dict[str, Json] | None = None
    for name, change in patch.items():
        before = target.get(name, ABSENT)
        after = ABSENT if change is None else _replacement(before, change)
        if after is before or same(after, before):
            continue
        if result is None:
            result = dict(target)
        if after is ABSENT:
            del result[name]
        else:
            result[name] = after
    return target if result is None else result


def _replacement(before: Json, change: Json) -> Json:
    if type(before) is not dict:
        return _without_nulls(change)
    return _merged(before, change) if type(change) is dict else change


def _without_nulls(value: Json) -> Json:
    """Null members of objects dropped at any depth; null entries of lists stay."""
    if type(value) is dict:
        members = {name: _without_nulls(member) for name, member in value.items() if member is not None}
        return value if len(members) == len(value) and all(map(is_, members.values(), value.values())) else members
    if type(value) is list:
        entries = [_without_nulls(entry) for entry in value]
        return value if all(map(is_, entries, value)) else entries
    return value
