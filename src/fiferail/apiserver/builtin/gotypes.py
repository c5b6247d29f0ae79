"""The Go types of the built-in kinds: decoding into them and printing them back, as the server does with every body.

`decode` is what a JSON body becomes after the round trip through the server's structs and its storage: unknown members are
dropped and reported, nulls and zero values vanish or appear as the member's omit rule says, numbers must fit, quantities and times
are printed in the server's form. The types come from `data/gotypes` and are built when first used. The texts of refusals are those
of the server's JSON decoder. Defaults and validation happen elsewhere (`defaults`, `validation`).
"""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import Unsupported
from ...objects import gotext
from ...objects.tree import ABSENT, Absent, Json
from ..kinds import DecodingRefused
from . import gotime, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

_DATA = Path(__file__).with_name("data")
#: Members behind feature gates that are off by default: decoded, owned by who sent them, and not stored.
_GATED = {
    ("apps/v1.RollingUpdateStatefulSetStrategy", "maxUnavailable"),
    ("coordination/v1.LeaseSpec", "preferredHolder"),
    ("coordination/v1.LeaseSpec", "strategy"),
    ("core/v1.Lifecycle", "stopSignal"),
    ("core/v1.NodeSpec", "configSource"),
    ("core/v1.PodSpec", "schedulingGroup"),
    ("core/v1.PodStatus", "nodeAllocatableResourceClaimStatuses"),
    ("storage/v1.CSIDriverSpec", "preventPodSchedulingIfMissing"),
}
_INT_RANGES = {"int32": 2**31, "int64": 2**63, "int": 2**63, "uint8": 2**8}


class Reading:
    """One decode in progress: where it stands, what was unknown, and the first thing that did not fit."""

    __slots__ = ("known", "refusal", "stack", "stored", "unknown")

    def __init__(self, stored: bool = False, known: frozenset[int] = frozenset()) -> None:
        #: Identities of values that went through this before and are still alive.
        self.known = known
        #: Storage does not tell an empty list or map from none; before it, the two differ.
        self.stored = stored
        self.stack: list[Member | int | str] = []
        self.unknown: list[str] = []
        self.refusal = ""

    def mismatch(self, value: Json, go_type: str, shown: str = "") -> None:
        """Notes that a value does not fit; the decoder goes on, the first one is what the client is told."""
        if not self.refusal:
            text = f"json: cannot unmarshal {shown or _json_kind(value)} into Go "
            fields = [step for step in self.stack if isinstance(step, Member)]
            text += f"struct field {fields[-1].owner}.{'.'.join(field.place for field in fields)}" if fields else "value"
            self.refusal = f"{text} of type {go_type}"

    def unknown_member(self, name: str) -> None:
        self.unknown.append(_strict_path([*self.stack, name]))


def _strict_path(stack: list[Member | int | str]) -> str:
    path = ""
    for step in stack:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = step.name if isinstance(step, Member) else step
            path += f".{name}" if path else name
    return path


class Type:
    """How one Go type reads a JSON value. `zero` is how its zero value prints; `empty_is_omitted` is what omitempty looks at."""

    go_name = ""
    zero: Json = None
    empty_is_omitted = True

    def read(self, value: Json, at: Reading) -> Json:
        raise NotImplementedError

    def inner(self) -> Type | None:
        """The type of what this contains, for walks."""
        return None


class Plain(Type):
    """string and bool."""

    def __init__(self, python: type, go_name: str) -> None:
        self.python, self.go_name, self.zero = python, go_name, python()

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) is self.python:
            return value
        if value is not None:
            at.mismatch(value, self.go_name)
        return self.zero


class Integer(Type):
    """int32 and int64."""

    zero = 0

    def __init__(self, width: str, go_name: str) -> None:
        self.limit, self.width, self.go_name = _INT_RANGES[width], width, go_name
        self.lowest = 0 if width.startswith("u") else -self.limit

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) is int:
            if self.lowest <= value < self.limit:
                return value
            at.mismatch(value, self.go_name, f"number {value}")
        elif type(value) is float:
            at.mismatch(value, self.go_name, f"number {_number_text(value)}")
        elif value is not None:
            at.mismatch(value, self.go_name)
        return 0


class Float(Type):
    """float64."""

    zero = 0

    def __init__(self, go_name: str) -> None:
        self.go_name = go_name

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) in (int, float):
            return value
        if value is not None:
            at.mismatch(value, self.go_name)
        return 0


