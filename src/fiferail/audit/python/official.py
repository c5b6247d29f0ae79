"""kubernetes and kubernetes_asyncio: `patch_namespaced_custom_object_status` and its family, told by their names.

Called by `walk`. The generated methods have names that nothing else has, so a receiver that cannot be followed does not hide them;
names that other code may have too (`create_node`) count only on a receiver that is known, or for a kind without a namespace.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import Names, argument, given, literal, resolve, text
from fiferail.audit.python.module import kind_of
from fiferail.audit.python.writes import TYPES, Write, is_list_of_operations, locked, outside, part_of

if TYPE_CHECKING:
    from fiferail.audit.python.held import Held

_METHOD = re.compile(
    r"^(patch|replace|create|delete_collection|delete)_(namespaced_|cluster_(?=custom_object))?([a-z0-9_]+?)(_with_http_info)?$"
)
_VERBS = {"patch": "merge-patch", "replace": "update", "create": "create", "delete": "delete", "delete_collection": "delete"}
_SUBRESOURCES = ("_status", "_scale", "_approval", "_binding", "_eviction", "_token", "_finalize", "_ephemeralcontainers", "_resize")
_CLUSTER = {
    "node", "namespace", "persistent_volume", "custom_resource_definition", "cluster_role", "cluster_role_binding", "storage_class",
    "priority_class", "validating_webhook_configuration", "mutating_webhook_configuration", "api_service", "volume_attachment",
    "certificate_signing_request", "runtime_class", "ingress_class", "csi_driver", "csi_node",
}  # fmt: skip
_OWN_KINDS = {"token": "TokenRequest", "eviction": "Eviction", "binding": "Binding"}
_REVIEWS = re.compile(r"_review$")


def method(name: str, held: Held | None, imports: bool) -> re.Match[str] | None:
    """The parts of a method's name when it writes."""
    match = _METHOD.match(name)
    if match is None or _REVIEWS.search(match.group(3)):
        return None
    _, scope, resource, _ = match.groups()
    known = held is not None and held.role == "api"
    bare = _parts(resource)[0]
    if scope or bare == "custom_object" or known:
        return match if scope or known or imports else None
    return match if imports and bare in _CLUSTER else None


def _parts(resource: str) -> tuple[str, str]:
    for suffix in _SUBRESOURCES:
        if suffix == "_binding" and resource != "pod_binding":
            continue
        if resource.endswith(suffix) and resource != suffix[1:]:
            return resource[: -len(suffix)], suffix[1:]
    return resource, ""


def write_of(call: ast.Call, match: re.Match[str], names: Names, asynchronous: bool) -> Write | None:
    if not (call.args or call.keywords):
        return None
    action, scope, resource, _ = match.groups()
    resource, part = _parts(resource)
    verb = _VERBS[action]
    custom = resource == "custom_object"
    write = Write(verb, "status" if part in ("status", "approval") else outside(verb))
    if custom:
        _custom(call, scope or "", names, write)
    elif part in _OWN_KINDS:
        write.kind = _OWN_KINDS[part]
    else:
        write.kind = "".join(word.capitalize() for word in resource.split("_"))
    write.body = _body(call, custom, scope or "", action)
    write.subject = text(write.body)
    _content_type(call, write, names, custom, asynchronous)
    if action == "patch" and write.target == "spec" and part != "scale":
        write.target = part_of(write.body, names)
    if action == "replace" and write.target == "status" and not custom and _typed(write.body, names):
        write.notes.append("typed-put")
    return write


def _custom(call: ast.Call, scope: str, names: Names, write: Write) -> None:
    group = literal(argument(call, 0, "group"), names)
    version = literal(argument(call, 1, "version"), names)
    plural = argument(call, 3 if scope == "namespaced_" else 2, "plural")
    write.kind = kind_of(literal(plural, names))
    write.api = f"{group}/{version}" if version else ""
    if not write.kind and plural is not None:
        write.given["plural"] = text(plural)


def _body(call: ast.Call, custom: bool, scope: str, action: str) -> ast.expr | None:
    if action.startswith("delete"):
        return None
    position = (5 if scope == "namespaced_" else 4) if custom else (2 if scope == "namespaced_" else 1)
    return argument(call, position - (1 if action == "create" else 0), "body")


def _content_type(call: ast.Call, write: Write, names: Names, custom: bool, asynchronous: bool) -> None:
    """What the client sends: the declared type, or what it makes of the body.

    kubernetes sends everything for a custom object as a merge patch; kubernetes_asyncio sends a dict there as a JSON patch.
    """
    if write.verb != "merge-patch":
        return
    body = resolve(write.body, names)
    said = argument(call, -1, "_content_type")
    if said is not None:
        write.verb = TYPES.get(literal(said, names), write.verb)
        write.force = given(call, "force")
    elif is_list_of_operations(body):
        write.verb = "json-patch"
        if custom and not asynchronous:
            write.notes.append("content-type-guessed")
    elif custom and asynchronous and _operations_by_name(write.body):
        write.verb = "json-patch"
    elif custom and asynchronous and all(keyword.arg for keyword in call.keywords):
        # `**options` may say the type.
        write.notes.append("content-type-guessed")
    locked(write, names)


def _operations_by_name(body: ast.expr | None) -> bool:
    """A parameter called `json_patch` or `ops` is a list of operations."""
    return bool(re.search(r"(?i)json_?patch|\bops\b|operations", text(body)))


def _typed(body: ast.expr | None, names: Names) -> bool:
    held = resolve(body, names)
    return isinstance(held, ast.Call) and text(held.func).rsplit(".", 1)[-1].startswith(("read_", "V1"))


def from_file(call: ast.Call, name: str) -> Write | None:
    """kubernetes.utils.create_from_yaml and its like: whatever the file holds is created."""
    if name in ("create_from_yaml", "create_from_dict", "create_from_directory", "create_from_yaml_single_item"):
        return Write("ssa", "spec") if given(call, "apply") else Write("create", "create")
    return None


def by_prefix(start: str) -> Write | None:
    """A method's name of which only the beginning is written out."""
    action = next((one for one in ("delete_collection", *_VERBS) if start.startswith(f"{one}_")), "")
    return Write(_VERBS[action], outside(_VERBS[action])) if action else None
