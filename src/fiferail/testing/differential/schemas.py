"""Random CustomResourceDefinitions with structural schemas.

Called by the fuzzer's main loop with a seeded generator. A schema made here is one that the server accepts; what the server
says to broken ones is asked by `broken`, which spoils a good definition in one place.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

NAMES = ("alpha", "beta", "gamma", "delta")
WORDS = ("red", "green", "blue", "x", "")
GROUP = "fuzz.fiferail.dev"


@dataclass(frozen=True)
class Definition:
    """A CRD and what the conversations need to know of it."""

    crd: dict[str, Any]
    plural: str
    kind: str
    versions: tuple[str, ...]
    schemas: dict[str, dict[str, Any]] = field(repr=False)
    status: bool = True
    scale: bool = False
    selectable: tuple[str, ...] = ()


def definition(rng: Random, number: int, prefix: str = "t") -> Definition:
    """One CRD: one to three versions whose schemas share most of their fields."""
    plural, kind = f"{prefix}{number}s", f"{prefix.capitalize()}{number}"
    count = rng.choice((1, 1, 1, 2, 3))
    names = ("v1", "v1beta1", "v2")[:count]
    status = rng.random() < 0.85
    scale = rng.random() < 0.2
    base = root_schema(rng, scale)
    schemas = {name: base if index == 0 or rng.random() < 0.5 else _varied(rng, base) for index, name in enumerate(names)}
    storage = rng.choice(names)
    selectable = (".spec.selected",) if rng.random() < 0.2 else ()
    versions = [_version(name, schemas[name], name == storage, status, scale, selectable) for name in names]
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": versions,
        },
    }
    return Definition(crd, plural, kind, names, schemas, status, scale, selectable)


def _version(name: str, schema: Any, storage: bool, status: bool, scale: bool, selectable: tuple[str, ...]) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}} if status else {}
    if scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    version: dict[str, Any] = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    if subresources:
        version["subresources"] = subresources
    if selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in selectable]
    return version


def root_schema(rng: Random, scale: bool = False) -> dict[str, Any]:
    """spec and status, each an object of random fields; status always has conditions keyed by type."""
    spec, status = object_schema(rng, 0, defaults=True), object_schema(rng, 0, defaults=rng.random() < 0.3)
    for part in (spec, status):
        part.pop("x-kubernetes-map-type", None)
        part.pop("x-kubernetes-preserve-unknown-fields", None)
        part.pop("nullable", None)
        part.pop("default", None)
        part.setdefault("properties", {})
        part.pop("additionalProperties", None)
    spec["properties"]["selected"] = {"type": "string"}
    status["properties"]["conditions"] = conditions_schema()
    if scale:
        spec["properties"]["replicas"] = {"type": "integer", "minimum": 0}
        status["properties"]["replicas"] = {"type": "integer"}
        status["properties"]["selector"] = {"type": "string"}
    root: dict[str, Any] = {"type": "object", "properties": {"spec": spec, "status": status}}
    if rng.random() < 0.1:
        root["required"] = ["spec"]
    if rng.random() < 0.1:
        spec["default"] = {}
    if rng.random() < 0.06:
        root["x-kubernetes-preserve-unknown-fields"] = True
    return root


def conditions_schema() -> dict[str, Any]:
    """The conventional conditions list."""
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string"},
                "message": {"type": "string"},
                "observedGeneration": {"type": "integer", "format": "int64"},
            },
        },
    }


def schema(rng: Random, depth: int, defaults: bool = True) -> dict[str, Any]:
    """A schema of any type; deeper ones are simpler."""
    makers = [string_schema, integer_schema, boolean_schema, number_schema, int_or_string_schema]
    if depth < 3:
        makers += [array_schema, array_schema, array_schema, object_schema, object_schema, map_schema, open_schema]
    made = rng.choice(makers)(rng, depth)
    if rng.random() < 0.08:
        made["nullable"] = True
    if defaults and rng.random() < 0.15 and "default" not in made:
        from fiferail.testing.differential.values import valid

        made["default"] = valid(rng, made)
    return made


def string_schema(rng: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    choice = rng.random()
    if choice < 0.12:
        made["enum"] = ["red", "green"]
    elif choice < 0.2:
        made["pattern"] = rng.choice(("^[a-z]*$", "^r", "e"))
    elif choice < 0.28:
        made["maxLength"] = 5
    elif choice < 0.34:
        made["minLength"] = 1
    elif choice < 0.44:
        made["format"] = rng.choice(("date-time", "date", "duration", "uuid", "ipv4", "byte", "hostname", "email", "uri", "nosuchformat"))
    return made


def integer_schema(rng: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "integer"}
    if rng.random() < 0.3:
        made["minimum"] = rng.choice((0, 1, -5))
    if rng.random() < 0.2:
        made["maximum"] = 10
        if rng.random() < 0.3:
            made["exclusiveMaximum"] = True
    if rng.random() < 0.1:
        made["multipleOf"] = 2
    if rng.random() < 0.2:
        made["format"] = rng.choice(("int32", "int64"))
    return made


def number_schema(rng: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "number"}
    if rng.random() < 0.2:
        made["maximum"] = 2.5
    if rng.random() < 0.1:
        made["multipleOf"] = 0.5
    return made


def boolean_schema(rng: Random, depth: int) -> dict[str, Any]:
    return {"type": "boolean"}


def int_or_string_schema(rng: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"x-kubernetes-int-or-string": True}
    if rng.random() < 0.3:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


def open_schema(rng: Random, depth: int) -> dict[str, Any]:
    """An object that keeps what the schema does not name."""
    made: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if rng.random() < 0.5:
        made["properties"] = {"alpha": schema(rng, depth + 1)}
    return made


def map_schema(rng: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "additionalProperties": schema(rng, depth + 1, defaults=False)}
    if rng.random() < 0.25:
        made["x-kubernetes-map-type"] = rng.choice(("atomic", "granular"))
    if rng.random() < 0.1:
        made["maxProperties"] = 2
    return made


def object_schema(rng: Random, depth: int, defaults: bool = True) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(1, len(NAMES) if depth == 0 else 2))
    properties = {name: schema(rng, depth + 1, defaults) for name in names}
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if rng.random() < 0.15:
        made["required"] = [rng.choice(names)]
    if rng.random() < 0.15:
        made["x-kubernetes-map-type"] = rng.choice(("atomic", "granular"))
    if rng.random() < 0.05:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def array_schema(rng: Random, depth: int) -> dict[str, Any]:
    kind = rng.choice(("", "atomic", "set", "map", "map"))
    made: dict[str, Any] = {"type": "array"}
    if kind == "map":
        made.update(_keyed_items(rng, depth))
    elif kind == "set":
        made["items"] = rng.choice(({"type": "string"}, {"type": "integer"}, {"type": "string", "maxLength": 5}, {"type": "boolean"}))
    else:
        made["items"] = schema(rng, depth + 1)
    if kind:
        made["x-kubernetes-list-type"] = kind
    if rng.random() < 0.1:
        made["maxItems"] = 2
    if rng.random() < 0.05:
        made["minItems"] = 1
    return made


def _keyed_items(rng: Random, depth: int) -> dict[str, Any]:
    """Items of a map list: one or two scalar keys, each required or defaulted as the server demands."""
    keys = ["name", "port"][: rng.choice((1, 1, 2))]
    properties: dict[str, Any] = {"name": {"type": "string"}, "extra": schema(rng, depth + 1)}
    required = ["name"]
    if "port" in keys:
        properties["port"] = {"type": "integer"}
        if rng.random() < 0.5:
            properties["port"]["default"] = 80
        else:
            required.append("port")
    if rng.random() < 0.4:
        properties["other"] = schema(rng, depth + 1)
    items = {"type": "object", "properties": properties, "required": required}
    return {"items": items, "x-kubernetes-list-map-keys": keys}


def _varied(rng: Random, base: dict[str, Any]) -> dict[str, Any]:
    """Another version's schema: a field more or a field less, under spec or status."""
    varied = copy.deepcopy(base)
    properties = varied["properties"][rng.choice(("spec", "status"))]["properties"]
    removable = [name for name in NAMES if name in properties]
    owner = varied["properties"]["spec"], varied["properties"]["status"]
    required = {name for part in owner for name in part.get("required", [])}
    removable = [name for name in removable if name not in required]
    if removable and rng.random() < 0.5:
        del properties[rng.choice(removable)]
    else:
        properties["added"] = {"type": "string"}
    return varied


