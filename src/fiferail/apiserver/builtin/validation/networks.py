"""Checks of Ingress, IngressClass and NetworkPolicy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, forbidden, invalid, not_supported, required
from ... import names
from .services import ingress_point
from .shapes import cidr, immutable, is_ip, label_selector, network, port_name, port_number, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_SUFFIXES = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_WILDCARD_TEXT = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD = re.compile(_WILDCARD_TEXT)


def _wildcard(host: str) -> list[str]:
    if _WILDCARD.fullmatch(host):
        return []
    text = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    text += "alphanumeric characters, '-' or '.' and end with an alphanumeric character"
    return [names.regex_text(text, _WILDCARD_TEXT, "*.example.com")]


def ingress(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = _ingress_spec(spec)
    annotation, name = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION), spec.get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        found.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, "must match `ingressClassName` when both are specified"))
    return found


def ingress_update(new: Json, old: Json) -> list[FieldError]:
    return _ingress_spec(new["spec"])


def ingress_status(new: Json, old: Json) -> list[FieldError]:
    points = (new["status"].get("loadBalancer") or {}).get("ingress") or []
    return [error for index, point in enumerate(points) for error in ingress_point(point, f"status.loadBalancer.ingress[{index}]")]


def _ingress_spec(spec: Json) -> list[FieldError]:
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    found = [] if rules or backend is not None else [invalid("spec", None, "either `defaultBackend` or `rules` must be specified")]
    if backend is not None:
        found += _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        found += _rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(tls.get("hosts") or ()):
            found += texts(f"spec.tls[{index}].hosts[{number}]", host, _wildcard(host) if "*" in host else names.dns_subdomain(host))
        secret = tls.get("secretName", "")
        if secret:
            found += texts(f"spec.tls[{index}].secretName", secret, names.dns_subdomain(secret))
    if spec.get("ingressClassName") is not None:
        found += texts("spec.ingressClassName", spec["ingressClassName"], names.dns_subdomain(spec["ingressClassName"]))
    return found


def _rule(rule: Json, at: str) -> list[FieldError]:
    host = rule.get("host", "")
    found: list[FieldError] = []
    if host:
        if is_ip(host):
            found.append(invalid(f"{at}.host", host, "must be a DNS name, not an IP address"))
        found += texts(f"{at}.host", host, _wildcard(host) if "*" in host else names.dns_subdomain(host))
    http = rule.get("http")
    if http is None:
        return found
    paths = http.get("paths") or []
    if not paths:
        return [*found, required(f"{at}.http.paths")]
    return found + [error for index, path in enumerate(paths) for error in _path(path, f"{at}.http.paths[{index}]")]


def _path(path: Json, at: str) -> list[FieldError]:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        return [required(f"{at}.pathType", "pathType must be specified")]
    found = []
    if kind not in _PATH_TYPES:
        found.append(not_supported(f"{at}.pathType", kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        found.append(invalid(f"{at}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        found += [invalid(f"{at}.path", text, f"must not contain '{part}'") for part in _SEQUENCES if part in text]
        found += [invalid(f"{at}.path", text, f"cannot end with '{part}'") for part in _SUFFIXES if text.endswith(part)]
    return found + _backend(path.get("backend") or {}, f"{at}.backend")


def _backend(backend: Json, at: str) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(at, "", "cannot set both resource and service backends")]
    if resource is not None:
        return [required(f"{at}.resource.{name}") for name in ("kind", "name") if not resource.get(name)]
    if service is None:
        return [invalid(at, "", "resource or service backend is required")]
    name, port = service.get("name", ""), service.get("port") or {}
    found = texts(f"{at}.service.name", name, names.dns_label(name)) if name else [required(f"{at}.service.name")]
    if port.get("name") and port.get("number"):
        return [*found, invalid(at, "", "cannot set both port name & port number")]
    if port.get("name"):
        return found + texts(f"{at}.service.port.name", port["name"], port_name(port["name"]))
    if port.get("number"):
        return found + port_number(port["number"], f"{at}.service.port.number")
    return [*found, required(at, "port name or number is required")]


def ingress_class(obj: Json) -> list[FieldError]:
    return _controller(obj["spec"].get("controller", "")) + _class_parameters(obj["spec"].get("parameters"), "spec.parameters")


def _controller(controller: str) -> list[FieldError]:
    if not controller:
        return [required("spec.controller")]
    if len(controller) > 250:
        return [FieldError("FieldValueTooLong", "spec.controller", "", "may not be more than 250 bytes")]
    domain, slash, path = controller.partition("/")
    if not (slash and domain and path):
        return [invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return texts("spec.controller", domain, names.dns_subdomain(domain))


def _class_parameters(parameters: Json, at: str) -> list[FieldError]:
    if parameters is None:
        return []
    found: list[FieldError] = []
    if parameters.get("apiGroup") is not None:
        found += texts(f"{at}.apiGroup", parameters["apiGroup"], names.dns_subdomain(parameters["apiGroup"]))
    for name in ("kind", "name"):
        text = parameters.get(name, "")
        found += texts(f"{at}.{name}", text, names.path_segment(text)) if text else [required(f"{at}.{name}")]
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        return [*found, not_supported(f"{at}.scope", scope, ("Cluster", "Namespace"))]
    if scope == "Namespace" and namespace is None:
        found.append(required(f"{at}.namespace", "`parameters.scope` is set to 'Namespace'"))
    if scope == "Cluster" and namespace is not None:
        found.append(forbidden(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found


def ingress_class_update(new: Json, old: Json) -> list[FieldError]:
    found = immutable(new["spec"].get("controller", ""), old["spec"].get("controller", ""), "spec.controller")
    return found + ingress_class(new)


# --- NetworkPolicy


def network_policy(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    found = label_selector(spec.get("podSelector"), "spec.podSelector")
    for member, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(member) or ()):
            at = f"spec.{member}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                found += _policy_port(port, f"{at}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                found += _peer(peer, f"{at}.{peers}[{number}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        return [*found, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            found.append(not_supported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))
    return found


def network_policy_update(new: Json, old: Json) -> list[FieldError]:
    return network_policy(new)


def _policy_port(port: Json, at: str) -> list[FieldError]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    found = []
    if protocol not in (None, "TCP", "UDP", "SCTP"):
        found.append(not_supported(f"{at}.protocol", protocol, ("TCP", "UDP", "SCTP")))
    if number is None:
        return found if end is None else [*found, invalid(f"{at}.endPort", end, "may not be specified when `port` is not specified")]
    if isinstance(number, str):
        if end is not None:
            found.append(invalid(f"{at}.endPort", end, "may not be specified when `port` is non-numeric"))
        return found + texts(f"{at}.port", number, port_name(number))
    found += port_number(number, f"{at}.port")
    if end is not None:
        if end < number:
            found.append(invalid(f"{at}.endPort", number, "must be greater than or equal to `port`"))
        found += port_number(end, f"{at}.endPort")
    return found


def _peer(peer: Json, at: str) -> list[FieldError]:
    present = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    found: list[FieldError] = []
    for name in present:
        found += _ip_block(peer[name], f"{at}.ipBlock") if name == "ipBlock" else label_selector(peer[name], f"{at}.{name}")
    if not present:
        found.append(required(at, "must specify a peer"))
    elif len(present) > 1 and "ipBlock" in present:
        found.append(forbidden(at, "may not specify both ipBlock and another peer"))
    return found


def _ip_block(block: Json, at: str) -> list[FieldError]:
    text = block.get("cidr", "")
    if not text:
        return [required(f"{at}.cidr")]
    found, whole = cidr(text, f"{at}.cidr"), network(text)
    if whole is None:
        return found
    for index, except_text in enumerate(block.get("except") or ()):
        where = f"{at}.except[{index}]"
        found += cidr(except_text, where)
        part = network(except_text)
        if part is not None and (part.network_address not in whole or whole.prefixlen >= part.prefixlen):
            found.append(invalid(where, except_text, "must be a strict subset of `cidr`"))
    return found
