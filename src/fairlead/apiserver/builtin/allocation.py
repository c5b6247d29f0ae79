"""What the server gives a Service: its cluster IP, its IP families, its node ports.

The addresses come from 10.0.0.0/24 and the ports from 30000-32767, as on a kube-apiserver that is started for tests. The server
picks at random; this picks the lowest free one of the range it prefers, so that a run can be repeated. Dual stack is not configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects.tree import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...objects.tree import Json

_PREFIX = "10.0.0."
_DYNAMIC = range(17, 255)  # the first addresses are kept for those who ask for one
_STATIC = range(1, 17)
_PORTS = range(30000, 32768)
_FAMILY = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def needs_cluster_ip(spec: Json) -> bool:
    """Whether the type of the service has a cluster IP."""
    return bool(spec.get("type") != "ExternalName")


def needs_node_port(spec: Json) -> bool:
    """Whether the ports of the service get node ports."""
    return spec.get("type") == "NodePort" or (spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def _needs_health_port(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def prepare_update(new: Json, old: Json) -> Json:
    """What a client left out is taken from before, and what the new type has no use for is dropped."""
    spec, before = dict(new["spec"]), old["spec"]
    _keep_allocated(spec, before)
    _drop_unused(spec, before)
    return {**new, "spec": spec}


def _keep_allocated(spec: dict[str, Json], before: Json) -> None:
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
    if needs_node_port(before) and needs_node_port(spec):
        known = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
        used = {port.get("nodePort") for port in spec.get("ports") or ()}
        spec["ports"] = [
            {**port, "nodePort": known[port.get("name", "")]}
            if not port.get("nodePort") and known.get(port.get("name", "")) and known[port.get("name", "")] not in used
            else port
            for port in spec.get("ports") or ()
        ]
    if _needs_health_port(before) and _needs_health_port(spec) and not spec.get("healthCheckNodePort") and before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _drop_unused(spec: dict[str, Json], before: Json) -> None:
    if needs_cluster_ip(before) and not needs_cluster_ip(spec):
        for name in _FAMILY:
            if same(spec.get(name), before.get(name)):
                spec.pop(name, None)
    if needs_node_port(before) and not needs_node_port(spec) and _node_ports(spec) == _node_ports(before):
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
    """The service with an address, families and ports that no other service has."""
    spec = dict(service["spec"])
    if not needs_cluster_ip(spec):
        return service
    _families(spec)
    if not spec.get("clusterIP"):
        taken = {address for other in others() for address in other["spec"].get("clusterIPs") or ()}
        spec["clusterIP"] = next(f"{_PREFIX}{n}" for n in (*_DYNAMIC, *_STATIC) if f"{_PREFIX}{n}" not in taken)
    if not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if needs_node_port(spec):
        _give_ports(spec, others)
    if same(spec, service["spec"]):
        return service
    return {**service, "spec": spec}


def _families(spec: dict[str, Json]) -> None:
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = "RequireDualStack" if headless else "SingleStack"
    families = spec.get("ipFamilies") or ["IPv4"]
    if headless and len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
        families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
    spec["ipFamilies"] = families


def _give_ports(spec: dict[str, Json], others: Callable[[], Iterable[Json]]) -> None:
    if all(port.get("nodePort") for port in spec.get("ports") or ()) and not _needs_health_port(spec):
        return
    taken = {number for other in others() for number in _node_ports(other["spec"])} | _node_ports(spec)
    free = (number for number in (*range(30086, 32768), *range(30000, 30086)) if number not in taken)
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
