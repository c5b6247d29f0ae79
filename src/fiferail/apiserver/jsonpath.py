"""The JSONPath of printer columns: what client-go's template language finds in an object.

Called by `tables.py`, once per column and row. Mirrors client-go's `util/jsonpath` as the server uses it: missing keys give
nothing instead of an error, every other mistake is an `EvaluationError` (the cell is then empty), and an expression that cannot
be read is a `SyntaxFault`. Never prints anything but what `text` is asked to print.

An expression becomes a list of steps; a step maps the values found so far to the next ones. Members of an object are visited
in the order of their names where Go's order is random.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ..objects import gotext

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..objects.tree import Json

Found: TypeAlias = "list[Json]"
Step: TypeAlias = "Callable[[Found], Found]"

_MEMBER_KEY = re.compile(r"^'([^']*)'$")
_SLICE = re.compile(r"^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$")
_COMPARISON = re.compile(r"^([^!<>=]+)([!<>=]+)(.+?)$")
_NUMBER = re.compile(r"[+-]?[.0-9]*")
_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")


class SyntaxFault(ValueError):
    """The expression cannot be read."""


class EvaluationError(ValueError):
    """The expression does not fit the object."""


@lru_cache(maxsize=1024)
def compiled(expression: str) -> Step:
    """A column's expression, without the braces that the template language wants around it."""
    return _chain(_Reader(expression).actions()[0])


def find(expression: str, document: Json) -> Found:
    """Everything that the expression finds in the document."""
    return compiled(expression)([document])


