"""JSON text as the API server reads and writes it.

Called by everything that touches the wire or the store. Reading mirrors sigs.k8s.io/json: an integer literal that fits int64
is an int, any other number a float; of duplicate members the last one counts; bytes that are not UTF-8, and halves of
surrogate pairs, become U+FFFD. Writing mirrors Go's encoding/json: members sorted, `<`, `>`, `&`, U+2028 and U+2029 escaped,
numbers in Go's form. msgspec does the work; Python only steps in where the two disagree.

Never changes a tree it is given.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from operator import is_
from typing import TYPE_CHECKING

import msgspec

from ..errors import Unsupported
from . import gosyntax, gotext
from .tree import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _Change = Callable[[Json], Json]

#: Trees deeper than this are refused: the server's own limit is 10000, but everything here that walks a tree recurses.
DEEPEST = 256

_INT64 = range(-(2**63), 2**63)
_DECODER: msgspec.json.Decoder[Json] = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder(order="sorted")
_AS_SENT = msgspec.json.Encoder()
_PACKER = msgspec.msgpack.Encoder()
_PACKED_FLOAT = 0xCB
#: Digits become 0 and opening brackets [, all else a space: two questions are then answered at C speed.
_OUTLINE = bytes(0x30 if byte in b"0123456789" else 0x5B if byte in b"{[" else 0x20 for byte in range(256))
_NINETEEN_DIGITS = b"0" * 19
_HALF_PAIR = re.compile("[\ud800-\udfff]")
#: The strict decoder stops complaining here.
MOST_STRICT_ERRORS = 100


class DecodeError(ValueError):
    """The text is not JSON, or holds a number that no float64 can; the message is Go's. `.syntax` tells the two apart."""

    def __init__(self, message: str, *, syntax: bool) -> None:
        super().__init__(message)
        self.message = message
        self.syntax = syntax


def decode(data: bytes) -> Json:
    """The value of a JSON text, as the server holds it."""
    try:
        tree = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(data)
    outline = data.translate(_OUTLINE)
    if _NINETEEN_DIGITS in outline:
        tree = _wide_integers_as_floats(tree)
    if outline.count(b"[") > DEEPEST:
        _refuse_deep(tree)
    return tree


def encode(tree: Json, *, floats: bool = True) -> bytes:
    """The tree as Go's encoding/json writes it. `floats` False: `settled` found none in it."""
    try:
        if floats and may_hold_floats(tree):
            tree = _with_go_floats(tree)
    except (OverflowError, UnicodeEncodeError):
        tree = _with_go_floats(_mended(tree))
    data = _ENCODER.encode(tree)
    if b"<" in data or b">" in data or b"&" in data or not data.isascii():
        return escaped(data)
    return data


def escaped(data: bytes) -> bytes:
    """JSON text with what Go escapes for the sake of HTML and JavaScript escaped. None of it can stand outside strings."""
    data = data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def normalised(tree: Json) -> Json:
    """What writing the tree to the store and reading it back makes of it: 1.0 becomes 1. Unchanged subtrees are shared."""
    return settled(tree)[0]


def settled(tree: Json) -> tuple[Json, bool]:
    """The same, and whether a number in it may be a float."""
    try:
        if not may_hold_floats(tree):
            return tree, False
    except (OverflowError, UnicodeEncodeError):
        pass
    return _mended(tree), True


def may_hold_floats(tree: Json) -> bool:
    """False: no number in the tree is a float. Packing it and looking for the mark of a float is faster than any walk in Python."""
    return _PACKED_FLOAT in _PACKER.encode(tree)


def duplicates(data: bytes, tree: Json = None) -> list[str]:
    """The strict decoder's complaints about members that stand twice, in its order and words. `tree`: the decoded data, if at hand."""
    try:
        if _AS_SENT.encode(_DECODER.decode(data) if tree is None else tree) == data:
            return []
        json.loads(data, object_pairs_hook=_refuse_twins)
    except _Twins:
        return complaints(decode_pairs(data))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        decode(data)  # raises what is wrong with it, if anything is
        return complaints(decode_pairs(data))
    return []


def number_text(value: float) -> str:
    """A number as Go's encoding/json writes it."""
    if isinstance(value, int):
        return str(value)
    if math.isinf(value) or math.isnan(value):
        raise ValueError(f"json: unsupported value: {gotext.number(value)}")
    sign, digits, exponent = gotext.decimal(value)
    if not -6 <= exponent < 21:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent)}"
    return sign + gotext.positional(digits, exponent)


