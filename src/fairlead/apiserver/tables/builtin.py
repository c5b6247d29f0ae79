"""The columns of built-in kinds, as the server's internal printers lay them out (always the wide form; kubectl hides by priority).

One entry per kind. A kind without an entry is shown by name and creation time, as the real server does for kinds without a
printer of their own (CustomResourceDefinitions, Roles); docs/limits names those for which it does more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import NAME, Cell, Column
from .ages import age, moment, since
from .autoscalers import targets
from .pods import POD, pod_conditions
from .selecting import labels, selector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...objects.tree import Json


def _at(path: str, default: Json = "") -> Cell:
    """A cell that shows what stands at a dotted path; empty values count as absent."""
    names = path.split(".")

    def cell(obj: Json, now: float) -> Json:
        for name in names:
            obj = obj.get(name) if isinstance(obj, dict) else None
        return obj if obj not in (None, "", [], {}) else default

    return cell


def _count(*paths: str) -> Cell:
    """How many entries the containers at these paths have together."""
    cells = [_at(path, ()) for path in paths]
    return lambda obj, now: sum(len(cell(obj, now)) for cell in cells)


def _containers(obj: Json, path: str) -> list[Json]:
    found: list[Json] = _at(f"{path}.spec.containers", [])(obj, 0)
    return found


def _template(path: str) -> tuple[Column, Column]:
    names: Cell = lambda obj, now: ",".join(container.get("name", "") for container in _containers(obj, path))  # noqa: E731
    images: Cell = lambda obj, now: ",".join(container.get("image", "") for container in _containers(obj, path))  # noqa: E731
    return Column("Containers", names, priority=1), Column("Images", images, priority=1)


def _selecting(path: str, nothing: str = "<none>") -> Column:
    at = _at(path, None)
    return Column("Selector", lambda obj, now: selector(at(obj, now)) or nothing, priority=1)


def _ready(obj: Json, now: float) -> str:
    return f"{_at('status.readyReplicas', 0)(obj, now)}/{_at('spec.replicas', 0)(obj, now)}"


def _joined(values: Iterable[str], limit: int, total: int) -> str:
    """A few values, and how many more there are."""
    shown = ",".join(values)
    return f"{shown} + {total - limit} more..." if total > limit else shown


def _completions(obj: Json, now: float) -> str:
    spec, done = obj.get("spec", {}), _at("status.succeeded", 0)(obj, now)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallel = spec.get("parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: Json, now: float) -> str:
    started, completed = (_at(f"status.{name}", None)(obj, now) for name in ("startTime", "completionTime"))
    begin = moment(started) if started else None
    if begin is None:
        return ""
    return age((moment(completed) or now if completed else now) - begin)


def _job_status(obj: Json, now: float) -> str:
    seen: dict[str, bool] = {}
    for condition in _at("status.conditions", [])(obj, now):
        seen.setdefault(condition.get("type", ""), condition.get("status") == "True")
    for type_, shown in (("Complete", "Complete"), ("Failed", "Failed")):
        if seen.get(type_):
            return shown
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((type_ for type_ in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if seen.get(type_)), "Running")


def _suspend(obj: Json, now: float) -> str:
    value = obj.get("spec", {}).get("suspend")
    return "<unset>" if value is None else "True" if value else "False"


def _last_schedule(obj: Json, now: float) -> str:
    last = _at("status.lastScheduleTime", None)(obj, now)
    return since(last, now) if last else "<none>"


def _balancers(obj: Json) -> str:
    entries = _at("status.loadBalancer.ingress", [])(obj, 0)
    return ",".join(sorted({entry.get("ip") or entry.get("hostname") for entry in entries if entry.get("ip") or entry.get("hostname")}))


def _external_ip(obj: Json, now: float) -> str:
    spec = obj.get("spec", {})
    given: list[str] = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or "<none>"
        case "LoadBalancer":
            return ",".join(part for part in (_balancers(obj), *given) if part) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return "<unknown>"


def _service_ports(obj: Json, now: float) -> str:
    pieces = []
    for port in _at("spec.ports", [])(obj, now):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        pieces.append(f"{port.get('port', 0)}{node}/{port.get('protocol', '')}")
    return ",".join(pieces) or "<none>"


def _first_cluster_ip(obj: Json, now: float) -> str:
    return str((_at("spec.clusterIPs", [])(obj, now) or ["<none>"])[0])


def _hosts(obj: Json, now: float) -> str:
    shown: list[str] = []
    more = False
    rules = _at("spec.rules", [])(obj, now)
    for rule in rules:
        more = more or len(shown) == 3
        if not more and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    return ",".join(shown) + (f" + {len(rules) - 3} more..." if more else "")


def _node_status(obj: Json, now: float) -> str:
    ready = [condition.get("status") for condition in _at("status.conditions", [])(obj, now) if condition.get("type") == "Ready"]
    shown = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return shown + (",SchedulingDisabled" if obj.get("spec", {}).get("unschedulable") else "")


def _node_roles(obj: Json, now: float) -> str:
    prefix, roles = "node-role.kubernetes.io/", set()
    for name, value in (obj["metadata"].get("labels") or {}).items():
        if name.startswith(prefix) and name != prefix:
            roles.add(name.removeprefix(prefix))
        elif name == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or "<none>"


def _node_address(type_: str) -> Cell:
    def cell(obj: Json, now: float) -> str:
        addresses = _at("status.addresses", [])(obj, now)
        return next((address.get("address", "") for address in addresses if address.get("type") == type_), "<none>")

    return cell


def _kernel(obj: Json, now: float) -> str:
    arch = _at("status.nodeInfo.architecture")(obj, now)
    return str(_at("status.nodeInfo.kernelVersion", "<unknown>")(obj, now)) + (f" ({arch})" if arch else "")


def _first_seen(obj: Json, now: float) -> str:
    return since(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"), now)


def _last_seen(obj: Json, now: float) -> str:
    series = obj.get("series")
    if series:
        return since(series.get("lastObservedTime"), now)
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    return since(last, now) if last else _first_seen(obj, now)


def _event_count(obj: Json, now: float) -> int:
    series = obj.get("series")
    return int(series.get("count", 0)) if series else int(obj.get("count") or obj.get("deprecatedCount") or 1)


def _involved(obj: Json) -> Json:
    return obj.get("involvedObject") or obj.get("regarding") or {}


def _event_object(obj: Json, now: float) -> str:
    involved = _involved(obj)
    kind = str(involved.get("kind", "")).lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _event_source(obj: Json, now: float) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


def _message(obj: Json, now: float) -> str:
    return str(obj.get("message") or obj.get("note") or "").strip()


_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access_modes(modes: list[str]) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _phase(obj: Json, now: float) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else str(_at("status.phase")(obj, now))


def _storage_class(obj: Json, now: float) -> str:
    noted = (obj["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(noted if noted is not None else obj.get("spec", {}).get("storageClassName") or "")


def _claim_capacity(obj: Json, now: float) -> str:
    return str(_at("status.capacity.storage", "0")(obj, now)) if _at("spec.volumeName")(obj, now) else ""


def _claim_modes(obj: Json, now: float) -> str:
    return _access_modes(_at("status.accessModes", [])(obj, now)) if _at("spec.volumeName")(obj, now) else ""


def _claim_ref(obj: Json, now: float) -> str:
    ref = obj.get("spec", {}).get("claimRef")
    return f"{ref.get('namespace', '')}/{ref.get('name', '')}" if ref else ""


def _subjects(kind: str) -> Cell:
    def cell(obj: Json, now: float) -> str:
        subjects = [subject for subject in obj.get("subjects") or [] if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in subjects)
        return ", ".join(subject.get("name", "") for subject in subjects)

    return cell


def _endpoints(obj: Json, now: float) -> str:
    subsets = obj.get("subsets") or []
    if not subsets:
        return "<none>"
    shown: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        shown.extend(f"{_host(ip)}:{port.get('port', 0)}" for port in ports for ip in addresses) if ports else shown.extend(addresses)
    return _joined(shown[:3], 3, len(shown))


def _host(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _slice_ports(obj: Json, now: float) -> str:
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or []]
    return _joined(ports[:3], 3, len(ports)) or "<unset>"


def _slice_endpoints(obj: Json, now: float) -> str:
    addresses = [address for endpoint in obj.get("endpoints") or [] for address in endpoint.get("addresses") or []]
    return _joined(addresses[:3], 3, len(addresses)) or "<unset>"


def _controller(obj: Json, now: float) -> str:
    for owner in obj["metadata"].get("ownerReferences") or []:
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            return f"{owner['kind']}{'.' + group if group else ''}".lower() + f"/{owner['name']}"
    return "<none>"


def _quota(limits: bool) -> Cell:
    def cell(obj: Json, now: float) -> str:
        hard, used = _at("status.hard", {})(obj, now), _at("status.used", {})(obj, now)
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def _default_marked(annotation: str) -> Cell:
    def cell(obj: Json, now: float) -> str:
        marked = (obj["metadata"].get("annotations") or {}).get(annotation) == "true"
        return str(obj["metadata"].get("name", "")) + (" (default)" if marked else "")

    return cell


def _class_parameters(obj: Json, now: float) -> str:
    given = obj.get("spec", {}).get("parameters")
    if not given:
        return "<none>"
    group = f".{given['apiGroup']}" if given.get("apiGroup") is not None else ""
    return f"{given.get('kind', '')}{group}/{given.get('name', '')}"


AGE = Column("Age", lambda obj, now: since(obj["metadata"].get("creationTimestamp"), now))


def _number(name: str, path: str) -> Column:
    return Column(name, _at(path, 0), "integer")


def _text(name: str, path: str, default: Json = "", priority: int = 0) -> Column:
    return Column(name, _at(path, default), priority=priority)


def _binding(ref: str = "roleRef") -> tuple[Column, ...]:
    role: Cell = lambda obj, now: f"{obj.get(ref, {}).get('kind', '')}/{obj.get(ref, {}).get('name', '')}"  # noqa: E731
    return (
        NAME,
        Column("Role", role),
        AGE,
        Column("Users", _subjects("User"), priority=1),
        Column("Groups", _subjects("Group"), priority=1),
        Column("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
    )


def _replicas(selected: Column) -> tuple[Column, ...]:
    counts = (_number("Desired", "spec.replicas"), _number("Current", "status.replicas"), _number("Ready", "status.readyReplicas"))
    return (NAME, *counts, AGE, *_template("spec.template"), selected)


_EVENT = (
    Column("Last Seen", _last_seen),
    _text("Type", "type"),
    _text("Reason", "reason"),
    Column("Object", _event_object),
    Column("Subobject", lambda obj, now: _involved(obj).get("fieldPath", ""), priority=1),
    Column("Source", _event_source, priority=1),
    Column("Message", _message),
    Column("First Seen", _first_seen, priority=1),
    Column("Count", _event_count, priority=1),
    Column("Name", NAME.cell, format="name", priority=1),
)

SCALE = (Column("Name", NAME.cell), _number("Desired", "spec.replicas"), _number("Available", "status.replicas"), AGE)

COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): (NAME, *POD),
    ("", "ConfigMap"): (NAME, Column("Data", _count("data", "binaryData")), AGE),
    ("", "Secret"): (NAME, _text("Type", "type"), Column("Data", _count("data")), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Namespace"): (NAME, _text("Status", "status.phase"), AGE),
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Service"): (
        NAME,
        _text("Type", "spec.type"),
        Column("Cluster-IP", _first_cluster_ip),
        Column("External-IP", _external_ip),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", lambda obj, now: labels(obj.get("spec", {}).get("selector")), priority=1),
    ),
    ("", "Endpoints"): (NAME, Column("Endpoints", _endpoints), AGE),
    ("", "Node"): (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        _text("Version", "status.nodeInfo.kubeletVersion"),
        Column("Internal-IP", _node_address("InternalIP"), priority=1),
        Column("External-IP", _node_address("ExternalIP"), priority=1),
        _text("OS-Image", "status.nodeInfo.osImage", "<unknown>", 1),
        Column("Kernel-Version", _kernel, priority=1),
        _text("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "<unknown>", 1),
    ),
    ("", "PersistentVolume"): (
        NAME,
        _text("Capacity", "spec.capacity.storage", "0"),
        Column("Access Modes", lambda obj, now: _access_modes(_at("spec.accessModes", [])(obj, now))),
        _text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        Column("Status", _phase),
        Column("Claim", _claim_ref),
        Column("StorageClass", _storage_class),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        _text("Reason", "status.reason"),
        AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", 1),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Column("Status", _phase),
        _text("Volume", "spec.volumeName"),
        Column("Capacity", _claim_capacity),
        Column("Access Modes", _claim_modes),
        Column("StorageClass", _storage_class),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", 1),
    ),
    ("", "ReplicationController"): _replicas(Column("Selector", lambda obj, now: labels(obj.get("spec", {}).get("selector")), priority=1)),
    ("", "ResourceQuota"): (NAME, Column("Request", _quota(False)), Column("Limit", _quota(True)), AGE),
    ("", "PodTemplate"): (
        NAME,
        *(Column(column.name, column.cell) for column in _template("template")),
        Column("Pod Labels", lambda obj, now: labels(_at("template.metadata.labels", {})(obj, now))),
    ),
    ("apps", "Deployment"): (
        NAME,
        Column("Ready", _ready),
        Column("Up-to-date", _at("status.updatedReplicas", 0)),
        Column("Available", _at("status.availableReplicas", 0)),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector", ""),
    ),
    ("apps", "ReplicaSet"): _replicas(_selecting("spec.selector")),
    ("apps", "StatefulSet"): (NAME, Column("Ready", _ready), AGE, *_template("spec.template")),
    ("apps", "DaemonSet"): (
        NAME,
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        Column("Node Selector", lambda obj, now: labels(_at("spec.template.spec.nodeSelector", {})(obj, now))),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector"),
    ),
    ("apps", "ControllerRevision"): (NAME, Column("Controller", _controller), Column("Revision", _at("revision", 0)), AGE),
    ("batch", "Job"): (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _job_duration),
        AGE,
        *_template("spec.template"),
        _selecting("spec.selector"),
    ),
    ("batch", "CronJob"): (
        NAME,
        _text("Schedule", "spec.schedule"),
        _text("Timezone", "spec.timeZone", "<none>"),
        Column("Suspend", _suspend, "boolean"),
        Column("Active", _count("status.active"), "integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *_template("spec.jobTemplate.spec.template"),
        _selecting("spec.jobTemplate.spec.selector"),
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        _text("Class", "spec.ingressClassName", "<none>"),
        Column("Hosts", _hosts),
        Column("Address", lambda obj, now: _balancers(obj)),
        Column("Ports", lambda obj, now: "80, 443" if _at("spec.tls", [])(obj, now) else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        Column("Name", _default_marked("ingressclass.kubernetes.io/is-default-class"), format="name"),
        _text("Controller", "spec.controller"),
        Column("Parameters", _class_parameters),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        Column("Pod-Selector", lambda obj, now: selector(obj.get("spec", {}).get("podSelector")) or "<none>"),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Column("Min Available", lambda obj, now: str(obj.get("spec", {}).get("minAvailable", "N/A"))),
        Column("Max Unavailable", lambda obj, now: str(obj.get("spec", {}).get("maxUnavailable", "N/A"))),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        Column("Reference", lambda obj, now: "{kind}/{name}".format(**{"kind": "", "name": "", **obj["spec"].get("scaleTargetRef", {})})),
        Column("Targets", lambda obj, now: targets(obj)),
        Column("MinPods", lambda obj, now: str(obj["spec"].get("minReplicas", "<unset>"))),
        Column("MaxPods", _at("spec.maxReplicas", 0)),
        Column("Replicas", _at("status.currentReplicas", 0)),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): _binding(),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _binding(),
    ("coordination.k8s.io", "Lease"): (NAME, _text("Holder", "spec.holderIdentity"), AGE),
    ("storage.k8s.io", "StorageClass"): (
        Column("Name", _default_marked("storageclass.kubernetes.io/is-default-class"), format="name"),
        _text("Provisioner", "provisioner"),
        _text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        _text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        Column("AllowVolumeExpansion", lambda obj, now: bool(obj.get("allowVolumeExpansion"))),
        AGE,
    ),
    ("storage.k8s.io", "CSINode"): (NAME, Column("Drivers", _count("spec.drivers"), "integer"), AGE),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        _number("Value", "value"),
        Column("Global-Default", lambda obj, now: bool(obj.get("globalDefault")), "boolean"),
        AGE,
        _text("PreemptionPolicy", "preemptionPolicy"),
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _text("AddressType", "addressType"),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_endpoints),
        AGE,
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, _text("Handler", "handler"), AGE),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): (NAME, Column("Webhooks", _count("webhooks"), "integer"), AGE),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): (NAME, Column("Webhooks", _count("webhooks"), "integer"), AGE),
}


def row_conditions(obj: Json) -> list[Json]:
    """What a row says about itself beyond its cells: only pods that have ended do."""
    return pod_conditions(obj) if obj.get("kind") == "Pod" and obj.get("apiVersion") == "v1" else []
