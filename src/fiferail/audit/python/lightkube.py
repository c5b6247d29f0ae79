"""lightkube: the client writes, and the class of the resource (or its `.Status`) says what.

Called by `walk` for a receiver that is known to be a lightkube client.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import Names, argument, given, resolve, text
from fiferail.audit.python.writes import Write, locked, outside, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.audit.python.held import Held

_OBJECTS = {"replace": "update", "create": "create", "apply": "ssa"}
_CLASSES = {"patch": "merge-patch", "set": "merge-patch", "delete": "delete", "deletecollection": "delete"}


def write_of(call: ast.Call, name: str, names: Names, held: Callable[[ast.expr | None], Held | None]) -> Write | None:
    if name in _CLASSES:
        what = held(argument(call, 0, "res"))
        verb = _CLASSES[name]
        write = Write(verb, outside(verb), body=argument(call, 2, "obj") if name == "patch" else None)
        if name == "set":
            write.target = "metadata"
        _patch_type(call, write, what, names)
    elif name in _OBJECTS and (call.args or call.keywords):
        first = argument(call, 0, "obj")
        what = held(first)
        write = Write(_OBJECTS[name], outside(_OBJECTS[name]), body=first)
    else:
        return None
    write.subject = text(write.body)
    write.force = given(call, "force")
    if what is not None:
        write.kind, write.api = what.kind, what.api
        if what.part == "status" and write.verb not in ("create", "delete"):
            write.target = "status"
    if name == "patch" and write.target == "spec" and (what is None or not what.part):
        write.target = part_of(write.body, names)
    return locked(write, names)


def _patch_type(call: ast.Call, write: Write, what: Held | None, names: Names) -> None:
    """A strategic merge patch is the client's default, and custom resources refuse it."""
    if write.verb != "merge-patch" or not isinstance(call.func, ast.Attribute) or call.func.attr != "patch":
        return
    said = text(resolve(argument(call, -1, "patch_type"), names))
    if "JSON" in said:
        write.verb = "json-patch"
    elif "APPLY" in said:
        write.verb = "ssa"
    elif _is_read(write.body, names):
        write.verb = "merge-patch-locked"
    elif not said and what is not None and what.name == "generic":
        write.notes.append("strategic-default")


def _is_read(body: ast.expr | None, names: Names) -> bool:
    """client.patch(ConfigMap, name, found): the object as it was read carries its resourceVersion."""
    held = resolve(body, names)
    return (
        isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute) and held.func.attr == "get" and not isinstance(body, ast.Call)
    )