class Bytes(Type):
    """[]byte: base64 text."""

    def __init__(self, go_name: str) -> None:
        self.go_name = go_name

    def read(self, value: Json, at: Reading) -> Json:
        if value is None:
            return None
        if isinstance(value, list):
            return self._from_numbers(value, at)
        if not isinstance(value, str):
            at.mismatch(value, self.go_name)
            return None
        plain = value.replace("\r", "").replace("\n", "")
        wrong = base64_fault(value)
        if wrong is not None:
            at.refusal = at.refusal or f"illegal base64 data at input byte {wrong}"
            return None
        return base64.b64encode(base64.b64decode(plain)).decode() if plain else ""

    @staticmethod
    def _from_numbers(value: list[Json], at: Reading) -> Json:
        """A list of numbers is one byte each, as for any other list of Go."""
        item = Integer("uint8", "uint8")
        return base64.b64encode(bytes(item.read(one, at) for one in value)).decode()


class Pointer(Type):
    """*T: nil where nothing or null was given, whatever the zero value of T is."""

    empty_is_omitted = False

    def __init__(self, target: Type) -> None:
        self.target, self.go_name = target, target.go_name

    def read(self, value: Json, at: Reading) -> Json:
        return None if value is None else self.target.read(value, at)

    def inner(self) -> Type:
        return self.target


class List(Type):
    """[]T."""

    def __init__(self, item: Type, go_name: str) -> None:
        self.item, self.go_name = item, go_name

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) is not list:
            if value is not None:
                at.mismatch(value, self.go_name)
            return None
        if not value:
            return None if at.stored else value
        if id(value) in at.known:
            return value
        out, stack, read, same = [], at.stack, self.item.read, True
        for index, member in enumerate(value):
            stack.append(index)
            got = read(member, at)
            stack.pop()
            same = same and got is member
            out.append(got)
        return value if same else out

    def inner(self) -> Type:
        return self.item


class Map(Type):
    """map[string]T."""

    def __init__(self, item: Type, go_name: str) -> None:
        self.item, self.go_name = item, go_name

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) is not dict:
            if value is not None:
                at.mismatch(value, self.go_name)
            return None
        if not value:
            return None if at.stored else value
        if id(value) in at.known:
            return value
        out, stack, read, same = {}, at.stack, self.item.read, True
        for name, member in value.items():
            stack.append(name)
            got = read(member, at)
            stack.pop()
            if got is None and isinstance(self.item, Bytes):
                got = ""  # storage does not tell an empty value from none
            same = same and got is member
            out[name] = got
        return value if same else out

    def inner(self) -> Type:
        return self.item


class _WrongType(Exception):
    """What a decoder of its own found where it wanted a basic type."""

    def __init__(self, shown: str, go_type: str) -> None:
        super().__init__(shown, go_type)
        self.shown, self.go_type = shown, go_type


class Custom(Type):
    """A type with a decoder of its own, which refuses at once: what did not fit before it is forgotten."""

    empty_is_omitted = False

    def __init__(self, go_name: str, read: Callable[[Json], Json], zero: Json) -> None:
        self.go_name, self.own, self.zero = go_name, read, zero

    def read(self, value: Json, at: Reading) -> Json:
        if value is None:
            return self.zero
        try:
            return self.own(value)
        except _WrongType as wrong:
            at.refusal = ""
            at.mismatch(value, wrong.go_type, wrong.shown)
            raise DecodingRefused(at.refusal) from None


class SchemaOr(Type):
    """A schema, or a second form: more schemas, names, or a boolean. Its decoder is not strict, so unknown members go unreported."""

    empty_is_omitted = False

    def __init__(self, go_name: str, listed: str, *, boolean: bool = False) -> None:
        self.go_name, self._listed, self._boolean = go_name, listed, boolean

    def read(self, value: Json, at: Reading) -> Json:
        reported = len(at.unknown)
        try:
            if type(value) is dict:
                return struct("apiextensions/v1.JSONSchemaProps").read(value, at)
            if type(value) is list and value and self._listed:
                return parse(self._listed).read(value, at)
        finally:
            del at.unknown[reported:]
        if self._boolean:
            if type(value) is bool:
                return value
            raise DecodingRefused(at.refusal or "boolean or JSON schema expected")
        # The server takes anything else without a word, and judges a pointer to nothing: no JSON says that.
        raise Unsupported("a schema with items or dependencies that are neither a schema nor a list with something in it")


