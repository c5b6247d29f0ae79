"""The JSON paths that CRDs use to point at fields: `.spec.color`, `.metadata.labels['a.b']`.

Called for `fieldPath` of a validation rule and for selectable fields; it says where a path leads in a schema, or in the
server's words why it leads nowhere. Mirrors ValidFieldPath of apiextensions' schema/cel.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tree import Json

_TOKEN = re.compile(r"'(?:[^'\\]|\\.|\\)*?(?<!\\)'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class PathRefused(ValueError):
    """The path is malformed, or nothing is there."""


def follow(path: str, schema: Json, *, brackets: bool = True) -> tuple[str, Json]:
    """Where a path leads: its printed form, and the schema there."""
    tokens = _TOKEN.findall(path)
    printed = ""
    at = 0

    def take() -> str:
        nonlocal at
        if at >= len(tokens):
            raise PathRefused("unexpected end of JSON path")
        at += 1
        return str(tokens[at - 1])

    while at < len(tokens):
        token = take()
        if token == "[":
            if not brackets:
                raise PathRefused("array notation is not allowed")
            quoted = take()
            if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
                raise PathRefused(f"expected single quoted string but got {quoted}")
            printed, schema = _step(printed, schema, _unescaped(quoted[1:-1]))
            closing = take()
            if closing != "]":
                raise PathRefused(f"expected ] but got {closing}")
        elif token == ".":
            printed, schema = _step(printed, schema, take())
        else:
            raise PathRefused(f"expected [ or . but got: {token}")
    return printed, schema


def _step(printed: str, schema: Json, name: str) -> tuple[str, Json]:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise PathRefused("does not refer to a valid field")
        return f"{printed}.{name}" if printed else name, properties[name]
    if additional is None:
        raise PathRefused("does not refer to a valid field")
    return f"{printed}[{name}]", additional if isinstance(additional, dict) else {}


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise PathRefused(f"invalid string literal: invalid escape char {match[0]}")
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", character, text, flags=re.DOTALL)
