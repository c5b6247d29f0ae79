"""Cron schedules, refused in the words of the library that the server uses."""

from __future__ import annotations

import re

from ....objects import gotext, strconv

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = ((0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS))
_DESCRIPTORS = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)


class ScheduleError(ValueError):
    """No schedule; the message is the library's."""


def check(schedule: str) -> None:
    """Raises ScheduleError when this is no schedule."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = schedule.partition("=")[2].partition(" ")
        if not space:
            raise ScheduleError(f"panic: runtime error: slice bounds out of range [:-1] parsing schedule {zone}")
        schedule = rest.strip()
    if schedule.startswith("@"):
        _descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _BOUNDS, strict=True):
        for expression in filter(None, field.split(",")):
            _range(expression, *bounds)


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix("@every ")
    if not _DURATION.fullmatch(duration):
        raise ScheduleError(f"failed to parse duration {text}: time: invalid duration {gotext.quoted(duration)}")


def _range(expression: str, lowest: int, highest: int, names: dict[str, int]) -> None:
    parts = expression.split("/")
    ends = parts[0].split("-")
    if ends[0] in ("*", "?"):
        start, end = lowest, highest
    else:
        start = _number(ends[0], names)
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
        end = _number(ends[1], names) if len(ends) == 2 else start
    step = 1
    if len(parts) == 2:
        step = _number(parts[1], {})
        end = highest if len(ends) == 1 else end
    elif len(parts) > 2:
        raise ScheduleError(f"too many slashes: {expression}")
    if start < lowest:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({lowest}): {expression}")
    if end > highest:
        raise ScheduleError(f"end of range ({end}) above maximum ({highest}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    try:
        number = strconv.parse_int(text)
    except ValueError as error:
        raise ScheduleError(f"failed to parse int from {text}: {str(error).replace('ParseInt', 'Atoi', 1)}") from None
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
