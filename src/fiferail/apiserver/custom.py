"""Custom resources: the kind that a CustomResourceDefinition describes, and the rules its objects obey.

`crds.py` builds one when a CRD is accepted. Mirrors the custom resource handler of apiextensions: every object that comes in or
out of the store is pruned and defaulted under the schema of its version, conversion changes apiVersion alone, and writes are
judged as the custom resource strategies judge them. What a write shares with the stored object is never walked twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..objects import fielderrors, gotext
from ..objects.fieldset import FieldSet
from ..objects.schema import coerce, listtypes
from ..objects.schema.default import default
from ..objects.schema.model import Schema
from ..objects.schema.parse import parse_schema
from ..objects.schema.validate import validate
from ..objects.tree import ABSENT, Absent, same
from . import metadata
from .kinds import DecodingRefused, Kind, Rules, ScalePaths, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.fielderrors import FieldError
    from ..objects.tree import Json

_NOTHING = Schema(type="object")
#: What may be known of a version only through another: unserved versions keep their schema for conversion.
_MAX_INT32 = 2**31 - 1
_STATUS_ONLY = FieldSet.of(("status",))
_ALL_BUT_STATUS = FieldSet.of(("metadata",), ("spec",))


def kind_of(crd: Json) -> Kind:
    """The served kind of a CRD whose names were accepted."""
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    schemas = {version["name"]: _schema(version) for version in spec["versions"]}
    served = {version["name"]: _version(version, schemas[version["name"]], spec) for version in _in_order(spec["versions"])}
    storage = next(version["name"] for version in spec["versions"] if version["storage"])
    group, kind = spec["group"], names["kind"]
    return Kind(
        group=group,
        kind=kind,
        plural=names["plural"],
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec["scope"] == "Namespaced",
        versions={name: version for name, version in served.items() if version.served},
        storage_version=storage,
        custom=True,
        rules=CustomRules(group, kind, schemas, served),
    )


def _in_order(versions: list[Json]) -> list[Json]:
    """Newest first, as discovery lists them: GA before beta before alpha, higher numbers first."""
    from .versions import priority

    return sorted(versions, key=lambda version: priority(version["name"]), reverse=True)


def _schema(version: Json) -> Schema:
    source = (version.get("schema") or {}).get("openAPIV3Schema")
    return parse_schema(source) if source else Schema(type="object", preserve_unknown=True)


def _version(version: Json, schema: Schema, spec: Json) -> Version:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    warning = version.get("deprecationWarning") or ""
    return Version(
        name=version["name"],
        schema=schema,
        status="status" in subresources,
        scale=ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "") if scale else None,
        printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
        selectable_fields=tuple(field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()),
        deprecated=bool(version.get("deprecated")),
        deprecation_warning=warning or f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated",
        served=version["served"],
    )


class CustomRules(Rules):
    """The custom resource strategies, main and status."""

    def __init__(self, group: str, kind: str, schemas: dict[str, Schema], versions: dict[str, Version]) -> None:
        self._group = group
        self._kind = kind
        self._schemas = schemas
        self._versions = versions
        self.ignored_fields = {"status": _ALL_BUT_STATUS}
        if any(version.status for version in versions.values()):
            self.ignored_fields[""] = _STATUS_ONLY

    def decode(self, obj: Json, version: Version, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
        """Prunes under the schema of the version that the object names, which need not be the one asked for."""
        schema = version.schema if obj.get("apiVersion") == f"{self._group}/{version.name}" else self._schema_of(obj)
        if schema is None or obj["kind"] != self._kind:
            # Not ours at all: the validation of kind and apiVersion will say so, nothing is pruned before.
            schema = Schema(type="object", preserve_unknown=True)
            clean = ABSENT
        elif schema is not version.schema:
            clean = ABSENT
        try:
            return coerce.decode(obj, schema, clean=clean)
        except coerce.DecodeRefused as error:
            raise DecodingRefused(str(error)) from None

    def default(self, obj: Json) -> Json:
        """Fills in defaults; nulls that may not stand were dropped when the object was decoded."""
        return self.redefault(obj, ABSENT)

    def redefault(self, obj: Json, clean: Json) -> Json:
        """The same, without walking what is shared with an object that has its defaults."""
        schema = self._schema_of(obj)
        if schema is None:
            return obj
        return default(obj, schema, clean=clean)

    def _schema_of(self, obj: Json) -> Schema | None:
        group, _, version = (obj.get("apiVersion") or "").rpartition("/")
        if group != self._group:
            return None
        return self._schemas.get(version, _NOTHING)

    def convert(self, obj: Json, version: str) -> Json:
        """Conversion strategy None, and then the schema of the target."""
        moved = {**obj, "apiVersion": f"{self._group}/{version}"}
        return coerce.decode(moved, self._schemas.get(version, _NOTHING))[0]

    def read(self, obj: Json, version: Version) -> Json:
        """What is stored, with the defaults of the version it was stored in, as far as the version asked for knows the fields."""
        schema = self._schema_of(obj)
        if schema is not None:
            obj = self.default(coerce.decode(obj, schema)[0])
        return self.convert(obj, version.name)

    def prepare_create(self, obj: Json) -> Json:
        """A create cannot set status, where status is a subresource."""
        if "status" in obj and self._version_of(obj).status:
            obj = {name: value for name, value in obj.items() if name != "status"}
        return metadata.with_metadata(obj, generation=1)

    def prepare_update(self, new: Json, old: Json, subresource: str) -> Json:
        """Status through /status and nothing else; the rest through the main resource, with the generation."""
        if subresource == "status":
            meta = metadata.of(old)
            kept = {**old, "metadata": _with_managed(meta, metadata.of(new))}
            if "status" in new:
                kept["status"] = new["status"]
            else:
                kept.pop("status", None)
            return kept
        if self._version_of(old).status:
            if "status" in old:
                new = {**new, "status": old["status"]} if new.get("status", ABSENT) is not old["status"] else new
            elif "status" in new:
                new = {name: value for name, value in new.items() if name != "status"}
        if not _same_but_metadata(new, old):
            return metadata.with_metadata(new, generation=metadata.of(old).get("generation", 0) + 1)
        return new

    def _version_of(self, obj: Json) -> Version:
        return self._versions[obj["apiVersion"].rpartition("/")[2]]

    def validate_create(self, obj: Json, beside: Sequence[FieldError] = ()) -> list[FieldError]:
        """Schema, scale, embedded resources, lists, and then rules, which also errors `beside` them, of the metadata, keep from running."""
        version = self._version_of(obj)
        schema = version.schema
        errors = validate(obj, schema) + _scale_errors(obj, version.scale, spec=True)
        errors += coerce.embedded_flaws(obj, schema) + listtypes.duplicates(obj, schema)
        return errors + _rule_errors(obj, ABSENT, schema, [*beside, *errors])

    def validate_update(self, new: Json, old: Json, subresource: str) -> list[FieldError]:
        """The same of a change; what did not change is forgiven as the server forgives it."""
        version = self._version_of(new)
        schema = version.schema
        if subresource == "status":
            errors: list[FieldError] = []
            if "status" in new:
                status = schema.properties.get("status", _UNKNOWN)
                # No status before counts as null: an apply of null to such an object is no change, and forgiven.
                errors = validate(new["status"], status, old.get("status"), at="status")
            errors += _scale_errors(new, version.scale, spec=False)
        else:
            errors = validate(new, schema, old) + _scale_errors(new, version.scale, spec=True)
            errors += coerce.embedded_flaws(new, schema)
        errors += listtypes.duplicates_introduced(new, old, schema)
        return errors + _rule_errors(new, old, schema, errors)

    def flaws_beside_type(
        self, new: Json, old: Json | Absent, version: Version, subresource: str, wrong: list[FieldError]
    ) -> list[FieldError]:
        """What is still told of an object whose kind or apiVersion is wrong: the schema is not looked at, the rest is."""
        schema, errors = version.schema, list(wrong)
        if subresource != "status":
            errors += coerce.embedded_flaws(new, schema)
        errors += listtypes.duplicates(new, schema) if old is ABSENT else listtypes.duplicates_introduced(new, old, schema)
        return [*errors[len(wrong) :], *_rule_errors(new, old, schema, errors)]

    def warnings(self, new: Json, old: Json | None, subresource: str) -> list[str]:
        """Finalizers that ask for trouble."""
        if old is not None and metadata.of(new).get("finalizers") is metadata.of(old).get("finalizers"):
            return []
        return metadata.finalizer_warnings(new, old)


_UNKNOWN = Schema(preserve_unknown=True)


def _with_managed(meta: Json, new: Json) -> Json:
    managed = new.get("managedFields")
    if managed is meta.get("managedFields"):
        return meta
    if managed:
        return {**meta, "managedFields": managed}
    return {name: value for name, value in meta.items() if name != "managedFields"}


def _same_but_metadata(new: Json, old: Json) -> bool:
    if len(new) != len(old):
        return False
    return all(name == "metadata" or (name in old and same(value, old[name])) for name, value in new.items())


def _rule_errors(new: Json, old: Json | Absent, schema: Schema, found: list[FieldError]) -> list[FieldError]:
    """CEL, which runs only over objects whose shape it can trust."""
    if schema.cel is False:
        return []  # found before to have none
    from ..objects.schema import cel

    return cel.rule_errors(new, old, schema, found)


def _scale_errors(obj: Json, scale: ScalePaths | None, *, spec: bool) -> list[FieldError]:
    """What is wrong with the numbers that the scale subresource reads."""
    if scale is None:
        return []
    errors = _replica_errors(obj, scale.spec_replicas) if spec else []
    errors += _replica_errors(obj, scale.status_replicas)
    if scale.label_selector:
        selector, problem = _nested(obj, scale.label_selector)
        if not problem and selector is not ABSENT and not isinstance(selector, str):
            problem = f"{scale.label_selector} accessor error: {_accessor(selector, 'string')}"
        if problem:
            errors.append(fielderrors.invalid(scale.label_selector, "", problem))
    return errors


def _nested(obj: Json, path: str) -> tuple[Json | Absent, str]:
    """The value at a dotted path, or why there can be none."""
    at = ""
    for step in path.removeprefix(".").split("."):
        at += f".{step}"
        if obj is None:
            return ABSENT, ""
        if not isinstance(obj, dict):
            return ABSENT, f"{at} accessor error: {_accessor(obj, 'map[string]interface{}')}"
        if step not in obj:
            return ABSENT, ""
        obj = obj[step]
    return obj, ""


def _replica_errors(obj: Json, path: str) -> list[FieldError]:
    value, problem = _nested(obj, path)
    if problem:
        return [fielderrors.invalid(path, 0, problem)]
    if value is ABSENT:
        return []
    if type(value) is not int:
        return [fielderrors.invalid(path, 0, f"{path} accessor error: {_accessor(value, 'int64')}")]
    if value < 0:
        return [fielderrors.invalid(path, value, "should be a non-negative integer")]
    if value > _MAX_INT32:
        return [fielderrors.invalid(path, value, f"should be less than or equal to {_MAX_INT32}")]
    return []


def _accessor(value: Json, expected: str) -> str:
    return f"{gotext.plain(value)} is of the type {gotext.type_name(value)}, expected {expected}"
