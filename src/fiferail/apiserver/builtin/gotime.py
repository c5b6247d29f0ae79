"""Times as the server's types read and print them: RFC 3339, whole seconds or exactly six decimals, always printed in UTC.

The typed decoder calls `seconds` for Time and `micros` for MicroTime. The texts of refusals are those of Go's time package.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from re import compile as compiled

_SECONDS_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICROS_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_HEAD = (("2006", 4), ("-", 0), ("01", 2), ("-", 0), ("02", 2), ("T", 0), ("15", 2), (":", 0), ("04", 2), (":", 0), ("05", 2))
_PLAIN = compiled(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
_FRACTION = compiled(r"[.,]\d+")
_ZONE = compiled(r"Z|[+-]\d\d:\d\d")
_ZERO = datetime(1, 1, 1, tzinfo=UTC)


class TimeError(ValueError):
    """The text is no time; the message is Go's."""


def seconds(text: str) -> str | None:
    """The time in UTC, decimals cut off; None for the zero time, which is printed as null."""
    moment, _ = _parse(text, _SECONDS_LAYOUT)
    return None if moment == _ZERO else moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def micros(text: str) -> str | None:
    """The time in UTC with six decimals; None for the zero time."""
    moment, fraction = _parse(text, _MICROS_LAYOUT)
    if moment == _ZERO and not fraction.strip("0"):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + f".{fraction[:6].ljust(6, '0')}Z"


def _parse(text: str, layout: str) -> tuple[datetime, str]:
    rest, numbers = text, []
    for element, width in _HEAD:
        if width == 0:
            if not rest.startswith(element):
                raise _cannot(text, layout, rest, element)
            rest = rest[1:]
        else:
            if not (rest[:width].isascii() and rest[:width].isdigit() and len(rest) >= width):
                raise _cannot(text, layout, rest, element)
            numbers.append(int(rest[:width]))
            rest = rest[width:]
            _check_range(text, element, numbers[-1])
    fraction, rest = _fraction(text, layout, rest)
    zone = _ZONE.match(rest)
    if not zone:
        raise _cannot(text, layout, rest, "Z07:00")
    if zone.end() != len(rest):
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest[zone.end() :])}")
    try:
        moment = datetime(*numbers, tzinfo=UTC)  # type: ignore[misc, arg-type]
        return moment - _offset(zone.group()), fraction
    except (ValueError, OverflowError):
        raise TimeError(f"parsing time {_quoted(text)}: day out of range") from None


def _fraction(text: str, layout: str, rest: str) -> tuple[str, str]:
    found = _FRACTION.match(rest)
    if layout is _MICROS_LAYOUT:
        if not found or len(found.group()) < 7:
            raise _cannot(text, layout, rest, ".000000")
        return rest[1:7], rest[7:]
    return (found.group()[1:], rest[found.end() :]) if found else ("", rest)


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta(0)
    shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return -shift if zone[0] == "-" else shift


def _check_range(text: str, element: str, number: int) -> None:
    name, lowest, highest = {
        "01": ("month", 1, 12),
        "02": ("day", 1, 31),
        "15": ("hour", 0, 23),
        "04": ("minute", 0, 59),
        "05": ("second", 0, 59),
    }.get(element, ("year", 0, 9999))
    if not lowest <= number <= highest:
        raise TimeError(f"parsing time {_quoted(text)}: {name} out of range")


def _cannot(text: str, layout: str, rest: str, element: str) -> TimeError:
    return TimeError(f"parsing time {_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(rest)} as {_quoted(element)}")


def _quoted(text: str) -> str:
    """As Go's time package quotes: everything but printable ASCII byte by byte."""
    shown = ""
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        shown += f"\\x{byte:02x}" if byte >= 0x80 or byte < 0x20 else (f"\\{char}" if char in '"\\' else char)
    return f'"{shown}"'
