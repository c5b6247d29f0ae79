"""What the CRD handler makes of a body: metadata through its Go type, the rest pruned, at the root and in embedded resources.

Called by the API server for each decoded custom resource; `decode` is the whole of it, in the server's order, defaulting
excepted. Refusals carry the text that ends the server's 400. Nothing is changed in place. Mirrors unstructuredSchemaCoercer
and schema/objectmeta of apiextensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import fielderrors, names
from ..tree import ABSENT, Absent, Json
from . import objectmeta
from .default import drop_nulls
from .objectmeta import MetadataRefused
from .prune import Found, prune_noting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..fielderrors import FieldError
    from .model import Schema


class DecodeRefused(Exception):
    """The body cannot be read as this kind: a 400 whose message ends with this text."""


def decode(tree: Json, schema: Schema, *, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
    """The object as the server goes on with it, and the unknown fields, spelled and ordered as in strict decoding errors.

    What is shared with `clean`, an object decoded before under the same schema, is not walked again.
    """
    known = clean if type(clean) is dict else {}
    unknown: list[str] = []
    if "metadata" in tree and tree["metadata"] is not known.get("metadata", ABSENT):
        try:
            meta, missed = objectmeta.decoded(tree["metadata"])
        except MetadataRefused as refusal:
            raise DecodeRefused(str(refusal)) from None
        unknown += [f"metadata.{path}" for path in missed]
        if meta is not tree["metadata"]:
            tree = {**tree, "metadata": meta}
    found = Found()
    tree = prune_noting(tree, schema, found, clean=clean)
    if found.maybe_nulls:
        tree = drop_nulls(tree, schema, clean=clean)
    tree, embedded = coerce(tree, schema, clean=clean)
    return tree, unknown + found.dropped + embedded


def coerce(tree: Json, schema: Schema, *, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
    """The tree with the metadata of embedded resources read through its type, and the unknown members of those, sorted."""
    if not has_embedded(schema):
        return tree, []
    unknown: list[str] = []
    kept = _coerced(tree, schema, "", clean, unknown)
    return kept, sorted(unknown)


def has_embedded(schema: Schema) -> bool:
    """Whether a resource may be embedded anywhere in such a value; worked out once per schema."""
    if schema.embeds is None:
        schema.embeds = False
        children = [*schema.properties.values(), *(child for child in (schema.items, schema.additional) if child is not None)]
        schema.embeds = schema.embedded_resource or any(map(has_embedded, children))
    return schema.embeds


def _coerced(tree: Json, schema: Schema, path: str, clean: Json | Absent, unknown: list[str]) -> Json:
    if tree is clean or not has_embedded(schema):
        return tree
    if type(tree) is list and schema.items is not None:
        entries = [_coerced(entry, schema.items, f"{path}[{index}]", ABSENT, unknown) for index, entry in enumerate(tree)]
        return entries if any(new is not old for new, old in zip(entries, tree, strict=True)) else tree
    if type(tree) is not dict:
        return tree
    known = clean if type(clean) is dict else {}
    changed = _typed(tree, path, unknown) if schema.embedded_resource else {}
    for name, member in tree.items():
        if name in changed:
            continue
        child, here = schema.properties.get(name), f"{path}.{name}" if path else name
        if child is None and not schema.additional_any:
            child, here = schema.additional, f"{path}[{name}]"
        if child is not None:
            kept = _coerced(member, child, here, known.get(name, ABSENT), unknown)
            if kept is not member:
                changed[name] = kept
    return {**tree, **changed} if changed else tree


def _typed(tree: dict[str, Json], path: str, unknown: list[str]) -> dict[str, Json]:
    """What changes in the type and object metadata of an embedded resource."""
    for name in ("apiVersion", "kind"):
        if name in tree and type(tree[name]) is not str:
            raise DecodeRefused(fielderrors.invalid(f"{path}.{name}", tree[name], "must be a string").full)
    if "metadata" not in tree:
        return {}
    try:
        meta, missed = objectmeta.decoded(tree["metadata"])
    except MetadataRefused as refusal:
        raise DecodeRefused(fielderrors.invalid(f"{path}.metadata", tree["metadata"], str(refusal)).full) from None
    unknown += [f"{path}.metadata.{name}" for name in missed]
    return {} if meta is tree["metadata"] else {"metadata": meta}


def embedded_flaws(tree: Json, schema: Schema, path: str = "") -> list[FieldError]:
    """What is wrong with the apiVersion, kind and metadata of embedded resources. Every create and update asks, unchanged parts too."""
    return list(_embedded_flaws(tree, schema, path)) if has_embedded(schema) else []


def _embedded_flaws(tree: Json, schema: Schema, path: str) -> Iterator[FieldError]:
    if not has_embedded(schema):
        return
    if type(tree) is list and schema.items is not None:
        for index, entry in enumerate(tree):
            yield from _embedded_flaws(entry, schema.items, f"{path}[{index}]")
    if type(tree) is not dict:
        return
    if schema.embedded_resource:
        yield from _resource_flaws(tree, path)
    for name, member in tree.items():
        child = schema.properties.get(name)
        if child is not None:
            yield from _embedded_flaws(member, child, f"{path}.{name}" if path else name)
        elif schema.additional is not None and not schema.additional_any:
            yield from _embedded_flaws(member, schema.additional, f"{path}[{name}]")


def _resource_flaws(tree: dict[str, Json], path: str) -> Iterator[FieldError]:
    def at(name: str) -> str:
        return f"{path}.{name}" if path else name

    for name in ("apiVersion", "kind"):
        if name not in tree:
            yield fielderrors.required(at(name))
        elif type(tree[name]) is not str:
            yield fielderrors.invalid(at(name), tree[name], "must be a string")
        elif not tree[name]:
            yield fielderrors.invalid(at(name), "", "must not be empty")
    version, kind = tree.get("apiVersion"), tree.get("kind")
    if type(version) is str and version.count("/") > 1:
        yield fielderrors.invalid(at("apiVersion"), version, f"unexpected GroupVersion string: {version}")
    if type(kind) is str and kind and (complaints := names.dns1035_label(kind.lower())):
        yield fielderrors.invalid(at("kind"), kind, f"may have mixed case, but should otherwise match: {','.join(complaints)}")
    if "metadata" in tree:
        try:
            meta, _ = objectmeta.decoded(tree["metadata"])
        except MetadataRefused as refusal:
            yield fielderrors.invalid(at("metadata"), tree["metadata"], str(refusal))
        else:
            yield from objectmeta.flaws(meta, at("metadata"))
