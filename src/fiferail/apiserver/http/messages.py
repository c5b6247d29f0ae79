"""Answers as bytes of HTTP/1.1, and request lines as the machine wants them.

Called by `connection.py` for every message, so it is written for speed: status lines and headers that never change are made
once. It decides nothing about Kubernetes; a target that Go's server would refuse is a `BadTarget`.
"""

from __future__ import annotations

import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...wire import Answer

#: From this size on a body is compressed for clients that ask, as the real server does.
GZIP_FROM = 128 * 1024

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_LINES[413] = b"HTTP/1.1 413 Request Entity Too Large\r\n"
_LINES[422] = b"HTTP/1.1 422 Unprocessable Entity\r\n"
#: Of a query with more pairs than this the real server (Go's net/url) sees none.
QUERY_LIMIT = 10_000
_HOST = re.compile(r"[0-9A-Za-z!$%&'()*+,\-.:;=\[\]_~]*")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(rb"[\x00-\x20\x7f]")
_HUMANS = ("curl/", "Wget/", "Mozilla/")


class BadTarget(ValueError):
    """The request target is not a URL."""


def is_host(text: str) -> bool:
    """Whether Go's server takes the text as a Host header."""
    return _HOST.fullmatch(text) is not None


def split_target(target: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Path and query of a request target, decoded."""
    path, _, query = target.partition(b"?")
    if not path.startswith(b"/"):
        path = _origin_form(path)
    if b"%" in path:
        if _BAD_ESCAPE.search(path):
            raise BadTarget("invalid URL escape")
        path = unquote_to_bytes(path)
    elif _CONTROL.search(path):
        raise BadTarget("invalid control character in URL")
    return path.decode("utf-8", "replace"), split_query(query) if query else ()


def _origin_form(path: bytes) -> bytes:
    """The path of an absolute URL, as a proxy's client sends it; `*` stands for the server itself."""
    scheme, separator, rest = path.partition(b"://")
    if separator and scheme.lower() in (b"http", b"https"):
        slash = rest.find(b"/")
        return rest[slash:] if slash >= 0 else b"/"
    if path == b"*":
        return path
    raise BadTarget("invalid URI for request")


def split_query(query: bytes) -> tuple[tuple[str, str], ...]:
    """Names and values; pairs that Go's parser drops are dropped, and all of them where there are too many for it."""
    pairs: list[tuple[str, str]] = []
    if query.count(b"&") >= QUERY_LIMIT:
        return ()
    for pair in query.partition(b"#")[0].split(b"&"):
        if not pair or b";" in pair:
            continue
        name, _, value = pair.partition(b"=")
        if b"%" in pair and _BAD_ESCAPE.search(pair):
            continue
        pairs.append((_decoded(name), _decoded(value)))
    return tuple(pairs)


def _decoded(part: bytes) -> str:
    if b"+" in part:
        part = part.replace(b"+", b" ")
    return (unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace")


def request_head(method: bytes, target: bytes, version: str, headers: Mapping[str, str]) -> bytes:
    """A request's head again, without its wish to upgrade."""
    kept = {name: value for name, value in headers.items() if name not in ("upgrade", "connection")}
    tokens = [token.strip() for token in headers.get("connection", "").split(",") if token.strip().lower() in ("close", "keep-alive")]
    if tokens:
        kept["connection"] = ", ".join(tokens)
    lines = "".join(f"{name}: {value}\r\n" for name, value in kept.items())
    return b"%b %b HTTP/%b\r\n%b\r\n" % (method, target, version.encode("ascii"), lines.encode("latin-1"))


class Clock:
    """The Date header, made once a second."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        self._second = 0
        self._line = b""

    def line(self) -> bytes:
        """The header with its line end."""
        second = int(time.time())
        if second != self._second:
            self._second, self._line = second, f"Date: {_date(second)}\r\n".encode()
        return self._line


def _date(second: int) -> str:
    """An HTTP date, whatever the locale."""
    when = time.gmtime(second)
    day, month = _DAYS[3 * when.tm_wday :][:3], _MONTHS[3 * (when.tm_mon - 1) :][:3]
    return f"{day}, {when.tm_mday:02d} {month} {when.tm_year} {when.tm_hour:02d}:{when.tm_min:02d}:{when.tm_sec:02d} GMT"


_DAYS, _MONTHS = "MonTueWedThuFriSatSun", "JanFebMarAprMayJunJulAugSepOctNovDec"
_clock = Clock()


def rendered(answer: Answer, *, audit_id: str, keep_alive: bool, without_body: bool, accept_encoding: str, pretty: bool) -> bytes:
    """A whole answer. `without_body`: the client asked with HEAD and gets the length only."""
    body, headers = answer.body, answer.headers
    if pretty and body[:1] in (b"{", b"["):
        body = indented(body, headers)
    compressed = b""
    if len(body) >= GZIP_FROM and "gzip" in accept_encoding and "content-encoding" not in headers:
        import gzip  # costs more to load than a small server has to spend

        body, compressed = gzip.compress(body, 1), b"Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
    parts = [status_line(answer.status), b"Audit-Id: ", audit_id.encode(), b"\r\n", header_lines(headers), compressed, _clock.line()]
    parts.append(b"Content-Length: %d\r\n" % len(body))
    parts.append(b"\r\n" if keep_alive else b"Connection: close\r\n\r\n")
    if not without_body:
        parts.append(body)
    return b"".join(parts)


def indented(body: bytes, headers: Mapping[str, str]) -> bytes:
    """JSON for people: the server indents for browsers and command line tools."""
    if not headers.get("content-type", "").startswith("application/json"):
        return body
    try:
        return msgspec.json.format(body, indent=2)
    except msgspec.DecodeError:
        return body


def wants_indent(query: tuple[tuple[str, str], ...], user_agent: str) -> bool:
    """Whether the server would indent for this client."""
    for name, value in query:
        if name == "pretty":
            return value not in ("0", "false", "False", "f", "F", "FALSE")
    return user_agent.startswith(_HUMANS)


def stream_head(answer: Answer, *, audit_id: str, chunked: bool) -> bytes:
    """What goes before the first event of a watch."""
    parts = [status_line(answer.status), b"Audit-Id: ", audit_id.encode(), b"\r\n", header_lines(answer.headers), _clock.line()]
    parts.append(b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Connection: close\r\n\r\n")
    return b"".join(parts)


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def plain(status: int, text: str, note: str = "") -> bytes:
    """What Go's server says before any handler sees the request; it then closes the connection."""
    phrase = f"{status} {HTTPStatus(status).phrase}" + (f": {note}" if note else "")
    head = f"HTTP/1.1 {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    return (head + (text or phrase)).encode("latin-1", "replace")


def status_line(status: int) -> bytes:
    """The first line of an answer."""
    return _LINES.get(status) or b"HTTP/1.1 %d Status\r\n" % status


def header_lines(headers: Mapping[str, str]) -> bytes:
    """Header lines in the usual spelling; a line break in a value would be another header, so it goes."""
    lines = [] if "cache-control" in headers else ["Cache-Control: no-cache, private\r\n"]
    for name, value in headers.items():
        if not value.isprintable():
            value = "".join(char if char.isprintable() else " " for char in value)
        lines.append(f"{_spelled(name)}: {value}\r\n")
    return "".join(lines).encode("utf-8", "replace")


_SPELLINGS = {"content-type": "Content-Type", "warning": "Warning", "retry-after": "Retry-After", "etag": "Etag"}


def _spelled(name: str) -> str:
    return _SPELLINGS.get(name) or "-".join(part.capitalize() for part in name.split("-"))
