"""What a served kind is: names, scope, versions, and the rules that its objects obey.

One record serves built-in kinds (`apiserver.builtin.kinds()`) and CustomResourceDefinitions (`crds.py`). The verbs ask a kind
and its `Rules` for everything that differs between kinds, and never test for a kind by its name. A record is never changed
after it was built: an updated CRD gives a new one. Nothing here stores objects or knows about requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.tree import ABSENT, Absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..objects.fielderrors import FieldError
    from ..objects.fieldset import FieldSet
    from ..objects.schema.model import Schema
    from ..objects.tree import Json

#: What the server does with a kind, in the order in which discovery prints it.
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class ScalePaths(msgspec.Struct, frozen=True):
    """Where the numbers of the scale subresource stand, as in a CRD: dotted, with a leading dot. `label_selector` may be empty."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


class Version(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One version of a kind. `schema` describes the whole object, `metadata` left to the server for custom kinds."""

    name: str
    schema: Schema
    status: bool = False
    scale: ScalePaths | None = None
    printer_columns: tuple[Json, ...] = ()
    #: Field selectors beyond metadata.name and metadata.namespace: label (as in `fieldSelector=`) without a leading dot.
    selectable_fields: tuple[str, ...] = ()
    deprecated: bool = False
    deprecation_warning: str = ""
    served: bool = True
    #: The schema that server-side apply and managedFields see: the same with ObjectMeta in it. None: `schema` already has it.
    typed_schema: Schema | None = None

    @property
    def apply_schema(self) -> Schema:
        """What ownership of fields is tracked with."""
        return self.typed_schema or self.schema


class DecodingRefused(Exception):
    """The body is JSON, but not of this type: a 400 whose message ends with this text."""


class Rules:
    """What differs between kinds when objects are written. This base does nothing special; a kind overrides what it needs.

    Objects carry apiVersion and kind of the version that was asked for. `subresource` is "" for the main resource. No method
    changes its arguments; `prepare_*` return the object to store and share what they do not change.
    """

    #: Per subresource ("" = main): fields that a write through it resets, so that it can own none of them.
    ignored_fields: Mapping[str, FieldSet] = {}

    def decode(self, obj: Json, version: Version, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
        """The body as the server's type holds it, and the unknown fields it had, spelled as in strict decoding errors.

        What is shared with `clean`, an object that was decoded before under the same version, need not be walked again.
        May raise DecodingRefused with the text of the decoder, such as `json: cannot unmarshal string into Go struct field ...`.
        """
        from ..objects.schema.prune import prune

        return prune(obj, version.schema, clean=clean)

    def misfit(self, obj: Json) -> str:
        """Why a tree that `decode` refused does not fit, where the server holds it as a tree and not as JSON text; "" if it would."""
        return ""

    def read(self, obj: Json, version: Version) -> Json:
        """A stored object as a reader of the version sees it. Stored objects are in the storage version, or were when written."""
        return self.default(self.convert(obj, version.name))

    def default(self, obj: Json) -> Json:
        """The object with the kind's defaults."""
        return obj

    def redefault(self, obj: Json, clean: Json) -> Json:
        """`default` for an object of which what is shared with `clean` has its defaults already."""
        return self.default(obj)

    def prepare_create(self, obj: Json) -> Json:
        """Clears what a create may not set (status) and sets what it must (generation 1)."""
        return obj

    def prepare_update(self, new: Json, old: Json, subresource: str) -> Json:
        """Keeps what this subresource may not change, and raises the generation where the kind has one."""
        return new

    def validate_create(self, obj: Json, beside: Sequence[FieldError] = ()) -> list[FieldError]:
        """What is wrong with a new object, metadata excepted: what is wrong with that is `beside`."""
        return []

    def validate_update(self, new: Json, old: Json, subresource: str) -> list[FieldError]:
        """What is wrong with the change, metadata excepted."""
        return []

    def allocate(self, obj: Json, old: Json | None, others: Callable[..., Iterable[Json]]) -> Json:
        """Sets what depends on other objects: a Service's cluster IP and node ports, the priority of a Pod's class.

        `others()` are all stored objects of the kind, `others(group, plural)` those of another.
        Called on the main resource before prepare_*, on create (`old` is None) and on update. May raise the refusal of what is taken.
        """
        return obj

    def warnings(self, new: Json, old: Json | None, subresource: str) -> list[str]:
        """Texts for Warning headers."""
        return []

    def convert(self, obj: Json, version: str) -> Json:
        """The object in another version of its kind. The plain rule is that of conversion strategy None: apiVersion changes."""
        group = obj["apiVersion"].rpartition("/")[0]
        return {**obj, "apiVersion": f"{group}/{version}" if group else version}

    def grace(self, obj: Json, asked: int | None) -> int:
        """Seconds that a delete leaves the object to its owner: 0 removes it at once (only pods say otherwise)."""
        return 0

    def selectable(self, obj: Json) -> Mapping[str, str]:
        """Values of field selectors that are not plain paths (`status.phase` of a pod is one; names and namespaces are built in)."""
        return {}


class Kind(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One served resource with all its versions."""

    group: str
    kind: str
    plural: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    #: The served ones, in discovery order.
    versions: dict[str, Version]
    storage_version: str
    verbs: tuple[str, ...] = ALL_VERBS
    #: From a CRD: strategic merge is refused, pruning and CRD validation apply.
    custom: bool = False
    rules: Rules = msgspec.field(default_factory=Rules)

    #: PUT of an absent object creates it (built-in kinds such as leases and events; never a custom kind).
    create_on_update: bool = False
    #: PUT without resourceVersion is accepted (most built-in kinds; never a custom kind).
    unconditional_update: bool = False
    #: Deleting without a propagation policy leaves dependents (jobs and replication controllers).
    orphan_by_default: bool = False
    #: The answer to DELETE is the deleted object instead of a Status.
    delete_returns_object: bool = False
    #: Which check metadata.name must pass.
    name_check: Callable[[str], Iterable[str]] | None = None
    #: Subresources beyond status and scale that discovery lists, and that the machine refuses as unsupported.
    other_subresources: tuple[str, ...] = ()
    #: Under which (group, plural) objects are kept, when another kind is a view of the same objects (events.k8s.io).
    kept_as: tuple[str, str] | None = None
    #: Creating one would promise what the embedded server does not do (admission webhooks): refused, with this as the feature's name.
    refused: str = ""

    @property
    def resource(self) -> str:
        """`plural.group`, or the bare plural in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def key(self) -> tuple[str, str]:
        """Where the store keeps the objects."""
        return self.kept_as or (self.group, self.plural)

    @property
    def has_status(self) -> bool:
        """Whether any version serves /status."""
        return any(version.status for version in self.versions.values())

    def api_version(self, version: str) -> str:
        """`group/version`, or the bare version in the core group."""
        return f"{self.group}/{version}" if self.group else version


class User(msgspec.Struct, frozen=True):
    """Who asks. The embedded server authorizes everybody; reviews and recordings show the name."""

    name: str = "admin"
    uid: str = "admin-uid"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    extra: dict[str, list[str]] = {}
