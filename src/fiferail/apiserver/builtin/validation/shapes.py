"""Checks that many kinds share: names, label selectors, ports, numbers, immutability. Each returns field errors in the server's words."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from ....objects import strconv
from ....objects.fielderrors import FieldError, Literal, forbidden, invalid, not_supported, required
from ....objects.gojson import encode
from ....objects.tree import Json, same
from ... import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_PERCENT = re.compile(r"[0-9]+%")
_SERVICE_PORT_PART = re.compile(r"[-a-z0-9]*")


def not_negative(value: Json, at: str) -> list[FieldError]:
    """Zero or more."""
    return [] if value is None or value >= 0 else [invalid(at, value, NOT_NEGATIVE)]


def texts(at: str, value: Json, problems: Iterable[str]) -> list[FieldError]:
    """One error per complaint about a value."""
    return [invalid(at, value, problem) for problem in problems]


def immutable(new: Json, old: Json, at: str, detail: str = IMMUTABLE) -> list[FieldError]:
    """The value may not change."""
    return [] if same(new, old) else [invalid(at, new, detail)]


def config_key(key: str) -> list[str]:
    """Keys of ConfigMaps and Secrets."""
    problems = [f"must be no more than {253} characters"] if len(key) > 253 else []
    if not _CONFIG_KEY.fullmatch(key):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        problems.append(f"{text} (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')")
    if key == ".":
        problems.append("must not be '.'")
    elif key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def labels(given: Json, at: str) -> list[FieldError]:
    """A map of labels."""
    found = []
    for name, value in sorted((given or {}).items()):
        found += texts(at, name, names.qualified_name(name))
        found += texts(at, value, names.label_value(value))
    return found


def annotation_names(given: Json, at: str) -> list[FieldError]:
    """A map of annotations."""
    return [error for name in sorted(given or {}) for error in texts(at, name, names.qualified_name(name.lower()))]


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def label_selector(selector: Json, at: str) -> list[FieldError]:
    """matchLabels and matchExpressions."""
    if selector is None:
        return []
    found = labels(selector.get("matchLabels"), f"{at}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        found += _requirement(requirement, f"{at}.matchExpressions[{index}]")
    return found


def _requirement(requirement: Json, at: str) -> list[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    found = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            found.append(forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    else:
        found.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
    found += texts(f"{at}.key", requirement.get("key", ""), names.qualified_name(requirement.get("key", "")))
    for index, value in enumerate(values):
        found += texts(f"{at}.values[{index}]", value, names.label_value(value))
    return found


def matches(selector: Json, given: Json) -> bool:
    """Whether labels satisfy a selector."""
    own = given or {}
    if any(own.get(name) != value for name, value in (selector.get("matchLabels") or {}).items()):
        return False
    for requirement in selector.get("matchExpressions") or ():
        present, values = requirement["key"] in own, requirement.get("values") or []
        good = {
            "In": present and own.get(requirement["key"]) in values,
            "NotIn": not present or own.get(requirement["key"]) not in values,
            "Exists": present,
            "DoesNotExist": not present,
        }.get(requirement.get("operator", ""), False)
        if not good:
            return False
    return True


def port_number(value: Json, at: str) -> list[FieldError]:
    """1 to 65535."""
    return [] if 1 <= value <= 65535 else [invalid(at, value, "must be between 1 and 65535, inclusive")]


def port_name(name: str) -> list[str]:
    """IANA service names, as container ports use them."""
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 characters")
    if not _SERVICE_PORT_PART.fullmatch(name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number_or_name(port: Json, at: str) -> list[FieldError]:
    """A number in range, or an IANA name."""
    if isinstance(port, str):
        return texts(at, port, port_name(port))
    return [] if 1 <= port <= 65535 else [invalid(at, port, "must be between 1 and 65535, inclusive")]


def int_or_percent(value: Json, at: str) -> list[FieldError]:
    """A number of zero or more, or a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(at, value, _PERCENT_TEXT)]
    return not_negative(value, at)


_PERCENT_TEXT = names.regex_text("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%")


def not_over_hundred(value: Json, at: str) -> list[FieldError]:
    """A percentage of at most 100."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and strconv.bounded(value[:-1], 100) > 100:
        return [invalid(at, value, "must not be greater than 100%")]
    return []


def percent_or_number(value: Json) -> int:
    """The number in it, for comparisons with zero."""
    if isinstance(value, str):
        return strconv.bounded(value[:-1], 2**31) if _PERCENT.fullmatch(value) else 0
    return int(value or 0)


def one_of(value: Json, allowed: Iterable[str], at: str) -> list[FieldError]:
    """One of a few words; the words are shown sorted."""
    return [] if value in allowed else [not_supported(at, value, sorted(allowed))]


def ip_address(text: str, at: str) -> list[FieldError]:
    """An IPv4 or IPv6 address in its plain form."""
    if is_ip(text):
        return []
    return [invalid(at, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]


def is_ip(text: str) -> bool:
    """Whether it is an address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def named(name: str, at: str, check: Callable[[str], list[str]] = names.dns_subdomain) -> list[FieldError]:
    """A name that must be there and well formed."""
    return texts(at, name, check(name)) if name else [required(at)]


def too_many(at: str, count: int, limit: int) -> FieldError:
    """More entries than allowed."""
    return FieldError("FieldValueTooMany", at, count, f"must have at most {limit} items")


def selector_text(selector: Json) -> Literal:
    """A label selector as Go's encoder prints it: members in the order of the struct."""
    parts = []
    if selector.get("matchLabels"):
        parts.append(f'"matchLabels":{encode(selector["matchLabels"]).decode()}')
    if selector.get("matchExpressions"):
        parts.append(f'"matchExpressions":[{",".join(map(_requirement_text, selector["matchExpressions"]))}]')
    return Literal("{" + ",".join(parts) + "}")


def _requirement_text(requirement: Json) -> str:
    members = [(name, requirement.get(name, "")) for name in ("key", "operator")]
    if requirement.get("values"):
        members.append(("values", requirement["values"]))
    return "{" + ",".join(f'"{name}":{encode(value).decode()}' for name, value in members) + "}"


def cidr(text: str, at: str) -> list[FieldError]:
    """An address range."""
    return [] if network(text) is not None else [invalid(at, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The range, or None."""
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
