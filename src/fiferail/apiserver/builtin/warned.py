"""Warnings that creating or changing a built-in object earns: names, pod templates, services, schedules.

The commonest ones, in the server's words and order; `validation.catalogue` lists what is left out. Warnings refuse nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import gotext
from .. import names
from . import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...objects.tree import Json

_IN_POD_NAMES = {("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "ReplicaSet"), ("batch", "Job"), ("batch", "CronJob")}
_TEMPLATES = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    ("", "ReplicationController"): ("spec", "template"),
    ("", "PodTemplate"): ("template",),
}
_NO_POD = "a null labelSelector results in matching no pod"


def warnings(group: str, kind: str, new: Json, old: Json | None) -> list[str]:
    """The texts, in the server's order."""
    found: list[str] = []
    if old is None:
        found += _name(group, kind, new["metadata"].get("name", ""))
    if (group, kind) == ("", "Pod"):
        return found if old is not None else found + _pod_spec(new["spec"], "")
    if (group, kind) == ("", "Service"):
        return found + _service(new["spec"])
    if (group, kind) == ("", "PersistentVolumeClaim"):
        return found + _fractions(new["spec"], "spec", ("storage",), ("requests",))
    if (group, kind) == ("networking.k8s.io", "Ingress") and old is None:
        annotation = "kubernetes.io/ingress.class"
        if annotation in (new["metadata"].get("annotations") or {}):
            found.append(f"annotation \"{annotation}\" is deprecated, please use 'spec.ingressClassName' instead")
    place = _TEMPLATES.get((group, kind))
    if place and (old is None or old["metadata"].get("generation") != new["metadata"].get("generation")):
        template = new
        for step in place:
            template = (template or {}).get(step)
        if template:
            found += _pod_spec(template["spec"], ".".join(place) + ".")
    if (group, kind) == ("batch", "CronJob") and old is not None and "TZ" in new["spec"].get("schedule", ""):
        found.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return found


def _name(group: str, kind: str, name: str) -> list[str]:
    problems = names.dns_label(name)
    if not problems:
        return []
    use = ""
    if (group, kind) in _IN_POD_NAMES:
        use = "this is used in Pod names and hostnames"
    elif (group, kind) == ("", "Pod"):
        use = "this is used in the Pod's hostname"
    text = f"metadata.name: {use}, which can result in surprising behavior; a DNS label is recommended: [{' '.join(problems)}]"
    return [text] if use else []


def _pod_spec(spec: Json, prefix: str) -> list[str]:
    at = f"{prefix}spec"
    found = [
        f"{at}.topologySpreadConstraints[{index}].labelSelector: {_NO_POD}"
        for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ())
        if constraint.get("labelSelector") is None
    ]
    found += _repeated(spec.get("hostAliases"), "ip", f"{at}.hostAliases", "duplicate ip")
    secrets = spec.get("imagePullSecrets") or []
    found += _repeated(secrets, "name", f"{at}.imagePullSecrets", "duplicate name")
    found += [f'{at}.imagePullSecrets[{index}].name: invalid empty name ""' for index, one in enumerate(secrets) if not one.get("name")]
    for container, place in _containers(spec, at):
        found += _fractions(container, place) + _hidden_variables(container, place)
    found += _ports(spec, at)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        found.append(f"{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1")
    return found + _affinity(spec.get("affinity") or {}, f"{at}.affinity")


