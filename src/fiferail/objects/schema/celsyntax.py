"""The grammar of CEL: text to a tree of expressions, each with the place that the server's messages point at.

Called by `celcheck`. Covers the language as Kubernetes rules use it; message construction and unsigned or byte literals are
read only far enough to be refused by name. The words of syntax errors are our own, because the server's come out of a
generated parser.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from ...errors import Unsupported
from .. import strconv

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<string>[bB]?[rR]?(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n\r]|\\.)*'|"(?:[^"\\\n\r]|\\.)*"))
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<op>==|!=|<=|>=|&&|\|\||[-+*/%!<>=?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))", re.DOTALL
)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_RESERVED: Final = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()  # noqa: SIM905
)  # the rest (true, false, null, in) are tokens of their own
_PRECEDENCE: Final = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))


_STARTS: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


class SyntaxRefused(Exception):
    """The text is not an expression; `at` is the offset where that shows."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.at = at


@dataclass(frozen=True)
class Expr:
    """One expression. `kind`: literal, name, select, optselect, index, optindex, call, list, map, has."""

    kind: str
    at: int
    value: Any = None
    args: tuple[Expr, ...] = ()
    target: Expr | None = None


@dataclass
class _Parser:
    tokens: list[tuple[str, str, int]]
    end: int
    at: int = field(default=0)

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "<EOF>", self.end)

    def take(self) -> tuple[str, str, int]:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *texts: str) -> tuple[str, str, int] | None:
        kind, text, _ = self.peek()
        if text in texts and kind in ("op", "ident"):
            return self.take()
        return None

    def expect(self, text: str) -> int:
        token = self.peek()
        if token[1] != text or token[0] == "string":
            raise SyntaxRefused(f"Syntax error: missing '{text}' at '{token[1]}'", token[2])
        return self.take()[2]

    def expression(self) -> Expr:
        condition = self.binary(0)
        mark = self.accept("?")
        if mark is None:
            return condition
        yes = self.binary(0)
        self.expect(":")
        return Expr("call", mark[2], "_?_:_", (condition, yes, self.expression()))

    def binary(self, level: int) -> Expr:
        if level == len(_PRECEDENCE):
            return self.unary()
        left = self.binary(level + 1)
        while (operator := self.accept(*_PRECEDENCE[level])) is not None:
            right = self.binary(level + 1)
            name = "@in" if operator[1] == "in" else f"_{operator[1]}_"
            left = Expr("call", operator[2], name, (left, right))
        return left

    def unary(self) -> Expr:
        first = self.peek()
        if first[0] != "op" or first[1] not in "!-" or self.is_negative_literal():
            return self.member()
        count = 0
        while self.peek()[:2] == first[:2] and not self.is_negative_literal():
            self.take()
            count += 1
        operand = self.member()
        # Pairs cancel out before anything is checked.
        return Expr("call", first[2], f"{first[1]}_", (operand,)) if count % 2 else operand

    def is_negative_literal(self) -> bool:
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ("end", "", 0)
        return self.peek()[:2] == ("op", "-") and following[0] in ("int", "float")

    def member(self) -> Expr:
        return self.member_of(self.primary())

    def member_of(self, expr: Expr) -> Expr:
        while True:
            if (dot := self.accept(".")) is not None:
                optional = self.accept("?") is not None
                kind, name, at = self.take()
                if kind != "ident":
                    raise SyntaxRefused(f"Syntax error: no viable alternative at input '.{name}'", at)
                opening = None if optional else self.accept("(")
                if opening is not None:
                    expr = Expr("call", opening[2], name, self.arguments(")"), expr)
                else:
                    expr = Expr("optselect" if optional else "select", dot[2], name, (), expr)
            elif (bracket := self.accept("[")) is not None:
                optional = self.accept("?") is not None
                inner = self.expression()
                self.expect("]")
                expr = Expr("optindex" if optional else "index", bracket[2], None, (inner,), expr)
            elif expr.kind in ("name", "select") and self.peek()[1] == "{" and self.peek()[0] == "op":
                raise Unsupported("message construction in a CEL rule")
            else:
                return expr

    def arguments(self, closing: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while self.accept(closing) is None:
            if found:
                self.expect(",")
                if closing == "]" and self.accept(closing) is not None:
                    break
            if self.peek()[1] == "?" and self.peek()[0] == "op":
                raise Unsupported("optional list and map entries in a CEL rule")
            found.append(self.expression())
        return tuple(found)

    def primary(self) -> Expr:
        negative = self.is_negative_literal()
        kind, text, at = self.take()
        if negative:
            kind, digits, _ = self.take()
            return _number(kind, f"-{digits}", at)
        if kind == "string":
            return Expr("literal", at, _string(text, at))
        if kind in ("int", "float"):
            return _number(kind, text, at)
        if kind == "uint":
            raise Unsupported("unsigned integers in a CEL rule")
        if kind == "ident":
            return self.identifier(text, at)
        if text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if text == "[":
            return Expr("list", at, None, self.arguments("]"))
        if text == "{":
            return self.mapping(at)
        if text == ".":
            raise Unsupported("a leading dot in a CEL rule")
        raise SyntaxRefused(f"Syntax error: mismatched input '{text}' expecting {_STARTS}", at)

    def identifier(self, text: str, at: int) -> Expr:
        constants = {"true": True, "false": False, "null": None}
        if text in constants:
            return Expr("literal", at, constants[text])
        if text in _RESERVED:
            raise SyntaxRefused(f"reserved identifier: {text}", at)
        opening = self.accept("(")
        return Expr("name", at, text) if opening is None else Expr("call", opening[2], text, self.arguments(")"))

    def mapping(self, at: int) -> Expr:
        entries: list[Expr] = []
        while self.accept("}") is None:
            if entries:
                self.expect(",")
                if self.accept("}") is not None:
                    break
            if self.peek()[1] == "?":
                raise Unsupported("optional list and map entries in a CEL rule")
            entries.append(self.expression())
            self.expect(":")
            entries.append(self.expression())
        return Expr("map", at, None, tuple(entries))


def parse(text: str) -> Expr:
    """The expression that a rule's text is."""
    tokens: list[tuple[str, str, int]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SyntaxRefused(f"Syntax error: token recognition error at: '{text[at:]}'", at)
        if match.lastgroup != "space":
            tokens.append((str(match.lastgroup), match[0], at))
        at = match.end()
    parser = _Parser(tokens, len(text))
    expr = parser.expression()
    kind, rest, where = parser.peek()
    if kind != "end":
        raise SyntaxRefused(f"Syntax error: extraneous input '{rest}' expecting <EOF>", where)
    return expr


def _number(kind: str, text: str, at: int) -> Expr:
    if kind == "float":
        return Expr("literal", at, float(text))
    try:
        value = int(text, 16) if "0x" in text else strconv.parse_int(text)
    except ValueError:
        raise SyntaxRefused("invalid int literal", at) from None
    if not -(2**63) <= value < 2**63:
        raise SyntaxRefused("invalid int literal", at)
    return Expr("literal", at, value)


def _string(token: str, at: int) -> str:
    prefix = re.match(r"[bBrR]*", token)
    marks = prefix[0].lower() if prefix else ""
    if "b" in marks:
        raise Unsupported("byte literals in a CEL rule")
    body = token[len(marks) :]
    body = body[3:-3] if body[:3] in ("'''", '"""') and len(body) >= 6 else body[1:-1]
    if "r" in marks:
        return body
    parts, place = [], 0
    while (slash := body.find("\\", place)) >= 0:
        match = _ESCAPE.match(body, slash)
        if match is None:
            raise SyntaxRefused("invalid string literal: unable to unescape string", at)
        parts += [body[place:slash], _escaped(match)]
        place = match.end()
    return "".join(parts) + body[place:]


def _escaped(match: re.Match[str]) -> str:
    simple, *codes, octal = match.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    return chr(int(octal, 8)) if octal is not None else chr(int(next(code for code in codes if code is not None), 16))
