"""Checks of Deployment, ReplicaSet, DaemonSet, StatefulSet and ReplicationController."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, Literal, forbidden, invalid, not_supported, required
from ....objects.gojson import encode
from ....objects.tree import same
from ... import names
from . import claims, pods
from .shapes import (
    IMMUTABLE,
    annotation_names,
    int_or_percent,
    label_selector,
    labels,
    matches,
    not_negative,
    not_over_hundred,
    percent_or_number,
    selector_text,
    texts,
)

if TYPE_CHECKING:
    from ....objects.tree import Json

_MISMATCH = "`selector` does not match template `labels`"
_DECREMENTED = "cannot be decremented"


def template_labels(template: Json) -> Json:
    """The labels of a template, None where there are none."""
    return (template.get("metadata") or {}).get("labels")


def _mismatch(spec: Json, at: str) -> list[FieldError]:
    """A template whose labels its own selector does not match; a missing selector matches nothing, an empty one is not asked."""
    selector, given = spec.get("selector"), template_labels(spec["template"])
    if selector is not None and (not (selector.get("matchLabels") or selector.get("matchExpressions")) or matches(selector, given)):
        return []
    return [invalid(f"{at}.template.metadata.labels", given, _MISMATCH)]


def _selector(spec: Json, at: str, kind: str) -> tuple[list[FieldError], bool]:
    """What is wrong with the selector, and whether it can be used at all."""
    selector = spec.get("selector")
    if selector is None:
        return [required(f"{at}.selector")], True
    found = label_selector(selector, f"{at}.selector")
    usable = not found
    if not (selector.get("matchLabels") or selector.get("matchExpressions")):
        found.append(invalid(f"{at}.selector", selector_text(selector), f"empty selector is invalid for {kind}"))
    return found, usable


def _always(spec: Json, at: str, kind: str) -> list[FieldError]:
    pod = spec["template"]["spec"]
    found = []
    if pod.get("restartPolicy") != "Always":
        found.append(not_supported(f"{at}.template.spec.restartPolicy", pod.get("restartPolicy", ""), ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        found.append(forbidden(f"{at}.template.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"))
    return found


def _for_replica_set(spec: Json, at: str) -> list[FieldError]:
    found, usable = _selector(spec, at, "deployment")
    if not usable:
        return [*found, invalid(f"{at}.selector", selector_text(spec["selector"]), "invalid label selector")]
    return found + _mismatch(spec, at) + pods.template(spec["template"], f"{at}.template") + _always(spec, at, "ReplicaSet")


def immutable_selector(new: Json, old: Json) -> list[FieldError]:
    """spec.selector may not change."""
    selector = new["spec"].get("selector")
    if same(selector, old["spec"].get("selector")):
        return []
    return [invalid("spec.selector", selector_text(selector) if selector is not None else None, IMMUTABLE)]


# --- Deployment, ReplicaSet


def deployment(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = not_negative(spec.get("replicas", 0), "spec.replicas") + _for_replica_set(spec, "spec")
    found += _deployment_strategy(spec["strategy"], "spec.strategy")
    ready, deadline = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds")
    found += not_negative(ready, "spec.minReadySeconds") + not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    if deadline is not None:
        found += not_negative(deadline, "spec.progressDeadlineSeconds")
        if deadline <= ready:
            found.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return found


def _deployment_strategy(strategy: Json, at: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        return [] if rolling is None else [forbidden(f"{at}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind != "RollingUpdate":
        return [not_supported(at, _go_strategy(kind, rolling), ("Recreate", "RollingUpdate"))]
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    found = int_or_percent(unavailable, f"{at}.rollingUpdate.maxUnavailable") + int_or_percent(surge, f"{at}.rollingUpdate.maxSurge")
    if percent_or_number(unavailable) == 0 and percent_or_number(surge) == 0:
        found.append(invalid(f"{at}.rollingUpdate.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return found + not_over_hundred(unavailable, f"{at}.rollingUpdate.maxUnavailable")


def _go_strategy(kind: str, rolling: Json, members: tuple[tuple[str, Json], ...] = (("maxUnavailable", 0), ("maxSurge", 0))) -> Literal:
    """A strategy as the server's internal struct prints it."""
    inner = "null"
    if rolling is not None:
        parts = (f'"{name[0].upper()}{name[1:]}":{encode(rolling.get(name, zero)).decode()}' for name, zero in members)
        inner = "{" + ",".join(parts) + "}"
    return Literal(f'{{"Type":{encode(kind).decode()},"RollingUpdate":{inner}}}')


