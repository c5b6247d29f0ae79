"""Why a text is not JSON, in the words of Go's encoding/json.

Called by `gojson` when a fast parser has refused the input: clients see these sentences in 400 answers, so they are kept
to the letter. Walks the bytes once, without recursion; it never builds a value.
"""

from __future__ import annotations

import re

from . import gotext

#: Go refuses to nest deeper than this.
MAX_DEPTH = 10000

_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


class _Refused(Exception):
    """The scan stopped at this byte, for this reason."""

    def __init__(self, char: int, why: str) -> None:
        super().__init__(f"invalid character {_shown(char)} {why}")


def syntax_error(data: bytes) -> str | None:
    """What Go says about this text, or None when it is one JSON value with nothing after it."""
    # Go feeds a space to the machine at the end of input, and an error of that step wins over "unexpected end".
    padded = data + b" "
    try:
        return None if _scan(padded) else "unexpected end of JSON input"
    except _Refused as refused:
        return str(refused)
    except IndexError:
        return "unexpected end of JSON input"


def _scan(data: bytes) -> bool:
    """Walk the text (which ends in a space); False when it ends before its value does. IndexError: it ended inside a string."""
    stack: list[int] = []
    expect, at, size = "value", 0, len(data)
    while at < size:
        char = data[at]
        if char in _SPACE:
            at += 1
        elif expect in ("value", "value or ]"):
            at, expect = _value(data, at, char, stack, expect)
        elif expect in ("key", "key or }"):
            if char == ord("}") and expect == "key or }":
                expect = _closed(stack)
                at += 1
            elif char == ord('"'):
                at, expect = _string(data, at + 1), "colon"
            else:
                raise _Refused(char, "looking for beginning of object key string")
        else:
            expect = _after(char, expect, stack)
            at += 1
    return expect == "end"


def _value(data: bytes, at: int, char: int, stack: list[int], expect: str) -> tuple[int, str]:
    if char == ord("]") and expect == "value or ]":
        return at + 1, _closed(stack)
    if char in b"{[":
        stack.append(char)
        if len(stack) > MAX_DEPTH:
            raise _Refused(char, "exceeded max depth")
        return at + 1, "key or }" if char == ord("{") else "value or ]"
    if char == ord('"'):
        at = _string(data, at + 1)
    elif char in _LITERALS:
        at = _literal(data, at, _LITERALS[char])
    elif char == ord("-") or char in _DIGITS:
        at = _number(data, at)
    else:
        raise _Refused(char, "looking for beginning of value")
    return at, "after" if stack else "end"


def _after(char: int, expect: str, stack: list[int]) -> str:
    """The byte after a key or a value."""
    if expect == "colon":
        if char == ord(":"):
            return "value"
        raise _Refused(char, "after object key")
    if expect == "end":
        raise _Refused(char, "after top-level value")
    inside_object = stack[-1] == ord("{")
    if char == ord(","):
        return "key" if inside_object else "value"
    if char == ord("}" if inside_object else "]"):
        return _closed(stack)
    raise _Refused(char, "after object key:value pair" if inside_object else "after array element")


def _closed(stack: list[int]) -> str:
    stack.pop()
    return "after" if stack else "end"


def _string(data: bytes, at: int) -> int:
    """The index behind the closing quote."""
    while True:
        at = _PLAIN.match(data, at).end()  # type: ignore[union-attr]  # matches always, at least nothing
        char = data[at]
        if char == ord('"'):
            return at + 1
        if char != ord("\\"):
            raise _Refused(char, "in string literal")
        escape = data[at + 1]
        at += 2
        if escape == ord("u"):
            for digit in data[at : at + 4]:
                if digit not in _HEX:
                    raise _Refused(digit, "in \\u hexadecimal character escape")
            at += 4
        elif escape not in b'bfnrt\\/"':
            raise _Refused(escape, "in string escape code")


def _literal(data: bytes, at: int, word: bytes) -> int:
    for offset, wanted in enumerate(word):
        if data[at + offset] != wanted:
            raise _Refused(data[at + offset], f"in literal {word.decode()} (expecting {_shown(wanted)})")
    return at + len(word)


def _number(data: bytes, at: int) -> int:
    if data[at] == ord("-"):
        at += 1
        if data[at] not in _DIGITS:
            raise _Refused(data[at], "in numeric literal")
    at = at + 1 if data[at] == ord("0") else _digits(data, at, "in numeric literal")
    if data[at] == ord("."):
        at = _digits(data, at + 1, "after decimal point in numeric literal")
    if data[at] in b"eE":
        at += 2 if data[at + 1] in b"+-" else 1
        at = _digits(data, at, "in exponent of numeric literal")
    return at


def _digits(data: bytes, at: int, why: str) -> int:
    if data[at] not in _DIGITS:
        raise _Refused(data[at], why)
    while data[at] in _DIGITS:
        at += 1
    return at


def _shown(char: int) -> str:
    """A byte as Go quotes it in these messages."""
    if char == ord("'"):
        return "'\\''"
    if char == ord('"'):
        return "'\"'"
    return f"'{gotext.quoted(chr(char))[1:-1]}'"
