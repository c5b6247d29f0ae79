"""The JSON text that the server's patch library leaves behind, byte for byte.

The server applies JSON and merge patches to text, and shows that text when the result cannot be decoded or field validation
refuses it (`patch: Invalid value: "{...}"`). Values of the patch that nobody looked into stand in it as they were sent: members
unsorted and doubled, numbers in their own spelling. `jsonpatch` and `mergepatch` work on values and are fast; this module works
on text, is slow, and is called only when the text is to be shown or searched for duplicate members (`gojson.duplicates`).

Both functions take patches that apply; whether they do, `jsonpatch` and `mergepatch` decide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import gojson
from .jsonpatch import index_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tree import Json

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_SPACE = re.compile(rb'("(?:[^"\\]|\\.)*")|\s+', re.DOTALL)


class _Node:
    """A piece of text; once somebody has looked into it, its members or entries. None stands for a null inside those."""

    __slots__ = ("entries", "members", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.members: dict[str, _Node | None] | None = None
        self.entries: list[_Node | None] | None = None

    def open(self) -> bool:
        """Look into it, which drops all but the last of doubled members; False for a scalar."""
        if self.members is not None or self.entries is not None:
            return True
        if self.raw[:1] == b"{":
            pieces = list(_pieces(self.raw))
            self.members = {gojson.decode(name): _node(value) for name, value in zip(pieces[::2], pieces[1::2], strict=True)}
        elif self.raw[:1] == b"[":
            self.entries = list(map(_node, _pieces(self.raw)))
        return self.members is not None or self.entries is not None

    def children(self) -> list[_Node]:
        """What is in it, nulls left out."""
        inside = self.members.values() if self.members is not None else self.entries or ()
        return [child for child in inside if child is not None]


def after_json_patch(body: bytes, document: Json) -> bytes:
    """The text of the document after a JSON patch that applies to it."""
    root = _Node(gojson.encode(document))
    for sent in _pieces(body.strip()) if body.strip() != b"null" else ():
        pieces = list(_pieces(sent))
        fields = {gojson.decode(name): value for name, value in zip(pieces[::2], pieces[1::2], strict=True)}
        root = _step(root, fields)
    return _text(root)


def after_merge_patch(body: bytes, document: Json) -> bytes:
    """The text of the document after a merge patch: an object, or a list where fields are not validated."""
    patch = _Node(body.strip())
    if patch.raw[:1] != b"{":
        _prune(patch)
        return _text(patch)
    root = _Node(gojson.encode(document))
    return _text(_merged(root, patch))


# JSON patch


def _step(root: _Node, fields: dict[str, bytes]) -> _Node:
    kind = gojson.decode(fields["op"])
    path = tokens_of(gojson.decode(fields["path"])) or ()
    value = _Node(fields["value"]) if "value" in fields else None
    if not path:
        return _whole(root, kind, value)
    if kind in ("add", "replace"):
        _put(_container(root, path), path[-1], value, inserts=kind == "add")
    elif kind == "remove":
        _take(_container(root, path), path[-1])
    elif kind == "test":
        _open_all(_child(_container(root, path), path[-1]))
    else:
        source = tokens_of(gojson.decode(fields["from"])) or ("",)
        holder = _container(root, source)
        if kind == "move":
            value = _take(holder, source[-1])
            target = _container(root, path)
        else:
            held = _child(holder, source[-1])
            target = _container(root, path)  # looked into before the copy is made, and it may be inside what is copied
            value = None if held is None else _Node(_text(held))
        _put(target, path[-1], value, inserts=True)
    return root


def _whole(root: _Node, kind: str, value: _Node | None) -> _Node:
    if kind == "replace" and value is not None:
        value.open()
        return value
    _open_all(root)
    return root


def _container(root: _Node, path: tuple[str, ...]) -> _Node:
    node = root
    node.open()
    for token in path[:-1]:
        child = _child(node, token)
        if child is None:
            raise LookupError(f"the patch does not apply: nothing at {token!r}")
        node = child
        node.open()
    return node


def _child(node: _Node, token: str) -> _Node | None:
    if node.members is not None:
        return node.members.get(token)
    return (node.entries or [])[_position(node, token)]


def _position(node: _Node, token: str, room: int = 0) -> int:
    position = index_of(token, len(node.entries or ()) + room)
    if position is None:
        raise LookupError(f"the patch does not apply: no index {token!r}")
    return position


def _put(node: _Node, token: str, value: _Node | None, *, inserts: bool) -> None:
    if node.members is not None:
        node.members[token] = value
    elif node.entries is not None and not inserts:
        node.entries[_position(node, token)] = value
    elif node.entries is not None:
        node.entries.insert(len(node.entries) if token == "-" else _position(node, token, room=1), value)


def _take(node: _Node, token: str) -> _Node | None:
    if node.members is not None:
        return node.members.pop(token, None)
    return (node.entries or []).pop(_position(node, token))


def _open_all(node: _Node | None) -> None:
    """A test that passed has looked into everything."""
    if node is not None and node.open():
        for child in node.children():
            _open_all(child)


# Merge patch


def _merged(current: _Node, patch: _Node) -> _Node:
    current.open()
    if current.members is None:
        _prune(patch)
        return patch
    if patch.raw[:1] != b"{":
        return patch
    patch.open()
    for name, change in (patch.members or {}).items():
        held = current.members.get(name)
        if change is None:
            current.members.pop(name, None)
        elif held is None:
            _prune(change)
            current.members[name] = change
        else:
            current.members[name] = _merged(held, change)
    return current


def _prune(node: _Node) -> None:
    """Null members go, at any depth; null entries of lists stay."""
    node.open()
    if node.members is not None:
        node.members = {name: member for name, member in node.members.items() if member is not None}
    for child in node.children():
        _prune(child)


# Text


def _node(raw: bytes) -> _Node | None:
    return None if raw == b"null" else _Node(raw)


def _pieces(raw: bytes) -> Iterator[bytes]:
    """What stands between the commas (and colons) of an array or object."""
    depth = start = end = 0
    for token in _TOKEN.finditer(raw, 1, len(raw) - 1):
        text = token.group()
        if depth == 0 and text in (b",", b":"):
            yield raw[start:end]
            start = 0
            continue
        start, end = start or token.start(), token.end()
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
    if start:
        yield raw[start:end]


def _text(node: _Node | None) -> bytes:
    if node is None:
        return b"null"
    if node.members is not None:
        return b"{" + b",".join(gojson.encode(name) + b":" + _text(node.members[name]) for name in sorted(node.members)) + b"}"
    if node.entries is not None:
        return b"[" + b",".join(map(_text, node.entries)) + b"]"
    return gojson.escaped(_SPACE.sub(lambda space: space.group(1) or b"", node.raw))
