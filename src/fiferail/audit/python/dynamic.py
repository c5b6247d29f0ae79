"""The dynamic clients of kubernetes, kubernetes_asyncio and openshift: a resource found by discovery writes.

Called by `walk` for a receiver that is known to be such a resource, or the dynamic client itself, which takes the resource first.
Patches are strategic merge patches unless told otherwise, which custom resources refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import Names, argument, given, literal, text
from fiferail.audit.python.writes import TYPES, Write, locked, outside, part_of

if TYPE_CHECKING:
    import ast

    from fiferail.audit.python.held import Held

_VERBS = {"patch": "merge-patch", "replace": "update", "create": "create", "delete": "delete", "server_side_apply": "ssa", "apply": "ssa"}


def write_of(call: ast.Call, name: str, names: Names, resource: Held | None, first: int = 0) -> Write | None:
    """`first` is where the body stands: after the resource when the client itself is called."""
    if name not in _VERBS:
        return None
    verb = _VERBS[name]
    write = Write(verb, outside(verb), body=None if verb == "delete" else argument(call, first, "body"))
    if resource is not None:
        write.kind, write.api = resource.kind, resource.api
        if resource.part == "status":
            write.target = "status"
    write.subject = text(write.body)
    write.force = given(call, "force_conflicts") or given(call, "force")
    if verb == "merge-patch":
        said = literal(argument(call, -1, "content_type"), names)
        write.verb = TYPES.get(said, write.verb)
        group = write.api.partition("/")[0]
        if argument(call, -1, "content_type") is None and "." in group and not group.endswith("k8s.io"):
            write.notes.append("strategic-default")
        if write.target == "spec":
            write.target = part_of(write.body, names)
    return locked(write, names)
