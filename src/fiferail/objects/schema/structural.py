"""Whether a CRD's schema is structural: every value typed exactly once, outside of allOf, anyOf, oneOf and not.

Called by `crd` on the schema as JSON, because what is forbidden inside the combinations must be seen there as it was written.
Mirrors validation.go and complete.go of apiextensions' apiserver/schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ..fielderrors import FieldError, forbidden, invalid, required
from . import patterns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..tree import Json

Source: TypeAlias = "dict[str, Json]"

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED: Final = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")


def flaws(schema: Source, path: str) -> list[FieldError]:
    """Everything that keeps a schema from being structural, sorted as the server sorts it."""
    found = [*_invariants(schema, _ROOT, path), *_completeness(schema, schema, path, path)]
    return sorted(found, key=lambda error: error.full)


def is_convertible(schema: Source) -> bool:
    """Whether the server can read the schema as a structural one at all; if not, other checks name the reason."""
    for node in nodes(schema):
        if any(node.get(name) for name in _UNSUPPORTED) or "additionalItems" in node or isinstance(node.get("items"), list):
            return False
        if node.get("x-kubernetes-preserve-unknown-fields") is False:
            return False
    return True


def nodes(schema: Source) -> Iterator[Source]:
    """A schema and every schema inside it."""
    yield schema
    for child in children(schema):
        yield from nodes(child)


def children(schema: Source) -> Iterator[Source]:
    """The schemas directly inside a schema, entries of an `items` list included."""
    items = schema.get("items")
    candidates = [
        *(items if isinstance(items, list) else [items]),
        *(schema.get("allOf") or ()),
        *(schema.get("anyOf") or ()),
        *(schema.get("oneOf") or ()),
        schema.get("not"),
        schema.get("additionalProperties"),
        schema.get("additionalItems"),
        *(schema.get("properties") or {}).values(),
        *(schema.get("patternProperties") or {}).values(),
        *(schema.get("definitions") or {}).values(),
    ]
    return (candidate for candidate in candidates if isinstance(candidate, dict))


def _invariants(schema: Source, level: str, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    items = schema.get("items")
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _invariants(items, _ITEM, f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        yield from _invariants(child, _FIELD, f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level is _ROOT:
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(additional, dict):
            yield from _invariants(additional, _FIELD, f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _value_validation(schema, path, skip_any_of=_is_pattern(schema), skip_first=_starts_with_pattern(schema))
    yield from _type(schema, level, path)
    yield from _meta(schema, level, path)


def _extensions(schema: Source, path: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        for name in ("preserve-unknown-fields", "embedded-resource"):
            if schema.get(f"x-kubernetes-{name}"):
                yield invalid(f"{path}.x-kubernetes-{name}", True, "must be false if x-kubernetes-int-or-string is true")


def _type(schema: Source, level: str, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    embedded = schema.get("x-kubernetes-embedded-resource")
    if embedded and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text)
    elif not kind and not schema.get("x-kubernetes-int-or-string") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield required(f"{path}.type", f"must not be empty {level}")
    if embedded and schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used if x-kubernetes-embedded-resource is set")
    if level is _ROOT and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
        text = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(f"{path}.properties", text)


def _meta(schema: Source, level: str, path: str) -> Iterator[FieldError]:
    properties = schema.get("properties") or {}
    is_resource = level is _ROOT or schema.get("x-kubernetes-embedded-resource")
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in properties and is_resource and properties[name].get("type", "") != wanted:
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), f"must be {wanted}")
    if "metadata" in properties and level is _ROOT and _says_more_than_names(properties["metadata"]):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden(f"{path}.properties[metadata]", text)


def _says_more_than_names(metadata: Source) -> bool:
    said = {name for name, value in metadata.items() if value not in (None, "", False, [], {})} - {"type", "default"}
    if set(metadata.get("properties") or {}) <= {"name", "generateName"}:
        said.discard("properties")
    return bool(said)


def _is_pattern(schema: Source) -> bool:
    return schema.get("anyOf") == _INT_OR_STRING


def _starts_with_pattern(schema: Source) -> bool:
    all_of = schema.get("allOf") or []
    return bool(all_of) and _is_pattern(all_of[0])


def _value_validation(schema: Source, path: str, *, skip_any_of: bool = False, skip_first: bool = False) -> Iterator[FieldError]:
    if not skip_any_of:
        for index, branch in enumerate(schema.get("anyOf") or ()):
            yield from _nested(branch, f"{path}.anyOf[{index}]")
    for index, branch in enumerate(schema.get("allOf") or ()):
        yield from _nested(branch, f"{path}.allOf[{index}]", skip_any_of=skip_first and index == 0)
    for index, branch in enumerate(schema.get("oneOf") or ()):
        yield from _nested(branch, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{path}.not")
    if schema.get("pattern"):
        try:
            patterns.matcher(schema["pattern"])
        except patterns.PatternError as error:
            yield invalid(f"{path}.pattern", schema["pattern"], f"must be a valid regular expression, but isn't: {error}")


_NESTED_FORBIDDEN: Final = (
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
#: Absent is what counts for these, not falsy.
_POINTERS: Final = frozenset({"default", "x-kubernetes-list-type", "x-kubernetes-map-type"})


def _nested(schema: Source, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _value_validation(schema, path, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        yield from _nested(child, f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not False:
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for name, text in _NESTED_FORBIDDEN:
        value = schema.get(name)
        if value if name not in _POINTERS else value is not None:
            yield forbidden(f"{path}.{name}", text)
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(schema: Source, typed: Source, at: str, path: str) -> Iterator[FieldError]:
    """Whatever a combination constrains must be specified outside of it."""
    if schema.get("not") is not None:
        yield from _nested_completeness(schema["not"], typed, at, f"{path}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(schema.get(name) or ()):
            yield from _nested_completeness(branch, typed, at, f"{path}.{name}[{index}]")


def _nested_completeness(schema: Source, typed: Source | None, at: str, path: str) -> Iterator[FieldError]:
    if typed is None:
        yield required(at, f"because it is defined in {path}")
        return
    yield from _completeness(schema, typed, at, path)
    if isinstance(schema.get("items"), dict):
        yield from _nested_completeness(schema["items"], typed.get("items"), f"{at}.items", f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        known = (typed.get("properties") or {}).get(name)
        yield from _nested_completeness(child, known, f"{at}.properties[{name}]", f"{path}.properties[{name}]")
