"""Which lists the server keeps keyed, out of its OpenAPI v3 document: readable without rights on CRDs, asked once per kind.

Only custom resources are asked for: the built-in kinds accept duplicates whatever their schema says. A document that cannot be
read means whole-list tests: more conflicts, nothing lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..wire import Request
from .shapes import ANY, Place, Shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects.paths import Path
    from ..objects.tree import Json
    from .targets import Target

#: Groups that kube-apiserver serves itself. It does not enforce listType=map for them.
BUILT_IN = frozenset(
    ["", "apps", "autoscaling", "batch", "policy", "extensions"]
    + [
        f"{name}.k8s.io"
        for name in (
            "admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates", "coordination",
            "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "networking", "node", "rbac.authorization", "resource",
            "scheduling", "storage", "storagemigration",
        )
    ]
)  # fmt: skip


def document(target: Target) -> Request | None:
    """The request for the schema of the kind's group and version, or None where it would not help."""
    if target.group in BUILT_IN:
        return None
    return Request(method="GET", path=f"/openapi/v3/apis/{target.api_version}", headers={"accept": "application/json"})


def schema_of(openapi: Json, target: Target) -> tuple[Json, Json]:
    """The schema of the kind, or None, and the document's other schemas."""
    components = (openapi.get("components") or {}).get("schemas") or {}
    wanted = {"group": target.group, "version": target.api_version.rpartition("/")[2], "kind": target.kind}
    for schema in components.values():
        if wanted in (schema.get("x-kubernetes-group-version-kind") or []):
            return schema, components
    return None, components


def shapes_of(openapi: Json, target: Target) -> Shapes:
    """The keyed lists and sets of the kind."""
    schema, components = schema_of(openapi, target)
    if schema is None:
        return Shapes(enforced=frozenset())
    found = list(_lists(schema, (), components, 0))
    keyed = {place: tuple(keys) for place, kind, keys in found if kind == "map"}
    sets = frozenset(place for place, kind, _ in found if kind == "set")
    return Shapes(keyed, sets | Shapes().sets, frozenset(keyed))


class Declared(msgspec.Struct, frozen=True):
    """Which fields a kind has: the server drops all others without a word."""

    schema: Json

    def has(self, path: Path) -> bool:
        """Whether the server keeps what is written at the path. True where the schema does not tell."""
        schema = self.schema
        for step in path:
            if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields") or "$ref" in schema or "allOf" in schema:
                return True
            if not isinstance(step, str):
                schema = schema.get("items")
            elif "properties" in schema and step in schema["properties"]:
                schema = schema["properties"][step]
            elif schema.get("additionalProperties"):
                schema = schema["additionalProperties"]
            else:
                return schema.get("type") != "object"
        return True


def _lists(schema: Json, place: Place, components: Json, depth: int) -> Iterator[tuple[Place, str, list[str]]]:
    if depth > 40 or not isinstance(schema, dict):
        return
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf") or [] if "$ref" in part), None)
    if reference is not None:
        yield from _lists(components.get(reference.rpartition("/")[2]), place, components, depth + 1)
        return
    kind = schema.get("x-kubernetes-list-type")
    if kind in ("map", "set"):
        yield place, kind, schema.get("x-kubernetes-list-map-keys") or []
    if "items" in schema:
        yield from _lists(schema["items"], place, components, depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _lists(schema["additionalProperties"], (*place, ANY), components, depth + 1)
    for name, member in (schema.get("properties") or {}).items():
        if place or name != "metadata":
            yield from _lists(member, (*place, name), components, depth + 1)
