"""The kind that the oracle's programs write, and paths into its objects.

The status has every shape that a schema can give: scalars, a free map, typed maps, an atomic list, a set, two keyed lists, any JSON. A path
is a tuple from the root of the object; a step is a member name, or `(key, value)` for the entry of a keyed list. Everything here is written
for the oracle alone and shares nothing with the writer or the checker.
"""

from __future__ import annotations

from typing import Any, TypeAlias

GROUP, VERSION, NAME, PLURAL = "oracle.fiferail.dev", "v1", "Case", "cases"
API = f"{GROUP}/{VERSION}"
NAMESPACE = "default"

Step: TypeAlias = "str | tuple[str, str]"
Path: TypeAlias = "tuple[Step, ...]"
Json: TypeAlias = Any


class _Missing:
    """Nothing stands at a path."""

    def __repr__(self) -> str:
        return "missing"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
#: The keyed lists: where they are, and by which member.
KEYED: dict[Path, str] = {("status", "conditions"): "type", ("status", "parts"): "name"}
#: Lists of distinct scalars. The step to an element is `("", element)`.
SETS: tuple[Path, ...] = (("status", "tags"),)

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def _list(items: Json, kind: str, *keys: str) -> Json:
    keyed = {"x-kubernetes-list-map-keys": list(keys)} if keys else {}
    return {"type": "array", "items": items, "x-kubernetes-list-type": kind, **keyed}


def _required(schema: Json, *names: str) -> Json:
    return {**schema, "required": list(names)}


_CONDITION = _required(
    _object(type=_TEXT, status=_TEXT, reason=_TEXT, message=_TEXT, lastTransitionTime=_TEXT, observedGeneration=_NUMBER, extra=_TEXT),
    "type", "status",
)  # fmt: skip
_STATUS = _object(
    phase=_TEXT, note=_TEXT, owner=_TEXT, mode=_TEXT, late=_TEXT,
    gen=_NUMBER,
    counter=_object(n=_NUMBER, by=_TEXT),
    net={"type": "object", "additionalProperties": _TEXT},
    extra={"type": "object", "additionalProperties": _TEXT},
    marks={"type": "object", "additionalProperties": _TEXT},
    deep=_object(known=_TEXT, camelCase=_TEXT, hidden=_TEXT, inner=_object(known=_TEXT, hidden=_TEXT)),
    lastSeen=_TEXT,
    plan=_FREE,
    lastPlan=_object(id=_TEXT, n=_NUMBER),
    refs=_list(_TEXT, "atomic"),
    tags=_list(_TEXT, "set"),
    rows=_list(_object(name=_TEXT, by=_TEXT, extra=_TEXT), "atomic"),
    parts=_list(_required(_object(name=_TEXT, by=_TEXT, extra=_TEXT), "name"), "map", "name"),
    conditions=_list(_CONDITION, "map", "type"),
    anything={"x-kubernetes-preserve-unknown-fields": True},
)  # fmt: skip
CRD: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "case", "kind": NAME, "listKind": f"{NAME}List"},
        "versions": [
            {
                "name": VERSION, "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": _object(spec=_object(size=_NUMBER, label=_TEXT), status=_STATUS)},
            }
        ],
    },
}  # fmt: skip


def identity(name: str) -> Json:
    """Enough of an object to name it in a request."""
    return {"apiVersion": API, "kind": NAME, "metadata": {"name": name, "namespace": NAMESPACE}}


def find(tree: Json, path: Path) -> Json:
    """What stands at the path, whole; MISSING where nothing does."""
    for step in path:
        if isinstance(step, tuple):
            entries = tree if isinstance(tree, list) else []
            if not step[0]:
                tree = step[1] if step[1] in entries else MISSING
                continue
            tree = next((entry for entry in entries if isinstance(entry, dict) and entry.get(step[0]) == step[1]), MISSING)
        else:
            tree = tree.get(step, MISSING) if isinstance(tree, dict) else MISSING
    return MISSING if tree is None else tree


def leaves(tree: Json, at: Path = ()) -> dict[Path, Json]:
    """Path -> value of everything below that is no container. Keyed lists by entry, other lists as one value."""
    if isinstance(tree, dict):
        return {path: leaf for name, member in tree.items() for path, leaf in leaves(member, (*at, name)).items()}
    key = KEYED.get(at)
    if isinstance(tree, list) and key is not None:
        return {path: leaf for entry in tree for path, leaf in leaves(entry, (*at, (key, entry.get(key, "")))).items()}
    if isinstance(tree, list) and at in SETS:
        return {(*at, ("", element)): element for element in tree}
    return {} if tree is None else {at: tree}


def covers(outer: Path, inner: Path) -> bool:
    """Whether the second path is the first, or below it."""
    return inner[: len(outer)] == outer


def meets(one: Path, other: Path) -> bool:
    """Whether one of the two is the other, or below it."""
    return covers(one, other) or covers(other, one)


def text(path: Path) -> str:
    """The path as a person writes it."""
    return "".join(f"[{step[1]}]" if isinstance(step, tuple) else f".{step}" for step in path).lstrip(".")


def version(obj: Json) -> int:
    """The resourceVersion as a number."""
    return int(obj["metadata"]["resourceVersion"])


def uid(obj: Json) -> str:
    """The object's uid."""
    return str(obj["metadata"]["uid"])
