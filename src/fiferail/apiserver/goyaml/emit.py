"""A JSON tree as YAML text, byte for byte as the server writes it: the emitter of go.yaml.in/yaml/v2.

Called for every answer to a client that asks for YAML. Members are sorted as that library sorts them (numbers inside names by value),
lists stand at the column of their key, long texts are folded at 80 columns, and a text is quoted where it would be read as anything else.
Linear in the size of the tree, and fast: a list of 20,000 objects must not keep other clients waiting.
"""

from __future__ import annotations

import re
from functools import cmp_to_key, lru_cache
from typing import TYPE_CHECKING

from ...errors import Unsupported
from ...objects import gotext
from .scalars import STR, resolve

if TYPE_CHECKING:
    from ...objects.tree import Json

_WIDTH = 80
#: Longer keys are written as `? key`.
_LONGEST_KEY = 128
#: The server reads what it writes, and takes no longer ones.
_LONGEST_READABLE_KEY = 1000
_SIMPLE = re.compile(r"[A-Za-z/_$()\\][A-Za-z0-9/_.$()\\-]*")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_LEADING = frozenset("#,[]{}&*!|>'\"%@`")
_BREAKS = "\r\n\x85\u2028\u2029"
_BREAK = re.compile(f"[{_BREAKS}]")
_LINES = re.compile(f"(?<=[{_BREAKS}])")
_SPACE_BREAK = re.compile(f" [{_BREAKS}]")
_BREAK_SPACE = re.compile(f"[{_BREAKS}] ")
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_INDICATED = re.compile(r":(?:[ \t]|$)|[ \t\0\r\n\x85\u2028\u2029]#")
_ESCAPED = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]|[\"\\\\]")
_CONTROL = re.compile("[\x7f-\x9f]|\\A\ufeff")
_ESCAPES = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", "\x1b": "e", '"': '"', "\\": "\\",
    "\x85": "N", "\u2028": "L", "\u2029": "P",
}  # fmt: skip


def write(tree: Json) -> bytes:
    """The tree as YAML. Raises Unsupported for texts that the server's own YAML reader, which sees them on the way, refuses or changes."""
    lines: list[str] = []
    if isinstance(tree, dict) and tree:
        _mapping(lines, tree, 0, "")
    elif isinstance(tree, list) and tree:
        _sequence(lines, tree, 0, "")
    else:
        lines.append(_scalar(tree, 2, 0))
    lines.append("")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _mapping(lines: list[str], tree: Json, indent: int, first: str) -> None:
    """Writes the members, one or more lines each. `first`: what stands before the first one instead of the indentation."""
    margin = " " * indent
    lead = first or margin
    for name in _ordered(tuple(tree)):
        value, key = tree[name], _key(name)
        if not key:
            _long_member(lines, lead, name, value, indent)
        elif isinstance(value, (dict, list)) and value:
            lines.append(f"{lead}{key}")
            _nested(lines, value, indent)
        else:
            lines.append(f"{lead}{key} {_scalar(value, indent + 2, indent + len(key) + 1)}")
        lead = margin


def _nested(lines: list[str], value: Json, indent: int) -> None:
    """Writes a member's map or list, which begins on a line of its own."""
    if isinstance(value, dict):
        _mapping(lines, value, indent + 2, "")
    else:
        _sequence(lines, value, indent, "")


def _long_member(lines: list[str], lead: str, name: str, value: Json, indent: int) -> None:
    """Writes a member whose key is too long, or has line breaks: `? key` and `: value`."""
    if len(name) > _LONGEST_READABLE_KEY:
        raise Unsupported(f"YAML of keys longer than {_LONGEST_READABLE_KEY} characters", "ask for JSON")
    lines.append(f"{lead}? {_text(name, indent + 2, len(lead) + 2)}")
    before = " " * indent + ": "
    if isinstance(value, dict) and value:
        _mapping(lines, value, indent + 2, before)
    elif isinstance(value, list) and value:
        _sequence(lines, value, indent + 2, before)
    else:
        lines.append(before + _scalar(value, indent + 2, len(before)))


def _sequence(lines: list[str], tree: Json, indent: int, first: str) -> None:
    """Writes the entries."""
    dash = " " * indent + "- "
    lead = f"{first}- " if first else dash
    for value in tree:
        if isinstance(value, dict) and value:
            _mapping(lines, value, indent + 2, lead)
        elif isinstance(value, list) and value:
            _sequence(lines, value, indent + 2, lead)
        else:
            lines.append(lead + _scalar(value, indent + 2, len(lead)))
        lead = dash


@lru_cache(maxsize=1024)
def _ordered(names: tuple[str, ...]) -> list[str]:
    return sorted(names, key=None if all(map(_SIMPLE_NAME, names)) else _NATURAL)


def _scalar(value: Json, indent: int, column: int) -> str:
    """Anything but a container with something in it. `column`: where it begins."""
    if type(value) is str:
        if len(value) + column <= _WIDTH and _SIMPLE.fullmatch(value) and _plain(value):
            return value
        return _text(value, indent, column)
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else gotext.number(value)


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    """The name with its colon; empty when it does not fit on a line."""
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_KEY or _BREAK.search(name):
        return ""
    style = _style(name)
    if style == "plain":
        return f"{name}:"
    if style == "single":
        return "'" + name.replace("'", "''") + "':"
    return '"' + _ESCAPED.sub(_escape, name) + '":'


