"""Why a tree does not fit a Go type, in the words of the server's converter from trees to structs.

A strategic merge patch and an apply never become JSON text again: the server converts the tree it made. That converter walks the
members of a struct in their order in Go, stops at the first that does not fit, and has words of its own. Asked only after
`gotypes.decode` refused, so it may be slow. Where the converter would take what the decoder refuses (an int32 that overflows is
cut), it finds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds import DecodingRefused
from . import gotypes

if TYPE_CHECKING:
    from ...objects.tree import Json
    from .gotypes import Type

_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}


def flaw(value: Json, type_: Type) -> str:
    """The text of the first misfit, or nothing."""
    if value is None:
        return ""
    if isinstance(type_, gotypes.Pointer):
        return flaw(value, type_.target)
    if isinstance(type_, gotypes.StructType):
        return _in_struct(value, type_)
    if isinstance(type_, gotypes.Map):
        return _in_map(value, type_)
    if isinstance(type_, gotypes.Bytes | gotypes.List):
        return _in_list(value, type_)
    if isinstance(type_, gotypes.Custom):
        return _in_custom(value, type_)
    return _in_simple(value, type_)


def _in_struct(value: Json, type_: gotypes.StructType) -> str:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_KINDS[type(value)]}"
    return next((text for member in type_.members.values() if (text := flaw(value.get(member.name), member.type))), "")


def _in_map(value: Json, type_: gotypes.Map) -> str:
    if not isinstance(value, dict):
        return f"cannot restore map from {_KINDS[type(value)]}"
    return next((text for member in value.values() if (text := flaw(member, type_.item))), "")


def _in_list(value: Json, type_: gotypes.Bytes | gotypes.List) -> str:
    if isinstance(type_, gotypes.Bytes):
        if isinstance(value, str):
            fault = gotypes.base64_fault(value)
            return "" if fault is None else f"error decoding from json: illegal base64 data at input byte {fault}"
        item: Type = gotypes.Integer("uint8", "uint8")
    else:
        item = type_.item
    if not isinstance(value, list):
        return f"cannot restore slice from {_KINDS[type(value)]}"
    return next((text for entry in value if (text := flaw(entry, item))), "")


def _in_custom(value: Json, type_: gotypes.Custom) -> str:
    """A type with a JSON decoder of its own gets the value as JSON text, with nothing around it."""
    try:
        type_.read(value, gotypes.Reading())
    except DecodingRefused as refused:
        return str(refused)
    return ""


def _in_simple(value: Json, type_: Type) -> str:
    """Strings, booleans and numbers: some of what cannot be kept is convertible in Go all the same, and refused as such."""
    kind = _KINDS[type(value)]
    if isinstance(type_, gotypes.Integer):
        if kind == "float64":
            return "" if float(value).is_integer() else f"cannot convert float64 to {type_.go_name}"
        return "" if kind == "int64" else f"unrecognized type: {type_.width}"
    if isinstance(type_, gotypes.Float):
        return "" if kind in ("int64", "float64") else "unrecognized type: float64"
    if isinstance(type_, gotypes.Plain):
        if type(value) is type_.python:
            return ""
        wanted = _KINDS[type_.python]
        return f"cannot convert int64 to {type_.go_name}" if (kind, wanted) == ("int64", "string") else f"unrecognized type: {wanted}"
    return ""
