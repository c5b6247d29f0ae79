"""What the trip through the server's internal version changes, beyond defaults.

Every body is converted to the internal types and back before it is stored. Most conversions only copy; those that do more are here,
one function per Go type, called by the walk of `defaults` after the members of the value have their defaults.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...objects.tree import Json

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_INIT_CONTAINER_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/init-container{suffix}" for stage in ("beta", "alpha") for suffix in ("s", "-statuses")
)


def _pod_spec(spec: Json) -> Json:
    """serviceAccount is an old name of serviceAccountName; the new one wins, and both are shown."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if not name or (spec.get("serviceAccountName") == name and spec.get("serviceAccount") == name):
        return spec
    return {**spec, "serviceAccountName": name, "serviceAccount": name}


def _without_init_annotations(obj: Json) -> Json:
    metadata = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not any(name in annotations for name in _INIT_CONTAINER_ANNOTATIONS):
        return obj
    kept = {name: value for name, value in annotations.items() if name not in _INIT_CONTAINER_ANNOTATIONS}
    metadata = {**metadata, "annotations": kept}
    return {**obj, "metadata": metadata if kept else {name: value for name, value in metadata.items() if name != "annotations"}}


def _pod(pod: Json) -> Json:
    grace = pod["spec"].get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        pod = {**pod, "spec": {**pod["spec"], "terminationGracePeriodSeconds": 1}}
    return _without_init_annotations(pod)


def _secret(secret: Json) -> Json:
    """stringData is written into data, and is not shown."""
    if "stringData" not in secret:
        return secret
    given = {name: base64.b64encode(text.encode("utf-8", "surrogatepass")).decode() for name, text in secret["stringData"].items()}
    return {**{name: value for name, value in secret.items() if name != "stringData"}, "data": {**(secret.get("data") or {}), **given}}


def _stateful_set_spec(spec: Json) -> Json:
    templates = spec.get("volumeClaimTemplates")
    if not templates or all(
        template.get("kind") == "PersistentVolumeClaim" and template.get("apiVersion") == "v1" for template in templates
    ):
        return spec
    named = [{**template, "apiVersion": "v1", "kind": "PersistentVolumeClaim"} for template in templates]
    return {**spec, "volumeClaimTemplates": named}


def _first_and_all(one: str, many: str, wrapped: Callable[[str], Json]) -> Callable[[Json], Json]:
    """An old single member and the list that followed it: the single one wins, and both are shown."""

    def convert(value: Json) -> Json:
        single, listed = value.get(one), value.get(many)
        if single and (not listed or listed[0] != wrapped(single)):
            return {**value, many: [wrapped(single)]}
        if not single and listed:
            first = listed[0]
            return {**value, one: first.get("ip", "") if isinstance(first, dict) else first}
        return value

    return convert


def _daemon_set(daemons: Json) -> Json:
    """The generation of the template is an annotation in this version, always shown."""
    metadata = daemons["metadata"]
    annotations = metadata.get("annotations") or {}
    if _TEMPLATE_GENERATION in annotations:
        return daemons
    return {**daemons, "metadata": {**metadata, "annotations": {**annotations, _TEMPLATE_GENERATION: "0"}}}


TABLE: dict[str, Callable[[Json], Json]] = {
    "core/v1.PodSpec": _pod_spec,
    "core/v1.Pod": _pod,
    "core/v1.PodTemplateSpec": _without_init_annotations,
    "core/v1.Secret": _secret,
    "apps/v1.StatefulSetSpec": _stateful_set_spec,
    "apps/v1.DaemonSet": _daemon_set,
    "core/v1.PodStatus": _first_and_all("podIP", "podIPs", lambda address: {"ip": address}),
    "core/v1.NodeSpec": _first_and_all("podCIDR", "podCIDRs", lambda block: block),
}

_EVENT_NAMES = (
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
)
_TO_EVENTS = dict(_EVENT_NAMES)
_TO_CORE = {new: old for old, new in _EVENT_NAMES}
#: Members that core events print always and events.k8s.io prints only with content.
_CORE_ALWAYS: dict[str, Json] = {
    "involvedObject": {},
    "source": {},
    "reportingComponent": "",
    "reportingInstance": "",
    "firstTimestamp": None,
    "lastTimestamp": None,
}


def event_to_events(event: Json) -> Json:
    """A core event as events.k8s.io shows it."""
    renamed = {_TO_EVENTS.get(name, name): value for name, value in event.items()}
    for name in ("note", "reportingController", "reportingInstance"):
        if renamed.get(name) == "":
            del renamed[name]
    return {**renamed, "apiVersion": "events.k8s.io/v1", "kind": "Event"}


def event_to_core(event: Json) -> Json:
    """An events.k8s.io event as the core group shows it."""
    renamed = {_TO_CORE.get(name, name): value for name, value in event.items()}
    return {**_CORE_ALWAYS, **renamed, "apiVersion": "v1", "kind": "Event"}
