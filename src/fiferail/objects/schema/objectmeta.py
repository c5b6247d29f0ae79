"""ObjectMeta inside untyped objects: what its Go type makes of it, and what is wrong with it.

The CRD handler reads the metadata of a custom resource, and of resources embedded in one, through the typed struct: unknown
members vanish, nulls become zero values and vanish too, wrong types are refused in the words of Go's JSON decoder. `decoded`
does that; `flaws` then judges names, labels and the rest. Called by `coerce` and `embedded`; knows nothing of schemas.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from .. import fielderrors, gotext, names

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..fielderrors import FieldError
    from ..tree import Json


class MetadataRefused(Exception):
    """The JSON does not fit the struct; the text is that of Go's decoder."""


_TEXT, _INT, _BOOL, _TIME, _RAW = "string", "int64", "bool", "time", "raw"
#: Texts with a type of their own, which the decoder names.
_UID, _OPERATION = "types.UID", "v1.ManagedFieldsOperationType"
_TEXTS: Final = (_TEXT, _UID, _OPERATION)
_OWNER: Final = {"apiVersion": _TEXT, "kind": _TEXT, "name": _TEXT, "uid": _UID, "controller": _BOOL, "blockOwnerDeletion": _BOOL}
_MANAGED: Final = {
    "manager": _TEXT,
    "operation": _OPERATION,
    "apiVersion": _TEXT,
    "time": _TIME,
    "fieldsType": _TEXT,
    "fieldsV1": _RAW,
    "subresource": _TEXT,
}
_FIELDS: Final = {
    "name": _TEXT,
    "generateName": _TEXT,
    "namespace": _TEXT,
    "selfLink": _TEXT,
    "uid": _UID,
    "resourceVersion": _TEXT,
    "generation": _INT,
    "creationTimestamp": _TIME,
    "deletionTimestamp": _TIME,
    "deletionGracePeriodSeconds": _INT,
    "labels": "map[string]string",
    "annotations": "map[string]string",
    "ownerReferences": "[]v1.OwnerReference",
    "finalizers": "[]string",
    "managedFields": "[]v1.ManagedFieldsEntry",
}
_ENTRIES: Final = {"ownerReferences": ("OwnerReference", _OWNER), "managedFields": ("ManagedFieldsEntry", _MANAGED)}
#: Members that Go writes even when they hold nothing.
_ALWAYS: Final = {"OwnerReference": ("apiVersion", "kind", "name", "uid")}
#: Pointers: present means present, zero or not.
_POINTERS: Final = frozenset({"deletionGracePeriodSeconds", "controller", "blockOwnerDeletion"})


def decoded(meta: Json) -> tuple[Json, list[str]]:
    """Metadata as the struct holds it, and its unknown members. The same object when nothing changes."""
    if meta is None:
        return {}, []
    if type(meta) is not dict:
        raise MetadataRefused(f"json: cannot unmarshal {_said(meta)} into Go value of type v1.ObjectMeta")
    reader = _Reader()
    kept = reader.struct(meta, _FIELDS, "ObjectMeta", "", "")
    if reader.first:
        raise MetadataRefused(reader.first)
    return kept, reader.unknown