def deployment_update(new: Json, old: Json) -> list[FieldError]:
    return deployment(new) + immutable_selector(new, old)


def _counts(status: Json, members: tuple[str, ...], at_most: tuple[tuple[str, str, str], ...]) -> list[FieldError]:
    """Counts that are not negative, and those that may not exceed another."""
    found: list[FieldError] = []
    for name in members:
        found += not_negative(status.get(name), f"status.{name}")
    for name, other, shown in at_most:
        if (status.get(name) or 0) > (status.get(other) or 0):
            found.append(invalid(f"status.{name}", status.get(name) or 0, f"cannot be greater than {shown}"))
    return found


def _decremented(new: Json, old: Json) -> list[FieldError]:
    before, now = old["status"].get("collisionCount"), new["status"].get("collisionCount")
    return [] if before is None or (now is not None and now >= before) else [invalid("status.collisionCount", now or 0, _DECREMENTED)]


_REPLICAS = "status.replicas"


def deployment_status(new: Json, old: Json) -> list[FieldError]:
    members = (
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
        "terminatingReplicas", "collisionCount",
    )  # fmt: skip
    limits = (
        ("updatedReplicas", "replicas", _REPLICAS),
        ("readyReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    )
    return _counts(new["status"], members, limits) + _decremented(new, old)


def replica_set(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = not_negative(spec.get("replicas", 0), "spec.replicas") + not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds")
    return found + _for_replica_set(spec, "spec")


def replica_set_update(new: Json, old: Json) -> list[FieldError]:
    return replica_set(new) + immutable_selector(new, old)


def replica_set_status(new: Json, old: Json) -> list[FieldError]:
    members = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration", "terminatingReplicas")
    limits = (
        ("fullyLabeledReplicas", "replicas", _REPLICAS),
        ("readyReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    )
    return _counts(new["status"], members, limits)


# --- DaemonSet


def daemon_set(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    selector, given = spec.get("selector"), template_labels(spec["template"])
    found = label_selector(selector, "spec.selector")
    if not found and (selector is None or not matches(selector, given)):
        found.append(invalid("spec.template.metadata.labels", given, _MISMATCH))
    if selector is not None and not (selector.get("matchLabels") or selector.get("matchExpressions")):
        found.append(invalid("spec.selector", selector_text(selector), "empty selector is invalid for daemonset"))
    found += pods.template(spec["template"], "spec.template") + _always(spec, "spec", "DaemonSet")
    found += not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds")
    found += _daemon_strategy(spec["updateStrategy"], "spec.updateStrategy")
    return found + not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def _daemon_strategy(strategy: Json, at: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(at, _go_strategy(kind, rolling), ("RollingUpdate", "OnDelete"))]
    unavailable, surge, where = rolling.get("maxUnavailable"), rolling.get("maxSurge"), f"{at}.rollingUpdate"
    found = int_or_percent(unavailable, f"{where}.maxUnavailable") + int_or_percent(surge, f"{where}.maxSurge")
    found += not_over_hundred(unavailable, f"{where}.maxUnavailable") + not_over_hundred(surge, f"{where}.maxSurge")
    if percent_or_number(unavailable) and percent_or_number(surge):
        found.append(invalid(f"{where}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not percent_or_number(unavailable) and not percent_or_number(surge):
        found.append(required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found


def daemon_set_update(new: Json, old: Json) -> list[FieldError]:
    return immutable_selector(new, old) + daemon_set(new)


def daemon_set_status(new: Json, old: Json) -> list[FieldError]:
    members = (
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    )  # fmt: skip
    return _counts(new["status"], members, ()) + _decremented(new, old)


# --- StatefulSet


def stateful_set(obj: Json) -> list[FieldError]:
    return _stateful_spec(obj["spec"], "spec", update=False)


def _stateful_spec(spec: Json, at: str, *, update: bool) -> list[FieldError]:
    found = []
    if spec.get("podManagementPolicy") not in ("OrderedReady", "Parallel"):
        found.append(invalid(f"{at}.podManagementPolicy", spec.get("podManagementPolicy", ""), "must be 'OrderedReady' or 'Parallel'"))
    found += _stateful_strategy(spec["updateStrategy"], f"{at}.updateStrategy")
    for name in ("whenDeleted", "whenScaled"):
        policy = (spec.get("persistentVolumeClaimRetentionPolicy") or {}).get(name, "Retain")
        if policy not in ("Retain", "Delete"):
            found.append(not_supported(f"{at}.persistentVolumeClaimRetentionPolicy.{name}", policy, ("Retain", "Delete")))
    if not update:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            found += claims.claim_spec(claim["spec"], f"{at}.volumeClaimTemplates[{index}].spec")
    found += not_negative(spec.get("replicas", 0), f"{at}.replicas") + not_negative(spec.get("minReadySeconds", 0), f"{at}.minReadySeconds")
    found += not_negative((spec.get("ordinals") or {}).get("start", 0), f"{at}.ordinals.start")
    if not update and spec.get("serviceName"):
        found += texts(f"{at}.serviceName", spec["serviceName"], names.dns_label(spec["serviceName"]))
    wrong, usable = _selector(spec, at, "statefulset")
    found += wrong
    if usable:
        template = _stateful_template(spec)
        metadata = template.get("metadata") or {}
        found += _mismatch(spec, at) + pods.template(template, f"{at}.template")
        found += labels(metadata.get("labels"), f"{at}.template.labels")
        found += annotation_names(metadata.get("annotations"), f"{at}.template.annotations")
    else:
        found.append(invalid(f"{at}.selector", selector_text(spec["selector"])))
    return found + _always(spec, at, "StatefulSet")


def _stateful_template(spec: Json) -> Json:
    """The template with the volumes that its claim templates will bring."""
    pod = {name: value for name, value in spec["template"]["spec"].items() if name not in ("subdomain", "hostname")}
    claims = {claim["metadata"].get("name", ""): claim for claim in spec.get("volumeClaimTemplates") or ()}
    if claims:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        pod["volumes"] = made + [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    return {**spec["template"], "spec": pod}


def _stateful_strategy(strategy: Json, at: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return [] if rolling is None else [invalid(f"{at}.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = _go_strategy(kind, rolling, (("partition", 0), ("maxUnavailable", None)))
        return [invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    return [] if rolling is None else not_negative(rolling.get("partition", 0), f"{at}.rollingUpdate.partition")


_STATEFUL_MUTABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_STATEFUL_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def stateful_set_update(new: Json, old: Json) -> list[FieldError]:
    found = _stateful_spec(new["spec"], "spec", update=True)
    fixed, before = ({name: value for name, value in obj["spec"].items() if name not in _STATEFUL_MUTABLE} for obj in (new, old))
    return found if same(fixed, before) else [*found, forbidden("spec", _STATEFUL_FIXED)]


def stateful_set_status(new: Json, old: Json) -> list[FieldError]:
    members = (
        "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration", "collisionCount",
    )  # fmt: skip
    limits = (
        ("readyReplicas", "replicas", _REPLICAS),
        ("currentReplicas", "replicas", _REPLICAS),
        ("updatedReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "replicas", _REPLICAS),
        ("availableReplicas", "readyReplicas", "status.readyReplicas"),
    )
    return _counts(new["status"], members, limits) + _decremented(new, old)


# --- ReplicationController


def replication_controller(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    selector, template = spec.get("selector") or {}, spec.get("template")
    found = not_negative(spec.get("minReadySeconds", 0), "spec.minReadySeconds")
    found += [] if selector else [required("spec.selector")]
    found += not_negative(spec.get("replicas"), "spec.replicas")
    if template is None:
        return [*found, required("spec.template")]
    given = template_labels(template)
    if selector and any((given or {}).get(name) != value for name, value in selector.items()):
        found.append(invalid("spec.template.metadata.labels", given, _MISMATCH))
    return found + pods.template(template, "spec.template") + _always(spec, "spec", "ReplicationController")


def replication_controller_update(new: Json, old: Json) -> list[FieldError]:
    return replication_controller(new)
