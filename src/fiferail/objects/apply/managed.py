"""managedFields, parsed once and kept: who owns which paths of an object, since when.

The API server holds one `Managed` beside each stored object, hands it to `operations` with every write and puts `encode()`
into what clients see. Mirrors `managedfields/internal/managedfields.go`. An entry is one manager's: identified by manager,
operation and subresource, and for updates by apiVersion too, so that an applier that moves to another version keeps its entry.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ..fieldset import FieldSet
from ..tree import ABSENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..tree import Json
    from .types import Type

APPLY, UPDATE = "Apply", "Update"
_TEXTS = ("manager", "operation", "apiVersion", "fieldsType", "subresource")


class Owner(NamedTuple):
    """What identifies an entry. `api_version` is empty for appliers."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The text by which the server sorts owners."""
        shown = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version, "subresource": self.subresource}
        return msgspec.json.encode({name: value for name, value in shown.items() if value}).decode()

    @property
    def text(self) -> str:
        """As conflicts name it: `"m" with subresource "status" using x.io/v1`."""
        from ..gotext import quoted

        text = quoted(self.manager)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


class Entry(NamedTuple):
    """What an owner owns, at which version it was written, and when (as on the wire; None: the server does not say)."""

    api_version: str
    fields: FieldSet
    time: str | None


def owner(manager: str, operation: str, api_version: str, subresource: str = "") -> Owner:
    """The owner of what such a request writes. A manager without a name is `unknown`."""
    return Owner(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


class Managed:
    """All entries of one object. Never changed; `known` and `settled` only remember work that need not be done again."""

    __slots__ = ("_encoded", "entries", "known", "settled")

    def __init__(
        self, entries: Mapping[Owner, Entry], settled: Type | None = None, known: Json = ABSENT, like: Managed | None = None
    ) -> None:
        self.entries = entries
        #: The type under which every entry is known to be spelled as the schema demands.
        self.settled = settled
        #: A tree that is known to conform to that type.
        self.known = known
        # Within a second a writer that changes what it owns leaves its entry as it was.
        self._encoded: list[Json] | None = like._encoded if like is not None and like.entries == entries else None

    @classmethod
    def decode(cls, encoded: Json) -> Managed:
        """The entries that a managedFields list spells. ValueError, worded as the server does, when it is none."""
        entries: dict[Owner, Entry] = {}
        for index, entry in enumerate(_structs(encoded)):
            operation, api_version, fields_type = (entry.get(name) or "" for name in ("operation", "apiVersion", "fieldsType"))
            if operation not in (APPLY, UPDATE):
                raise ValueError("operation must be `Apply` or `Update`")
            if not api_version:
                raise ValueError("apiVersion must not be empty")
            if not fields_type:
                raise ValueError(f"missing fieldsType in managed fields entry {index}")
            if fields_type != "FieldsV1":
                raise ValueError(f'invalid fieldsType "{fields_type}" in managed fields entry {index}')
            fields = FieldSet.decode(entry.get("fieldsV1"))
            manager, subresource = entry.get("manager") or "", entry.get("subresource") or ""
            entries[Owner(manager, operation, "" if operation == APPLY else api_version, subresource)] = Entry(
                api_version, fields, _wire_time(entry.get("time"))
            )
        return cls(entries)

    def encode(self) -> list[Json]:
        """As it stands in metadata, in the server's order. Kept: do not change it. Empty: the server leaves managedFields out."""
        if self._encoded is None:
            self._encoded = [_encoded(one, entry) for one, entry in sorted(self.entries.items(), key=_position)]
        return self._encoded

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __repr__(self) -> str:
        return f"Managed({dict(self.entries)!r})"


NOBODY: Final = Managed({})


def requested(live: Managed, wanted: Json, *, subresource: str) -> Managed:
    """The entries that an update starts from, given what its body says in `metadata.managedFields` (ABSENT: nothing).

    Only a body of the main resource may say something. An empty list, or a list of one empty entry, resets; nothing, null or
    what cannot be read leaves the live entries.
    """
    if subresource or wanted is ABSENT or wanted is None:
        return live
    if wanted == [] or (isinstance(wanted, list) and len(wanted) == 1 and wanted[0] == {}):
        return NOBODY
    if live and wanted is live.encode():
        return live
    try:
        given = Managed.decode(wanted)
    except ValueError:
        return live
    if given.entries == live.entries:
        return live
    return given or live


def without_new_times(old: Managed, new: Managed, *, unchanged: bool) -> Managed:
    """The old entries, when the object is unchanged and the new ones differ from them in times alone.

    The server calls this right before it stores: an apply that changes nothing must not make a new version.
    """
    if not unchanged or old is new or old.entries.keys() != new.entries.keys():
        return new
    for one, entry in new.entries.items():
        before = old.entries[one]
        if entry.api_version != before.api_version or entry.fields != before.fields:
            return new
    if [encoded["manager"] for encoded in old.encode()] != [encoded["manager"] for encoded in new.encode()]:
        return new  # the new times sort them differently, and the server compares pairwise
    return old


def _structs(encoded: Json) -> list[dict[str, Json]]:
    if not isinstance(encoded, list) or not all(isinstance(entry, dict) for entry in encoded):
        raise ValueError(f"expected a list of managedFields entries, got {type(encoded).__name__}")
    for entry in encoded:
        for name in _TEXTS:
            if not isinstance(entry.get(name, ""), str | None):
                raise ValueError(f"expected text for {name} of a managedFields entry, got {type(entry[name]).__name__}")
    return encoded


def _encoded(one: Owner, entry: Entry) -> dict[str, Json]:
    encoded: dict[str, Json] = {"apiVersion": entry.api_version, "fieldsType": "FieldsV1", "fieldsV1": entry.fields.encode()}
    if one.manager:
        encoded["manager"] = one.manager
    encoded["operation"] = one.operation
    if one.subresource:
        encoded["subresource"] = one.subresource
    if entry.time:
        encoded["time"] = entry.time
    return encoded


def _position(item: tuple[Owner, Entry]) -> tuple[str, int, str, str, str]:
    one, entry = item
    return one.operation, seconds(entry.time), one.manager, entry.api_version, one.subresource


@lru_cache(maxsize=1024)
def seconds(time: str | None) -> int:
    """The time as the server compares it: whole seconds, none is 0."""
    return int(datetime.fromisoformat(time).timestamp()) if time else 0


def _wire_time(time: Json) -> str | None:
    if time is None:
        return None
    try:
        moment = datetime.fromisoformat(time)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected an RFC 3339 time, got {time!r}") from error
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment.tzinfo else None