class Member(msgspec.Struct, eq=False):
    """One JSON member of a struct."""

    name: str
    omit: str
    type: Type
    place: str
    owner: str
    default: Json | Absent
    gated: bool = False

    def omitted(self, value: Json) -> bool:
        """Whether the encoder leaves the member out with this value."""
        if "z" in self.omit and (value is None or value == self.type.zero):
            return True
        if "e" not in self.omit:
            return False
        return value is None if not self.type.empty_is_omitted else (not value and value != "") or value == ""


class StructType(Type):
    """A struct: its members by JSON name, and those that are printed even when nothing was given."""

    empty_is_omitted = False

    def __init__(self, id: str, go_name: str) -> None:
        self.id, self.go_name = id, go_name
        self.members: dict[str, Member] = {}
        self.always: list[Member] = []
        self._zero: Json = None

    @property
    def zero(self) -> Json:
        if self._zero is None:
            self._zero = {}  # a struct cannot contain itself by value
            self._zero = {member.name: member.type.zero for member in self.always}
        return self._zero

    def read(self, value: Json, at: Reading) -> Json:
        if type(value) is not dict:
            if value is not None:
                at.mismatch(value, self.go_name)
            return self.zero
        if id(value) in at.known:
            return value
        out: dict[str, Json] = {}
        members, stack, same = self.members, at.stack, True
        for name, given in value.items():
            member = members.get(name)
            if member is None:
                at.unknown_member(name)
                same = False
                continue
            if member.gated and at.stored:
                same = False
                continue
            stack.append(member)
            got = member.type.read(given, at)
            stack.pop()
            if member.omit and member.omitted(got):
                same = False
                continue
            same = same and got is given
            out[name] = got
        for member in self.always:
            if member.name not in out:
                out[member.name] = member.type.zero
                same = False
        return value if same else out


def _json_kind(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "number", float: "number", dict: "object", list: "array"}[type(value)]


def _number_text(value: float) -> str:
    return gotext.number(value)


_BASE64_PART = re.compile(r"[A-Za-z0-9+/]")


def base64_fault(text: str) -> int | None:
    """The index at which Go's decoder gives up, or None."""
    digits, index = 0, 0
    while index < len(text):
        char = text[index]
        if char in "\r\n":
            index += 1
            continue
        if _BASE64_PART.match(char):
            digits, index = digits + 1, index + 1
            continue
        if char != "=" or digits % 4 < 2:
            return index
        return _padding_fault(text, index, digits % 4)
    return None if digits % 4 == 0 else _last_quantum(text, digits)


def _padding_fault(text: str, index: int, have: int) -> int | None:
    rest = index + 1
    while rest < len(text) and text[rest] in "\r\n":
        rest += 1
    if have == 2:
        if rest == len(text):
            return len(text)
        if text[rest] != "=":
            return rest
        rest += 1
        while rest < len(text) and text[rest] in "\r\n":
            rest += 1
    return None if rest == len(text) else rest


def _last_quantum(text: str, digits: int) -> int:
    return len(text) - digits % 4


def _time(value: Json) -> Json:
    return _text_time(value, gotime.seconds)


def _micro_time(value: Json) -> Json:
    return _text_time(value, gotime.micros)


def _text_time(value: Json, read: Callable[[str], str | None]) -> Json:
    if not isinstance(value, str):
        raise _WrongType(_json_kind(value), "string")
    try:
        printed = read(value)
    except gotime.TimeError as error:
        raise DecodingRefused(str(error)) from None
    return value if printed == value else printed


def _quantity(value: Json) -> Json:
    text = value if isinstance(value, str) else _raw(value)
    try:
        printed = quantity.canonical(text)
    except quantity.QuantityError as error:
        raise DecodingRefused(str(error)) from None
    return value if printed == value else printed


def _raw(value: Json) -> str:
    return str(value) if type(value) is int else json.dumps(value)


def _int_or_string(value: Json) -> Json:
    if isinstance(value, str):
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    shown = f"number {_number_text(value)}" if type(value) in (int, float) else _json_kind(value)
    raise _WrongType(shown, "int32")


def _as_it_is(value: Json) -> Json:
    return value