class _Reader:
    """One decoding: Go goes on after a wrong type and reports the first; a bad time ends it at once."""

    def __init__(self) -> None:
        self.first = ""
        self.unknown: list[str] = []

    def struct(self, source: dict[str, Json], fields: dict[str, str], struct: str, path: str, shown: str) -> dict[str, Json]:
        kept: dict[str, Json] = {}
        for name in sorted(source):
            kind = fields.get(name)
            if kind is None:
                self.unknown.append(f"{shown}{name}")
                continue
            value = self.value(source[name], kind, f"{struct}.{path}{name}", name, f"{shown}{name}")
            if value is not None and (value or name in _POINTERS):
                kept[name] = value
        for name in _ALWAYS.get(struct, ()):
            kept.setdefault(name, "")
        same = len(kept) == len(source) and all(source.get(name) is value for name, value in kept.items())
        return source if same else kept

    def value(self, source: Json, kind: str, where: str, name: str, shown: str) -> Json:
        if source is None or kind == _RAW:
            return source
        if kind == _TIME:
            if type(source) is not str:
                raise MetadataRefused(f"json: cannot unmarshal {_said(source)} into Go struct field {where} of type string")
            text = rfc3339(source)
            return source if text == source else text
        if kind in _TEXTS:
            return source if type(source) is str else self.wrong(source, where, kind)
        if kind == _BOOL:
            return source if type(source) is bool else self.wrong(source, where, kind)
        if kind == _INT:
            return self.integer(source, where)
        if kind.startswith("map"):
            return self.texts_by_name(source, where, kind)
        return self.entries(source, kind, where, name, shown)

    def wrong(self, source: Json, where: str, kind: str, said: str = "") -> None:
        self.first = self.first or f"json: cannot unmarshal {said or _said(source)} into Go struct field {where} of type {kind}"

    def integer(self, source: Json, where: str) -> Json:
        if type(source) is int and -(2**63) <= source < 2**63:
            return source
        number = type(source) is int or type(source) is float
        return self.wrong(source, where, _INT, f"number {gotext.number(source)}" if number else "")

    def texts_by_name(self, source: Json, where: str, kind: str) -> Json:
        if type(source) is not dict:
            return self.wrong(source, where, kind)
        for name in sorted(source):
            if type(source[name]) is not str and source[name] is not None:
                self.wrong(source[name], where, _TEXT)
        if all(type(value) is str for value in source.values()):
            return source
        return {name: value or "" for name, value in source.items()}

    def entries(self, source: Json, kind: str, where: str, name: str, shown: str) -> Json:
        if type(source) is not list:
            return self.wrong(source, where, kind)
        item = kind.removeprefix("[]")
        kept: list[Json] = []
        for index, entry in enumerate(source):
            if name in _ENTRIES and (type(entry) is dict or entry is None):
                struct, fields = _ENTRIES[name]
                kept.append(self.struct(entry or {}, fields, struct, f"{name}.", f"{shown}[{index}]."))
            elif type(entry) is str and item == _TEXT:
                kept.append(entry)
            elif entry is None:
                kept.append("")
            else:
                self.wrong(entry, where, item)
        return source if all(new is old for new, old in zip(kept, source, strict=False)) and len(kept) == len(source) else kept


