"""Checks of pods and of pod templates, wherever a template stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, duplicate, forbidden, invalid, not_supported, required
from ....objects.tree import same
from ... import names
from . import containers, volumes
from .shapes import annotation_names, immutable, ip_address, label_selector, labels, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_RESTARTS = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DEADLINE = "must be between 1 and 2147483647, inclusive"
_SYSCTL_TEXT = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL = re.compile(_SYSCTL_TEXT)


def pod(obj: Json) -> list[FieldError]:
    """A new pod."""
    found = _metadata_and_spec(obj)
    spec = obj["spec"]
    if spec.get("ephemeralContainers"):
        found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        found.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return found


def _metadata_and_spec(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = pod_spec(spec, "spec", is_pod=True)
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes") or ()):
            for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    where = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                    found.append(forbidden(where, "must not be specified when serviceAccountName is not set"))
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            image = container.get("image", "")
            if image != image.strip():
                found.append(invalid(f"spec.{group}[{index}].image", image, "must not have leading or trailing whitespace"))
    return found


def template(given: Json, at: str) -> list[FieldError]:
    """A pod template."""
    metadata = given.get("metadata") or {}
    found = labels(metadata.get("labels"), f"{at}.labels") + annotation_names(metadata.get("annotations"), f"{at}.annotations")
    found += pod_spec(given["spec"], f"{at}.spec", is_pod=False)
    if given["spec"].get("ephemeralContainers"):
        found.append(forbidden(f"{at}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return found


def pod_spec(spec: Json, at: str, *, is_pod: bool) -> list[FieldError]:
    """A pod spec, in the server's order."""
    good, found = volumes.volumes(spec.get("volumes"), f"{at}.volumes")
    found += containers.containers(spec, good, f"{at}.containers")
    found += containers.init_containers(spec, good, f"{at}.initContainers")
    found += _host_network(spec, at, is_pod=is_pod) + _policies(spec, at)
    found += labels(spec.get("nodeSelector"), f"{at}.nodeSelector")
    found += _security(spec, f"{at}.securityContext") + _affinity(spec.get("affinity") or {}, f"{at}.affinity")
    found += _dns_config(spec, f"{at}.dnsConfig") + _gates(spec, at)
    found += _spread(spec.get("topologySpreadConstraints"), f"{at}.topologySpreadConstraints")
    found += _names(spec, at) + _tolerations(spec.get("tolerations"), f"{at}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        found += ip_address(alias.get("ip", ""), f"{at}.hostAliases[{index}].ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            found += texts(f"{at}.hostAliases[{index}].hostnames[{number}]", name, names.dns_subdomain(name))
    if spec.get("priorityClassName"):
        found += texts(f"{at}.priorityClassName", spec["priorityClassName"], names.dns_subdomain(spec["priorityClassName"]))
    if spec.get("runtimeClassName") is not None:
        found += texts(f"{at}.runtimeClassName", spec["runtimeClassName"], names.dns_subdomain(spec["runtimeClassName"]))
    policy = spec.get("preemptionPolicy")
    if policy not in (None, "PreemptLowerPriority", "Never"):
        found.append(not_supported(f"{at}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never")))
    return found + _operating_system(spec.get("os"), f"{at}.os")


def _operating_system(system: Json, at: str) -> list[FieldError]:
    if system is None:
        return []
    name = system.get("name", "")
    if not name:
        return [required(f"{at}.name")]
    return [] if name in ("linux", "windows") else [not_supported(at, name, ("linux", "windows"))]


def _host_network(spec: Json, at: str, *, is_pod: bool) -> list[FieldError]:
    if not spec.get("hostNetwork"):
        return []
    text = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{at}.containers[{index}].ports[{number}].hostPort", port.get("hostPort", 0), text)
        for index, container in enumerate(spec.get("containers") or ())
        for number, port in enumerate(container.get("ports") or ())
        if (is_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort")
    ]


def _policies(spec: Json, at: str) -> list[FieldError]:
    found = []
    if spec.get("restartPolicy") not in _RESTARTS:
        found.append(not_supported(f"{at}.restartPolicy", spec.get("restartPolicy", ""), _RESTARTS))
    if spec.get("dnsPolicy") not in _DNS_POLICIES:
        found.append(not_supported(f"{at}.dnsPolicy", spec.get("dnsPolicy", ""), _DNS_POLICIES))
    return found