def number(text: str) -> int | float:
    """A number literal as the server reads it; DecodeError when it overflows float64."""
    if len(text) <= 20 and text.lstrip("-").isdigit() and int(text) in _INT64:
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise DecodeError(f"json: cannot unmarshal number {text} into Go value of type float64", syntax=False)
    return value


class Pairs(list[tuple[str, Json]]):
    """An object with all its members in the order of the text, twins included."""


def decode_pairs(data: bytes) -> Json:
    """Like `decode`, but objects come as `Pairs`."""
    return _whole_text(_loads(data, Pairs))


def _decode_slowly(data: bytes) -> Json:
    error = gosyntax.syntax_error(data)
    if error is not None:
        raise DecodeError(error, syntax=True)
    tree = _whole_text(_loads(data, dict))
    _refuse_deep(tree)
    return tree


def _loads(data: bytes, objects: type) -> Json:
    try:
        return json.loads(data.decode("utf-8", _ONE_FOR_EACH_BYTE), object_pairs_hook=objects, parse_int=number, parse_float=number)
    except RecursionError:
        raise _too_deep() from None


def _refuse_deep(tree: Json) -> None:
    level, depth = [tree], 0
    while level := [child for node in level for child in _children(node)]:
        depth += 1
        if depth > DEEPEST:
            raise _too_deep()


def _children(node: Json) -> Iterator[Json]:
    if isinstance(node, dict):
        return iter(node.values())
    return iter(node if isinstance(node, list) else ())


def _too_deep() -> Unsupported:
    return Unsupported(f"JSON nested deeper than {DEEPEST} levels", "the real server reads up to 10000")


def _mended(tree: Json) -> Json:
    """Numbers as a round trip leaves them and text without halves of surrogate pairs; shares what needed no mending."""
    kind = type(tree)
    if kind is float:
        text = number_text(tree)
        return tree if "." in text or "e" in text else number(text)
    if kind is int:
        return tree if tree in _INT64 else float(tree)
    return _rebuilt(tree, _mended)


def _wide_integers_as_floats(tree: Json) -> Json:
    if type(tree) is int:
        return tree if tree in _INT64 else number(str(tree))
    return _rebuilt(tree, _wide_integers_as_floats, text=False)


def _with_go_floats(tree: Json) -> Json:
    if type(tree) is float:
        return msgspec.Raw(number_text(tree).encode())
    return _rebuilt(tree, _with_go_floats, text=False)


def _whole_text(tree: Json) -> Json:
    if isinstance(tree, Pairs):
        return Pairs((_whole(name), _whole_text(member)) for name, member in tree)
    return _rebuilt(tree, _whole_text)


def _whole(text: str) -> str:
    return text if text.isascii() else _HALF_PAIR.sub("\ufffd", text)


def _rebuilt(tree: Json, change: _Change, text: bool = True) -> Json:
    """The container with every member changed, or the very same one when no member was."""
    kind = type(tree)
    if kind is dict:
        members = {(_whole(name) if text else name): change(member) for name, member in tree.items()}
        untouched = len(members) == len(tree) and all(members.get(name, members) is member for name, member in tree.items())
        return tree if untouched else members
    if kind is list:
        entries = [change(entry) for entry in tree]
        return tree if all(map(is_, entries, tree)) else entries
    return _whole(tree) if text and kind is str else tree


class _Twins(Exception):
    """Some object holds a member twice."""


def _refuse_twins(pairs: list[tuple[str, Json]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Twins


def complaints(tree: Json, at: str = "") -> list[str]:
    """The same, for a value decoded to `Pairs` that stands at this path."""
    paths = list(dict.fromkeys(_twins(tree, at)))
    return [f"duplicate field {gotext.quoted(path)}" for path in paths[:MOST_STRICT_ERRORS]]


def _twins(tree: Json, at: str) -> Iterator[str]:
    if isinstance(tree, Pairs):
        seen: set[str] = set()
        for name, member in tree:
            path = f"{at}.{name}" if at else name
            if name in seen:
                yield path
            seen.add(name)
            yield from _twins(member, path)
    elif isinstance(tree, list):
        for index, entry in enumerate(tree):
            yield from _twins(entry, f"{at}[{index}]")


def _one_for_each_byte(error: UnicodeError) -> tuple[str, int]:
    """Go puts one U+FFFD for each byte that is not UTF-8; Python's own handler puts one for a whole broken sequence."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd", error.start + 1


_ONE_FOR_EACH_BYTE = "fiferail-gojson"
codecs.register_error(_ONE_FOR_EACH_BYTE, _one_for_each_byte)