def _said(value: Json) -> str:
    kinds = {bool: "bool", str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return kinds[type(value)]


_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
#: Its pieces up to the seconds: what a number is called, and its bounds. The day is judged when the month is known.
_PARTS: Final = (
    ("2006", "year", 0, 9999),
    ("-", "", 0, 0),
    ("01", "month", 1, 12),
    ("-", "", 0, 0),
    ("02", "day", 0, 99),
    ("T", "", 0, 0),
    ("15", "hour", 0, 23),
    (":", "", 0, 0),
    ("04", "minute", 0, 59),
    (":", "", 0, 0),
    ("05", "second", 0, 59),
)


def rfc3339(text: str) -> str:
    """A time as metav1.Time stores it: whole seconds, UTC. A text that Go cannot parse is refused in Go's words."""
    if len(text) == 20 and text[19] == "Z" and "60" not in text[11:19]:
        try:
            datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
            return text if text.isascii() else _slow_rfc3339(text)
        except ValueError:
            pass
    return _slow_rfc3339(text)


def _slow_rfc3339(text: str) -> str:
    rest = text
    parts: list[int] = []
    for layout, what, least, most in _PARTS:
        if not what:
            if not rest.startswith(layout):
                raise _unparsed(text, rest, layout)
            rest = rest[1:]
            continue
        digits = rest[: len(layout)]
        if len(digits) < len(layout) or not (digits.isascii() and digits.isdigit()):
            raise _unparsed(text, rest, layout)
        if not least <= int(digits) <= most:
            raise MetadataRefused(f"parsing time {gotext.quoted(text)}: {what} out of range")
        parts.append(int(digits))
        rest = rest[len(layout) :]
    rest = _without_fraction(rest)
    offset = _offset(text, rest)
    year, month, day, hour, minute, second = parts
    days = (31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= day <= days[month - 1]:
        raise MetadataRefused(f"parsing time {gotext.quoted(text)}: day out of range")
    if not year:
        return text
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - offset
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _without_fraction(rest: str) -> str:
    if len(rest) > 1 and rest[0] in ".," and rest[1].isdigit():
        return rest[1:].lstrip("0123456789")
    return rest


def _offset(text: str, rest: str) -> timedelta:
    if rest.startswith("Z"):
        offset, rest = timedelta(0), rest[1:]
    elif len(rest) >= 6 and rest[0] in "+-" and rest[3] == ":" and (rest[1:3] + rest[4:6]).isdigit():
        if int(rest[1:3]) > 24:
            raise MetadataRefused(f"parsing time {gotext.quoted(text)}: time zone offset hour out of range")
        if int(rest[4:6]) >= 60:
            raise MetadataRefused(f"parsing time {gotext.quoted(text)}: time zone offset minute out of range")
        offset = timedelta(hours=int(rest[1:3]), minutes=int(rest[4:6])) * (-1 if rest[0] == "-" else 1)
        rest = rest[6:]
    else:
        raise _unparsed(text, rest, "Z07:00")
    if rest:
        raise MetadataRefused(f"parsing time {gotext.quoted(text)}: extra text: {gotext.quoted(rest)}")
    return offset


def _unparsed(text: str, rest: str, layout: str) -> MetadataRefused:
    quoted = gotext.quoted
    return MetadataRefused(f"parsing time {quoted(text)} as {quoted(_LAYOUT)}: cannot parse {quoted(rest)} as {quoted(layout)}")


_ANNOTATIONS_LIMIT: Final = 256 * 1024


def flaws(meta: dict[str, Json], at: str, *, check: Callable[[str], list[str]] = names.path_segment) -> list[FieldError]:
    """What is wrong with the metadata of an embedded resource, which may lack a name and have a namespace or none."""
    given = [name for name in ("generateName", "name") if meta.get(name)]
    errors = [fielderrors.invalid(f"{at}.{name}", meta[name], text) for name in given for text in check(meta[name])]
    if meta.get("namespace"):
        errors += [fielderrors.invalid(f"{at}.namespace", meta["namespace"], text) for text in names.dns_label(meta["namespace"])]
    if meta.get("generation", 0) < 0:
        errors.append(fielderrors.invalid(f"{at}.generation", meta["generation"], "must be greater than or equal to 0"))
    for key, value in (meta.get("labels") or {}).items():
        errors += [fielderrors.invalid(f"{at}.labels", key, text) for text in names.qualified_name(key)]
        errors += [fielderrors.invalid(f"{at}.labels", value, text) for text in names.label_value(value)]
    annotations = meta.get("annotations") or {}
    errors += [fielderrors.invalid(f"{at}.annotations", key, text) for key in annotations for text in names.qualified_name(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        errors.append(fielderrors.too_long(f"{at}.annotations", _ANNOTATIONS_LIMIT))
    return errors + _owner_flaws(meta, f"{at}.ownerReferences") + _finalizer_flaws(meta, f"{at}.finalizers") + _managed_flaws(meta, at)


def _owner_flaws(meta: dict[str, Json], at: str) -> list[FieldError]:
    errors = []
    controller = ""
    owners = meta.get("ownerReferences") or []
    for owner in owners:
        version = owner["apiVersion"]
        if not version or version.count("/") > 1 or version.endswith("/"):
            errors.append(fielderrors.invalid(f"{at}.apiVersion", version, "version must not be empty"))
        errors += [fielderrors.invalid(f"{at}.{name}", "", "must not be empty") for name in ("kind", "name", "uid") if not owner[name]]
        if (version, owner["kind"]) == ("v1", "Event"):
            errors.append(fielderrors.invalid(at, _printed(owner), "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            named = f"{owner['kind']}/{owner['name']}"
            if controller:
                text = f'Only one reference can have Controller set to true. Found "true" in references for {controller} and {named}'
                errors.append(fielderrors.invalid(at, _printed(owners), text))
            controller = controller or named
    return errors


def _printed(owners: Json) -> fielderrors.Printed:
    """Owner references in the order of their Go struct."""
    from ..gojson import encode

    if type(owners) is list:
        return fielderrors.Printed(f"[{','.join(_printed(owner).text for owner in owners)}]")
    members = ",".join(f'"{name}":{encode(owners[name]).decode()}' for name in _OWNER if name in owners)
    return fielderrors.Printed(f"{{{members}}}")


def _finalizer_flaws(meta: dict[str, Json], at: str) -> list[FieldError]:
    finalizers = meta.get("finalizers") or []
    errors = [fielderrors.invalid(at, name, text) for name in finalizers for text in names.qualified_name(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(fielderrors.invalid(at, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


def _managed_flaws(meta: dict[str, Json], at: str) -> list[FieldError]:
    errors = []
    for index, entry in enumerate(meta.get("managedFields") or ()):
        here = f"{at}.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(fielderrors.invalid(f"{here}.operation", entry.get("operation", ""), "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors.append(fielderrors.invalid(f"{here}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if len(entry.get("manager", "").encode()) > 128:
            errors.append(fielderrors.too_long(f"{here}.manager", 128))
        if len(entry.get("subresource", "")) > 256:
            errors.append(fielderrors.too_long(f"{here}.subresource", 256))
    return errors