def _security(spec: Json, at: str) -> list[FieldError]:
    context = spec.get("securityContext") or {}
    found = containers.ids(context, ("fsGroup", "runAsUser", "runAsGroup"), at)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= 2147483647:
            found.append(invalid(f"{at}.supplementalGroups[{index}]", group, "must be between 0 and 2147483647, inclusive"))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        found.append(invalid(f"{at}.shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled"))
    seen = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        name, where = sysctl.get("name", ""), f"{at}.sysctls[{index}].name"
        if not name:
            found.append(required(where))
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            found.append(invalid(where, name, f"must have at most 253 characters and match regex {_SYSCTL_TEXT}"))
        elif name in seen:
            found.append(duplicate(where, name))
        seen.add(name)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        found.append(not_supported(f"{at}.fsGroupChangePolicy", policy, ("Always", "OnRootMismatch")))
    return found + containers.seccomp(context.get("seccompProfile"), f"{at}.seccompProfile")


_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


def _affinity(affinity: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    must = (affinity.get("nodeAffinity") or {}).get(_REQUIRED)
    if must is not None and not must.get("nodeSelectorTerms"):
        found.append(required(f"{at}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms", "must have at least one node selector term"))
    for index, weighted in enumerate((affinity.get("nodeAffinity") or {}).get(_PREFERRED) or ()):
        if not 0 < weighted.get("weight", 0) <= 100:
            where = f"{at}.nodeAffinity.{_PREFERRED}[{index}].weight"
            found.append(invalid(where, weighted.get("weight", 0), "must be in the range 1-100"))
    for member in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(member) or {}
        for index, term in enumerate(rules.get(_REQUIRED) or ()):
            found += _affinity_term(term, f"{at}.{member}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(rules.get(_PREFERRED) or ()):
            where = f"{at}.{member}.{_PREFERRED}[{index}]"
            if not 0 < weighted.get("weight", 0) <= 100:
                found.append(invalid(f"{where}.weight", weighted.get("weight", 0), "must be in the range 1-100"))
            found += _affinity_term(weighted.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")
    return found


def _affinity_term(term: Json, at: str) -> list[FieldError]:
    found = label_selector(term.get("labelSelector"), f"{at}.labelSelector")
    found += label_selector(term.get("namespaceSelector"), f"{at}.namespaceSelector")
    for name in term.get("namespaces") or ():
        found += texts(f"{at}.namespace", name, names.dns_label(name))
    key = term.get("topologyKey", "")
    if not key:
        found.append(required(f"{at}.topologyKey", "can not be empty"))
    return found + texts(f"{at}.topologyKey", key, names.qualified_name(key))


def _dns_config(spec: Json, at: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            return [required(f"{at}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")]
    if config is None:
        return []
    servers, found = config.get("nameservers") or [], []
    if len(servers) > 3:
        found.append(invalid(f"{at}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        found += ip_address(server, f"{at}.nameservers[{index}]")
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            found.append(required(f"{at}.options[{index}]", "must not be empty"))
    return found


def _gates(spec: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        kind = gate.get("conditionType", "")
        found += texts(f"{at}.readinessGates[{index}].conditionType", kind, names.qualified_name(kind))
    seen = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, where = gate.get("name", ""), f"{at}.schedulingGates[{index}]"
        found += texts(where, name, names.qualified_name(name))
        if name in seen:
            found.append(duplicate(where, name))
        seen.add(name)
    return found


def _spread(constraints: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, constraint in enumerate(constraints or ()):
        where, skew = f"{at}[{index}]", constraint.get("maxSkew", 0)
        if skew <= 0:
            found.append(invalid(f"{where}.maxSkew", skew, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            found.append(required(f"{where}.topologyKey", "can not be empty"))
        action = constraint.get("whenUnsatisfiable", "")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            found.append(not_supported(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
        found += [
            not_supported(f"{where}.{policy}", constraint[policy], ("Honor", "Ignore"))
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy")
            if constraint.get(policy) not in (None, "Honor", "Ignore")
        ]
        key = (constraint.get("topologyKey"), action)
        if any((other.get("topologyKey"), other.get("whenUnsatisfiable", "")) == key for other in constraints[index + 1 :]):
            found.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key[0] or ''}, {action}}}"))
        found += label_selector(constraint.get("labelSelector"), f"{where}.labelSelector")
    return found


def _names(spec: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for member in ("serviceAccountName", "nodeName"):
        if spec.get(member):
            found += texts(f"{at}.{member}", spec[member], names.dns_subdomain(spec[member]))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2147483647:
        found.append(invalid(f"{at}.activeDeadlineSeconds", deadline, _DEADLINE))
    for member in ("hostname", "subdomain"):
        if spec.get(member):
            found += texts(f"{at}.{member}", spec[member], names.dns_label(spec[member]))
    return found


def _tolerations(tolerations: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, toleration in enumerate(tolerations or ()):
        where = f"{at}[{index}]"
        key, operator, value, effect = (toleration.get(name, "") for name in ("key", "operator", "value", "effect"))
        if key:
            found += texts(f"{where}.key", key, names.qualified_name(key))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(invalid(f"{where}.operator", operator, detail))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            found.append(invalid(f"{where}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
        found += _toleration_operator(operator, value, f"{where}.operator")
        if effect and effect not in _EFFECTS:
            found.append(not_supported(f"{where}.effect", effect, _EFFECTS))
    return found


def _toleration_operator(operator: str, value: str, at: str) -> list[FieldError]:
    if operator in ("Equal", ""):
        problems = names.label_value(value)
        return [invalid(at, value, ";".join(problems))] if problems else []
    if operator == "Exists":
        return [invalid(at, value, "value must be empty when `operator` is 'Exists'")] if value else []
    return [not_supported(at, operator, ("Equal", "Exists"))]


_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def pod_status(new: Json, old: Json) -> list[FieldError]:
    """A changed status."""
    status, before = new["status"], old["status"]
    found: list[FieldError] = []
    for index, condition in enumerate(status.get("conditions") or ()):
        at, kind = f"status.conditions[{index}]", condition.get("type", "")
        if condition.get("observedGeneration", 0) < 0:
            found.append(invalid(f"{at}.observedGeneration", condition["observedGeneration"], "must be a non-negative integer"))
        if kind not in _SYSTEM_CONDITIONS:
            found += texts(f"{at}.Type", kind, names.qualified_name(kind))
    node = status.get("nominatedNodeName")
    if node and node != before.get("nominatedNodeName"):
        found += texts("status.nominatedNodeName", node, names.dns_subdomain(node))
        if old["spec"].get("nodeName"):
            found.append(forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node"))
    if status.get("observedGeneration", 0) < 0:
        found.append(invalid("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer"))
    found += immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    for member in ("podIPs", "hostIPs"):
        for index, one in enumerate(status.get(member) or ()):
            found += ip_address(one.get("ip", ""), f"status.{member}[{index}]")
    return found


# --- updates

_MUTABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_update(new: Json, old: Json) -> list[FieldError]:
    """A changed pod. The server adds a diff of its internal structs to the last error; this does not."""
    found = _metadata_and_spec(new)
    spec, before = new["spec"], old["spec"]
    for group in ("containers", "initContainers"):
        if len(spec.get(group) or ()) != len(before.get(group) or ()):
            return [*found, forbidden(f"spec.{group}", "pod updates may not add or remove containers")]
    deadline, earlier = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is not None and earlier is not None and earlier < deadline:
        return [*found, invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")]
    if deadline is None and earlier is not None:
        found.append(invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value"))
    found += _only_added_tolerations(spec, before)
    held = {gate.get("name", "") for gate in before.get("schedulingGates") or ()}
    added = {
        gate.get("name", ""): index for index, gate in enumerate(spec.get("schedulingGates") or ()) if gate.get("name", "") not in held
    }
    for gate, index in added.items():
        detail = f"only deletion is allowed, but found new scheduling gate '{gate}'"
        found.append(forbidden(f"spec.schedulingGates[{index}].name", detail))
    if not same(_frozen(spec, before), before):
        found.append(forbidden("spec", f"pod updates may not change fields other than {_MUTABLE}"))
    return found


def _only_added_tolerations(spec: Json, before: Json) -> list[FieldError]:
    def timeless(toleration: Json) -> Json:
        return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}

    now = [timeless(one) for one in spec.get("tolerations") or ()]
    if any(not any(same(timeless(one), other) for other in now) for one in before.get("tolerations") or ()):
        return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]
    return _tolerations(spec.get("tolerations"), "spec.tolerations")


def _frozen(spec: Json, before: Json) -> Json:
    made = dict(spec)
    for group in ("containers", "initContainers"):
        if spec.get(group):
            made[group] = [{**one, "image": was.get("image", "")} for one, was in zip(spec[group], before[group], strict=True)]
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        made.pop(name, None)
        if before.get(name) is not None:
            made[name] = before[name]
    return made
