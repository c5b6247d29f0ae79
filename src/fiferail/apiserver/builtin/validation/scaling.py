"""Checks of PodDisruptionBudget, HorizontalPodAutoscaler, PriorityClass and EndpointSlice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, Literal, duplicate, forbidden, invalid, not_supported, required
from ....objects.gojson import encode
from ... import names
from .. import quantity
from .shapes import immutable, int_or_percent, label_selector, not_negative, not_over_hundred, selector_text, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

# --- PodDisruptionBudget


def budget(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    least, most, policy = spec.get("minAvailable"), spec.get("maxUnavailable"), spec.get("unhealthyPodEvictionPolicy")
    found = []
    if least is not None and most is not None:
        selector = "null" if spec.get("selector") is None else selector_text(spec["selector"])
        parts = f'"MinAvailable":{_text(least)},"Selector":{selector},"MaxUnavailable":{_text(most)}'
        shown = Literal("{" + f'{parts},"UnhealthyPodEvictionPolicy":{_text(policy)}' + "}")
        found.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            found += int_or_percent(value, f"spec.{name}") + not_over_hundred(value, f"spec.{name}")
    found += label_selector(spec.get("selector"), "spec.selector")
    if policy not in (None, "AlwaysAllow", "IfHealthyBudget"):
        found.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget")))
    return found


def _text(value: Json) -> str:
    return encode(value).decode()


def budget_update(new: Json, old: Json) -> list[FieldError]:
    return budget(new)


def budget_status(new: Json, old: Json) -> list[FieldError]:
    status, seen = new["status"], set()
    found: list[FieldError] = []
    for index, condition in enumerate(status.get("conditions") or ()):
        at, kind = f"status.conditions[{index}]", condition.get("type", "")
        if kind in seen:
            found.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        found += _condition(condition, at)
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        found += not_negative(status.get(name, 0), f"status.{name}")
    return found


def _condition(condition: Json, at: str) -> list[FieldError]:
    kind, state, reason = condition.get("type", ""), condition.get("status", ""), condition.get("reason", "")
    found = texts(f"{at}.type", kind, names.qualified_name(kind)) if kind else [required(f"{at}.type")]
    if state not in ("True", "False", "Unknown"):
        found.append(not_supported(f"{at}.status", state, ("False", "True", "Unknown")) if state else required(f"{at}.status"))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{at}.lastTransitionTime"))
    return found if reason else [*found, required(f"{at}.reason")]


# --- HorizontalPodAutoscaler

_SOURCES = {"Object": "object", "External": "external", "Pods": "pods", "Resource": "resource", "ContainerResource": "containerResource"}
_SOURCE_TYPES = tuple(sorted(_SOURCES))


def autoscaler(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    found = []
    if least is not None and least < 1:
        found.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        found.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        found.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        found.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    found += _target_reference(spec["scaleTargetRef"], "spec.scaleTargetRef")
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        found += _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        found.append(forbidden("spec.metrics", "must specify at least one Object or External metric to support scaling to zero replicas"))
    for side in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(side)
        if rules is not None:
            found += _scaling_rules(rules, f"spec.behavior.{side}")
    return found


def _target_reference(reference: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("kind", "name"):
        text = reference.get(name, "")
        found += texts(f"{at}.{name}", text, names.path_segment(text)) if text else [required(f"{at}.{name}")]
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        found.append(invalid(f"{at}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif "/" not in version and not (version == "v1" and reference.get("kind") == "ReplicationController"):
        found.append(invalid(f"{at}.apiVersion", version, "apiVersion must specify API group"))
    return found


def _metric(metric: Json, at: str) -> list[FieldError]:
    kind = metric.get("type", "")
    found = [] if kind else [required(f"{at}.type", "must specify a metric source type")]
    unknown = not_supported(f"{at}.type", kind, _SOURCE_TYPES)
    if kind not in _SOURCES:
        found.append(unknown)
    present = [member for member in ("object", "external", "pods", "resource", "containerResource") if metric.get(member) is not None]
    if present:
        found += _metric_source(present[0], metric[present[0]], f"{at}.{present[0]}")
    expected = _SOURCES.get(kind)
    if expected is None:
        found.append(unknown)
    elif expected not in present:
        found.append(required(f"{at}.{expected}", "must populate information for the given metric source"))
    if len(present) > 1:
        found += [forbidden(f"{at}.{name}", "must populate the given metric source only") for name in present if name != expected]
    return found


def _metric_source(member: str, source: Json, at: str) -> list[FieldError]:
    target = source.get("target") or {}
    found: list[FieldError] = []
    if member in ("object", "external", "pods"):
        name = (source.get("metric") or {}).get("name", "")
        where = f"{at}.metric.name"
        found += texts(where, name, names.path_segment(name)) if name else [required(where, "must specify a metric name")]
    elif not source.get("name"):
        found.append(required(f"{at}.name", "must specify a resource name"))
    found += _metric_target(target, f"{at}.target")
    if member == "pods" and target.get("averageValue") is None:
        found.append(required(f"{at}.target.averageValue", "must specify a positive target averageValue"))
    if member in ("resource", "containerResource"):
        if target.get("averageUtilization") is None and target.get("averageValue") is None:
            detail = "must set either a target raw value or a target utilization"
            found.append(required(f"{at}.target.averageUtilization", detail))
        elif target.get("averageUtilization") is not None and target.get("averageValue") is not None:
            found.append(forbidden(f"{at}.target.averageValue", "may not set both a target raw value and a target utilization"))
    return found


def _metric_target(target: Json, at: str) -> list[FieldError]:
    kind = target.get("type", "")
    found = [] if kind else [required(f"{at}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        found.append(invalid(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue"))
    found += [
        invalid(f"{at}.{name}", target[name], "must be positive")
        for name in ("value", "averageValue")
        if target.get(name) is not None and quantity.parse(target[name]).value <= 0
    ]
    share = target.get("averageUtilization")
    return found if share is None or share >= 1 else [*found, invalid(f"{at}.averageUtilization", share, "must be greater than 0")]


def _scaling_rules(rules: Json, at: str) -> list[FieldError]:
    window, choice = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    found = []
    if window is not None and window < 0:
        found.append(invalid(f"{at}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    if window is not None and window > 3600:
        found.append(invalid(f"{at}.stabilizationWindowSeconds", window, "must be less than or equal to 3600"))
    if choice not in (None, "Disabled", "Max", "Min"):
        found.append(not_supported(f"{at}.selectPolicy", choice, ("Disabled", "Max", "Min")))
    for index, policy in enumerate(rules.get("policies") or ()):
        where = f"{at}.policies[{index}]"
        if policy.get("type") not in ("Percent", "Pods"):
            found.append(not_supported(f"{where}.type", policy.get("type", ""), ("Percent", "Pods")))
        found += [
            invalid(f"{where}.{name}", policy.get(name, 0), "must be greater than zero")
            for name in ("value", "periodSeconds")
            if policy.get(name, 0) <= 0
        ]
        if policy.get("periodSeconds", 0) > 1800:
            found.append(invalid(f"{where}.periodSeconds", policy["periodSeconds"], "must be less than or equal to 1800"))
    return found


def autoscaler_update(new: Json, old: Json) -> list[FieldError]:
    return autoscaler(new)


def autoscaler_status(new: Json, old: Json) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("currentReplicas", "desiredReplicas"):
        found += not_negative(new["status"].get(name, 0), f"status.{name}")
    return found


# --- PriorityClass, EndpointSlice

_SYSTEM = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_HIGHEST = 1000000000


def priority_class(obj: Json) -> list[FieldError]:
    name, value, policy = obj["metadata"].get("name", ""), obj.get("value", 0), obj.get("preemptionPolicy")
    found = []
    if name.startswith("system-"):
        if name not in _SYSTEM:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            found.append(forbidden("metadata.name", f"{detail}{name} is not a known system priority class"))
    elif value > _HIGHEST:
        found.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    if policy not in (None, "Never", "PreemptLowerPriority"):
        found.append(not_supported("preemptionPolicy", policy, ("Never", "PreemptLowerPriority")))
    return found


def priority_class_update(new: Json, old: Json) -> list[FieldError]:
    found = [] if new.get("value", 0) == old.get("value", 0) else [forbidden("value", "may not be changed in an update.")]
    return found + immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def runtime_class(obj: Json) -> list[FieldError]:
    handler = obj.get("handler", "")
    return texts("handler", handler, names.dns_label(handler)) if handler else [required("handler")]


def runtime_class_update(new: Json, old: Json) -> list[FieldError]:
    return immutable(new.get("handler", ""), old.get("handler", ""), "handler")


def controller_revision(obj: Json) -> list[FieldError]:
    found = [] if obj.get("data") is not None else [required("data", "data is mandatory")]
    return found + not_negative(obj.get("revision", 0), "revision")


def controller_revision_update(new: Json, old: Json) -> list[FieldError]:
    return not_negative(new.get("revision", 0), "revision") + immutable(new.get("data"), old.get("data"), "data")


def endpoint_slice(obj: Json) -> list[FieldError]:
    return _address_type(obj.get("addressType", "")) + _slice_ports(obj) + _slice_endpoints(obj)


def _slice_ports(obj: Json) -> list[FieldError]:
    known = ("SCTP", "TCP", "UDP")
    return [
        not_supported(f"ports[{index}].protocol", port.get("protocol", ""), known)
        for index, port in enumerate(obj.get("ports") or ())
        if port.get("protocol") not in known
    ]


def _slice_endpoints(obj: Json) -> list[FieldError]:
    return [
        required(f"endpoints[{index}].addresses", "must contain at least 1 address")
        for index, endpoint in enumerate(obj.get("endpoints") or ())
        if not endpoint.get("addresses")
    ]


def _address_type(kind: str) -> list[FieldError]:
    if not kind:
        return [required("addressType")]
    return [] if kind in ("FQDN", "IPv4", "IPv6") else [not_supported("addressType", kind, ("FQDN", "IPv4", "IPv6"))]


def endpoint_slice_update(new: Json, old: Json) -> list[FieldError]:
    return endpoint_slice(new) + immutable(new.get("addressType", ""), old.get("addressType", ""), "addressType")
