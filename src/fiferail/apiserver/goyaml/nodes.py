"""The nodes of a YAML text, built from libyaml's events without recursion and within limits.

Called by `decode`. Mirrors the parser of go.yaml.in/yaml/v2, which is a port of libyaml: the same events, the same complaints, the
same line numbers in them. A text that nests deeper than the server reads is refused with the server's words; one that nests deeper
than this server handles, or has more nodes, is `Unsupported`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ...errors import Unsupported
from ...objects.gojson import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The server's own limit, for brackets and for indentation.
SERVER_DEPTH = 10_000
#: Per document: less than a second of work, whatever they are. A CRD of half a megabyte has about 30,000.
MOST_NODES = 100_000
#: How many events are read to find out whether a text that is too deep for this server is too deep for the real one as well.
_DEEP_EVENTS = 3 * SERVER_DEPTH
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}\n"))
_SLASH = re.compile(r"(?<!\\)(?:\\\\)*\\/")


class YamlError(ValueError):
    """The text is not YAML that the server can read; the message is the server's, from `yaml: ` on."""


class Scalar(msgspec.Struct, gc=False):
    """A scalar as it is written. `implicit`: plain, so its type is found by its looks."""

    value: str
    tag: str
    implicit: bool
    line: int


class Sequence(msgspec.Struct):
    """A list."""

    line: int
    children: list[Node]


class Mapping(msgspec.Struct):
    """A map: keys and values in turn."""

    line: int
    children: list[Node]


class Alias(msgspec.Struct):
    """A reference to the node that has the anchor."""

    name: str
    line: int
    target: Node


Node: TypeAlias = "Scalar | Sequence | Mapping | Alias"


def documents(data: bytes) -> Iterator[Node | None]:
    """The root of each document, one by one: what follows a document is looked at only when it is asked for."""
    import yaml

    builder = _Builder(data)
    try:
        while (root := builder.document()) is not _END:
            yield root
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_where(error)}{error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"yaml: {error.reason}") from None


class _End(msgspec.Struct):
    """No more documents."""


_END: Any = _End()


def _where(error: Any) -> str:
    """The line, counted as the server counts: from 0 in the parser's complaints, from 1 in the scanner's, and never line 0."""
    import yaml

    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Builder:
    """Turns events into nodes with a stack of open containers."""

    def __init__(self, data: bytes) -> None:
        import yaml

        self._data = data
        #: The text, where it may hold the one escape that libyaml takes and the server does not.
        self._slashed = data.decode(errors="replace") if b"\\/" in data else ""
        self._parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(data or b"\n")
        self._scalar, self._alias = yaml.ScalarEvent, yaml.AliasEvent
        self._open, self._close = (yaml.SequenceStartEvent, yaml.MappingStartEvent), (yaml.SequenceEndEvent, yaml.MappingEndEvent)
        self._sequence = yaml.SequenceStartEvent
        self._document: Any = yaml.DocumentStartEvent
        self._stream_end = yaml.StreamEndEvent

    def document(self) -> Node | None:
        """The root of the next document; `_END` after the last."""
        while True:
            event: Any = self._parser.get_event()
            if type(event) is self._stream_end:
                return _END  # type: ignore[no-any-return]
            if type(event) is self._document:
                break
        if event.version not in (None, (1, 1)):
            raise YamlError(f"yaml: {_line(event.start_mark.line)}found incompatible YAML document")
        root = self._root()
        self._parser.get_event()  # the end of the document; what is wrong there is part of it
        return root

    def _root(self) -> Node:
        anchors: dict[str, Node] = {}
        root: list[Node] = []
        stack, count = [root], 0
        get_event, scalar, close = self._parser.get_event, self._scalar, self._close
        while True:
            event = get_event()
            kind = type(event)
            if kind is scalar:
                if self._slashed:
                    self._refuse_slash(event)
                node: Node = Scalar(event.value, event.tag or "", event.implicit[0], event.start_mark.line)
            elif kind in close:
                stack.pop()
                if len(stack) == 1:
                    return root[0]
                continue
            elif kind is self._alias:
                node = self._aliased(event, anchors)
            else:
                node = (Sequence if kind is self._sequence else Mapping)(event.start_mark.line, [])
            stack[-1].append(node)
            if kind is not self._alias and event.anchor is not None:
                anchors[event.anchor] = node
            if isinstance(node, (Sequence, Mapping)):
                stack.append(node.children)
                if len(stack) - 1 > DEEPEST:
                    self._too_deep(event, len(stack) - 1)
            elif len(stack) == 1:
                return root[0]
            count += 1
            if count > MOST_NODES:
                raise too_many()

    def _aliased(self, event: Any, anchors: dict[str, Node]) -> Alias:
        target = anchors.get(event.anchor)
        if target is None:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        return Alias(event.anchor, event.start_mark.line, target)

    def _refuse_slash(self, event: Any) -> None:
        """The server knows no `\\/` in a text between double quotes."""
        if event.style == '"' and "/" in event.value:
            found = _SLASH.search(self._slashed[event.start_mark.index : event.end_mark.index])
            if found:
                line = event.start_mark.line + found.string[: found.end()].count("\n")
                raise YamlError(f"yaml: {_line(line + 1 if line else 0)}found unknown escape character")

    def _too_deep(self, event: Any, depth: int) -> None:
        """Refuses, in the server's words where the server refuses too. libyaml's work grows with the square of the brackets' depth."""
        line = _line_of_depth(self._data)
        for _ in range(_DEEP_EVENTS):
            if line is not None or getattr(event, "flow_style", False) or type(event) is self._stream_end:
                break
            event = self._parser.get_event()
            depth += isinstance(event, self._open) - isinstance(event, self._close)
            if depth > SERVER_DEPTH:
                line = event.start_mark.line
        if line is not None:
            raise YamlError(f"yaml: {_line(line + 1 if line else 0)}exceeded max depth of {SERVER_DEPTH}")
        raise too_deep()


def _line_of_depth(data: bytes) -> int | None:
    """The line, from 0, on which the brackets are deeper than the server reads. Brackets inside texts count too."""
    brackets = data.translate(None, _NOT_BRACKETS)
    depth = line = 0
    for byte in brackets:
        if byte in b"[{":
            depth += 1
            if depth > SERVER_DEPTH:
                return line
        elif byte == 0x0A:
            line += 1
        else:
            depth -= 1
    return None


def too_deep() -> Unsupported:
    """What this server says to a text that the real one reads."""
    return Unsupported(f"YAML nested deeper than {DEEPEST} levels", f"the real server reads up to {SERVER_DEPTH}")


def too_many() -> Unsupported:
    """What this server says to a text that would keep it busy for long."""
    return Unsupported(f"YAML of more than {MOST_NODES} values", "send JSON")


def _line(number: int) -> str:
    return f"line {number}: " if number else ""
