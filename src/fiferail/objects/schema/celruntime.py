"""What CEL operators and functions compute, on values as Python holds them.

Called by the closures that `celcheck` makes. int, float, bool, str, None, list and dict stand for themselves; times, durations
and optionals have the types below. Errors carry the words of cel-go, because the server quotes them.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ...errors import Unsupported
from .. import strconv
from . import patterns
from .formats import go_nanoseconds, loose_nanoseconds
from .objectmeta import MetadataRefused, rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable

    from .celtypes import Type

_SECOND: Final = 10**9


class CelError(Exception):
    """The evaluation failed."""


@dataclass(frozen=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970 UTC."""

    ns: int

    @property
    def moment(self) -> datetime:
        """As a datetime, whole seconds."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.ns // _SECOND)


@dataclass(frozen=True, order=True)
class Duration:
    """A length of time, in nanoseconds."""

    ns: int


@dataclass(frozen=True)
class Optional:
    """A value that may be there."""

    present: bool
    value: Any = None


NONE: Final = Optional(False)


def _unconverted(wanted: str) -> CelError:
    return CelError(f"type conversion error from 'string' to '{wanted}'")


def timestamp(text: str) -> Timestamp:
    """A time of RFC 3339, or a date."""
    try:
        whole = rfc3339(text if "T" in text.upper() else f"{text}T00:00:00Z")
        moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except (MetadataRefused, ValueError):
        raise _unconverted("google.protobuf.Timestamp") from None
    seconds = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    fraction = text.partition(".")[2]
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    return Timestamp(seconds * _SECOND + int((digits + "0" * 9)[:9]))


def duration(text: str) -> Duration:
    """A duration as Go writes them."""
    found = go_nanoseconds(text)
    if found is None:
        raise _unconverted("google.protobuf.Duration")
    return Duration(found)


_GO_TYPES: Final = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}
_EXPECTED: Final[dict[str, type]] = {"int": int, "string": str, "bool": bool}
_CONTAINERS: Final[dict[str, tuple[type, str]]] = {
    "list": (list, "an array for the provided schema with type=array"),
    "map": (dict, "a map for the provided schema with type=object"),
    "object": (dict, "a map for the provided schema with type=object"),
}


def cook(value: Any, wanted: Type) -> Any:
    """A JSON value as a value of the type. A value of another type is an error: unchanged parts of an object may be invalid."""
    name, kind = wanted.name, type(value)
    expected = _EXPECTED.get(name)
    if expected is not None:
        if kind is expected or value is None:
            return value
        raise CelError(f"invalid data, expected {name}, got {_GO_TYPES.get(kind, kind.__name__)}")
    if value is None or kind not in _GO_TYPES:
        return value
    if name in _CONTAINERS:
        container, text = _CONTAINERS[name]
        if kind is not container:
            raise CelError(f"invalid data, expected {text}")
        return _cooked_container(value, wanted) if wanted.cooked else value
    if name == "double":
        if kind is int or kind is float:
            return float(value)
        raise CelError(f"invalid data, expected float, got {_GO_TYPES[kind]}")
    if name not in ("timestamp", "duration", "bytes"):
        return value
    if kind is not str:
        raise CelError(f"invalid data, expected string, got {_GO_TYPES[kind]}")
    return _cooked_text(value, name)


def _cooked_container(value: Any, wanted: Type) -> Any:
    if isinstance(value, list):
        return [cook(entry, wanted.args[0]) for entry in value]
    return {name: cook(member, wanted.args[1]) for name, member in value.items()}


def _cooked_text(value: str, name: str) -> Any:
    if name == "bytes":
        return base64.b64decode(value, altchars=b"-_")
    if name == "timestamp":
        return timestamp(value)
    found = loose_nanoseconds(value)
    if found is None:
        raise CelError(f"Invalid duration {value}: unable to parse {value} as duration")
    return Duration(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, everything else by type and content."""
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(name in right and equal(member, right[name]) for name, member in left.items())
    if isinstance(left, Optional):
        return left.present == right.present and equal(left.value, right.value)
    return bool(left == right)


def equal_unordered(left: Any, right: Any, type: Type) -> bool:
    """Equality of lists of type set or map: the order of entries does not count."""
    if not isinstance(left, list) or not isinstance(right, list):
        return equal(left, right)
    if len(left) != len(right):
        return False
    if type.unordered == "set":
        return all(any(equal(entry, other) for other in right) for entry in left)
    keyed = {repr([entry.get(key) for key in type.keys]): entry for entry in right}
    return all(equal(entry, keyed.get(repr([entry.get(key) for key in type.keys]))) for entry in left)


def _overload() -> CelError:
    return CelError("no such overload")


