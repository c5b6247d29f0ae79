"""A write as one call shows it: verb, target, kind and body. Shared by the modules that know a client each.

Called by `official`, `lightkube`, `bound`, `dynamic`, `own` and `walk`. What a body says is read here: which part it changes, whether it
carries a resourceVersion, whether it is the difference of two copies.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from fiferail.audit.python.expressions import Names, resolve, text

TYPES = {
    "application/merge-patch+json": "merge-patch",
    "application/strategic-merge-patch+json": "merge-patch",
    "application/json-patch+json": "json-patch",
    "application/apply-patch+yaml": "ssa",
}
_DIFF = re.compile(r"(?:^|\.)(?:make_patch|from_diff|create_patch|create_merge_patch|merge_diff|json_diff|make_diff|diff)$")

_READ = re.compile(r"(?:^|\.)(?:read_(?:namespaced_)?\w+|get_(?:namespaced|cluster)_custom_object)(?:_status)?$")


@dataclass(slots=True)
class Write:
    """`given` names the parts that the enclosing function gets as parameters: a call of that function says them."""

    verb: str
    target: str
    kind: str = ""
    api: str = ""
    body: ast.expr | None = None
    subject: str = ""
    notes: list[str] = field(default_factory=list)
    helper: str = ""
    force: bool = False
    given: dict[str, str] = field(default_factory=dict)


def outside(verb: str) -> str:
    """The target of a write of the main resource, before its body is looked at."""
    return verb if verb in ("create", "delete") else "spec"


def part_of(body: ast.expr | None, names: Names, otherwise: str = "spec") -> str:
    """Which part a patch of the main resource changes: status where the body says so and spec where it says nothing."""
    held = resolve(body, names)
    if isinstance(held, ast.Dict):
        keys = {one.value for one in held.keys if isinstance(one, ast.Constant)}
        if "spec" not in keys and "status" in keys:
            return "status"
        if keys and keys <= {"metadata", "apiVersion", "kind"}:
            return "metadata"
        return otherwise
    if is_list_of_operations(held):
        paths = re.findall(r"'path': f?['\"]/(\w+)", text(held))
        return paths[0] if paths and len(set(paths)) == 1 and paths[0] in ("status", "metadata", "spec") else otherwise
    return otherwise


def replaces_status(body: ast.expr | None, names: Names) -> bool:
    """A JSON patch that puts a whole status in place of the stored one and tests nothing first."""
    said = text(resolve(body, names))
    return bool(re.search(r"'path': '/status'[,}]", said)) and "'op': 'test'" not in said and "'op': 'remove'" not in said


def is_list_of_operations(node: ast.expr | None) -> bool:
    return isinstance(node, (ast.List, ast.ListComp))


def versioned(body: ast.expr | None, names: Names, depth: int = 0) -> bool:
    """Whether a body carries a resourceVersion: in itself, in what its names stand for, or because it is the object as it was read."""
    body = resolve(body, names)
    if body is None or depth > 3:
        return False
    if isinstance(body, ast.Call) and depth == 0 and _READ.search(text(body.func)):
        return True
    for node in ast.walk(body):
        if isinstance(node, ast.Constant) and node.value in ("resourceVersion", "resource_version"):
            return True
        if isinstance(node, ast.keyword) and node.arg == "resource_version":
            return True
        if isinstance(node, ast.Name) and node.id in names and node is not body and versioned(names[node.id], {}, depth + 1):
            return True
    return False


def locked(write: Write, names: Names) -> Write:
    """A merge patch with a resourceVersion in it is a locked one; an apply with one decides from what was read."""
    if write.verb == "merge-patch" and versioned(write.body, names):
        write.verb = "merge-patch-locked"
    elif write.verb == "ssa" and versioned(write.body, names):
        write.notes.append("versioned")
    return write


def difference(body: ast.expr | None, names: Names) -> tuple[ast.expr, ast.expr] | None:
    """The old and the new copy that a body is the difference of: jsonpatch.make_patch(old, new) and its like."""
    held = resolve(body, names)
    for node in ast.walk(held) if held is not None else ():
        if isinstance(node, ast.Call) and _DIFF.search(text(node.func)) and len(node.args) >= 2:
            return node.args[0], node.args[1]
        if isinstance(node, ast.Name) and node.id in names and node is not held:
            inner = names[node.id]
            if isinstance(inner, ast.Call) and _DIFF.search(text(inner.func)) and len(inner.args) >= 2:
                return inner.args[0], inner.args[1]
    return None
