"""What the server gives a Service: its cluster IP, its IP families, its node ports.

The addresses come from 10.0.0.0/24 and the ports from 30000-32767, as on a kube-apiserver that is started for tests. The server
picks at random; this picks the lowest free one of the range it prefers, so that a run can be repeated. Dual stack is not configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects import gotext
from ...objects.fielderrors import invalid
from ...objects.tree import same
from .. import statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...objects.fielderrors import FieldError
    from ...objects.tree import Json

_PREFIX = "10.0.0."
_DYNAMIC = range(17, 255)  # the first addresses are kept for those who ask for one
_STATIC = range(1, 17)
_PORTS = range(30000, 32768)
_OF_CLUSTER_IP = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


def needs_cluster_ip(spec: Json) -> bool:
    """Whether the type of the service has a cluster IP."""
    return bool(spec.get("type") != "ExternalName")


def needs_node_port(spec: Json) -> bool:
    """Whether the ports of the service get node ports."""
    return spec.get("type") == "NodePort" or (spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def _may_have_node_ports(spec: Json) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _needs_health_port(spec: Json) -> bool:
    return bool(spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def prepare_update(new: Json, old: Json) -> Json:
    """What the new type of a service has no use for is dropped, unless the client changed it as well."""
    spec = dict(new["spec"])
    _drop_unused(spec, old["spec"])
    return new if same(spec, new["spec"]) else {**new, "spec": spec}


def _keep_allocated(spec: dict[str, Json], before: Json) -> None:
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if _may_have_node_ports(before) and _may_have_node_ports(spec):
        known = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
        used = {port.get("nodePort") for port in spec.get("ports") or ()}
        spec["ports"] = [
            {**port, "nodePort": known[port.get("name", "")]}
            if not port.get("nodePort") and known.get(port.get("name", "")) and known[port.get("name", "")] not in used
            else port
            for port in spec.get("ports") or ()
        ]
    if (
        _needs_health_port(before)
        and _needs_health_port(spec)
        and not spec.get("healthCheckNodePort")
        and before.get("healthCheckNodePort")
    ):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _drop_unused(spec: dict[str, Json], before: Json) -> None:
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        for name in _OF_CLUSTER_IP:
            if same(spec.get(name), before.get(name)):
                spec.pop(name, None)
    if _may_have_node_ports(before) and not _may_have_node_ports(spec) and _node_ports(spec) == _node_ports(before):
        spec["ports"] = [{name: value for name, value in port.items() if name != "nodePort"} for port in spec.get("ports") or ()]
    if before.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if same(spec.get(name), before.get(name)):
                spec.pop(name, None)
    if _external(before) and not _external(spec) and same(spec.get("externalTrafficPolicy"), before.get("externalTrafficPolicy")):
        spec.pop("externalTrafficPolicy", None)
    if _needs_health_port(before) and not _needs_health_port(spec) and spec.get("healthCheckNodePort") == before.get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)


def _external(spec: Json) -> bool:
    return spec.get("type") in ("LoadBalancer", "NodePort") or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _node_ports(spec: Json) -> set[Json]:
    return {port.get("nodePort") for port in spec.get("ports") or () if port.get("nodePort")}


def allocate(service: Json, old: Json | None, others: Callable[[], Iterable[Json]]) -> Json:
    """The service with an address, families and ports that no other service has; refused where that cannot be."""
    spec = dict(service["spec"])
    if old is not None:
        _keep_allocated(spec, old["spec"])
    _agree(spec, None if old is None else old["spec"])
    if needs_cluster_ip(spec):
        _families(spec, None if old is None else old["spec"], service)
        _give_address(spec, old, others, service)
    if needs_node_port(spec):
        _give_ports(spec, old, others, service)
    return service if same(spec, service["spec"]) else {**service, "spec": spec}


def _agree(spec: dict[str, Json], before: Json | None) -> None:
    """clusterIP and clusterIPs follow each other where a client set only one."""
    first, given = spec.get("clusterIP", ""), spec.get("clusterIPs")
    if before is None:
        if first and not given:
            spec["clusterIPs"] = [first]
        return
    if before.get("clusterIPs") and not given and before.get("clusterIP", "") == first:
        spec["clusterIPs"] = before["clusterIPs"]
    if before.get("clusterIP", "") != first and same(given, before.get("clusterIPs")):
        if first:
            spec["clusterIPs"] = [first]
        else:
            spec.pop("clusterIPs", None)


def _refused(service: Json, errors: list[FieldError]) -> Exception:
    return statuses.invalid("", "Service", service["metadata"].get("name", ""), errors)


def _families(spec: dict[str, Json], before: Json | None, service: Json) -> None:
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        kept = before.get("ipFamilyPolicy") if before else None
        spec["ipFamilyPolicy"] = kept or ("RequireDualStack" if headless else "SingleStack")
    from .validation import services  # here, because a server that makes no service need not load it

    wrong = services.addresses(spec)
    policy, families = spec["ipFamilyPolicy"], spec.get("ipFamilies") or []
    if not wrong and policy == "SingleStack":
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(name) or ()) == 2:
                detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                wrong.append(invalid("spec.ipFamilyPolicy", policy, detail))
    if not wrong and not headless:
        if policy == "RequireDualStack":
            wrong.append(invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services"))
        for index, family in enumerate(families):
            if family != "IPv4":
                wrong.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if wrong:
        raise _refused(service, wrong)
    families = families or ["IPv4"]
    if headless and len(families) < 2 and policy != "SingleStack":
        families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
    spec["ipFamilies"] = families


def _give_address(spec: dict[str, Json], old: Json | None, others: Callable[[], Iterable[Json]], service: Json) -> None:
    asked = spec.get("clusterIP", "")
    if asked == "None" or (old is not None and asked and asked == old["spec"].get("clusterIP")):
        return
    if old is not None and asked and old["spec"].get("clusterIP"):
        return  # a changed address is refused by validation
    taken = {address for other in others() for address in other["spec"].get("clusterIPs") or ()}
    if asked:
        reason = ""
        if not asked.startswith(_PREFIX) or asked in (f"{_PREFIX}0", f"{_PREFIX}255"):
            reason = f"failed to allocate IP {asked}: the provided network does not match the current range"
        elif asked in taken:
            reason = f"failed to allocate IP {asked}: provided IP is already allocated"
        if reason:
            raise _refused(service, [invalid("spec.clusterIPs", [asked], reason)])
        return
    free = next((f"{_PREFIX}{n}" for n in (*_DYNAMIC, *_STATIC) if f"{_PREFIX}{n}" not in taken), None)
    if free is None:
        name = gotext.quoted(service["metadata"].get("name", ""))
        raise statuses.internal_error(f"failed to allocate a serviceIP for Service {name}: range is full")
    spec["clusterIP"] = free
    spec["clusterIPs"] = [spec["clusterIP"]]


def _give_ports(spec: dict[str, Json], old: Json | None, others: Callable[[], Iterable[Json]], service: Json) -> None:
    held = _node_ports(old["spec"]) if old is not None else set()
    asked = _node_ports(spec) - held
    complete = all(port.get("nodePort") for port in spec.get("ports") or ())
    if not asked and complete and (not _needs_health_port(spec) or spec.get("healthCheckNodePort")):
        return
    taken = {number for other in others() for number in _node_ports(other["spec"])} - held
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort")
        if number in asked and number not in _PORTS:
            detail = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            raise _refused(service, [invalid(f"spec.ports[{index}].nodePort", number, detail)])
        if number in asked and number in taken:
            raise _refused(service, [invalid(f"spec.ports[{index}].nodePort", number, "provided port is already allocated")])
    free = (number for number in (*_PORTS[86:], *_PORTS[:86]) if number not in taken | _node_ports(spec))
    try:
        _fill_ports(spec, free)
    except StopIteration:
        raise statuses.internal_error("failed to allocate a nodePort: range is full") from None


def _fill_ports(spec: dict[str, Json], free: Iterator[int]) -> None:
    by_number: dict[Json, Json] = {}
    ports = []
    for port in spec.get("ports") or ():
        # The same port in TCP and UDP shares one node port.
        number = port.get("nodePort") or by_number.get(port["port"]) or next(free)
        by_number[port["port"]] = number
        ports.append({**port, "nodePort": number})
    spec["ports"] = ports
    if _needs_health_port(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = next(free)
