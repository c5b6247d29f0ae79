"""Checks of roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, Literal, invalid, not_supported, required
from ....objects.gojson import encode
from ....objects.tree import same
from ... import names
from .shapes import label_selector, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_GROUP = "rbac.authorization.k8s.io"


def role(obj: Json) -> list[FieldError]:
    return _rules(obj, namespaced=True)


def role_update(new: Json, old: Json) -> list[FieldError]:
    return role(new)


def cluster_role(obj: Json) -> list[FieldError]:
    found = _rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return found
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [*found, required("aggregationRule.clusterRoleSelectors", detail)]
    for index, selector in enumerate(selectors):
        where = f"aggregationRule.clusterRoleSelectors[{index}]"
        wrong = label_selector(selector, where)
        found += [*wrong, invalid(where, None, "invalid label selector.")] if wrong else []
    return found


def cluster_role_update(new: Json, old: Json) -> list[FieldError]:
    return cluster_role(new)


def _rules(obj: Json, *, namespaced: bool) -> list[FieldError]:
    return [error for index, rule in enumerate(obj.get("rules") or ()) for error in _rule(rule, f"rules[{index}]", namespaced)]


def _rule(rule: Json, at: str, namespaced: bool) -> list[FieldError]:
    found = [] if rule.get("verbs") else [required(f"{at}.verbs", "verbs must contain at least one value")]
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            found.append(invalid(f"{at}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            found.append(invalid(f"{at}.nonResourceURLs", urls, "rules cannot apply to both regular resources and non-resource URLs"))
        return found
    if not rule.get("apiGroups"):
        found.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        found.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return found


def role_binding(obj: Json) -> list[FieldError]:
    return _binding(obj, ("Role", "ClusterRole"), namespaced=True)


def cluster_role_binding(obj: Json) -> list[FieldError]:
    return _binding(obj, ("ClusterRole",), namespaced=False)


def _binding(obj: Json, kinds: tuple[str, ...], *, namespaced: bool) -> list[FieldError]:
    reference = obj["roleRef"]
    found = []
    if reference.get("apiGroup") != _GROUP:
        found.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (_GROUP,)))
    if reference.get("kind") not in kinds:
        found.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    name = reference.get("name", "")
    found += texts("roleRef.name", name, names.path_segment(name)) if name else [required("roleRef.name")]
    for index, subject in enumerate(obj.get("subjects") or ()):
        found += _subject(subject, f"subjects[{index}]", namespaced)
    return found


def _subject(subject: Json, at: str, namespaced: bool) -> list[FieldError]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    found = [] if name else [required(f"{at}.name")]
    if kind == "ServiceAccount":
        if name:
            found += texts(f"{at}.name", name, names.dns_subdomain(name))
        if group:
            found.append(not_supported(f"{at}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            found.append(required(f"{at}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            found.append(not_supported(f"{at}.apiGroup", group, (_GROUP,)))
    else:
        found.append(not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return found


def _fixed_reference(new: Json, old: Json) -> list[FieldError]:
    if same(new["roleRef"], old["roleRef"]):
        return []
    members = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
    shown = ",".join(f'"{go}":{encode(new["roleRef"].get(name, "")).decode()}' for go, name in members)
    return [invalid("roleRef", Literal("{" + shown + "}"), "cannot change roleRef")]


def role_binding_update(new: Json, old: Json) -> list[FieldError]:
    return role_binding(new) + _fixed_reference(new, old)


def cluster_role_binding_update(new: Json, old: Json) -> list[FieldError]:
    return cluster_role_binding(new) + _fixed_reference(new, old)