def _checked(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise CelError("integer overflow")
    return value


def add(left: Any, right: Any) -> Any:
    """`+`"""
    if isinstance(left, (Timestamp, Duration)) and isinstance(right, (Timestamp, Duration)):
        if isinstance(left, Timestamp) and isinstance(right, Timestamp):
            raise _overload()
        kind = Timestamp if Timestamp in (type(left), type(right)) else Duration
        return kind(left.ns + right.ns)
    if _is_number(left) and type(left) is type(right):
        return _checked(left + right) if isinstance(left, int) else left + right
    if type(left) is type(right) and isinstance(left, (str, list, bytes)):
        return left + right
    raise _overload()


def subtract(left: Any, right: Any) -> Any:
    """`-`"""
    if isinstance(left, (Timestamp, Duration)) and isinstance(right, (Timestamp, Duration)):
        if isinstance(left, Timestamp):
            return Duration(left.ns - right.ns) if isinstance(right, Timestamp) else Timestamp(left.ns - right.ns)
        if isinstance(right, Duration):
            return Duration(left.ns - right.ns)
    if _is_number(left) and type(left) is type(right):
        return _checked(left - right) if isinstance(left, int) else left - right
    raise _overload()


def multiply(left: Any, right: Any) -> Any:
    """`*`"""
    if _is_number(left) and type(left) is type(right):
        return _checked(left * right) if isinstance(left, int) else left * right
    raise _overload()


def divide(left: Any, right: Any) -> Any:
    """`/`, towards zero for integers."""
    if not _is_number(left) or type(left) is not type(right):
        raise _overload()
    if isinstance(left, int):
        if right == 0:
            raise CelError("division by zero")
        return _checked(abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1))
    return left / right if right else math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)


def modulo(left: Any, right: Any) -> Any:
    """`%`, with the sign of the dividend."""
    if not _is_number(left) or not isinstance(left, int) or type(left) is not type(right):
        raise _overload()
    if right == 0:
        raise CelError("modulus by zero")
    return int(math.copysign(abs(left) % abs(right), left)) if abs(left) < 2**53 else left - divide(left, right) * right


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1."""
    if not (_is_number(left) and _is_number(right)) and type(left) is not type(right):
        raise _overload()
    if isinstance(left, (list, dict)) or left is None:
        raise _overload()
    return int(left > right) - int(left < right)


def contained(value: Any, container: Any) -> bool:
    """`in`"""
    if isinstance(container, list):
        return any(equal(value, entry) for entry in container)
    if isinstance(container, dict):
        return isinstance(value, str) and value in container
    raise _overload()


def index(container: Any, key: Any) -> Any:
    """`[]`"""
    if isinstance(container, list):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if isinstance(key, bool) or not isinstance(key, int):
            raise CelError(f"unsupported index type '{_type_name(key)}' in list")
        if not 0 <= key < len(container):
            raise CelError(f"index out of bounds: {key}")
        return container[key]
    if isinstance(container, dict):
        if key not in container:
            raise CelError(f"no such key: {key}")
        return container[key]
    raise _overload()


def _type_name(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "double", str: "string", list: "list", dict: "map", type(None): "null_type"}
    return names.get(type(value), type(value).__name__.lower())


def present(container: Any, name: str, *, field: bool) -> bool:
    """Whether a field, or a map's member, is there. A field that is null counts as missing, a member does not."""
    if not isinstance(container, dict):
        raise _overload()
    return container.get(name) is not None if field else name in container


def select(container: Any, name: str, *, field: bool) -> Any:
    """A field, or a map's member."""
    if not present(container, name, field=field):
        raise CelError(f"no such key: {name}")
    return container[name]


def to_string(value: Any) -> str:
    """string()"""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return plain_float(value)
    if isinstance(value, Timestamp):
        base = value.moment.strftime("%Y-%m-%dT%H:%M:%S")
        fraction = f".{value.ns % _SECOND:09d}".rstrip("0").rstrip(".")
        return f"{base}{fraction}Z"
    if isinstance(value, Duration):
        return plain_float(value.ns / _SECOND) + "s"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise _overload()


def plain_float(value: float) -> str:
    """The shortest digits, never with an exponent."""
    if math.isinf(value) or math.isnan(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    from decimal import Decimal

    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def to_int(value: Any) -> int:
    """int()"""
    if isinstance(value, Timestamp):
        return value.ns // _SECOND
    if isinstance(value, float):
        if not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, str):
        try:
            return strconv.parse_int(value)
        except ValueError:
            raise _unconverted("int") from None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _overload()


def to_double(value: Any) -> float:
    """double()"""
    if isinstance(value, str):
        try:
            return float(value) if "_" not in value and value.strip() == value else float("x")
        except ValueError:
            raise _unconverted("double") from None
    if _is_number(value):
        return float(value)
    raise _overload()


def size(value: Any) -> int:
    """size()"""
    if isinstance(value, (str, list, dict, bytes)):
        return len(value)
    raise _overload()


def _search(text: str, pattern: str) -> bool:
    try:
        return patterns.matcher(pattern)(text)
    except patterns.PatternError as error:
        raise CelError(str(error)) from None


