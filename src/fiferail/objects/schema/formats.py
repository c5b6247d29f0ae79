"""The string formats that CRD schemas may use, each accepting exactly what the server's Go code accepts.

Called by validation. A format the server does not know is ignored there, and here. Names are compared without dashes, so that
`date-time` and `datetime` are one. Mirrors kube-openapi's strfmt and the supported list of apiextensions. The one place where
exactness was given up is `email`: addresses beyond the plain form are refused as Unsupported instead of guessed at.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ...errors import Unsupported
from .. import strconv
from . import patterns, uris

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMERIC: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def effective(format: str, type: str) -> str:
    """The format that counts for a schema of this type, or "" when the server ignores it. An int-or-string has no single type."""
    if type in ("", "string"):
        return format if format.replace("-", "") in _CHECKS else ""
    return format if format in _NUMERIC.get(type, ()) else ""


def check(format: str) -> Callable[[str], bool] | None:
    """What decides whether a text has this format; None for a format that says nothing about texts."""
    return _REMEMBERED.get(format.replace("-", ""))


def _whole(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    matches = re.compile(pattern, flags | re.ASCII).fullmatch
    return lambda text: matches(text) is not None


_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIME: Final = re.compile(r"(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|([+-]\d{2}:\d{2}))", re.ASCII)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (month == 2 and leap)


def _is_datetime(text: str) -> bool:
    # The server splits at every "t" and looks at the first two parts only.
    parts = text.lower().split("t")
    if len(text.encode()) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


_GO_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_GO_PART: Final = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_GO_UNITS: Final = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LOOSE: Final = re.compile(r"(\d+)[\t\n\f\r ]*([A-Za-zµ]+)", re.ASCII)
_UNIT_NAMES: Final = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)
_UNIT_SIZES: Final = (1, 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 24 * 3600 * 10**9, 7 * 24 * 3600 * 10**9)


def _is_duration(text: str) -> bool:
    return loose_nanoseconds(text) is not None


def loose_nanoseconds(text: str) -> int | None:
    """The nanoseconds of a duration in Go's form or in words ("3 days"); None where there is no duration in the text."""
    exact = go_nanoseconds(text)
    if exact is not None:
        return exact
    total, found = 0, False
    for count, unit in _LOOSE.findall(text):
        number = strconv.bounded(count, 2**63)
        if number >= 2**63:
            return None
        lowered = unit.lower()
        for names, size in zip(_UNIT_NAMES, _UNIT_SIZES, strict=True):
            hits = (lowered in names) or lowered.startswith(names[-1])
            found = found or hits
            total += number * size if hits else 0
    # Go's arithmetic wraps around.
    return (total + 2**63) % 2**64 - 2**63 if found else None


