"""What the auditor knows of packages that are not in the project: controller-runtime, client-go, and the patch helpers of two families.

Pure tables and name arithmetic; called by `values` and `writes`. A type outside the project is followed only as far as these names reach.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fiferail.audit.golang.types import Type

CLIENT = "sigs.k8s.io/controller-runtime/pkg/client"
_RUNTIME = "sigs.k8s.io/controller-runtime"
_CLIENT_TYPES = {"Client", "WithWatch", "Writer", "StatusClient", "SubResourceClientConstructor", "WriterWithStatus"}
_STATUS_WRITERS = {"StatusWriter", "SubResourceWriter", "SubResourceClient"}
_MANAGERS = {"Manager", "Cluster"}
CLIENT_TYPE: Type = ("n", CLIENT, "Client", ())
STATUS_WRITER: Type = ("n", CLIENT, "SubResourceWriter", ())
SUBRESOURCE_CLIENT: Type = ("n", CLIENT, "SubResourceClient", ())
_DYNAMIC = "k8s.io/client-go/dynamic"
_VERSIONED = re.compile(r"^([A-Z][A-Za-z0-9]*?)(V\d+(?:(?:alpha|beta)\d+)?)$")
_TYPED_GROUP = re.compile(r"V\d+(?:(?:alpha|beta)\d+)?Interface$")

API_PACKAGE = re.compile(r"(?:^|/)v\d+(?:(?:alpha|beta)\d+)?$|(?:^|/)apis?(?:/|$)|^k8s\.io/api/|/applyconfigurations?/|/apiextensions")

WRITES = {"Update", "Patch", "Create", "Delete", "DeleteAllOf", "Apply", "DeleteCollection", "UpdateStatus", "ApplyStatus", "PatchStatus"}

# Functions that send what differs between two objects, to the status subresource: `PatchService(client, old, new)`.
PATCHES_BOTH = {("k8s.io/cloud-provider/service/helpers", "PatchService")}
CREATE_OR = {"CreateOrUpdate": "update", "CreateOrPatch": "merge-patch"}
API_GROUPS_BUILT_IN = "k8s.io/api/"


def is_client_package(path: str) -> bool:
    return path == CLIENT or path.endswith("/controller-runtime/pkg/client")


def role(kind: Type) -> str:
    """client | status | manager | dynamic | resource | clientset | group | typed | lister | helper, or nothing."""
    if kind is None or kind[0] != "n":
        return ""
    path, name = kind[1], kind[2]
    if is_client_package(path):
        if name in _CLIENT_TYPES:
            return "client"
        return "status" if name in _STATUS_WRITERS else ""
    if name in _MANAGERS and (path == _RUNTIME or path.startswith(_RUNTIME + "/pkg/")):
        return "manager"
    if path == _DYNAMIC or path.startswith(_DYNAMIC + "/"):
        return "dynamic" if name in ("Interface", "DynamicClient") else "resource"
    if _is_helper_package(path) and name in ("Helper", "SerialPatcher"):
        return "helper"
    return _generated_role(path, name)


def _is_helper_package(path: str) -> bool:
    """The patch helpers of cluster-api and flux: they write metadata, spec and status of the object they are given."""
    return path.endswith("/patch") and ("cluster-api/" in path or path.endswith(("runtime/patch", "util/patch")))


def _generated_role(path: str, name: str) -> str:
    if "/typed/" in path:
        if _TYPED_GROUP.search(name) or name.endswith(("Client", "Getter")):
            # `corev1client.PodsGetter` has what a group has, for one kind.
            return "group"
        return "typed" if name.endswith("Interface") or name[:1].islower() else ""
    if "/listers/" in path or "/lister/" in path:
        return "lister" if name.endswith("Lister") else ""
    if name in ("Interface", "Clientset") and ("clientset" in path or path.endswith("/kubernetes") or "versioned" in path):
        return "clientset"
    return ""


def results(kind: Type, method: str) -> list[Type]:
    """What a method of a type outside the project returns, as far as the names tell."""
    if kind is None:
        return []
    match role(kind):
        case "manager":
            return [CLIENT_TYPE] if method == "GetClient" else []
        case "client":
            return {"Status": [STATUS_WRITER], "SubResource": [SUBRESOURCE_CLIENT]}.get(method, [])
        case "dynamic":
            return [("n", _DYNAMIC, "NamespaceableResourceInterface", ())] if method == "Resource" else []
        case "resource":
            if method == "Namespace":
                return [("n", _DYNAMIC, "ResourceInterface", ())]
            return [("n", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured", "Unstructured", ())]
        case "clientset":
            versioned = _VERSIONED.match(method)
            if versioned:
                group, version = versioned.group(1), versioned.group(2).lower()
                return [("n", f"{kind[1]}/typed/{group.lower()}/{version}", f"{method}Interface", ())]
        case "group":
            return [("n", kind[1], singular(method) + "Interface", ())]
        case "typed" | "lister":
            return _stored(kind, method)
    return []


def _stored(kind: Type, method: str) -> list[Type]:
    """Reads and writes of a typed client or a lister give the kind that its name says."""
    assert kind is not None
    path, name = kind[1], kind[2]
    stem = name.removesuffix("Interface").removesuffix("NamespaceLister").removesuffix("Lister")
    stored = ("n", api_package(path), stem, ())
    if method == "List":
        return [("s", stored)] if "lister" in path else [("n", api_package(path), stem + "List", ())]
    if method in ("Get", "Create", "Update", "UpdateStatus", "Patch", "Apply", "ApplyStatus"):
        return [stored]
    if name.endswith("Lister") and method[:1].isupper():
        return [("n", path, stem + "NamespaceLister", ())]
    return []


def api_package(path: str) -> str:
    """The package of the API types that a client or lister package is generated from, as far as the path tells."""
    match = re.search(r"/(?:typed|listers|lister)/([^/]+)/([^/]+)$", path)
    if not match:
        return path
    group, version = match.groups()
    return f"k8s.io/api/{group}/{version}" if path.startswith("k8s.io/client-go/") else f"{group}/{version}"


def singular(plural: str) -> str:
    """Gadgets -> Gadget, Policies -> Policy, Classes -> Class. Endpoints stay."""
    if plural in ("Endpoints",):
        return plural
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    if plural.endswith(("sses", "ches", "shes", "xes", "zes", "uses")):
        return plural[:-2]
    return plural[:-1] if plural.endswith("s") and not plural.endswith("ss") else plural


def plural(kind: str) -> str:
    """The resource name that a kind usually has."""
    low = kind.lower()
    if low == "endpoints":
        return low
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return low[:-1] + "ies"
    return low + "es" if low.endswith(("s", "x", "ch", "sh", "z")) else low + "s"


def outside_field(kind: Type, name: str) -> Type:
    """Fields of types outside the project: the items of a list."""
    if kind is not None and kind[0] == "n" and name == "Items" and kind[2].endswith("List"):
        return ("s", ("n", kind[1], kind[2][:-4], ()))
    return None


HANDS_ON = {
    **dict.fromkeys(("To", "ToPtr", "Ptr", "Pointer", "FromPtr", "Deref", "FromPtrOr"), "same"),
    **dict.fromkeys(("Filter", "Reject", "Uniq", "UniqBy", "Reverse", "Clone", "Compact", "Slice", "Sorted", "SortedFunc"), "same"),
    **dict.fromkeys(("First", "Last", "Find", "FindOrElse", "Nth", "MinBy", "MaxBy", "Sample", "MinFunc", "MaxFunc"), "element"),
    **dict.fromkeys(("Values",), "values"),
    **dict.fromkeys(("Must", "Must1", "Must2"), "result"),
}

FUNCTION_RESULTS: dict[tuple[str, str], Any] = {
    (CLIENT, "New"): [CLIENT_TYPE],
    (CLIENT, "NewWithWatch"): [CLIENT_TYPE],
    (CLIENT, "NewNamespacedClient"): [CLIENT_TYPE],
    (CLIENT, "NewDryRunClient"): [CLIENT_TYPE],
    (CLIENT, "WithFieldOwner"): [CLIENT_TYPE],
    (CLIENT, "WithFieldValidation"): [CLIENT_TYPE],
    (_RUNTIME, "NewManager"): [("n", _RUNTIME, "Manager", ())],
    ("k8s.io/client-go/kubernetes", "NewForConfig"): [("n", "k8s.io/client-go/kubernetes", "Clientset", ())],
    ("k8s.io/client-go/kubernetes", "NewForConfigOrDie"): [("n", "k8s.io/client-go/kubernetes", "Clientset", ())],
    ("k8s.io/client-go/dynamic", "NewForConfig"): [("n", _DYNAMIC, "DynamicClient", ())],
    ("k8s.io/client-go/dynamic", "NewForConfigOrDie"): [("n", _DYNAMIC, "DynamicClient", ())],
}


def function_results(path: str, name: str) -> list[Type]:
    known = FUNCTION_RESULTS.get((path, name))
    if known is not None:
        return list(known)
    if _is_helper_package(path) and name in ("NewHelper", "NewSerialPatcher"):
        return [("n", path, "Helper" if name == "NewHelper" else "SerialPatcher", ())]
    if ("clientset" in path or "versioned" in path) and name in ("NewForConfig", "NewForConfigOrDie"):
        return [("n", path, "Clientset", ())]
    return []
