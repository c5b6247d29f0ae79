"""The one list that every controller writes: `status.conditions`.

Called by the writer for `status.conditions.set(...)` and by components. Entries are keyed by `type`; whatever else stands in the
list, and its order, is kept. Times are arguments. Every function returns a new list, or the very same one when nothing changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import Cause, Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tree import Json

#: The API's limit for a message; longer ones are cut, because losing the end of a text is better than losing the write.
MAX_MESSAGE_BYTES = 32768

_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MAX_REASON = 1024
_NAME = re.compile(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])")
_MAX_NAME = 316
_MOST_KNOWN = 4096
_STATUSES: dict[bool | None, str] = {True: "True", False: "False", None: "Unknown"}


def get(conditions: Sequence[Json], type: str) -> dict[str, Json] | None:
    """The condition of that type, or None. The first one, where the list holds two."""
    return next((entry for entry in conditions if isinstance(entry, dict) and entry.get("type") == type), None)


def types(conditions: Sequence[Json]) -> list[str]:
    """The types in the list, in its order."""
    return [entry["type"] for entry in conditions if isinstance(entry, dict) and isinstance(entry.get("type"), str)]


def is_true(conditions: Sequence[Json], type: str) -> bool:
    """Whether the condition is there and its status is True."""
    return (get(conditions, type) or {}).get("status") == "True"


def put(
    conditions: list[Json],
    type: str,
    status: bool | None,
    *,
    reason: str,
    message: str = "",
    now: str,
    observed_generation: int | None = None,
) -> list[Json]:
    """The list with this condition in it: in its place, or at the end.

    lastTransitionTime becomes `now` only when the status flips (or was never there); observedGeneration is never lowered; members
    of the entry that are not ours stay. `status`: True, False, or None for Unknown. Raises Invalid before the server would.
    """
    fields = said(type, status, reason=reason, message=message)
    if observed_generation is not None:
        fields["observedGeneration"] = observed_generation
    before = get(conditions, type)
    after = settled(before, fields, now)
    if before is None:
        return [*conditions, after]
    return conditions if after is before else [after if entry is before else entry for entry in conditions]


def said(type: str, status: bool | None, *, reason: str, message: str = "") -> dict[str, Json]:
    """What a condition shall say, checked: the members that do not depend on what it said before."""
    if not ((status is True or status is False or status is None) and (type, reason) in _known_good):
        _check(type, status, reason)
    if len(message) * 4 > MAX_MESSAGE_BYTES:
        message = cut(message)
    fields = {"type": type, "status": _STATUSES[status], "reason": reason, "message": message}
    if type.__class__ is str and reason.__class__ is str and message.__class__ is str:
        return fields
    return {name: str.__str__(text) for name, text in fields.items()}  # members of a StrEnum are texts as well


def settled(before: Json, fields: dict[str, Json], now: str) -> dict[str, Json]:
    """The entry, given what stood there: its time moves only when its status does, its generation never goes back, and members
    that are not ours stay. The very same entry when it says all that already."""
    entry = before if isinstance(before, dict) else {}
    changed = {}  # what is said already stays the very value that stands there: who compares later sees so at once
    for name, value in fields.items():
        if name == "observedGeneration":
            value = max(value, _generation(entry))
        there = entry.get(name)
        if type(there) is not type(value) or there != value:  # texts and whole numbers, never a container
            changed[name] = value
    if "lastTransitionTime" not in fields and ("status" in changed or not entry.get("lastTransitionTime")):
        changed["lastTransitionTime"] = now
    return {**entry, **changed} if changed else entry


def remove(conditions: list[Json], type: str) -> list[Json]:
    """The list without the condition of that type."""
    kept = [entry for entry in conditions if not (isinstance(entry, dict) and entry.get("type") == type)]
    return conditions if len(kept) == len(conditions) else kept


def cut(message: str) -> str:
    """The message, no longer than the API takes, and never cut inside a character."""
    if len(message) * 4 <= MAX_MESSAGE_BYTES:
        return message
    data = message.encode("utf-8", "surrogatepass")
    if len(data) <= MAX_MESSAGE_BYTES:
        return message
    return data[:MAX_MESSAGE_BYTES].decode("utf-8", "ignore")


def _generation(entry: dict[str, Json] | None) -> int:
    seen = (entry or {}).get("observedGeneration")
    return seen if isinstance(seen, int) else 0


#: Names that have been found good: a controller says the same few again and again.
_known_good: set[tuple[str, str]] = set()


def _check(type: str, status: bool | None, reason: str) -> None:
    if not isinstance(type, str) or len(type) > _MAX_NAME or _NAME.fullmatch(type) is None:
        raise _wrong(
            "type", type, type, f"a name of letters, digits, '-', '_' and '.', with an optional DNS prefix and '/', up to {_MAX_NAME}"
        )
    if status is not None and not isinstance(status, bool):
        raise _wrong("status", type, status, "True, False, or None for Unknown")
    if not isinstance(reason, str) or len(reason) > _MAX_REASON or _REASON.fullmatch(reason) is None:
        raise _wrong("reason", type, reason, f"one CamelCase word for machines, matching {_REASON.pattern}, up to {_MAX_REASON}")
    if len(_known_good) >= _MOST_KNOWN:
        _known_good.clear()
    _known_good.add((type, reason))


def _wrong(field: str, type: str, got: object, expected: str) -> Invalid:
    text = f"condition {type!r}: expected {field} to be {expected}; got {got!r}"
    return Invalid(text, [Cause("FieldValueInvalid", text, f"status.conditions[{type}].{field}")])