def broken(rng: Random, good: Definition) -> dict[str, Any]:
    """A copy of the CRD, spoiled in one random place; what the server says to it is compared like any answer."""
    crd = copy.deepcopy(good.crd)
    crd["metadata"]["name"] = f"broken.{crd['metadata']['name']}"
    crd["spec"]["names"].update(plural=f"broken.{good.plural}")
    crd["metadata"]["name"] = f"br{good.plural}.{GROUP}"
    crd["spec"]["names"].update(
        plural=f"br{good.plural}", kind=f"Br{good.kind}", singular=f"br{good.kind.lower()}", listKind=f"Br{good.kind}List"
    )
    places = list(_containers(crd["spec"]))
    container, key = rng.choice(places)
    old = container[key]
    choice = rng.random()
    if choice < 0.4 and isinstance(container, dict):
        del container[key]
    elif choice < 0.8:
        container[key] = rng.choice(
            ("", "BAD_name", "object", "array", "string", "integer", 7, -1, True, [], {}, None, ["a", "a"], {"type": "string"})
        )
    elif isinstance(old, dict):
        old[
            rng.choice(
                (
                    "uniqueItems",
                    "nullable",
                    "x-kubernetes-embedded-resource",
                    "x-kubernetes-int-or-string",
                    "x-kubernetes-preserve-unknown-fields",
                )
            )
        ] = True
    elif isinstance(old, list):
        container[key] = old + old
    else:
        container[key] = [old]
    return crd


def _containers(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a tree, in order."""
    found: list[tuple[Any, Any]] = []
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, child in items:
        found.append((tree, key))
        if isinstance(child, dict | list):
            found += _containers(child)
    return found
