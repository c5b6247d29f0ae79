"""Reading expression and statement trees: as text to compare by, part by part, statement by statement.

Pure functions over the lists that `lower` writes; everybody here calls them. They know nothing of scopes or types.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


_ENDS = re.compile(r"panic|Goexit|(?:Exit|Fatal|Panic)(?:f|ln|S|w|Depth)?")


def type_name(kind: list[Any]) -> str:
    while kind and kind[0] in ("p", "["):
        kind = kind[1]
    return str(kind[2]) if kind and kind[0] == "n" else ""


def render(expr: list[Any] | None) -> str:
    """The expression as a path: `r.scope.Cluster`, without & and *. Not Go text; a name to compare by."""
    if not expr:
        return ""
    match expr[0]:
        case "i":
            return str(expr[1])
        case ".":
            return f"{render(expr[1])}.{expr[2]}"
        case "&" | "*" | "s" | "...":
            return render(expr[1])
        case "a":
            return render(expr[1])
        case "[":
            return f"{render(expr[1])}[{render(expr[2])}]"
        case "c":
            return f"{render(expr[1])}({','.join(render(argument) for argument in expr[2])})"
        case '"':
            return f'"{expr[1]}"'
        case "n":
            return str(expr[1])
        case "L":
            return type_name(expr[1]) + "{}"
        case "T":
            return type_name(expr[1])
        case "b":
            return f"{render(expr[2])} {expr[1]} {render(expr[3])}"
        case "u":
            return f"{expr[1]}{render(expr[2])}"
    return "?"


def parts(expr: list[Any]) -> Iterator[list[Any]]:
    """An expression and everything in it, closures left out."""
    stack = [expr]
    while stack:
        one = stack.pop()
        if not one:
            continue
        yield one
        match one[0]:
            case "." | "&" | "*" | "s" | "a" | "...":
                stack.append(one[1])
            case "c":
                stack.append(one[1])
                stack.extend(one[2])
            case "L":
                stack.extend(value for _, value in one[2])
            case "[":
                stack.extend((one[1], one[2]))
            case "b":
                stack.extend((one[2], one[3]))
            case "u":
                stack.append(one[2])


def flat(statements: list[Any]) -> Iterator[list[Any]]:
    """Every statement, nested ones too, closures left out."""
    for one in statements:
        if not one:
            continue
        yield one
        match one[0]:
            case "if":
                if one[1]:
                    yield from flat([one[1]])
                yield from flat(one[3])
                yield from flat(one[4] or [])
            case "for":
                if one[1]:
                    yield from flat([one[1]])
                yield from flat(one[4])
            case "rng":
                yield from flat(one[3])
            case "sw":
                if one[1]:
                    yield from flat([one[1]])
                for case in one[3]:
                    yield from flat(case[1])
            case "{":
                yield from flat(one[1])


def ends_process(expr: list[Any]) -> bool:
    """A call that nothing comes after: `os.Exit(1)`, `log.Fatal(err)`, `panic(err)`."""
    if not expr or expr[0] != "c":
        return False
    called = expr[1]
    name = str(called[1] if called[0] == "i" else called[2] if called[0] == "." else "")
    return _ENDS.fullmatch(name) is not None and (called[0] == "." or name == "panic")


def mentions(expr: list[Any], name: str) -> bool:
    """Whether an identifier of that name occurs in an expression."""
    return any(part[0] == "i" and part[1] == name for part in parts(expr))