def go_nanoseconds(text: str) -> int | None:
    """The nanoseconds of a duration as time.ParseDuration reads it; None where it would refuse."""
    if not _GO_DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _GO_PART.findall(text):
        size = _GO_UNITS[unit]
        fraction = fraction[:20]  # what follows is less than a nanosecond
        total += strconv.bounded(whole, 2**63) * size + (int(fraction) * size // 10 ** len(fraction) if fraction else 0)
        if total > 2**63:
            return None
    if total == 2**63 and not text.startswith("-"):
        return None
    return -total if text.startswith("-") else total


def _is_ipv4(text: str) -> bool:
    return "." in text and (_loose_ipv4(text) if text.find(".") < text.find(":") or ":" not in text else _loose_ipv6(text))


def _loose_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(part.isascii() and part.isdigit() and strconv.bounded(part, 255) <= 255 for part in parts)


def _loose_ipv6(text: str) -> bool:
    """IPv6 as Go read it before 1.17: groups may carry any number of leading zeros."""
    last = text.rpartition(":")[2]
    if "." in last:
        if not _loose_ipv4(last):
            return False
        text = text[: -len(last)] + "0:0"
    groups = [(group.lstrip("0") or "0") if group else "" for group in text.split(":")]
    return _is_strict_ipv6(":".join(groups))


def _is_strict_ipv6(text: str) -> bool:
    if ":" not in text or "%" in text or "/" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    address, slash, mask = text.partition("/")
    if not slash or not (mask.isascii() and mask.isdigit()):
        return False
    if _loose_ipv4(address):
        return strconv.bounded(mask, 32) <= 32
    return ":" in address and _loose_ipv6(address) and strconv.bounded(mask, 128) <= 128


_MAC: Final = _whole(
    r"(?:[0-9a-f]{2}(?P<s>[:-]))(?:[0-9a-f]{2}(?P=s)){4}(?:[0-9a-f]{2}|(?:[0-9a-f]{2}(?P=s)){2}[0-9a-f]{2}|(?:[0-9a-f]{2}(?P=s)){14}[0-9a-f]{2})"
    r"|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?:\.[0-9a-f]{4}(?:(?:\.[0-9a-f]{4}){6})?)?|[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40}",
    re.IGNORECASE,
)
_HOST_CHARS: Final = r"a-zA-Z0-9\p{S}\p{L}"
_HOSTNAME: Final = (
    rf"^([{_HOST_CHARS}]((-?[{_HOST_CHARS}]{{0,62}})?)|"
    rf"([{_HOST_CHARS}](([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}[{_HOST_CHARS}])?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
)


def _is_hostname(text: str) -> bool:
    if not patterns.matcher(_HOSTNAME)(text):
        return False
    return len(text.encode()) <= 255 and all(len(part.encode()) <= 63 for part in text.split("."))


_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_PLAIN_EMAIL: Final = _whole(rf"{_ATOM}(?:\.{_ATOM})*@{_ATOM}(?:\.{_ATOM})*")
_PLAIN_TEXT: Final = _whole(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]*")


def _is_email(text: str) -> bool:
    if not _PLAIN_TEXT(text) or "=?" in text:
        raise Unsupported("the format email for an address with quotes, brackets, comments, spaces or non-ASCII characters", repr(text))
    return _PLAIN_EMAIL(text)


_CARD: Final = _whole(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)


def _is_creditcard(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD(digits):
        return False
    total = 0
    for place, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def _isbn_digits(text: str) -> str:
    return re.sub(r"[\t\n\f\r -]+", "", text)


def _is_isbn10(text: str) -> bool:
    digits = _isbn_digits(text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((place + 1) * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _isbn_digits(text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    checksum = sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - checksum % 10) % 10


_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SHORT_NAME: Final = _whole(_LABEL)
_LONG_NAME: Final = _whole(rf"{_LABEL}(?:\.{_LABEL})*")
_SPACE: Final = r"[\t\n\f\r ]*"
_TONE: Final = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_SSN: Final = _whole(r"\d{3}[- ]?\d{2}[- ]?\d{4}")


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    return _whole(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}", re.IGNORECASE)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _whole(r"[0-9a-fA-F]{24}"),
    "uri": uris.is_request_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_strict_ipv6,
    "cidr": _is_cidr,
    "mac": _MAC,
    "uuid": _uuid("[0-9a-f]{4}", "[0-9a-f]{4}"),
    "uuid3": _uuid("3[0-9a-f]{3}", "[0-9a-f]{4}"),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_creditcard,
    "ssn": lambda text: len(text) == 11 and _SSN(text),
    "hexcolor": _whole(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _whole(rf"rgb\({_SPACE}{_TONE}{_SPACE},{_SPACE}{_TONE}{_SPACE},{_SPACE}{_TONE}{_SPACE}\)"),
    "byte": _whole(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_datetime,
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME(text),
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME(text),
}


def _remembering(accepts: Callable[[str], bool]) -> Callable[[str], bool]:
    remembered = lru_cache(maxsize=1024)(accepts)
    return lambda text: remembered(text) if len(text) <= 256 else accepts(text)


#: Times and names come again and again; each check remembers its recent answers.
_REMEMBERED: Final = {name: _remembering(accepts) for name, accepts in _CHECKS.items()}
