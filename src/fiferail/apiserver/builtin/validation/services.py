"""Checks of Service, and of the addresses and families that allocation relies on."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, Literal, duplicate, forbidden, invalid, not_supported, required
from ....objects.gojson import encode
from ....objects.tree import same
from ... import names
from .containers import PROTOCOLS
from .shapes import cidr, ip_address, is_ip, labels, port_number, port_number_or_name, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_ONLY_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_NOT_EXTERNAL_NAME = "may not be set for ExternalName services"


def _headless(spec: Json) -> bool:
    return bool(spec.get("clusterIPs")) and spec["clusterIPs"][0] == "None"


def _external(spec: Json) -> bool:
    return spec.get("type") in ("LoadBalancer", "NodePort") or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_port(spec: Json) -> bool:
    return bool(spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def service(obj: Json) -> list[FieldError]:
    """A service, its addresses allocated."""
    spec = obj["spec"]
    found = [] if spec.get("ports") or _headless(spec) or spec.get("type") == "ExternalName" else [required("spec.ports")]
    found += _of_type(spec) + _ports(spec) + labels(spec.get("selector"), "spec.selector") + _affinity(spec) + addresses(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        found += _endpoint_address(address, f"spec.externalIPs[{index}]")
    if spec.get("type") not in _TYPES:
        found.append(not_supported("spec.type", spec.get("type", ""), _TYPES))
    found += _port_conflicts(spec) + _balancer(spec) + _traffic(spec)
    return found


def _of_type(spec: Json) -> list[FieldError]:
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort"):
        return [invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")] if _headless(spec) else []
    if kind != "ExternalName":
        return []
    found = [forbidden(f"spec.{name}", _NOT_EXTERNAL_NAME) for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(name)]
    name = (spec.get("externalName") or "").removesuffix(".")
    return found + (texts("spec.externalName", name, names.dns_subdomain(name)) if name else [required("spec.externalName")])


def _ports(spec: Json) -> list[FieldError]:
    ports, seen = spec.get("ports") or [], set()
    found: list[FieldError] = []
    for index, port in enumerate(ports):
        at, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            found += texts(f"{at}.name", name, names.dns_label(name))
            if name in seen:
                found.append(duplicate(f"{at}.name", name))
            seen.add(name)
        elif len(ports) > 1:
            found.append(required(f"{at}.name"))
        found += port_number(port["port"], f"{at}.port")
        if port.get("protocol") not in PROTOCOLS:
            found.append(not_supported(f"{at}.protocol", port.get("protocol", ""), PROTOCOLS))
        found += port_number_or_name(port["targetPort"], f"{at}.targetPort")
        if port.get("appProtocol") is not None:
            found += texts(f"{at}.appProtocol", port["appProtocol"], names.qualified_name(port["appProtocol"]))
    return found


def _affinity(spec: Json) -> list[FieldError]:
    affinity = spec.get("sessionAffinity", "")
    if affinity not in ("ClientIP", "None"):
        return [not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))]
    if affinity == "None":
        return []
    seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 10800)
    if 0 < seconds <= 86400:
        return []
    return [invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, "must be greater than 0 and less than 86400")]


def addresses(spec: Json) -> list[FieldError]:
    """Cluster IPs, families and policy: what allocation needs to be right, checked before it and after it."""
    if spec.get("type") == "ExternalName":
        return []
    first, given = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    found = []
    if first and not given:
        found.append(required("spec.clusterIPs"))
    elif first and given[0] != first:
        found.append(invalid("spec.clusterIPs", given, "first value must match `clusterIP`"))
    elif not first and given:
        found.append(invalid("spec.clusterIPs", given, "must be empty when `clusterIP` is not specified"))
    seen = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in ("IPv4", "IPv6"):
            found.append(not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        if family in seen:
            found.append(duplicate(f"spec.ipFamilies[{index}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy not in (None, "SingleStack", "PreferDualStack", "RequireDualStack"):
        found.append(not_supported("spec.ipFamilyPolicy", policy, ("PreferDualStack", "RequireDualStack", "SingleStack")))
    return found + _each_address(spec, given)


def _each_address(spec: Json, given: Json) -> list[FieldError]:
    found: list[FieldError] = []
    wrong = False
    for index, address in enumerate(given):
        if index == 0 and address == "None":
            if len(given) > 1:
                wrong = True
                found.append(invalid("spec.clusterIPs", given, "'None' must be the first and only value"))
            continue
        problems = ip_address(address, f"spec.clusterIPs[{index}]")
        wrong = wrong or bool(problems)
        found += problems
    if len(given) > 2:
        found.append(invalid("spec.clusterIPs", given, "may only hold up to 2 values"))
    if wrong or _headless(spec):
        return found
    if len(given) > 1 and len({ipaddress.ip_address(one).version for one in given}) == 1:
        found.append(invalid("spec.clusterIPs", given, "may specify no more than one IP for each IP family"))
    for index, (address, family) in enumerate(zip(given, spec.get("ipFamilies") or (), strict=False)):
        if (ipaddress.ip_address(address).version == 6) != (family == "IPv6"):
            wanted = "an IPv6" if family == "IPv6" else "an IPv4"
            found.append(invalid(f"spec.clusterIPs[{index}]", address, f"expected {wanted} value as indicated by `ipFamilies[{index}]`"))
    return found


_LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"


def _endpoint_address(address: str, at: str) -> list[FieldError]:
    wrong = ip_address(address, at)
    if wrong:
        return wrong
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        return [invalid(at, address, f"may not be unspecified ({address})")]
    found = [invalid(at, address, _LOOPBACK)] if parsed.is_loopback else []
    if parsed.is_link_local:
        found.append(invalid(at, address, _LINK_LOCAL))
    return found


def _port_conflicts(spec: Json) -> list[FieldError]:
    ports = spec.get("ports") or []
    found: list[FieldError] = []
    if spec.get("type") == "ClusterIP":
        found += [
            forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
            for index, port in enumerate(ports)
            if port.get("nodePort")
        ]
    seen = set()
    for index, port in enumerate(ports):
        if port.get("nodePort"):
            key = (port.get("protocol"), port["nodePort"])
            if key in seen:
                found.append(duplicate(f"spec.ports[{index}].nodePort", port["nodePort"]))
            seen.add(key)
    seen = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port["port"])
        if key in seen:
            shown = f'{{"Name":"","Protocol":{encode(key[0]).decode()},"AppProtocol":null,"Port":{key[1]},"TargetPort":0,"NodePort":0}}'
            found.append(duplicate(f"spec.ports[{index}]", Literal(shown)))
        seen.add(key)
    return found


def _balancer(spec: Json) -> list[FieldError]:
    balancer = spec.get("type") == "LoadBalancer"
    found: list[FieldError] = []
    ranges = spec.get("loadBalancerSourceRanges") or []
    if ranges and not balancer:
        found.append(forbidden("spec.LoadBalancerSourceRanges", _ONLY_BALANCER))
    for index, one in enumerate(ranges):
        found += cidr(one.strip(), f"spec.LoadBalancerSourceRanges[{index}]")
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balancer:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCER))
    kind = spec.get("loadBalancerClass")
    return found if kind is None else found + _balancer_class(spec, kind)


def _balancer_class(spec: Json, kind: str) -> list[FieldError]:
    """Checked once on a create, twice on an update."""
    where = "spec.loadBalancerClass"
    return texts(where, kind, names.qualified_name(kind)) if spec.get("type") == "LoadBalancer" else [forbidden(where, _ONLY_BALANCER)]


def _traffic(spec: Json) -> list[FieldError]:
    outside, inside, port = spec.get("externalTrafficPolicy", ""), spec.get("internalTrafficPolicy"), spec.get("healthCheckNodePort", 0)
    found = []
    if not _external(spec):
        if outside:
            found.append(invalid("spec.externalTrafficPolicy", outside, "may only be set for externally-accessible services"))
    elif outside not in ("Cluster", "Local"):
        found.append(not_supported("spec.externalTrafficPolicy", outside, ("Cluster", "Local")))
    if port and not _needs_health_port(spec):
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid("spec.healthCheckNodePort", port, detail))
    if inside not in (None, "Cluster", "Local"):
        found.append(not_supported("spec.internalTrafficPolicy", inside, ("Cluster", "Local")))
    distribution = spec.get("trafficDistribution")
    known = ("PreferClose", "PreferSameZone", "PreferSameNode")
    if distribution is not None and distribution not in known:
        found.append(not_supported("spec.trafficDistribution", distribution, known))
    return found


def service_update(new: Json, old: Json) -> list[FieldError]:
    """A changed service."""
    spec, before = new["spec"], old["spec"]
    found = _changed_addresses(spec, before)
    kind = spec.get("loadBalancerClass")
    if spec.get("type") == before.get("type") == "LoadBalancer" and not same(kind, before.get("loadBalancerClass")):
        found.append(invalid("spec.loadBalancerClass", kind, "may not change once set"))
    if kind is not None:
        found += _balancer_class(spec, kind)
    if _needs_health_port(spec) and _needs_health_port(before) and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        found.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return found + service(new)


def _changed_addresses(spec: Json, before: Json) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), before.get("type")) or (_headless(spec) and _headless(before)):
        return []
    now, was = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
    if not now and was:
        return [invalid("spec.clusterIPs[0]", now, "primary clusterIP can not be unset")]
    return [
        invalid(f"spec.clusterIPs[{index}]", now, "may not change once set")
        for index, (one, other) in enumerate(zip(now, was, strict=False))
        if one != other
    ]


def service_status(new: Json, old: Json) -> list[FieldError]:
    """The status of a service: where its load balancer listens."""
    ingress = (new["status"].get("loadBalancer") or {}).get("ingress") or []
    if ingress and new["spec"].get("type") != "LoadBalancer":
        return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    return [error for index, point in enumerate(ingress) for error in ingress_point(point, f"status.loadBalancer.ingress[{index}]")]


def ingress_point(point: Json, at: str) -> list[FieldError]:
    """One address or name of a load balancer."""
    address, mode, name = point.get("ip", ""), point.get("ipMode"), point.get("hostname", "")
    found = ip_address(address, f"{at}.ip") if address else []
    if mode is not None and not address:
        found.append(forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
    elif mode not in (None, "VIP", "Proxy"):
        found.append(not_supported(f"{at}.ipMode", mode, ("Proxy", "VIP")))
    if name:
        found += texts(f"{at}.hostname", name, names.dns_subdomain(name))
        if is_ip(name):
            found.append(invalid(f"{at}.hostname", name, "must be a DNS name, not an IP address"))
    return found
