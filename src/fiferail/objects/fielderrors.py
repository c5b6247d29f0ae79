"""One thing that is wrong with one field, worded as the server words it.

Mirrors `field.Error` of apimachinery. Schemas, built-in validation and metadata checks return lists of these; the API server
turns a list into a 422 with one cause each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from . import gotext
from .tree import ABSENT, Absent, Json

if TYPE_CHECKING:
    from collections.abc import Iterable

_TITLES = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueTooShort": "Too short",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError"}


class Printed(msgspec.Struct, frozen=True):
    """A value as the server's own Go type prints it: there the members stand in the order of the struct, not of the alphabet."""

    text: str


class Literal(str):
    """A value whose text is shown as it stands: the server prints its internal structs by Go's names and in Go's order."""

    __slots__ = ()


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong (`reason` as in details.causes), where, the offending value (ABSENT: not shown), and the detail."""

    reason: str
    field: str
    value: Json | Absent = ABSENT
    detail: str = ""

    @property
    def message(self) -> str:
        """The cause's message."""
        text = _TITLES[self.reason]
        if self.reason not in _WITHOUT_VALUE and self.value is not ABSENT:
            text += f": {_shown(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @property
    def full(self) -> str:
        """As it stands in the message of the whole answer."""
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldError:
    """The field must be given."""
    return FieldError("FieldValueRequired", field, "", detail)


def invalid(field: str, value: Json, detail: str = "") -> FieldError:
    """The value is wrong."""
    return FieldError("FieldValueInvalid", field, value, detail)


def type_invalid(field: str, value: Json, detail: str = "") -> FieldError:
    """The value is of the wrong type."""
    return FieldError("FieldValueTypeInvalid", field, value, detail)


def duplicate(field: str, value: Json) -> FieldError:
    """The value stands twice where it may stand once."""
    return FieldError("FieldValueDuplicate", field, value)


def forbidden(field: str, detail: str) -> FieldError:
    """The field may not be set, or may not be changed."""
    return FieldError("FieldValueForbidden", field, "", detail)


def not_found(field: str, value: Json) -> FieldError:
    """The value names something that is not there."""
    return FieldError("FieldValueNotFound", field, value)


def not_supported(field: str, value: Json, supported: Iterable[str]) -> FieldError:
    """The value is none of those allowed."""
    names = ", ".join(map(gotext.quoted, supported))
    return FieldError("FieldValueNotSupported", field, value, f"supported values: {names}" if names else "")


def too_long(field: str, limit: int) -> FieldError:
    """More bytes than allowed."""
    return FieldError("FieldValueTooLong", field, "", f"may not be more than {limit} bytes")


def aggregate(errors: Iterable[FieldError]) -> str:
    """The errors as one text: alone as it is, several in brackets, each different one once."""
    texts = list(dict.fromkeys(error.full for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _shown(value: Json) -> str:
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, str):
        return gotext.quoted(value)
    if isinstance(value, Printed):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return gotext.number(value)
    from .gojson import encode

    return encode(value).decode()