def _find(text: str, pattern: str) -> str:
    found = patterns.found(pattern, text, 1)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return patterns.found(pattern, text, limit)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if start < 0 or start > len(text):
        raise CelError(f"index out of range: {start}")
    if stop < 0 or stop > len(text):
        raise CelError(f"index out of range: {stop}")
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


def _index_of(value: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(value, str):
        if not 0 <= start <= len(value):
            raise CelError(f"index out of range: {start}")
        return value.find(wanted, start)
    return next((at for at, entry in enumerate(value) if equal(entry, wanted)), -1)


def _last_index_of(value: Any, wanted: Any) -> int:
    if isinstance(value, str):
        return value.rfind(wanted)
    return next((at for at in range(len(value) - 1, -1, -1) if equal(value[at], wanted)), -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if limit < 0 or len(parts) <= limit else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
    return text.split(separator, limit - 1) if limit > 0 else text.split(separator)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def _sum(values: list[Any]) -> Any:
    total: Any = None
    for value in values:
        total = value if total is None else add(total, value)
    return 0 if total is None else total


def _extreme(values: list[Any], sign: int, name: str) -> Any:
    if not values:
        raise CelError(f"{name} called on empty list")
    best = values[0]
    for value in values[1:]:
        if compare(value, best) * sign > 0:
            best = value
    return best


def _is_sorted(values: list[Any]) -> bool:
    return all(compare(left, right) <= 0 for left, right in pairwise(values))


def _formatted(text: str, values: list[Any]) -> str:
    parts, at, used = [], 0, 0
    while at < len(text):
        if text[at] != "%":
            parts.append(text[at])
            at += 1
            continue
        verb = text[at + 1 : at + 2]
        at += 2
        if verb == "%":
            parts.append("%")
            continue
        if verb not in ("s", "d") or used >= len(values):
            raise Unsupported("string.format() in a CEL rule with anything but %s and %d")
        value = values[used]
        used += 1
        if isinstance(value, (float, list, dict)) or value is None:
            raise Unsupported("string.format() in a CEL rule of anything but texts, integers, booleans and times")
        parts.append(to_string(value))
    return "".join(parts)


def _ascii_lower(text: str) -> str:
    return "".join(char.lower() if "A" <= char <= "Z" else char for char in text)


def _ascii_upper(text: str) -> str:
    return "".join(char.upper() if "a" <= char <= "z" else char for char in text)


def _has_all(container: list[Any], wanted: list[Any]) -> bool:
    return all(contained(entry, container) for entry in wanted)


def _value(found: Optional) -> Any:
    if not found.present:
        raise CelError("optional.none() dereference")
    return found.value


def _part(what: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, Duration):
            unit = {"getHours": 3600 * _SECOND, "getMinutes": 60 * _SECOND, "getSeconds": _SECOND, "getMilliseconds": 10**6}[what]
            return int(math.copysign(abs(value.ns) // unit, value.ns))
        moment = value.moment
        return int({
            "getFullYear": moment.year, "getMonth": moment.month - 1, "getDate": moment.day, "getDayOfMonth": moment.day - 1,
            "getDayOfWeek": moment.isoweekday() % 7, "getDayOfYear": moment.timetuple().tm_yday - 1, "getHours": moment.hour,
            "getMinutes": moment.minute, "getSeconds": moment.second, "getMilliseconds": value.ns % _SECOND // 10**6,
        }[what])  # fmt: skip

    return read


PARTS: Final = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds",
    "getMilliseconds",
)  # fmt: skip

#: What each operator and function computes; a method gets its target first.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "@in": contained,
    "!_": lambda value: not value,
    "-_": lambda value: _checked(-value) if isinstance(value, int) else -value,
    "size": size,
    "contains": lambda text, part: part in text,
    "startsWith": lambda text, part: text.startswith(part),
    "endsWith": lambda text, part: text.endswith(part),
    "matches": _search,
    "string": to_string,
    "int": to_int,
    "double": to_double,
    "dyn": lambda value: value,
    "duration": lambda value: value if isinstance(value, Duration) else duration(value),
    "timestamp": lambda value: value if isinstance(value, Timestamp) else timestamp(value),
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "join": lambda parts, separator="": separator.join(parts),
    "lowerAscii": _ascii_lower,
    "upperAscii": _ascii_upper,
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(),
    "format": _formatted,
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": lambda values: _extreme(values, -1, "min"),
    "max": lambda values: _extreme(values, 1, "max"),
    "sets.contains": _has_all,
    "sets.equivalent": lambda left, right: _has_all(left, right) and _has_all(right, left),
    "sets.intersects": lambda left, right: any(contained(entry, right) for entry in left),
    "optional.of": lambda value: Optional(True, value),
    "optional.none": lambda: NONE,
    "hasValue": lambda found: found.present,
    "value": _value,
    "orValue": lambda found, other: found.value if found.present else other,
    **{name: _part(name) for name in PARTS},
}
