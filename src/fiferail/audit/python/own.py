"""fiferail's own writer and plain client. The writer compares what it read before it writes; the plain client sends what it is told.

Called by `walk` for a receiver that is known to be one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import Names, argument, given, literal, text
from fiferail.audit.python.writes import Write, locked, outside, part_of

if TYPE_CHECKING:
    import ast

_TYPES = {"merge": "merge-patch", "strategic": "merge-patch", "json": "json-patch", "apply": "ssa", "": "merge-patch"}


def writer(call: ast.Call, name: str) -> Write | None:
    if name in ("session", "mutate", "create_once", "edit") and call.args:
        target = "metadata" if name == "edit" else "status"
        return Write("json-patch", target, helper="fiferail", subject=text(call.args[0]))
    return None


def client(call: ast.Call, name: str, names: Names) -> Write | None:
    if name not in ("create", "replace", "delete", "patch") or not (call.args or call.keywords):
        return None
    verb = {"replace": "update", "patch": "merge-patch"}.get(name, name)
    if name == "patch":
        verb = _TYPES.get(literal(argument(call, -1, "type"), names), verb)
    write = Write(verb, outside(verb), body=argument(call, 1 if name == "patch" else 0, "body" if name == "patch" else "obj"))
    if literal(argument(call, -1, "subresource"), names) == "status":
        write.target = "status"
    elif name == "patch":
        write.target = part_of(write.body, names)
    write.subject, write.force = text(write.body), given(call, "force")
    return locked(write, names)
