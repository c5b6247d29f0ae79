"""kr8s and pykube: the object writes itself.

Called by `walk` for a receiver that is known to be such an object. pykube's `update` sends the whole object, resourceVersion included,
as a merge patch: a stale copy is refused. kr8s sends what it is given.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import Names, argument, literal, text
from fiferail.audit.python.writes import TYPES, Write, locked, outside, part_of

if TYPE_CHECKING:
    from fiferail.audit.python.held import Held

_VERBS = {"create": "create", "delete": "delete", "patch": "merge-patch"}
_METADATA = {"annotate", "label", "remove_label", "set_owner", "adopt"}
_SPEC = {"scale", "cordon", "uncordon", "taint", "tolerate"}


def write_of(call: ast.Call, name: str, names: Names, library: str) -> Write | None:
    name = name.removeprefix("async_")
    if name in _VERBS:
        verb = _VERBS[name]
        write = Write(verb, outside(verb))
        if name == "patch":
            write.body = argument(call, 0, "patch", "strategic_merge_patch")
            _patch(call, write, names)
    elif name == "update" and library == "pykube":
        write = Write("merge-patch-locked", "spec", notes=["whole object"])
    elif name in _METADATA or name in _SPEC:
        if library == "pykube" and name in _METADATA:
            return None
        write = Write("merge-patch-locked" if library == "pykube" else "merge-patch", "metadata" if name in _METADATA else "spec")
    else:
        return None
    if literal(argument(call, -1, "subresource"), names) == "status" and name in ("patch", "update"):
        write.target = "status"
    write.subject = text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return locked(write, names)


def raw(call: ast.Call, name: str, held: Held | None) -> Write | None:
    """pykube's HTTP client: obj.api.patch(**obj.api_kwargs(headers=..., subresource=...))."""
    verb = {"patch": "merge-patch", "put": "update", "post": "create", "delete": "delete"}.get(name)
    said = text(call)
    if verb is None or "api_kwargs" not in said:
        return None
    if verb == "merge-patch":
        verb = next((way for kind, way in TYPES.items() if kind in said), verb)
    write = Write(verb, outside(verb), held.kind if held else "", held.api if held else "", force="'force': True" in said)
    if "subresource='status'" in said:
        write.target = "status"
    return write


def _patch(call: ast.Call, write: Write, names: Names) -> None:
    if literal(argument(call, -1, "type"), names) == "json":
        write.verb = "json-patch"
    write.target = part_of(write.body, names)
