"""The objects that clients hand out, as plain trees. Unknown fields are kept where the client kept them.

Dicts, kopf bodies and kr8s objects are what the server sent. Generated models and typed resources have been through a model:
times may be rendered otherwise and unknown fields are gone. Those are marked lossy, and the writer reads the live object first.

An object that stands for one it was read from (a Controller's `ctx.object`) says so with a method `__fiferail_object__`, which
returns the object as it was read: looking through the mapping instead would count as reading all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..objects.tree import Json


def plain_object(obj: Any) -> tuple[Json, bool]:
    """The tree, and whether it may lack what the server has."""
    if obj is None or (type(obj) is dict and type(obj.get("status", {})) is dict):
        return obj, False
    as_read = getattr(type(obj), "__fiferail_object__", None)
    if as_read is not None:
        return as_read(obj), False
    if isinstance(obj, Mapping):  # kopf's Body and friends are views of what the server sent, others are dicts of a class of their own
        return _thawed(obj), False
    module = type(obj).__module__
    raw = getattr(obj, "raw", None)
    if raw is not None and module.startswith("kr8s"):
        return _thawed(raw), False
    if module.startswith(("kubernetes.dynamic", "kubernetes_asyncio.dynamic")):
        return obj.to_dict(), False
    if hasattr(obj, "openapi_types") or hasattr(obj, "attribute_map"):
        return _generated(obj), True
    to_dict = getattr(obj, "to_dict", None)
    if callable(to_dict):  # lightkube resources, official models of other makes
        tree = to_dict()
        return _identified(tree, obj), True
    dump = getattr(obj, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True), True
    return obj, False


def plain_part(value: Any) -> Json:
    """A view inside a request's body as plain data; what is neither a mapping nor a list is refused."""
    if isinstance(value, (Mapping, Sequence)):
        return plain_object(value)[0] if isinstance(value, Mapping) else _thawed(value)
    raise TypeError(f"expected a JSON value, got {type(value).__name__}")


def _thawed(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {str(name): _thawed(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_thawed(member) for member in value]
    return value


def _generated(obj: Any) -> Json:
    """A model of the generated clients, by its attribute map, without its None members."""
    if hasattr(obj, "attribute_map"):
        members = ((alias, getattr(obj, name)) for name, alias in obj.attribute_map.items())
        return {alias: _generated(member) for alias, member in members if member is not None}
    if isinstance(obj, Mapping):
        return {name: _generated(member) for name, member in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [_generated(member) for member in obj]
    if hasattr(obj, "to_dict"):
        return obj.to_dict()
    isoformat = getattr(obj, "isoformat", None)
    if callable(isoformat):
        text: str = isoformat()
        return text.replace("+00:00", "Z")
    return obj


def _identified(tree: Any, obj: Any) -> Json:
    """lightkube leaves apiVersion and kind to the class."""
    info = getattr(type(obj), "_api_info", None)
    if isinstance(tree, dict) and info is not None and not tree.get("apiVersion"):
        resource = info.resource
        version = f"{resource.group}/{resource.version}" if resource.group else resource.version
        return {**tree, "apiVersion": version, "kind": resource.kind}
    return tree