_CUSTOM: dict[str, Callable[[], Type]] = {
    "!apiextensions/v1.JSONSchemaPropsOrArray": lambda: SchemaOr("v1.JSONSchemaPropsOrArray", "[]#apiextensions/v1.JSONSchemaProps"),
    "!apiextensions/v1.JSONSchemaPropsOrStringArray": lambda: SchemaOr("v1.JSONSchemaPropsOrStringArray", "[]string"),
    "!apiextensions/v1.JSONSchemaPropsOrBool": lambda: SchemaOr("v1.JSONSchemaPropsOrBool", "", boolean=True),
    "!meta/v1.Time": lambda: Custom("v1.Time", _time, None),
    "!meta/v1.MicroTime": lambda: Custom("v1.MicroTime", _micro_time, None),
    "!api/resource.Quantity": lambda: Custom("resource.Quantity", _quantity, "0"),
    "!util/intstr.IntOrString": lambda: Custom("intstr.IntOrString", _int_or_string, 0),
}


def load(path: str) -> Any:
    """One data file, decoded."""
    return msgspec.json.decode(_DATA.joinpath(path).read_bytes())


@cache
def _package(name: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = load(f"gotypes/{name}.json")["structs"]
    return found


_STRUCTS: dict[str, StructType] = {}


def struct(id: str) -> StructType:
    """The struct type of this name, such as `core/v1.Pod`; built once."""
    known = _STRUCTS.get(id)
    if known:
        return known
    go_name, *members = _package(id.rpartition(".")[0].replace("/", "."))[id]
    made = _STRUCTS[id] = StructType(id, go_name)
    owner = go_name.rpartition(".")[2]
    for name, omit, go_type, place, *default in members:
        member = Member(name, omit, parse(go_type), place or name, owner, default[0] if default else ABSENT, (id, name) in _GATED)
        made.members[name] = member
        if not omit or (omit == "e" and isinstance(member.type, (StructType, Custom))):
            made.always.append(member)
    return made


@cache
def parse(text: str) -> Type:
    """The type that `scripts/gotypes` spells so; `=` introduces the name of a type that has one."""
    if text.startswith("*"):
        return Pointer(parse(text[1:]))
    if text.startswith("#"):
        return struct(text[1:])
    if text.startswith("!"):
        return _CUSTOM.get(text, lambda: Custom(text.rpartition("/")[2], _as_it_is, None))()
    body, _, name = text.partition("=") if not text.startswith(("[]", "{}")) else _container(text)
    if body.startswith(("[]", "{}")):
        item = parse(body[2:])
        return List(item, name or f"[]{item.go_name}") if body.startswith("[]") else Map(item, name or f"map[string]{item.go_name}")
    if body == "bytes":
        return Bytes(name or "[]uint8")
    if body in ("string", "bool"):
        return Plain(str if body == "string" else bool, name or body)
    return Float(name or body) if body.startswith("float") else Integer(body, name or body)


def _container(text: str) -> tuple[str, str, str]:
    """A container's own name comes last; a plain item's name belongs to the item."""
    head, item = text[:2], text[2:]
    names = item.split("=")
    if item[0] in "#!" and len(names) == 2:
        return head + names[0], "", names[1]
    if len(names) == 3:
        return f"{head}{names[0]}={names[1]}", "", names[2]
    return text, "", ""


@cache
def kinds() -> dict[str, str]:
    """`group/version/Kind` to the name of its struct."""
    found: dict[str, str] = load("gokinds.json")["kinds"]
    return found


def of_kind(group: str, version: str, kind: str) -> StructType:
    """The struct of a kind."""
    return struct(kinds()[f"{group}/{version}/{kind}"])


def identities(clean: Json, depth: int = 3) -> frozenset[int]:
    """The identities of the objects and lists in a complete object, near its root: what a change shares with it need not be walked."""
    found: set[int] = set()
    level = [clean]
    for _ in range(depth):
        level = [
            inner for value in level for inner in (value.values() if isinstance(value, dict) else value) if isinstance(inner, (dict, list))
        ]
        found.update(map(id, level))
    return frozenset(found)


def decode(obj: Json, type: StructType, *, stored: bool = False, known: frozenset[int] = frozenset()) -> tuple[Json, list[str]]:
    """The body after the round trip, and its unknown members; DecodingRefused when it does not fit the type.

    `stored`: after the trip through storage as well. `known`: see `identities`.
    """
    reading = Reading(stored, known)
    decoded = type.read(obj, reading)
    if reading.refusal:
        raise DecodingRefused(reading.refusal)
    return decoded, reading.unknown
