"""What a Python expression holds, in the words of the clients: an API, a client, a class of objects, an object, many of them.

Called by `values`, which follows the source, and by the client modules, which ask what a receiver is. The tables here say what a
dotted name of a client library is and what its methods return; they know nothing of the audited project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

LIBRARIES = ("kubernetes_asyncio", "kubernetes", "lightkube", "kr8s", "pykube", "kopf", "fiferail", "openshift")
_QUERY = {"filter", "all", "order_by", "execute", "iterator"}
_ONE = {"get", "get_by_name", "get_or_none", "gen", "from_dict", "async_get"}
_MANY = {"list", "async_list", "objects"}
_KR8S_PARTS = {"objects", "asyncio"}
_OURS = {
    "StatusWriter": "writer", "AsyncStatusWriter": "writer", "Client": "client", "AsyncClient": "client", "connect": "client",
    "connect_async": "client",
}  # fmt: skip
_MADE_CLASSES = {"create_namespaced_resource", "create_global_resource", "new_class", "object_factory", "get_class", "get_generic_resource"}


@dataclass(frozen=True, slots=True)
class Held:
    """`role`: api, dynamic, resource (of a dynamic client), client, class, object, many, query, model, writer, module, instance.

    `made` names the class of the project that an object or class is of, where the project derives its own.
    """

    library: str
    role: str
    kind: str = ""
    api: str = ""
    part: str = ""
    name: str = ""
    made: str = ""

    def called(self, role: str) -> Held:
        return replace(self, role=role)


def library_of(dotted: str) -> str:
    """The client a dotted name belongs to; nothing for other packages."""
    root = dotted.split(".")[0]
    if dotted.startswith("kubernetes.aio"):
        return "kubernetes_asyncio"
    return root if root in LIBRARIES else ""


def of_origin(dotted: str) -> Held | None:
    """What a name imported from a client is, before it is called."""
    library = library_of(dotted)
    if not library:
        return None
    last = dotted.rsplit(".", 1)[-1]
    if library in ("kubernetes", "kubernetes_asyncio", "openshift"):
        return _official(library, dotted, last)
    if library == "lightkube":
        return _lightkube(dotted, last)
    if library == "fiferail":
        return Held(library, "class", name=_OURS[last]) if last in _OURS else Held(library, "module", name=dotted)
    if library in ("kr8s", "pykube") and last[:1].isupper():
        if last in ("Api", "HTTPClient", "KubeConfig"):
            return Held(library, "class", name="client")
        generic = last in ("APIObject", "NamespacedAPIObject", "APIObjectSyncMixin")
        return Held(library, "class", "" if generic else last)
    if library == "kr8s" and last == "api":
        return Held(library, "class", name="client")
    return Held(library, "module", name=dotted)


def _official(library: str, dotted: str, last: str) -> Held:
    if last.endswith("Api"):
        return Held(library, "class", name="api")
    if last == "DynamicClient":
        return Held(library, "class", name="dynamic")
    if re.match(r"V\d", last):
        return Held(library, "class", re.sub(r"^V\d+(?:(?:alpha|beta)\d+)?", "", last), name="model")
    return Held(library, "module", name=dotted)


def _lightkube(dotted: str, last: str) -> Held:
    if last in ("Client", "AsyncClient"):
        return Held("lightkube", "class", name="client")
    if ".resources." in dotted and last[:1].isupper():
        part = dotted.rsplit(".", 2)
        api = part[-2].replace("_", "/") if len(part) == 3 else ""
        return Held("lightkube", "class", last, api)
    return Held("lightkube", "module", name=dotted)


def made_class(held: Held) -> bool:
    """Whether a function of a client makes a class at run time."""
    return held.role == "module" and held.name.rsplit(".", 1)[-1] in _MADE_CLASSES


def constructed(held: Held) -> Held:
    """What calling a class gives."""
    if held.name in ("api", "dynamic", "client", "writer", "model"):
        return Held(held.library, held.name, held.kind)
    return held.called("object")


def after_method(held: Held, method: str) -> Held | None:
    """What a method of a held thing returns, where the receiver alone says it."""
    if held.role == "class" and held.library in ("kr8s", "pykube"):
        return held.called("object") if method in _ONE else held.called("many") if method in _MANY else None
    if held.role in ("query", "many"):
        return held.called("many") if method in _QUERY else held.called("object") if method in (*_ONE, "pop") else None
    if held.role == "api" and method.startswith(("read_", "get_", "list_")):
        return Held(held.library, "model", name="read")
    if held.role in ("object", "model") and method in ("copy", "deepcopy"):
        return held
    return None


def after_attribute(held: Held, name: str) -> Held | None:
    """What an attribute of a held thing is."""
    if held.role == "module":
        return of_origin(f"{held.name}.{name}")
    if held.role == "resource" and name in ("status", "scale"):
        return replace(held, part=name)
    if held.role == "class" and held.library == "lightkube" and name in ("Status", "Scale"):
        return replace(held, part=name.lower())
    if held.role in ("query", "many", "model") and name == "items":
        return held
    if held.role == "object" and name == "api":
        return Held(held.library, "client", held.kind, held.api)
    return None