def text(value: Json) -> str:
    """A found value as the template language prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return gotext.number(value)
    from ..objects.gojson import encode

    return encode(value).decode()


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, expression: str) -> None:
        self.source = "{" + expression + "}"
        self.at = 0

    def actions(self) -> list[list[Step]]:
        """The steps of every braced part; text between them is skipped."""
        actions: list[list[Step]] = []
        while (opened := self.source.find("{", self.at)) >= 0:
            self.at = opened + 1
            actions.append(self.action())
        return actions

    def action(self) -> list[Step]:
        """The steps up to the closing brace."""
        steps: list[Step] = []
        recursive = False
        while not self.source.startswith("}", self.at):
            starts_recursion = self.source.startswith("..", self.at)
            if starts_recursion and recursive:
                raise SyntaxFault("invalid multiple recursive descent")
            before = len(steps)
            self.step(steps)
            if len(steps) > before:
                recursive = starts_recursion and len(steps) == before + 1
        self.at += 1
        return steps

    def step(self, steps: list[Step]) -> None:
        """Reads one step, or a blank that means nothing."""
        rest = self.source[self.at :]
        if rest.startswith("[?("):
            self.at += 3
            steps.append(self.filter())
            return
        if rest.startswith(".."):
            self.at += 2
            steps.append(_descend)
            if _is_word(self.source[self.at : self.at + 1]):
                steps.append(self.field())
            return
        first = rest[:1]
        if first in ("", "\r", "\n"):
            raise SyntaxFault("unclosed action")
        if first in (" ", "@", "$"):
            self.at += 1
        elif first == "[":
            steps.extend(self.array())
        elif first in "\"'":
            steps.append(_constant_once(self.quoted(first)))
        elif first == ".":
            self.at += 1
            steps.append(self.field())
        elif first in "+-" or first.isdecimal():
            steps.append(_constant(self.number()))
        elif _is_word(first):
            steps.append(self.identifier())
        else:
            raise SyntaxFault(f"unrecognized character in action: U+{ord(first):04X} '{first}'")

    def until_terminator(self) -> str:
        """The text up to a terminator that no backslash escapes."""
        start = self.at
        while self.at < len(self.source) and self.source[self.at] not in _TERMINATORS:
            self.at += 2 if self.source[self.at] == "\\" else 1
        return self.source[start : self.at]

    def field(self) -> Step:
        name = self.until_terminator()
        return _every_member if name == "*" else _member(name.replace("\\", ""))

    def identifier(self) -> Step:
        name = self.until_terminator()
        return _constant(name == "true") if name in ("true", "false") else _unknown_word(name)

    def number(self) -> int | float:
        match = _NUMBER.match(self.source, self.at)
        digits = match.group() if match else ""
        self.at += len(digits)
        try:
            return int(digits) if "." not in digits else float(digits)
        except ValueError:
            raise SyntaxFault(f"cannot parse number {digits}") from None

    def quoted(self, quote: str) -> str:
        end = self.at + 1
        while True:
            end = self.source.find(quote, end)
            if end < 0:
                raise SyntaxFault("unterminated quoted string")
            if self.source[end - 1] != "\\" or end - 1 == self.at:
                break
            end += 1
        inner = self.source[self.at + 1 : end]
        self.at = end + 1
        return re.sub(r"\\(.)", r"\1", inner)

    def array(self) -> list[Step]:
        end = self.source.find("]", self.at)
        if end < 0:
            raise SyntaxFault("unterminated array")
        inside = self.source[self.at + 1 : end]
        self.at = end + 1
        parts = inside.split(",")
        if len(parts) > 1:
            return [_union([_chain(_Reader(f"[{part.strip(' ')}]").actions()[0]) for part in parts])]
        if key := _MEMBER_KEY.match(inside):
            return _Reader(f".{key.group(1)}").actions()[0]
        return [_slice(":" if inside == "*" else inside)]

    def filter(self) -> Step:
        condition = self.filter_text()
        comparison = _COMPARISON.match(condition)
        if comparison is None:
            return _existing(_chain(_Reader(condition).actions()[0]))
        left, operator, right = comparison.groups()
        return _comparing(_chain(_Reader(left).actions()[0]), operator, _chain(_Reader(right).actions()[0]))

    def filter_text(self) -> str:
        """The condition up to its closing parenthesis; one inside quotes does not count."""
        start, quote, closed = self.at, "", False
        while self.at < len(self.source):
            char = self.source[self.at]
            self.at += 1
            if char in "\"'":
                if not quote:
                    quote = char
                elif char == quote and self.source[self.at - 2] != "\\":
                    closed = True
            elif char == ")" and bool(quote) == closed:
                if self.source[self.at : self.at + 1] != "]":
                    raise SyntaxFault("unclosed array expect ]")
                self.at += 1
                return self.source[start : self.at - 2]
        raise SyntaxFault("unterminated filter")


def _is_word(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _chain(steps: list[Step]) -> Step:
    def run(found: Found) -> Found:
        for step in steps:
            found = step(found)
        return found

    return run


def _member(name: str) -> Step:
    return lambda found: [value[name] for value in found if isinstance(value, dict) and name in value]


def _constant(value: Json) -> Step:
    return lambda found: [value] * len(found)


def _constant_once(value: Json) -> Step:
    return lambda found: [value]


def _unknown_word(name: str) -> Step:
    def refuse(found: Found) -> Found:
        raise EvaluationError(f"unrecognized identifier {name}")

    return refuse


def _inside(value: Json) -> Found:
    """The direct contents of a container; a text counts as its bytes."""
    if isinstance(value, dict):
        return [value[name] for name in sorted(value)]
    if isinstance(value, list):
        return value
    return list(value.encode()) if isinstance(value, str) else []


def _every_member(found: Found) -> Found:
    return [inner for value in found for inner in _inside(value)]


def _descend(found: Found) -> Found:
    visited: Found = []
    for value in found:
        if inner := _inside(value):
            visited.append(value)
            if not isinstance(value, str):
                visited.extend(_descend(inner))
    return visited


def _union(branches: list[Step]) -> Step:
    return lambda found: [value for branch in branches for value in branch(found)]


def _slice(inside: str) -> Step:
    match = _SLICE.match(inside)
    if match is None:
        raise SyntaxFault(f"invalid array index {inside}")
    first, second, third = match.groups()
    try:
        start = int(first) if first else None
        stop = int(second[1:]) if second and second != ":" else None
        step = int(third[1:]) if third and third != ":" else None
    except ValueError:
        raise SyntaxFault(f"array index {inside} is not a number") from None
    single = second is None
    return lambda found: [entry for value in found if value is not None for entry in _sliced(value, start or 0, stop, step, single)]


def _sliced(value: Json, start: int, stop: int | None, step: int | None, single: bool) -> Found:
    if not isinstance(value, list):
        raise EvaluationError("not array or slice")
    length = len(value)
    end = (start + 1 if single else length) if stop is None else stop
    if start < 0:
        start += length
    if end < 0 or (end == 0 and single):
        end += length
    if start == end:
        return []
    if not 0 <= start < length or not 0 <= end <= length or start > end:
        raise EvaluationError(f"array index out of bounds: index {start}, length {length}")
    if step is not None and step <= 0:
        raise EvaluationError("step must be > 0")
    return value[start : end : step or 1]


def _entries(found: Found) -> Found:
    for value in found:
        if not isinstance(value, list):
            raise EvaluationError("not array or slice and cannot be filtered")
    return [entry for value in found for entry in value]


def _existing(condition: Step) -> Step:
    def keep(entry: Json) -> bool:
        try:
            return bool(condition([entry]))
        except EvaluationError:
            return True  # the server looks at what was found before the error, and that is the entry itself

    return lambda found: [entry for entry in _entries(found) if keep(entry)]


def _comparing(left: Step, operator: str, right: Step) -> Step:
    if operator not in _COMPARISONS:
        raise SyntaxFault(f"unrecognized filter operator {operator}")

    def keep(entry: Json) -> bool:
        lefts = left([entry])
        rights = right([entry]) if lefts else []
        if len(lefts) > 1 or len(rights) > 1:
            raise EvaluationError("can only compare one element at a time")
        return bool(rights) and _compare(lefts[0], operator, rights[0])

    return lambda found: [entry for entry in _entries(found) if keep(entry)]


_COMPARISONS: dict[str, Callable[[Json, Json], bool]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
}


def _compare(left: Json, operator: str, right: Json) -> bool:
    comparable = (str, int, float, bool) if operator in ("==", "!=") else (str, int, float)
    if type(left) is not type(right) or type(left) not in comparable:
        raise EvaluationError("incompatible types for comparison")
    if isinstance(left, str):  # Go orders text by its bytes
        left, right = left.encode(), right.encode()
    return _COMPARISONS[operator](left, right)
