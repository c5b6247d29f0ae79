"""What apiextensions says of a CustomResourceDefinition: its defaults, and every reason to refuse it, verbatim.

Called by the API server when a CRD is created or updated. Errors name fields as the server's internal type does: what all
versions have in common (always, when there is only one version) stands at the top of spec, so a schema's errors are at
`spec.validation.openAPIV3Schema`. Conversion webhooks are refused as Unsupported. Mirrors apiextensions' validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import Unsupported
from .. import names as shapes
from ..fielderrors import FieldError, forbidden, invalid, not_supported, required
from ..tree import ABSENT, Absent, Json, same
from . import crdschema, fieldpaths, internal, structural, uris

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVAL: Final = "api-approved.kubernetes.io"
_SCALE_ROOTS: Final = {"specReplicasPath": (".spec.",), "statusReplicasPath": (".status.",), "labelSelectorPath": (".spec.", ".status.")}
#: What versions may have in common, and its name at the top of the internal spec.
_SHARED: Final = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


def default_crd(crd: Json) -> Json:
    """The CRD with what the server fills in: singular and list names, conversion None, the stored version."""
    spec: dict[str, Json] = crd["spec"] if isinstance(crd.get("spec"), dict) else {}
    names: dict[str, Json] = spec["names"] if isinstance(spec.get("names"), dict) else {}
    filled: dict[str, Json] = {}
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        filled["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        filled["listKind"] = f"{kind}List"
    changes: dict[str, Json] = {"names": {**names, **filled}} if filled else {}
    if spec.get("conversion") is None:
        changes["conversion"] = {"strategy": "None"}
    status = crd.get("status") or {}
    stored = [version.get("name", "") for version in spec.get("versions") or () if isinstance(version, dict) and version.get("storage")][:1]
    result = {**crd, "spec": {**spec, **changes}} if changes else crd
    if stored and not status.get("storedVersions"):
        result = {**result, "status": {**status, "storedVersions": stored}}
    return result


def validate_crd(crd: Json, old: Json | Absent = ABSENT) -> list[FieldError]:
    """What is wrong with a defaulted CRD, the generic rules of metadata excepted. `old` is the stored one in an update."""
    conversion = crd.get("spec", {}).get("conversion") or {}
    if conversion.get("strategy") == "Webhook":
        raise Unsupported("conversion webhooks", "spec.conversion.strategy of a CustomResourceDefinition must be None")
    try:
        return [*_name(crd, old), *_spec(crd, old), *_status(crd), *_approval(crd, old), *_preserve(crd, old)]
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        # Only inside items and additionalProperties, which decode themselves, can a member still have the wrong JSON type here.
        raise Unsupported("a schema with members of the wrong type inside items or additionalProperties", str(error)) from error


def _name(crd: Json, old: Json | Absent) -> list[FieldError]:
    if old is not ABSENT:
        return []
    spec = crd["spec"]
    name = crd.get("metadata", {}).get("name", "")
    wanted = f"{spec.get('names', {}).get('plural', '')}.{spec.get('group', '')}"
    if not name or name == wanted:
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def internal_spec(spec: Json) -> dict[str, Any]:
    """The spec in the server's internal form: what all versions share is moved from the versions to the top."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    result = {**spec, "versions": versions}
    if not versions:
        return result
    for name, top in _SHARED.items():
        first = versions[0].get(name)
        if all(same(version.get(name), first) for version in versions):
            result[top] = first
            for version in versions:
                version.pop(name, None)
    return result


def _spec(crd: Json, old: Json | Absent) -> Iterator[FieldError]:
    spec = internal_spec(crd["spec"])
    before = None if old is ABSENT else internal_spec(old["spec"])
    lenient = _lenience(before)
    yield from _group_and_scope(spec)
    if (spec.get("validation") or {}).get("openAPIV3Schema") is None:
        for index, version in enumerate(spec["versions"]):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(spec["versions"]):
        yield from _version(version, spec, f"spec.versions[{index}]", lenient)
    yield from _version_list(spec, given=crd["spec"].get("versions") is not None)
    yield from _names_given(spec.get("names") or {})
    yield from _names(spec.get("names") or {}, "spec.names")
    any_status = _has_status(spec.get("subresources")) or any(_has_status(version.get("subresources")) for version in spec["versions"])
    yield from _schema(spec.get("validation"), "spec.validation", any_status, lenient)
    yield from _subresources(spec.get("subresources"), "spec.subresources")
    for index, column in enumerate(spec.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"spec.additionalPrinterColumns[{index}]")
    yield from _top_selectable(spec, before)
    yield from _conversion(spec.get("conversion"))
    if before is not None:
        yield from _immutable(spec, before, established=_is_established(old))


