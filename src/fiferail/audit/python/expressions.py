"""Reading Python expressions as text, literals and paths: what every other module here needs and none decides alone.

Called by the whole front end. Pure: an expression and the expressions that names stand for go in, plain text comes out.
"""

from __future__ import annotations

import ast
import re

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef
Names = dict[str, ast.expr]
_INNER = ("body", "orelse", "finalbody", "handlers", "cases")
NOW = re.compile(r"\b(?:utcnow|now|time\.time)\(")


def text(node: ast.AST | None) -> str:
    """The source of an expression. One that is nested too deeply for Python to print has no text: no write looks like that."""
    try:
        return "" if node is None else ast.unparse(node)
    except RecursionError:
        return ""


def dotted(node: ast.expr | None) -> str:
    """`a.b.c`, when an expression is nothing but names; much cheaper than its text where it is not."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if 0 <= position < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: position + 1]):
        return call.args[position]
    return None


def given(call: ast.Call, name: str, value: str = "True") -> bool:
    return any(keyword.arg == name and text(keyword.value) == value for keyword in call.keywords)


def resolve(node: ast.expr | None, names: Names) -> ast.expr | None:
    """The expression behind a name, as far as assignments tell."""
    for _ in range(5):
        name = dotted(node)
        if name and name in names:
            node = names[name]
        elif isinstance(node, ast.Await):
            node = node.value
        else:
            break
    return node


def literal(node: ast.expr | None, names: Names, depth: int = 0) -> str:
    """The text that an expression certainly is; of an f-string with known parts too. A name may stand in its own f-string."""
    node = resolve(node, names) if depth < 4 else None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = [literal(one.value if isinstance(one, ast.FormattedValue) else one, names, depth + 1) for one in node.values]
        return "".join(parts) if all(parts) else ""
    return ""


def path_of(node: ast.expr) -> list[str]:
    """`patch.status["phase"]` -> ["patch", "status", "phase"]."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*path_of(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else "*"
        return [*path_of(node.value), str(key)]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("setdefault", "get")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        return [*path_of(node.func.value), str(node.args[0].value)]
    return ["?"]


def is_list(node: ast.expr | None) -> bool:
    """A list by its look: a literal, a comprehension, a sum with a list, list(...) or sorted(...)."""
    if isinstance(node, ast.BinOp):
        return is_list(node.left) or is_list(node.right)
    if isinstance(node, ast.Call):
        return text(node.func) in ("list", "sorted")
    return isinstance(node, (ast.List, ast.ListComp))


def own_expressions(one: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement itself, not of the statements in it."""
    out: list[ast.expr] = []
    for name, value in ast.iter_fields(one):
        if name in _INNER:
            continue
        if isinstance(value, ast.expr):
            out.append(value)
        elif isinstance(value, list):
            out.extend(
                item.context_expr if isinstance(item, ast.withitem) else item
                for item in value
                if isinstance(item, (ast.expr, ast.withitem))
            )
    return out


def inner_first(found: list[ast.Call]) -> list[ast.Call]:
    """Calls in the order in which they are made."""
    return sorted(found, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0)) if len(found) > 1 else found


def parameters(node: AnyFunction) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def statements_of(node: AnyFunction) -> list[ast.stmt]:
    """Every statement of a function, those of functions inside it left out."""
    out: list[ast.stmt] = []
    stack: list[ast.AST] = list(reversed(node.body))
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(one, ast.stmt):
            out.append(one)
        stack.extend(reversed([child for child in ast.iter_child_nodes(one) if not isinstance(child, ast.expr)]))
    return out
