"""The rules of one built-in kind, put together from the tables: decoding, defaults, strategy, validation, conversion.

`kinds` makes one per kind; the verbs of the machine call it and know nothing of what is behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects.fieldset import FieldSet
from ...objects.tree import ABSENT, Absent, Json, same
from ..kinds import Rules, Version
from . import admission, allocation, conversions, converter, defaults, gotypes, selectable, strategies, validation, warned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...objects.fielderrors import FieldError


class BuiltinRules(Rules):
    """Rules of one built-in kind, served in one version."""

    def __init__(self, group: str, version: str, kind: str, has_status: bool) -> None:
        self.group, self.version, self.kind, self.has_status = group, version, kind, has_status
        self.strategy = strategies.STRATEGIES.get((group, kind)) or strategies.Strategy()
        self._type: gotypes.StructType | None = None
        if has_status:
            kept = [("spec",), *self.strategy.status_keeps]
            if kind == "Pod":
                kept += [("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")]
            self.ignored_fields = {"": FieldSet.of(("status",)), "status": FieldSet.of(*kept), "finalize": FieldSet.of(("status",))}

    @property
    def type(self) -> gotypes.StructType:
        """The Go type of the kind, built when first needed."""
        if self._type is None:
            self._type = gotypes.of_kind(self.group, self.version, self.kind)
        return self._type

    def decode(self, obj: Json, version: Version, clean: Json | Absent = ABSENT) -> tuple[Json, list[str]]:
        """The body after the round trip through the Go type."""
        if obj is clean:
            return obj, []
        return gotypes.decode(obj, self.type, known=self._known(clean))

    def misfit(self, obj: Json) -> str:
        """What the converter says of a tree that `decode` refused."""
        return converter.flaw(obj, self.type)

    @staticmethod
    def _known(clean: Json | Absent) -> frozenset[int]:
        return gotypes.identities(clean) if isinstance(clean, dict) else frozenset()

    def read(self, obj: Json, version: Version) -> Json:
        """Stored objects are complete; only the other view of events is made on reading."""
        return self.convert(obj, version.name)

    def default(self, obj: Json) -> Json:
        """The kind's defaults, and what the internal version does to the object."""
        return defaults.apply(obj, self.type)

    def redefault(self, obj: Json, clean: Json) -> Json:
        """The same, less what is shared with a complete object."""
        return obj if obj is clean else defaults.apply(obj, self.type, self._known(clean))

    def prepare_create(self, obj: Json) -> Json:
        """The object as a create stores it."""
        return self._settled(strategies.prepare_create(obj, self.strategy, self.has_status))

    def prepare_update(self, new: Json, old: Json, subresource: str) -> Json:
        """The object as an update stores it."""
        new = self._settled(new, old)  # what is not stored moves no generation
        if subresource == "status":
            made = strategies.prepare_status_update(new, old, self.strategy)
        elif subresource == "finalize":
            made = strategies.with_member({**old, "spec": new["spec"]}, "metadata", new["metadata"])
        else:
            made = strategies.prepare_update(new, old, self.strategy, self.has_status)
            if self.kind == "Service" and not self.group:
                made = allocation.prepare_update(made, old)
        settled = self._settled(made, old)
        return old if same(settled, old) else settled

    def _settled(self, obj: Json, old: Json | Absent = ABSENT) -> Json:
        """What was removed shows as the type's zero value, and what storage would default is there."""
        known = self._known(old)
        return defaults.apply(gotypes.decode(obj, self.type, stored=True, known=known)[0], self.type, known)

    def validate_create(self, obj: Json, beside: Sequence[FieldError] = ()) -> list[FieldError]:
        """What is wrong with a new object."""
        check = validation.table()[0].get((self.group, self.kind))
        found = check(obj) if check else []
        if self.kind == "Pod" and not self.group and not found:
            admission.check_overhead(obj)
        return found

    def validate_update(self, new: Json, old: Json, subresource: str) -> list[FieldError]:
        """What is wrong with a change."""
        if new is old or subresource not in ("", "status"):
            return []
        _, main, status = validation.table()
        check = (status if subresource == "status" else main).get((self.group, self.kind))
        return check(new, old) if check else []

    def allocate(self, obj: Json, old: Json | None, others: Callable[..., Iterable[Json]]) -> Json:
        """Cluster IPs and node ports of services; what admission takes from priority and runtime classes into new pods."""
        if self.group or self.kind not in ("Service", "Pod"):
            return obj
        if self.kind == "Service":
            return allocation.allocate(obj, old, others)
        return admission.admit(obj, others) if old is None else obj

    def warnings(self, new: Json, old: Json | None, subresource: str) -> list[str]:
        """Texts for Warning headers."""
        return [] if subresource else warned.warnings(self.group, self.kind, new, old)

    def convert(self, obj: Json, version: str) -> Json:
        """Events have two views; every other built-in kind is served in one version."""
        if self.kind == "Event":
            if self.group and obj["apiVersion"] == "v1":
                return conversions.event_to_events(obj)
            if not self.group and obj["apiVersion"] != "v1":
                return conversions.event_to_core(obj)
        return obj

    def grace(self, obj: Json, asked: int | None) -> int:
        """A pod that a node may run gets its grace period; any other object goes at once."""
        if self.kind != "Pod" or self.group:
            return 0
        if asked is None:
            period = obj["spec"].get("terminationGracePeriodSeconds")
            asked = 30 if period is None else period
        if not obj["spec"].get("nodeName") or obj["status"].get("phase") in ("Failed", "Succeeded"):
            return 0
        return max(1, asked) if asked < 0 else asked

    def selectable(self, obj: Json) -> Mapping[str, str]:
        """Values of the kind's field selectors."""
        return selectable.values(self.group, self.kind, obj)