def _group_and_scope(spec: Json) -> Iterator[FieldError]:
    group = spec.get("group", "")
    if not group:
        yield required("spec.group")
    elif complaints := shapes.dns_subdomain(group):
        yield invalid("spec.group", group, ",".join(complaints))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _lenience(old_spec: Json | None) -> frozenset[str]:
    """The checks that the stored CRD fails already, which an update need not pass."""
    if old_spec is None:
        return frozenset()
    parts = [old_spec.get("validation"), *(version.get("schema") for version in old_spec["versions"])]
    schemas = [part["openAPIV3Schema"] for part in parts if part and part.get("openAPIV3Schema")]
    found: set[str] = set()
    for schema in schemas:
        for node in structural.nodes(schema):
            items = node.get("items")
            if crdschema.is_loose_set(node):
                found.add("sets")
            kind = node.get("x-kubernetes-list-type")
            if isinstance(items, dict) and kind in ("set", "map"):
                keys = node.get("x-kubernetes-list-map-keys") or []
                if any(True for _ in crdschema.list_key_flaws(items, keys, kind, "")):
                    found.add("keys")
    return frozenset(found)


def _version(version: Json, spec: Json, path: str, lenient: frozenset[str]) -> Iterator[FieldError]:
    name = version.get("name", "")
    if complaints := shapes.dns1035_label(name):
        yield invalid(f"{path}.name", name, ",".join(complaints))
    for text in _deprecation(version):
        yield invalid(f"{path}.deprecationWarning", version["deprecationWarning"], text)
    per_version = any(other.get("subresources") is not None for other in spec["versions"])
    status = _has_status(version.get("subresources") if per_version else spec.get("subresources"))
    yield from _schema(version.get("schema"), f"{path}.schema", status, lenient)
    yield from _subresources(version.get("subresources"), f"{path}.subresources")
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{path}.additionalPrinterColumns[{index}]")
    fields = version.get("selectableFields") or ()
    if fields:
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            text = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid(f"{path}.selectableFields", "", text)
        else:
            yield from _selectable(fields, schema, f"{path}.selectableFields")


def _deprecation(version: Json) -> Iterator[str]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode()) > 256:
        yield "must be <= 256 characters long"
    if not warning:
        yield "must not be an empty string"
    position = 0
    for char in warning:
        if not char.isprintable() or (char.isspace() and char != " "):
            yield f"must only contain printable UTF-8 characters; non-printable character found at index {position}"
            break
        position += len(char.encode())


