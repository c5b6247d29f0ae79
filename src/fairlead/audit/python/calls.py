"""Which call of a Python client writes what: tables and name arithmetic for each client.

Called by `walk`. Official clients have method names that nothing else has; for the others the receiver must be known to come from the
client.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from fairlead.audit.golang.known import singular

_OFFICIAL = re.compile(
    r"^(patch|replace|create|delete|delete_collection)_(namespaced_|cluster_)?([a-z0-9_]+?)(_status|_scale)?(_with_http_info)?$"
)
_NOT_OBJECTS = {"from_yaml", "from_dict", "from_directory", "namespaced_secret_from"}
_VERBS = {"patch": "merge-patch", "replace": "update", "create": "create", "delete": "delete", "delete_collection": "delete"}
_TYPES = {
    "application/merge-patch+json": "merge-patch",
    "application/strategic-merge-patch+json": "merge-patch",
    "application/json-patch+json": "json-patch",
    "application/apply-patch+yaml": "ssa",
}


@dataclass(slots=True)
class Write:
    """A write as one call shows it."""

    verb: str
    target: str
    kind: str = ""
    api: str = ""
    body: ast.expr | None = None
    subject: str = ""
    notes: list[str] = field(default_factory=list)
    helper: str = ""
    force: bool = False


def text(node: ast.expr | None) -> str:
    """The source of an expression. One that is nested too deeply for Python to print has no text: no write looks like that."""
    try:
        return "" if node is None else ast.unparse(node)
    except RecursionError:
        return ""


def argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if 0 <= position < len(call.args) else None


def literal(node: ast.expr | None, names: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def official(call: ast.Call, name: str, names: dict[str, ast.expr], asynchronous: bool) -> Write | None:
    """kubernetes and kubernetes_asyncio: `patch_namespaced_custom_object_status` and its family."""
    match = _OFFICIAL.match(name)
    if not match or match.group(3) in _NOT_OBJECTS or not (call.args or call.keywords):
        return None
    action, scope, resource, part, _ = match.groups()
    custom = resource == "custom_object"
    if (
        not scope
        and not custom
        and resource not in ("node", "namespace", "persistent_volume", "custom_resource_definition", "cluster_role", "cluster_role_binding")
        and part != "_status"
    ):
        return None
    verb = _VERBS[action]
    target = "status" if part == "_status" else verb if verb in ("create", "delete") else "spec"
    write = Write(verb, target)
    if custom:
        _custom(call, scope or "", names, write)
    else:
        write.kind = "".join(word.capitalize() for word in resource.split("_"))
    write.body = _body(call, custom, scope or "", action)
    _content_type(call, write, names, custom, asynchronous)
    if action == "patch" and write.target == "spec":
        write.target = _part(text(resolve(write.body, names)))
    if action == "replace" and target == "status" and not custom and _typed(write.body, names):
        write.notes.append("typed-put")
    write.subject = text(write.body)
    return write


def _custom(call: ast.Call, scope: str, names: dict[str, ast.expr], write: Write) -> None:
    group = literal(argument(call, 0, "group"), names)
    version = literal(argument(call, 1, "version"), names)
    position = 3 if scope == "namespaced_" else 2
    plural = literal(argument(call, position, "plural"), names)
    write.kind = kind_of(plural)
    write.api = f"{group}/{version}" if version else ""


def _body(call: ast.Call, custom: bool, scope: str, action: str) -> ast.expr | None:
    if action.startswith("delete"):
        return None
    if custom:
        position = 5 if scope == "namespaced_" else 4
        return argument(call, position - (1 if action == "create" else 0), "body")
    position = (2 if scope == "namespaced_" else 1) - (1 if action == "create" else 0)
    return argument(call, position, "body")


def resolve(node: ast.expr | None, names: dict[str, ast.expr]) -> ast.expr | None:
    for _ in range(4):
        if isinstance(node, ast.Name) and node.id in names:
            node = names[node.id]
        elif isinstance(node, ast.Await):
            node = node.value
        else:
            break
    return node


def _content_type(call: ast.Call, write: Write, names: dict[str, ast.expr], custom: bool, asynchronous: bool) -> None:
    if write.verb != "merge-patch":
        return
    body = resolve(write.body, names)
    declared = literal(argument(call, -1, "_content_type"), names)
    if declared:
        write.verb = _TYPES.get(declared, write.verb)
        write.force = any(keyword.arg == "force" and text(keyword.value) == "True" for keyword in call.keywords)
    elif any(keyword.arg == "_content_type" for keyword in call.keywords):
        return
    elif isinstance(body, (ast.List, ast.ListComp)):
        write.verb = "json-patch"
        if custom and not asynchronous:
            write.notes.append("content-type-guessed")
    elif custom and asynchronous:
        write.notes.append("content-type-guessed")
    if write.verb == "merge-patch" and versioned(body, names):
        write.verb = "merge-patch-locked"


def versioned(body: ast.expr | None, names: dict[str, ast.expr]) -> bool:
    if body is None:
        return False
    for node in ast.walk(body):
        if isinstance(node, ast.Constant) and node.value in ("resourceVersion", "resource_version"):
            return True
        if isinstance(node, ast.keyword) and node.arg == "resource_version":
            return True
        if isinstance(node, ast.Name) and node.id in names and node is not body and versioned(names[node.id], {}):
            return True
    return False


def _part(body: str) -> str:
    if "'spec'" in body or not any(word in body for word in ("finalizers", "labels", "annotations", "metadata")):
        return "spec"
    return "metadata"


def _typed(body: ast.expr | None, names: dict[str, ast.expr]) -> bool:
    held = resolve(body, names)
    return isinstance(held, ast.Call) and text(held.func).rsplit(".", 1)[-1].startswith(("read_", "V1"))


def kind_of(plural: str) -> str:
    """The kind behind a plural, as far as a plural tells."""
    if not plural:
        return ""
    plural = plural.split(".")[0]
    return singular(plural[:1].upper() + plural[1:]) if not plural[:1].isupper() else plural


def lightkube(call: ast.Call, name: str, names: dict[str, ast.expr], kinds: dict[str, str]) -> Write | None:
    """lightkube's client: the resource class says kind and subresource."""
    first = call.args[0] if call.args else None
    if name == "patch" and first is not None:
        write = Write("merge-patch", "spec", body=argument(call, 2, "obj"))
        _resource(first, write, kinds, names)
        declared = text(argument(call, -1, "patch_type"))
        if "JSON" in declared:
            write.verb = "json-patch"
        elif "APPLY" in declared:
            write.verb = "ssa"
        elif not declared and write.kind in kinds.values():
            write.notes.append("strategic-default")
        write.force = any(keyword.arg == "force" and text(keyword.value) == "True" for keyword in call.keywords)
        if write.verb == "merge-patch" and versioned(resolve(write.body, names), names):
            write.verb = "merge-patch-locked"
        write.subject = text(write.body)
        return write
    if name in ("replace", "create", "apply", "set", "delete", "deletecollection") and first is not None:
        verb = {"replace": "update", "create": "create", "apply": "ssa", "set": "merge-patch"}.get(name, "delete")
        target = {"create": "create", "delete": "delete"}.get(verb, "spec")
        write = Write(verb, target, body=first, subject=text(first))
        if verb == "delete":
            _resource(first, write, kinds, names)
            write.target = "delete"
        else:
            _instance(first, write, kinds, names)
        write.force = any(keyword.arg == "force" and text(keyword.value) == "True" for keyword in call.keywords)
        return write
    return None


