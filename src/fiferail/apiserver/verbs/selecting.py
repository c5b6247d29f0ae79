"""Which objects of a table a list, watch or deletecollection means: scope and selectors, shared by the three."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import gotext
from .. import selectors, statuses
from ..selectors import Selector, SelectorError

if TYPE_CHECKING:
    from ...objects.tree import Json
    from ..call import Call
    from ..options import Options
    from ..store import Entry


class Selection:
    """Scope and selectors of one request. `everything`: no selector, only the scope."""

    __slots__ = ("_call", "_extra", "everything", "fields", "labels", "prefix")

    def __init__(self, call: Call, options: Options) -> None:
        try:
            self.labels: Selector = selectors.labels(options.label_selector)
            self.fields: Selector = selectors.fields(options.field_selector)
        except SelectorError as error:
            raise statuses.bad_request(str(error)) from None
        self._call = call
        self._extra = tuple(term.key for term in self.fields.terms if term.key not in ("metadata.name", "metadata.namespace"))
        for name in self._extra:
            if name not in call.version.selectable_fields:
                raise statuses.bad_request(_unsupported(call, name))
        if not call.kind.namespaced and any(term.key == "metadata.namespace" for term in self.fields.terms) and call.kind.custom:
            raise statuses.bad_request("field label not supported: metadata.namespace")
        if call.route.name:
            self._only_named(call.route.name)
        namespace = call.route.namespace or (self.fields.exact("metadata.namespace") or "" if call.kind.namespaced else "")
        self.prefix = f"{namespace}/" if namespace else ""
        self.everything = not self.labels and not self.fields

    def _only_named(self, name: str) -> None:
        """A watch of one object by its path is a field selector on its name."""
        if self.fields and self.fields.exact("metadata.name") != name:
            raise statuses.bad_request("fieldSelector metadata.name doesn't match requested name")
        if not self.fields:
            self.fields = selectors.fields(f"metadata.name={name}")

    def matches(self, entry: Entry) -> bool:
        """Whether the selectors take the object."""
        if self.everything:
            return True
        meta = entry.obj["metadata"]
        if self.labels and not self.labels.matches(meta.get("labels") or {}):
            return False
        return not self.fields or selectors.matches_fields(self.fields, self._values(entry))

    def _values(self, entry: Entry) -> dict[str, str]:
        meta = entry.obj["metadata"]
        values = {"metadata.name": meta["name"], "metadata.namespace": meta.get("namespace", "")}
        if self._extra:
            obj = self._call.view(entry)
            special = self._call.kind.rules.selectable(obj)
            for name in self._extra:
                values[name] = special[name] if name in special else _text(obj, name)
        return values

    @property
    def single(self) -> str | None:
        """The one name that can match, if the selectors say so."""
        return self.fields.exact("metadata.name")


def _unsupported(call: Call, name: str) -> str:
    if call.kind.custom or call.version.selectable_fields:
        return f"field label not supported: {name}"
    return f'{gotext.quoted(name)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def _text(obj: Json, path: str) -> str:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return obj if isinstance(obj, str) else gotext.number(obj)
