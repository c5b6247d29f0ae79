"""Text of unknown origin in places where something else is read: a terminal, Python source, Markdown, a URI.

Called by `render`, `explain` and the command line. Names of files and text of the audited source are data: none of it may move a cursor,
start a workflow command, end a string or become markup.
"""

from __future__ import annotations

import os
import re
import unicodedata
from urllib.parse import quote

# Control characters, the separators that end a line somewhere, what turns the direction of text, and halves of a pair.
_HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}
_PLAIN = re.compile(r"[ -9;-~]*(?::[ -9;-~]+)*:?")
_MARKS = re.compile(r"([\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w))")


def printable(text: str) -> str:
    """Text on one line of a terminal or of a log: hidden characters are written as Python writes them, and no command can begin.

    A runner of GitHub takes a line that begins with `::` for a command, and `##[` anywhere: one character of each is escaped.
    """
    if _PLAIN.fullmatch(text) and "##[" not in text:
        return text
    out = "".join(_escaped(character) if unicodedata.category(character) in _HIDDEN else character for character in text)
    return out.replace("::", ":\\x3a").replace("##[", "#\\x23[")


def lines(text: str) -> str:
    """Text of several lines, such as a diff, with each line printable; tabs stay."""
    return "\n".join("\t".join(printable(part) for part in line.split("\t")) for line in text.split("\n"))


def literal(text: str) -> str:
    """A Python string literal in double quotes, of printable ASCII only."""
    return f'"{inner(text)}"'


def inner(text: str) -> str:
    """Text for the inside of a Python string or docstring in double quotes."""
    return "".join(_ASCII.get(character) or _escaped(character) for character in text)


def comment(text: str) -> str:
    """Text for a Python comment: printable ASCII on one line."""
    return "".join(character if " " <= character <= "~" else _escaped(character) for character in text)


def markdown(text: str) -> str:
    """Text for a cell of a table: no markup, no HTML, no mention of a person."""
    return _MARKS.sub(r"\\\1", printable(text)).replace("@", "@\u200b")


def code_span(text: str) -> str:
    """Text as code in a cell of a table."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    return f"{fence}{shown}{fence}" if len(fence) == 1 else f"{fence} {shown} {fence}"


def uri(path: str) -> str:
    """A relative URI reference of a file."""
    return quote(path.replace(os.sep, "/"), safe="/", errors="surrogateescape")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


_ASCII = {chr(code): chr(code) for code in range(32, 127)} | {"\\": "\\\\", '"': '\\"'}