def _resource(node: ast.expr, write: Write, kinds: dict[str, str], names: dict[str, ast.expr]) -> None:
    path = text(node).split(".")
    if path[-1] == "Status":
        write.target = "status"
        path = path[:-1]
    elif path[-1] == "Scale":
        path = path[:-1]
    write.kind = kinds.get(path[-1], path[-1] if path[-1][:1].isupper() else "")


def _instance(node: ast.expr, write: Write, kinds: dict[str, str], names: dict[str, ast.expr]) -> None:
    held = resolve(node, names)
    if isinstance(held, ast.Call):
        path = text(held.func)
        if path.endswith(".get") and held.args:
            _resource(held.args[0], write, kinds, names)
        else:
            _resource(held.func, write, kinds, names)


def bound(call: ast.Call, name: str, names: dict[str, ast.expr], library: str) -> Write | None:
    """kr8s and pykube: the object writes itself."""
    if name in ("patch", "update", "annotate", "label", "scale", "create", "delete"):
        verb = {"create": "create", "delete": "delete"}.get(name, "merge-patch")
        write = Write(verb, verb if verb in ("create", "delete") else "metadata" if name in ("annotate", "label") else "spec")
        subresource = argument(call, -1, "subresource")
        if literal(subresource, names) == "status":
            write.target = "status"
        write.body = argument(call, 0, "patch", "strategic_merge_patch") if name == "patch" else None
        if library == "kr8s" and literal(argument(call, -1, "type"), names) == "json":
            write.verb = "json-patch"
        if library == "pykube" and name == "update" and not call.args and subresource is None:
            write.target = "spec"
        if write.verb == "merge-patch" and versioned(resolve(write.body, names), names):
            write.verb = "merge-patch-locked"
        return write
    return None


def fairlead(name: str, call: ast.Call) -> Write | None:
    """fairlead's own writer: safe by construction."""
    if name in ("session", "mutate", "create_once") and call.args:
        return Write("json-patch", "status", helper="fairlead", subject=text(call.args[0]))
    if name == "edit" and call.args:
        return Write("json-patch", "metadata", helper="fairlead", subject=text(call.args[0]))
    return None