def _containers(spec: Json, at: str) -> Iterator[tuple[Json, str]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield container, f"{at}.{group}[{index}]"


def _repeated(items: Json, member: str, at: str, text: str) -> list[str]:
    found, seen = [], set()
    for index, item in enumerate(items or ()):
        value = item.get(member, "")
        if value in seen:
            found.append(f"{at}[{index}].{member}: {text} {gotext.quoted(value)}")
        seen.add(value)
    return found


def _fractions(
    holder: Json,
    at: str,
    resource_names: tuple[str, ...] = ("memory", "ephemeral-storage"),
    sides: tuple[str, ...] = ("limits", "requests"),
) -> list[str]:
    resources, found = holder.get("resources") or {}, []
    for name in resource_names:
        for side in sides:
            amount = (resources.get(side) or {}).get(name)
            if amount is not None and quantity.parse(amount).value.denominator != 1:
                text = f"fractional byte value {gotext.quoted(amount)} is invalid, must be an integer"
                found.append(f"{at}.resources.{side}[{name}]: {text}")
    return found


def _hidden_variables(container: Json, at: str) -> list[str]:
    found, seen = [], set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == reference or reference not in value):
            text = f"hides previous definition of {gotext.quoted(name)}, which may be dropped when using apply"
            found.append(f"{at}.env[{index}]: {text}")
        seen.add(name)
    return found


def _ports(spec: Json, at: str) -> list[str]:
    found: list[str] = []
    seen: dict[tuple[int, str], list[tuple[str, Json]]] = {}
    for container, place in _containers(spec, at):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{place}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                found.append(f"{where}: hostIP set without hostPort: {_go_port(port)}")
            others = seen.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
            found += [text for other, earlier in others for text in _overlap(where, port, other, earlier)]
            others.append((where, port))
    return found + _port_names(spec, at)


def _overlap(where: str, port: Json, other: str, earlier: Json) -> list[str]:
    host, number = port.get("hostIP", ""), port.get("hostPort", 0)
    other_host, other_number = earlier.get("hostIP", ""), earlier.get("hostPort", 0)
    if (host, number) == (other_host, other_number):
        return [f"{where}: duplicate port definition with {other}"]
    if not number or not other_number:
        return [f"{where}: overlapping port definition with {other}"]
    if number == other_number and (not host) != (not other_host):
        return [f"{where}: dangerously ambiguous port definition with {other}"]
    return []


def _port_names(spec: Json, at: str) -> list[str]:
    found: list[str] = []
    seen: dict[str, str] = {}
    for container, place in _containers(spec, at):
        for index, port in enumerate(container.get("ports") or ()):
            where, name = f"{place}.ports[{index}]", port.get("name", "")
            if name and name in seen:
                other = seen[name]
                text = f"duplicate port name {gotext.quoted(name)} with {other}"
                found.append(f"{where}: {text}, services and probes that select ports by name will use {other}")
            elif name:
                seen[name] = where
    return found


def _go_port(port: Json) -> str:
    members = (
        ("Name", "name", ""),
        ("HostPort", "hostPort", 0),
        ("ContainerPort", "containerPort", 0),
        ("Protocol", "protocol", ""),
        ("HostIP", "hostIP", ""),
    )
    return "{" + " ".join(f"{label}:{port.get(name, default)}" for label, name, default in members) + "}"


def _affinity(affinity: Json, at: str) -> list[str]:
    found = []
    required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
    for member in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(member) or {}
        for index, term in enumerate(rules.get(required) or ()):
            if term.get("labelSelector") is None:
                found.append(f"{at}.{member}.{required}[{index}].labelSelector: {_NO_POD}")
        for index, term in enumerate(rules.get(preferred) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                found.append(f"{at}.{member}.{preferred}[{index}].podAffinityTerm.labelSelector: {_NO_POD}")
    return found


def _service(spec: Json) -> list[str]:
    headless, by_name, outside = spec.get("clusterIP") == "None", spec.get("type") == "ExternalName", spec.get("externalIPs")
    found = []
    if headless:
        found += ["spec.loadBalancerIP is ignored for headless services"] if spec.get("loadBalancerIP") else []
        found += ["spec.externalIPs is ignored for headless services"] if outside else []
        found += ["spec.SessionAffinity is ignored for headless services"] if spec.get("sessionAffinity") != "None" else []
    if outside and not headless and not by_name:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if by_name and outside:
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not by_name and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found
