"""The served built-in kinds, made from the server's discovery and the tables of this package.

Nothing heavy happens here: a kind's Go type and schema are built when a request needs them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ...objects.schema.model import Schema
from .. import names
from ..kinds import Kind, ScalePaths, Version
from . import schemas, selectable
from .gotypes import load
from .rules import BuiltinRules
from .strategies import STRATEGIES, Strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Listed by discovery and served by other modules: reviews, bindings, and the kind that makes kinds.
_ELSEWHERE = {
    "bindings", "componentstatuses", "customresourcedefinitions", "tokenreviews", "selfsubjectreviews", "subjectaccessreviews",
    "selfsubjectaccessreviews", "selfsubjectrulesreviews", "localsubjectaccessreviews",
}  # fmt: skip
#: Their objects would have to act on other requests.
_REFUSED_GROUPS = {"admissionregistration.k8s.io": "admission webhooks and policies"}
#: Served in the newest version only.
_UNSERVED = {("autoscaling/v1", "horizontalpodautoscalers")}
_DEPRECATED = {"Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
_NAME_CHECKS: dict[str, Callable[[str], Iterable[str]]] = {
    "Namespace": names.dns_label,
    "Service": names.dns_label,
    "Role": names.path_segment,
    "RoleBinding": names.path_segment,
    "ClusterRole": names.path_segment,
    "ClusterRoleBinding": names.path_segment,
}


class LazyVersion(Version, frozen=True, eq=False, kw_only=True):
    """A version whose schema is built when it is first asked for."""

    definition: str

    @property  # type: ignore[misc]
    def schema(self) -> Schema:
        """The schema of the whole object, ObjectMeta included."""
        return schemas.schema(self.definition)


@cache
def _entries() -> tuple[Any, ...]:
    return tuple(load("resources.json")["resources"])


def discovery() -> tuple[Any, ...]:
    """Every resource as the real server lists it, subresources folded in: for discovery documents."""
    return _entries()


@cache
def kinds() -> tuple[Kind, ...]:
    """All built-in kinds, in discovery order. Records are never changed, so every server of the process has the same ones."""
    return tuple(
        _kind(entry) for entry in _entries() if entry["name"] not in _ELSEWHERE and (entry["groupVersion"], entry["name"]) not in _UNSERVED
    )


def _kind(entry: Any) -> Kind:
    group, _, version = entry["groupVersion"].rpartition("/")
    name = entry["kind"]
    subresources = entry.get("subresources", {})
    has_status = "status" in subresources
    strategy = STRATEGIES.get((group, name)) or Strategy()
    served = LazyVersion(
        name=version,
        schema=Schema(),
        definition=schemas.name_of(group, version, name),
        status=has_status,
        scale=ScalePaths(label_selector=".spec.selector") if "scale" in subresources else None,
        selectable_fields=selectable.names(group, name),
        deprecated=name in _DEPRECATED,
        deprecation_warning=_DEPRECATED.get(name, ""),
    )
    return Kind(
        group=group,
        kind=name,
        plural=entry["name"],
        singular=entry.get("singularName", ""),
        list_kind=f"{name}List",
        short_names=tuple(entry.get("shortNames", ())),
        categories=tuple(entry.get("categories", ())),
        namespaced=entry["namespaced"],
        versions={version: served},
        storage_version=version,
        verbs=tuple(entry["verbs"]),
        rules=BuiltinRules(group, version, name, has_status),
        create_on_update=strategy.create_on_update,
        unconditional_update=strategy.unconditional_update,
        orphan_by_default=strategy.orphan_by_default,
        delete_returns_object=strategy.delete_returns_object,
        name_check=_NAME_CHECKS.get(name, names.dns_subdomain),
        other_subresources=tuple(sub for sub in subresources if sub not in ("status", "scale")),
        kept_as=("", "events") if group == "events.k8s.io" else None,
        refused=_REFUSED_GROUPS.get(group, ""),
    )
