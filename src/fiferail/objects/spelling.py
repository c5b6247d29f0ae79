"""Values that remember how they were spelled.

The server's JSON patch compares scalars byte for byte, so `1.0`, `1` and `1e0` differ, and so do `"<"` and `"\\u003c"`. A scalar in
Go's own spelling is kept as the plain value; any other becomes a `Spelled`, which carries its text. Called by `jsonpatch` only:
a tree with `Spelled` leaves never leaves it.
"""

from __future__ import annotations

import re
from operator import is_
from typing import TYPE_CHECKING

import msgspec

from . import gojson

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tree import Json

_TOKEN = re.compile(rb'[\s:,]*([{}\[\]]|"(?:[^"\\]|\\.)*"|[^\s,\]}:]+)', re.DOTALL)
#: What a string may hold that Go would write otherwise; U+FFFD may stand for a byte that is no UTF-8.
_TELLING = re.compile(rb"[\\<>&\x80-\xff]")


class Spelled(msgspec.Struct, frozen=True, eq=False):
    """A scalar that was not written as Go writes it."""

    text: bytes
    value: Json


def read(data: bytes) -> tuple[Json, bool]:
    """The value of a JSON text, with `Spelled` leaves where the spelling is not Go's; and whether there is none, for sure.

    Raises `gojson.DecodeError`.
    """
    tree = gojson.decode(data)
    if _is_plain(data, tree):
        return tree, True
    return _Reader(data).value(), False


def _is_plain(data: bytes, tree: Json) -> bool:
    """Whether no scalar of the text is spelled in another way than Go's. Cheap, and may say no where the answer is yes."""
    if b"\\" in data or b"<" in data or b">" in data or b"&" in data or b"-0" in data:
        return False
    if not data.isascii() and (b"\xe2\x80" in data or not _is_utf8(data)):
        return False
    return not gojson.may_hold_floats(tree)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Reader:
    """Reads a text that is known to be JSON."""

    def __init__(self, data: bytes) -> None:
        self._tokens = _TOKEN.findall(data)
        self._at = 0

    def value(self) -> Json:
        token = self._next()
        if token == b"{":
            members: dict[str, Json] = {}
            while (name := self._next()) != b"}":
                members[_plain(name)] = self.value()
            return members
        if token == b"[":
            entries: list[Json] = []
            while self._tokens[self._at] != b"]":
                entries.append(self.value())
            self._at += 1
            return entries
        return _scalar(token)

    def _next(self) -> bytes:
        self._at += 1
        token: bytes = self._tokens[self._at - 1]
        return token


def _scalar(token: bytes) -> Json:
    plain = _plain(token)
    if type(plain) is str and _TELLING.search(token) is None:
        return plain
    return plain if gojson.encode(plain) == token else Spelled(token, plain)


def _plain(token: bytes) -> Json:
    if token[0] == 0x22 and token.isascii() and b"\\" not in token:
        return token[1:-1].decode()
    return gojson.decode(token)


def changed(tree: Json, leaf: Callable[[Json], Json], known: Json = None) -> Json:
    """The tree with every leaf that is not plain JSON passed through `leaf`; what held none is shared.

    `known` is a tree that holds none: what the two share is not walked.
    """
    kind = type(tree)
    if tree is known or kind in _PLAIN:
        return tree
    if kind is dict:
        beside = known if type(known) is dict else {}
        members = {name: changed(member, leaf, beside.get(name)) for name, member in tree.items()}
        return tree if all(members[name] is member for name, member in tree.items()) else members
    if kind is list:
        shared = set(map(id, known)) if type(known) is list else set()
        entries = [entry if id(entry) in shared else changed(entry, leaf, _at(known, at)) for at, entry in enumerate(tree)]
        return tree if all(map(is_, entries, tree)) else entries
    return leaf(tree)


def _at(known: Json, index: int) -> Json:
    return known[index] if type(known) is list and index < len(known) else None


_PLAIN = frozenset({str, int, float, bool, type(None)})
