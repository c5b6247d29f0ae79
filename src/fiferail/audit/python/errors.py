"""What becomes of an exception around a write: returned, used to try again, logged, ignored, or a conflict taken for success.

Called by `walk` with the try statements that enclose a write, outermost first. It judges by what a handler does, never by its comments.
"""

from __future__ import annotations

import ast
import re

from fiferail.audit.python.expressions import text

_CATCHES = re.compile(r"ApiException|ApiError|Exception\b|ServerError|HTTPStatusError|HTTPError|Conflict|ResponseError|APIError")
_AGAIN = re.compile(r"(?i)retry|TemporaryError|requeue|again")


def outcome(tries: list[ast.Try]) -> str:
    """The innermost handler that would catch a conflict decides; without one the exception reaches the caller."""
    for one in reversed(tries):
        for handler in one.handlers:
            if handler.type is None or _CATCHES.search(text(handler.type)):
                return _handled(handler)
    return "returned"


def _handled(handler: ast.ExceptHandler) -> str:
    inside = list(ast.walk(handler))
    tests = [node for node in inside if isinstance(node, ast.If) and _about_conflict(node)]
    if any(isinstance(node, ast.Continue) for node in inside) or _AGAIN.search(_code(handler)):
        return "used"
    if any(_swallows(node) for node in tests) or (_conflict_type(handler) and not any(isinstance(node, ast.Raise) for node in inside)):
        return "conflict-swallowed"
    if any(isinstance(node, ast.Raise) for node in inside):
        return "returned"
    if any(isinstance(node, ast.Return) and node.value is not None and not _nothing(node.value) for node in inside):
        return "used"
    quiet = all(isinstance(one, (ast.Pass, ast.Return, ast.Continue, ast.Break)) or _is_text(one) for one in handler.body)
    return "ignored" if quiet else "logged"


def _code(handler: ast.ExceptHandler) -> str:
    """The handler without its texts: a message that speaks of trying again tries nothing."""
    names = [node.id for node in ast.walk(handler) if isinstance(node, ast.Name)]
    return " ".join([*names, *(node.attr for node in ast.walk(handler) if isinstance(node, ast.Attribute))])


def _nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, True)


def _is_text(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _conflict_type(handler: ast.ExceptHandler) -> bool:
    return "Conflict" in text(handler.type)


def _about_conflict(node: ast.If) -> bool:
    test = text(node.test)
    return "409" in test or "conflict" in test.lower()


def _swallows(node: ast.If) -> bool:
    test = text(node.test)
    unlike = "!=" in test or "not in" in test
    if unlike and not node.orelse:
        return any(isinstance(inner, ast.Raise) for one in node.body for inner in ast.walk(one))
    body = node.orelse if unlike else node.body
    return not any(isinstance(inner, (ast.Raise, ast.Continue)) for one in body for inner in ast.walk(one))


def takes_422_for_conflict(tries: list[ast.Try]) -> bool:
    """A handler that treats 422 like 409, or tries 422 again, and does not look at the causes."""
    for one in tries:
        for handler in one.handlers:
            for node in ast.walk(handler):
                if isinstance(node, ast.If) and "422" in text(node.test):
                    again = any(isinstance(inner, ast.Continue) for inner in ast.walk(node))
                    if (again or "409" in text(node.test) or "onflict" in text(node)) and "causes" not in text(handler):
                        return True
    return False
