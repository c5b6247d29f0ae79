"""Whether a text is a URI that Go's url.ParseRequestURI takes. Called by the format `uri`; decides nothing else.

Mirrors net/url of the Go release that builds the reference server, host and escape rules included.
"""

from __future__ import annotations

import ipaddress
import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_HEX = re.compile(r"%[0-9a-fA-F]{2}", re.ASCII)
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)
_HOST_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:[]<>\"")


def is_request_uri(text: str) -> bool:
    """Absolute, or an absolute path; a fragment is not set apart."""
    if not text or any(char < " " or char == "\x7f" for char in text) or text.startswith(":"):
        return False
    if text == "*":
        return True
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return bool(scheme)
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(scheme, authority) and _is_escaped(slash + path)
    return _is_escaped(rest)


def _is_escaped(text: str) -> bool:
    return text.count("%") == len(_HEX.findall(text))


def _is_authority(scheme: str, authority: str) -> bool:
    userinfo, at, host = authority.rpartition("@")
    return _is_host(scheme, host) and (not at or (_USERINFO.fullmatch(userinfo) is not None and _is_escaped(userinfo)))


def _is_host(scheme: str, host: str) -> bool:
    opening = host.rfind("[")
    if opening > 0:
        return False
    if opening == 0:
        return _is_literal(host)
    if ":" in host:
        # Since Go 1.26 web addresses may have one colon only; other schemes take the last as the port's.
        at = host.index(":") if scheme in ("http", "https") else host.rindex(":")
        if not _PORT.fullmatch(host[at:]):
            return False
    return _is_host_text(host)


def _is_literal(host: str) -> bool:
    inside, closing, port = host[1:].rpartition("]")
    if not closing or not _PORT.fullmatch(port):
        return False
    address, percent, zone = inside.partition("%25")
    if not _is_host_text(address) or "%" in address or (percent and not (_is_zone(zone) and zone)):
        return False
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _is_zone(zone: str) -> bool:
    if not _is_escaped(zone):
        return False
    for escape in _HEX.findall(zone):
        char = chr(int(escape[1:], 16))
        if escape != "%25" and char != " " and char not in _HOST_CHARS:
            return False
    return all(char in _HOST_CHARS or char > "\x7f" for char in _HEX.sub("", zone))


def _is_host_text(host: str) -> bool:
    if not _is_escaped(host):
        return False
    # An escape in a host may only stand for a byte beyond ASCII, or for the percent sign itself.
    if any(int(escape[1], 16) < 8 and escape != "%25" for escape in _HEX.findall(host)):
        return False
    return all(char in _HOST_CHARS or char > "\x7f" for char in _HEX.sub("", host))
