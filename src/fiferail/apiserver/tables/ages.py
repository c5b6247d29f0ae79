"""How long ago something was, in the few letters that kubectl prints. Mirrors apimachinery's `duration.HumanDuration`."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def age(seconds: float) -> str:
    """A duration: exact while it is short, coarser the longer it is."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_name}" + (f"{rest}{small_name}" if rest else "")


def moment(timestamp: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None where it is none."""
    if len(timestamp) < 20 or timestamp[10] not in "Tt":
        return None
    try:
        parsed = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()


def since(timestamp: str | None, now: float) -> str:
    """The age of a timestamp as a cell shows it."""
    if not timestamp or timestamp == "null":
        return "<unknown>"
    then = moment(timestamp)
    return "<invalid>" if then is None else age(now - then)