def _text(value: str, indent: int, column: int) -> str:
    """A text in the style that the server chooses for it."""
    style = _style(value)
    if style == "literal":
        return _literal(value, indent)
    if style == "plain":
        return _folded(value, indent, column, "")
    if style == "single":
        return f"'{_folded(value, indent, column + 1, chr(39))}'"
    return f'"{_double(value, indent, column + 1)}"'


@lru_cache(maxsize=8192)
def _style(value: str) -> str:
    """plain, single, double or literal."""
    if _CONTROL.search(value):
        raise Unsupported("YAML of texts with control characters", "ask for JSON")
    plain = _plain(value)
    special = bool(_UNPRINTABLE.search(value))
    breaks = bool(_BREAK.search(value))
    unquotable = special or bool(breaks and _SPACE_BREAK.search(value))
    if "\n" in value:
        return "double" if unquotable or value.endswith(" ") else "literal"
    if not plain:
        return "double"
    if not value:
        return "plain"
    if not (unquotable or breaks or value[0] in " " or value[-1] == " " or _indicated(value)):
        return "plain"
    return "double" if unquotable or (breaks and _BREAK_SPACE.search(value)) else "single"


def _plain(value: str) -> bool:
    """Whether the text without quotes would be read as text."""
    return resolve("", value)[0] == STR and not _BASE_60.fullmatch(value)


def _indicated(value: str) -> bool:
    """Whether the text has something in it that means something to YAML."""
    first = value[0]
    if first in _LEADING or value.startswith(("---", "...")):
        return True
    if first in "?:-" and (len(value) == 1 or value[1] in " \t"):
        return True
    return bool(_INDICATED.search(value))


def _literal(value: str, indent: int) -> str:
    if value[-1] in "\u2028\u2029":
        raise Unsupported("YAML of texts that end with a Unicode line separator", "ask for JSON")
    hint = "2" if value[0] in " " + _BREAKS else ""
    if value[-1] not in _BREAKS:
        hint += "-"
    elif len(value) == 1 or value[-2] in _BREAKS:
        hint += "+"
    margin = " " * indent
    lines = (line if line[0] in _BREAKS else margin + line for line in _LINES.split(value) if line)
    return f"|{hint}\n{''.join(lines)}".removesuffix("\n")


def _folded(value: str, indent: int, column: int, quote: str) -> str:
    """A plain or single-quoted text, broken at single spaces past the width; after a line break of its own it is indented."""
    if quote:
        value = value.replace("'", "''")
    if (" " not in value or len(value) + column <= _WIDTH) and not _BREAK.search(value):
        return value
    out: list[str] = []
    last = len(value) - 1
    margin = " " * indent
    for index, char in enumerate(value):
        if char == " ":
            alone = 0 < index < last and value[index - 1] != " " and value[index + 1] != " "
            if alone and column > _WIDTH:
                char, column = "\n" + margin, indent - 1
        elif char in _BREAKS:
            column = -1
        elif index and value[index - 1] in _BREAKS:
            char, column = margin + char, indent
        out.append(char)
        column += 1
    return "".join(out)


def _double(value: str, indent: int, column: int) -> str:
    if len(value) * 10 + column < _WIDTH or " " not in value:
        return _ESCAPED.sub(_escape, value)
    out: list[str] = []
    margin = "\n" + " " * indent
    spaces = False
    last = len(value) - 1
    for index, char in enumerate(value):
        if char != " ":
            shown = _ESCAPED.sub(_escape, char)
            spaces = False
        elif not spaces and column > _WIDTH and 0 < index < last:
            shown = margin + ("\\" if value[index + 1] == " " else "")
            column = indent - len(margin)
            spaces = True
        else:
            shown, spaces = " ", True
        out.append(shown)
        column += len(shown)
    return "".join(out)


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _compared(one: str, other: str) -> int:
    if one == other:
        return 0
    return -1 if _before(one, other) else 1


def _before(one: str, other: str) -> bool:
    """Whether a name comes first: letters after everything else, digits by the number that they make."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left == right:
            continue
        if left.isalpha() and right.isalpha():
            return left < right
        if left.isalpha() or right.isalpha():
            return right.isalpha()
        return _number_before(one, other, at)
    return len(one) < len(other)


def _number_before(one: str, other: str, at: int) -> bool:
    left = right = 0
    if one[at] == "0" or other[at] == "0":
        start = at
        while start > 0 and one[start - 1].isdecimal():
            start -= 1
            if one[start] != "0":
                left = right = 1
                break
    left, left_end = _digits(one, at, left)
    right, right_end = _digits(other, at, right)
    if left != right:
        return left < right
    return left_end < right_end if left_end != right_end else one[at] < other[at]


def _digits(text: str, at: int, value: int) -> tuple[int, int]:
    while at < len(text) and text[at].isdecimal():
        value = (value * 10 + ord(text[at]) - 48 + 2**63) % 2**64 - 2**63  # an int64 that wraps around
        at += 1
    return value, at


_NATURAL = cmp_to_key(_compared)
_SIMPLE_NAME = re.compile("[A-Za-z]+").fullmatch
