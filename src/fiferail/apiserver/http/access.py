"""Which requests a server without credentials takes: none that a web page of another site could have sent.

A browser lets any page send requests to loopback, and a page whose own name was made to resolve to 127.0.0.1 (DNS rebinding) may
read the answers. Such requests carry signs that a page cannot take off: the name in `Host`, `Origin`, and `Sec-Fetch-Site`. The real
server demands credentials instead, which a browser does not add by itself. Asked by `server.py` before any handler; knows nothing
of users and objects.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from .. import statuses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..statuses import Refusal

_WILDCARD = "*"
#: What a browser says of a request that no other site caused. Clients that are no browsers do not send the header.
_OWN_SITE = ("", "none", "same-origin")
#: The real server's CORS answers (`--cors-allowed-origins`).
_CORS = {
    "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
    "access-control-allow-headers": (
        "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
    ),
    "access-control-expose-headers": "Date",
    "access-control-allow-credentials": "true",
}


class Access:
    """What a server accepts as `Host` and `Origin`.

    `bound` is the address that the server listens on; `tokens` says whether it asks for credentials. `hosts` and `origins` are accepted
    in addition; `"*"` accepts all.
    """

    def __init__(self, bound: str, *, tokens: bool, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(_bare(host) for host in hosts)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._own = _bare(bound)
        self._loopback = is_loopback(bound)
        # A token is not sent by a browser unasked, so a name that was made to resolve to this server is of no use to a page.
        self._any_host = _WILDCARD in self._hosts or (tokens and not self._loopback)
        #: Hosts that were accepted before: most clients send one, thousands of times.
        self._known: set[str] = set()

    def refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Why the request is not served, or None."""
        host = headers.get("host", "")
        if host not in self._known:
            if not self._accepts(host):
                return _foreign_host(host)
            if len(self._known) < 100 and len(host) < 300:
                self._known.add(host)
        origin = headers.get("origin")
        if origin is not None:
            return None if self.allows(origin) else _foreign_origin(f"Origin: {origin}")
        site = headers.get("sec-fetch-site", "").lower()
        return None if site in _OWN_SITE else _foreign_origin(f"Sec-Fetch-Site: {site}")

    def allows(self, origin: str) -> bool:
        """Whether pages of this origin may use the server."""
        return _WILDCARD in self._origins or origin.lower() in self._origins

    def cors(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers with which a browser lets a page of an allowed origin read the answer; none for other clients."""
        origin = headers.get("origin")
        return {"access-control-allow-origin": origin, **_CORS} if origin else {}

    def _accepts(self, header: str) -> bool:
        name = _bare(header)
        if self._any_host or name in self._hosts or is_loopback(name) or not header:
            return True
        # An address is not resolved, so it cannot be made to mean this server. Only where the server listens beyond loopback is it one.
        return not self._loopback and (name == self._own or _address(name) is not None)


def is_loopback(host: str) -> bool:
    """Whether the name or address can only mean this machine."""
    name = _bare(host)
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    return address is not None and address.is_loopback


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _bare(host: str) -> str:
    """A host without port, brackets and the dot of the root, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host.removesuffix(".")


def _foreign_host(host: str) -> Refusal:
    option = f'--allow-host or allowed_hosts=["{_bare(host)}"]'
    how = f"a server for this machine serves localhost and 127.0.0.1; allow another name with {option}"
    return statuses.status(403, "Forbidden", f'the request names the host "{host}": {how}', {})


def _foreign_origin(sign: str) -> Refusal:
    how = "it comes from a web page; allow the page's origin with --allow-origin or allowed_origins="
    return statuses.status(403, "Forbidden", f'the request carries "{sign}": {how}', {})
