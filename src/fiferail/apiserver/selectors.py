"""Label and field selectors: parsed as the server parses them, with its complaints, and matched against objects.

List, watch and deletecollection call `labels`, `fields`; a parsed selector is a plain predicate over strings and knows nothing of
objects. Mirrors apimachinery's `labels.Parse` and `fields.ParseSelector`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from ..objects import gotext, names, strconv

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A symbol, the longest that fits, or a word.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),><])|([^=!(),>< \t\r\n]+))")
_BINARY = "in, notin, =, ==, !=, gt, lt"


class SelectorError(Exception):
    """The selector cannot be parsed: the text of the server's 400."""


class Requirement(msgspec.Struct, frozen=True):
    """One term: a key, an operator (in, notin, exists, !, gt, lt) and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether a set of labels fulfils the term."""
        value = values.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        number = None if value is None else _integer(value)
        bound = _integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "gt" else number < bound


class Selector(msgspec.Struct, frozen=True):
    """All terms must hold. An empty selector matches everything."""

    terms: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether all terms hold."""
        return all(term.matches(values) for term in self.terms)

    def exact(self, key: str) -> str | None:
        """The one value that the key must have, when the selector says so."""
        for term in self.terms:
            if term.key == key and term.operator == "in" and len(term.values) == 1:
                return term.values[0]
        return None


EVERYTHING = Selector()


def labels(text: str) -> Selector:
    """Parses `labelSelector=`."""
    return Selector(tuple(_Labels(text).parse())) if text else EVERYTHING


class _Labels:
    """The label grammar, with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_scan(text), ("end", "")]
        self._at = 0

    def _peek(self, *, values: bool = True) -> tuple[str, str]:
        kind, literal = self._tokens[min(self._at, len(self._tokens) - 1)]
        return ("identifier" if values and kind in ("in", "notin") else kind), literal

    def _take(self, *, values: bool = True) -> tuple[str, str]:
        token = self._peek(values=values)
        self._at += 1
        return token

    def parse(self) -> list[Requirement]:
        terms: list[Requirement] = []
        while True:
            kind, literal = self._peek()
            if kind == "end":
                return terms
            if kind not in ("identifier", "!"):
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                terms.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            kind, literal = self._take()
            if kind == "end":
                return terms
            if kind != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self._peek()
            if kind not in ("identifier", "!"):
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        kind, key = self._take()
        negated = kind == "!"
        if negated:
            kind, key = self._take()
        if kind != "identifier":
            raise SelectorError(f"found '{key}', expected: identifier")
        _check_key(key, "<nil>")
        if self._peek()[0] in ("end", ","):
            return Requirement(key, "!" if negated else "exists")
        operator, literal = self._take(values=False)
        if operator not in ("in", "notin", "=", "==", "!=", ">", "<"):
            raise SelectorError(f"found '{literal}', expected: {_BINARY}")
        values = self._values() if operator in ("in", "notin") else self._exact_value()
        return _requirement(key, operator, tuple(sorted(set(values))))

    def _exact_value(self) -> list[str]:
        if self._peek()[0] in ("end", ","):
            return [""]
        kind, literal = self._take()
        if kind != "identifier":
            raise SelectorError(f"found '{literal}', expected: identifier")
        return [literal]

    def _values(self) -> list[str]:
        kind, literal = self._take()
        if kind != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._take()
            return [""]
        if kind not in ("identifier", ","):
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        found = self._identifiers()
        if self._take()[0] != ")":
            raise SelectorError(f"found '{literal}', expected: ')'")
        return found

    def _identifiers(self) -> list[str]:
        found: list[str] = []
        while True:
            kind, literal = self._take()
            following, text = self._peek()
            if kind == "identifier":
                found.append(literal)
                if following == ")":
                    return found
                if following != ",":
                    raise SelectorError(f"found '{text}', expected: ',' or ')'")
            elif kind == ",":
                if not found or following in (",", ")"):
                    found.append("")
                if following == ")":
                    return found
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    errors = []
    if operator in (">", "<") and _integer(values[0]) is None:
        errors.append(f"values[0]: Invalid value: {gotext.quoted(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(values):
        problems = names.label_value(value)
        if problems:
            errors.append(f"values[{index}][{key}]: Invalid value: {gotext.quoted(value)}: {'; '.join(problems)}")
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    known = {"=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt"}
    return Requirement(key, known.get(operator, operator), values)


def _integer(text: str) -> int | None:
    try:
        return strconv.parse_int(text)
    except ValueError:
        return None


def _check_key(key: str, path: str) -> None:
    problems = names.qualified_name(key)
    if problems:
        raise SelectorError(f"{path}: Invalid value: {gotext.quoted(key)}: {'; '.join(problems)}")


def _scan(text: str) -> list[tuple[str, str]]:
    text = text.partition("\0")[0]
    tokens: list[tuple[str, str]] = []
    at = 0
    while match := _TOKEN.match(text, at):
        symbol, word = match.groups()
        if word is not None:
            tokens.append((word if word in ("in", "notin") else "identifier", word))
        else:
            tokens.append((symbol, symbol))
        at = match.end()
    return tokens


def fields(text: str) -> Selector:
    """Parses `fieldSelector=`. Whether the fields can be selected on is the kind's business."""
    terms = []
    for part in _split_terms(text):
        if not part:
            continue
        left, operator, right = _split_term(part)
        if not operator:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append(Requirement(left, "notin" if operator == "!=" else "in", (_unescaped(right),)))
    return Selector(tuple(terms))


def matches_fields(selector: Selector, values: Mapping[str, str]) -> bool:
    """Field terms see an absent field as empty text."""
    return all((values.get(term.key, "") in term.values) == (term.operator == "in") for term in selector.terms)


def _split_terms(text: str) -> list[str]:
    parts, start, escaped = [], 0, False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _split_term(term: str) -> tuple[str, str, str]:
    for index in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, index):
                return term[:index], operator, term[index + len(operator) :]
    return "", "", ""


def _unescaped(text: str) -> str:
    if not any(char in text for char in "\\,="):
        return text
    result, escaped = "", False
    for char in text:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            result, escaped = result + char, False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            result += char
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return result