def _version_list(spec: Json, *, given: bool) -> Iterator[FieldError]:
    versions = spec["versions"]
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        yield invalid("spec.versions", internal.versions(versions), "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        shown = internal.versions(versions) if given else None
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and names[0] and (complaints := shapes.dns1035_label(names[0])):
        yield invalid("spec.version", names[0], ",".join(complaints))


def _names_given(names: Json) -> Iterator[FieldError]:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")


def _names(names: Json, path: str) -> Iterator[FieldError]:
    for name in ("plural", "singular"):
        value = names.get(name)
        if value and (complaints := shapes.dns1035_label(value)):
            yield invalid(f"{path}.{name}", value, ",".join(complaints))
    for name in ("kind", "listKind"):
        value = names.get(name)
        if value and (complaints := shapes.dns1035_label(value.lower())):
            text = f"may have mixed case, but should otherwise match: {','.join(complaints)}"
            yield invalid(f"{path}.{name}", value, text)
    yield from _labels(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    yield from _labels(names.get("categories"), f"{path}.categories")


def _labels(values: Json, path: str) -> Iterator[FieldError]:
    for index, value in enumerate(values or ()):
        if complaints := shapes.dns1035_label(value):
            yield invalid(f"{path}[{index}]", value, ",".join(complaints))


def _has_status(subresources: Json) -> bool:
    return subresources is not None and subresources.get("status") is not None


def _schema(validation: Json, path: str, status: bool, lenient: frozenset[str]) -> list[FieldError]:
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    return crdschema.flaws(schema, f"{path}.openAPIV3Schema", status=status, lenient=lenient)


def _subresources(subresources: Json, path: str) -> Iterator[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for name, roots in _SCALE_ROOTS.items():
        value = scale.get(name) or ""
        where = f"{path}.scale.{name}"
        if not value:
            if name != "labelSelectorPath":
                yield required(where)
        elif not value.startswith("."):
            yield invalid(where, value, "must be a simple json path starting with .")
        elif not value.startswith(roots):
            under = roots[0][:-1] if len(roots) == 1 else "either .spec or .status"
            yield invalid(where, value, f"should be a json path under {under}")


def _column(column: Json, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind = column.get("type", "")
    if not kind:
        yield required(f"{path}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    wanted = column.get("format", "")
    if wanted and wanted not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", wanted, f"must be one of {','.join(_COLUMN_FORMATS)}")
    json_path = column.get("jsonPath", "")
    if not json_path:
        yield required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        yield invalid(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")


def _top_selectable(spec: Json, before: Json | None) -> Iterator[FieldError]:
    fields = spec.get("selectableFields") or ()
    if not fields:
        return
    if spec.get("validation") is None:
        yield invalid("spec.selectableFields", "", "may only be set when validations.schema is included")
        return
    known = before is not None and same(before.get("selectableFields"), fields)
    yield from _selectable(fields, spec["validation"].get("openAPIV3Schema") or {}, "spec.selectableFields", allow_many=known)


def _selectable(fields: Json, schema: Json, path: str, *, allow_many: bool = False) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, entry in enumerate(fields):
        where, json_path = f"{path}[{index}].jsonPath", entry.get("jsonPath", "")
        if not json_path:
            yield required(where)
            continue
        try:
            printed, target = fieldpaths.follow(json_path, schema, brackets=False)
        except fieldpaths.PathRefused as refusal:
            yield invalid(where, json_path, f"is an invalid path: {refusal}")
            continue
        if printed.partition(".")[0] == "metadata":
            yield invalid(where, json_path, "must not point to fields in metadata")
        if target.get("type") not in ("string", "boolean", "integer"):
            text = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            yield invalid(where, json_path, text)
        if printed in seen:
            yield FieldError("FieldValueDuplicate", where, json_path)
        seen.add(printed)
    if len(seen) > 8 and not allow_many:
        yield FieldError("FieldValueTooMany", path, len(seen), "must have at most 8 items")


def _conversion(conversion: Json) -> Iterator[FieldError]:
    if conversion is None:
        return
    strategy = conversion.get("strategy", "")
    if not strategy:
        yield required("spec.conversion.strategy")
    elif strategy != "None":
        yield not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook")
    if webhook is not None:
        why = "should not be set when strategy is not set to Webhook"
        if webhook.get("clientConfig") is not None:
            yield forbidden("spec.conversion.webhookClientConfig", why)
        if webhook.get("conversionReviewVersions"):
            yield forbidden("spec.conversion.conversionReviewVersions", why)


def _is_established(crd: Json) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Established" and condition.get("status") == "True" for condition in conditions)


def _immutable(spec: Json, before: Json, *, established: bool) -> Iterator[FieldError]:
    def changed(*path: str) -> Iterator[FieldError]:
        new, old = spec, before
        for step in path:
            new, old = (new or {}).get(step), (old or {}).get(step)
        if (new or "") != (old or ""):
            yield invalid(f"spec.{'.'.join(path)}", new or "", "field is immutable")

    if established:
        yield from changed("scope")
        yield from changed("names", "kind")
    yield from changed("group")
    yield from changed("names", "plural")


def _status(crd: Json) -> Iterator[FieldError]:
    status = crd.get("status") or {}
    yield from _names(status.get("acceptedNames") or {}, "status.acceptedNames")
    stored = status.get("storedVersions") or []
    path = "status.storedVersions"
    if not stored:
        yield invalid(path, status.get("storedVersions"), "must have at least one stored version")
        return
    missing = {name: index for index, name in enumerate(stored)}
    for version in crd["spec"].get("versions") or ():
        known = missing.pop(version.get("name", ""), None)  # a name that stands twice is found once
        if version.get("storage") and known is None:
            yield invalid(path, stored, f"must have the storage version {version.get('name', '')}")
    for name, index in missing.items():
        text = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage "
            f"migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        )
        yield invalid(f"{path}[{index}]", name, text)


def _approval(crd: Json, old: Json | Absent) -> Iterator[FieldError]:
    group = crd["spec"].get("group", "")
    if not any(group == root or group.endswith(f".{root}") for root in ("k8s.io", "kubernetes.io")):
        return
    given = _approval_state(crd)
    if old is not ABSENT and _approval_state(old) == given:
        return
    where = f"metadata.annotations[{_APPROVAL}]"
    head, see = f'protected groups must have approval annotation "{_APPROVAL}"', "see https://github.com/kubernetes/enhancements/pull/1111"
    if given == "missing":
        yield required(where, f"{head}, {see}")
    elif given == "invalid":
        text = f'{head} with either a URL or a reason starting with "unapproved", {see}'
        yield invalid(where, crd["metadata"]["annotations"][_APPROVAL], text)


def _approval_state(crd: Json) -> str:
    said = ((crd.get("metadata") or {}).get("annotations") or {}).get(_APPROVAL, "")
    if not said:
        return "missing"
    if said.startswith("unapproved"):
        return "bypassed"
    scheme, _, rest = said.partition("://")
    return "approved" if uris.is_request_uri(said) and scheme.isalnum() and rest.partition("/")[0] else "invalid"


def _preserve(crd: Json, old: Json | Absent) -> Iterator[FieldError]:
    if old is not ABSENT and old["spec"].get("preserveUnknownFields"):
        return
    if crd["spec"].get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)


