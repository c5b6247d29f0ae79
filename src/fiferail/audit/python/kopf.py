"""kopf: what a handler stages in `patch`, appends to `patch.fns`, or returns. kopf gathers it and writes it once, by a merge patch.

Called by `walk`. In admission handlers `patch` is the answer to the webhook and no write.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import AnyFunction, Names, is_list, literal, parameters, path_of, resolve, text
from fiferail.audit.python.writes import Write

if TYPE_CHECKING:
    from fiferail.audit.python.module import Class, Module

_PARTS = {"status": "status", "spec": "spec", "metadata": "metadata", "meta": "metadata", "labels": "metadata", "annotations": "metadata"}
_ADMISSION = re.compile(r"\bon\.(?:validate|mutate)$")
_CHANGED = re.compile(r"\bon\.(?:create|update|resume|delete|field)$")
_PLAIN = re.compile(r"(?i)dict|mapping|list|str|bytes")
_STORED = re.compile(r"\bon\.(?:create|update|resume|delete|field)$|\b(?:timer|daemon)$")


def patch_names(module: Module, node: AnyFunction | None) -> set[str]:
    """The parameters of a function that are kopf's patch: by annotation, or by name where `.status` is asked of it."""
    if node is None:
        return set()
    if not any(one.arg == "patch" or one.annotation is not None for one in parameters(node)):
        return set()
    marks = [text(one.func) for one in node.decorator_list if isinstance(one, ast.Call)]
    if any(_ADMISSION.search(mark) for mark in marks):
        return set()
    found = {one.arg for one in parameters(node) if text(one.annotation).strip("'\"").rsplit(".", 1)[-1] == "Patch"}
    named = {one.arg for one in parameters(node) if one.arg == "patch" and not _PLAIN.search(text(one.annotation))}
    return found | named if named and ("kopf" in module.libraries or _asks_for_status(node)) else found


def _asks_for_status(node: ast.AST, name: str = "patch") -> bool:
    """patch.status[...]: no other client has a patch with such an attribute."""
    return any(isinstance(one, ast.Attribute) and one.attr == "status" and text(one.value) == name for one in ast.walk(node))


def patch_attributes(owner: Class | None) -> set[str]:
    """self.patch, where a method of the class was given kopf's patch to keep."""
    if owner is None:
        return set()
    return {
        f"self.{name}"
        for name, values in owner.attributes.items()
        for value, method in values
        if isinstance(value, ast.Name) and value.id == "patch" and method is not None and _asks_for_status(owner.node, f"self.{name}")
    }


def stores_result(node: AnyFunction | None) -> bool:
    """Whether kopf keeps what the handler returns under its name in the status."""
    return node is not None and any(isinstance(one, ast.Call) and _STORED.search(text(one.func)) for one in node.decorator_list)


def starts_on_change(node: AnyFunction | None) -> bool:
    """Handlers that kopf starts for a change of the object: their own status write does not start them again."""
    return node is not None and any(isinstance(one, ast.Call) and _CHANGED.search(text(one.func)) for one in node.decorator_list)


def is_result(value: ast.expr | None, names: Names) -> bool:
    held = resolve(value, names)
    if isinstance(held, ast.Constant):
        return held.value is not None
    return isinstance(held, (ast.Dict, ast.List, ast.Name, ast.JoinedStr, ast.DictComp, ast.ListComp))


def path_in(target: ast.expr, patches: set[str], names: Names) -> list[str] | None:
    """The path below a patch that an expression names: patch.status["phase"], and s["phase"] after s = patch.status."""
    path = path_of(target)
    for _ in range(3):
        if path[0] in patches:
            return path[1:]
        if ".".join(path[:2]) in patches:
            return path[2:]
        held = names.get(path[0])
        if not isinstance(held, (ast.Attribute, ast.Subscript, ast.Call)):
            return None
        path = [*path_of(held), *path[1:]]
    return None


def staged(path: list[str], value: ast.expr | None, names: Names, kind: str) -> Write | None:
    """The write of `patch.<path> = value`."""
    if not path or path[0] == "fns":
        return None
    part = _PARTS.get(path[0], "spec")
    write = Write("merge-patch", part, kind, helper="kopf patch")
    name = path[1] if len(path) > 1 else ""
    if part == "status" and (name == "conditions" or is_list(resolve(value, names))):
        write.notes.append("kopf-list")
    return write


def part_of_function(call: ast.Call) -> str:
    """What a function in patch.fns changes, by what it names: status unless it speaks of metadata alone."""
    said = " ".join(text(one) for one in call.args)
    return "metadata" if re.search(r"finalizer|metadata|annotation|label", said) and "status" not in said else "status"


def updated(call: ast.Call, path: list[str], names: Names) -> list[tuple[list[str], ast.expr | None]]:
    """patch.status.update(phase=..., {...}): one staged path per key."""
    out: list[tuple[list[str], ast.expr | None]] = [([*path, *([one.arg] if one.arg else [])], one.value) for one in call.keywords]
    for one in call.args:
        held = resolve(one, names)
        if isinstance(held, ast.Dict):
            out.extend(([*path, literal(key, names)], value) for key, value in zip(held.keys, held.values, strict=True))
        else:
            out.append((path, one))
    return [([step for step in steps if step], value) for steps, value in out]
