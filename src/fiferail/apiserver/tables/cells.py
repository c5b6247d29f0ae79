"""What fills the cells of built-in kinds: one small function per cell that is more than a value at a path.

Called by the columns of `builtin.py` with an object and the time; never looks at anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ages import age, moment, since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...objects.tree import Json
    from . import Cell


def member(path: str, default: Json = "") -> Cell:
    """A cell that shows what stands at a dotted path; empty values count as absent."""
    names = path.split(".")

    def cell(obj: Json, now: float) -> Json:
        for name in names:
            obj = obj.get(name) if isinstance(obj, dict) else None
        return obj if obj not in (None, "", [], {}) else default

    return cell


def count_of(*paths: str) -> Cell:
    """How many entries the containers at these paths have together."""
    cells = [member(path, ()) for path in paths]
    return lambda obj, now: sum(len(cell(obj, now)) for cell in cells)


def containers(obj: Json, path: str) -> list[Json]:
    """The containers of the pod template at a path."""
    found: list[Json] = member(f"{path}.spec.containers", [])(obj, 0)
    return found


def ready_of_wanted(obj: Json, now: float) -> str:
    """Ready and wanted replicas."""
    return f"{member('status.readyReplicas', 0)(obj, now)}/{member('spec.replicas', 0)(obj, now)}"


def joined(values: Iterable[str], limit: int, total: int) -> str:
    """A few values, and how many more there are."""
    shown = ",".join(values)
    return f"{shown} + {total - limit} more..." if total > limit else shown


def completions(obj: Json, now: float) -> str:
    """How many of a job's completions are done."""
    spec, done = obj.get("spec", {}), member("status.succeeded", 0)(obj, now)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallel = spec.get("parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def job_duration(obj: Json, now: float) -> str:
    """How long a job took, or has run."""
    started, completed = (member(f"status.{name}", None)(obj, now) for name in ("startTime", "completionTime"))
    begin = moment(started) if started else None
    if begin is None:
        return ""
    return age((moment(completed) or now if completed else now) - begin)


def job_status(obj: Json, now: float) -> str:
    """A job's conditions in one word."""
    seen: dict[str, bool] = {}
    for condition in member("status.conditions", [])(obj, now):
        seen.setdefault(condition.get("type", ""), condition.get("status") == "True")
    for type_, shown in (("Complete", "Complete"), ("Failed", "Failed")):
        if seen.get(type_):
            return shown
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((type_ for type_ in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if seen.get(type_)), "Running")


def suspend(obj: Json, now: float) -> str:
    """Whether a cron job is suspended."""
    value = obj.get("spec", {}).get("suspend")
    return "<unset>" if value is None else "True" if value else "False"


def last_schedule(obj: Json, now: float) -> str:
    """When a cron job last ran."""
    last = member("status.lastScheduleTime", None)(obj, now)
    return since(last, now) if last else "<none>"


def balancers(obj: Json) -> str:
    """The addresses of load balancers, each once."""
    entries = member("status.loadBalancer.ingress", [])(obj, 0)
    return ",".join(sorted({entry.get("ip") or entry.get("hostname") for entry in entries if entry.get("ip") or entry.get("hostname")}))


def external_ip(obj: Json, now: float) -> str:
    """How a service is reached from outside."""
    spec = obj.get("spec", {})
    given: list[str] = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or "<none>"
        case "LoadBalancer":
            return ",".join(part for part in (balancers(obj), *given) if part) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return "<unknown>"


def service_ports(obj: Json, now: float) -> str:
    """The ports of a service."""
    pieces = []
    for port in member("spec.ports", [])(obj, now):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        pieces.append(f"{port.get('port', 0)}{node}/{port.get('protocol', '')}")
    return ",".join(pieces) or "<none>"


def first_cluster_ip(obj: Json, now: float) -> str:
    """The first cluster IP of a service."""
    return str((member("spec.clusterIPs", [])(obj, now) or ["<none>"])[0])


def hosts(obj: Json, now: float) -> str:
    """The hosts of an ingress, the first three by name."""
    shown: list[str] = []
    more = False
    rules = member("spec.rules", [])(obj, now)
    for rule in rules:
        more = more or len(shown) == 3
        if not more and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    return ",".join(shown) + (f" + {len(rules) - 3} more..." if more else "")


def node_status(obj: Json, now: float) -> str:
    """Whether a node is ready, and takes pods."""
    ready = [condition.get("status") for condition in member("status.conditions", [])(obj, now) if condition.get("type") == "Ready"]
    shown = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return shown + (",SchedulingDisabled" if obj.get("spec", {}).get("unschedulable") else "")


def node_roles(obj: Json, now: float) -> str:
    """The roles that a node's labels give it."""
    prefix, roles = "node-role.kubernetes.io/", set()
    for name, value in (obj["metadata"].get("labels") or {}).items():
        if name.startswith(prefix) and name != prefix:
            roles.add(name.removeprefix(prefix))
        elif name == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or "<none>"


def node_address(type_: str) -> Cell:
    """A cell with the first address of a type."""
    def cell(obj: Json, now: float) -> str:
        addresses = member("status.addresses", [])(obj, now)
        return next((address.get("address", "") for address in addresses if address.get("type") == type_), "<none>")

    return cell


def kernel(obj: Json, now: float) -> str:
    """Kernel version and architecture of a node."""
    arch = member("status.nodeInfo.architecture")(obj, now)
    return str(member("status.nodeInfo.kernelVersion", "<unknown>")(obj, now)) + (f" ({arch})" if arch else "")


def first_seen(obj: Json, now: float) -> str:
    """When an event was first seen."""
    return since(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"), now)


def last_seen(obj: Json, now: float) -> str:
    """When an event was last seen."""
    series = obj.get("series")
    if series:
        return since(series.get("lastObservedTime"), now)
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    return since(last, now) if last else first_seen(obj, now)


def event_count(obj: Json, now: float) -> int:
    """How often an event was seen."""
    series = obj.get("series")
    return int(series.get("count", 0)) if series else int(obj.get("count") or obj.get("deprecatedCount") or 1)


def involved(obj: Json) -> Json:
    """What an event is about, in either group's spelling."""
    return obj.get("involvedObject") or obj.get("regarding") or {}


def event_object(obj: Json, now: float) -> str:
    """Kind and name of what an event is about."""
    about = involved(obj)
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def event_source(obj: Json, now: float) -> str:
    """Who reported an event."""
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


def event_message(obj: Json, now: float) -> str:
    """The text of an event."""
    return str(obj.get("message") or obj.get("note") or "").strip()


_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def access_modes(modes: list[str]) -> str:
    """Access modes by their initials."""
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def phase(obj: Json, now: float) -> str:
    """The phase of a volume or claim, unless it is going."""
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else str(member("status.phase")(obj, now))


def storage_class(obj: Json, now: float) -> str:
    """The storage class, by annotation or field."""
    noted = (obj["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(noted if noted is not None else obj.get("spec", {}).get("storageClassName") or "")


def claim_capacity(obj: Json, now: float) -> str:
    """The capacity of a bound claim."""
    return str(member("status.capacity.storage", "0")(obj, now)) if member("spec.volumeName")(obj, now) else ""


def claim_modes(obj: Json, now: float) -> str:
    """The access modes of a bound claim."""
    return access_modes(member("status.accessModes", [])(obj, now)) if member("spec.volumeName")(obj, now) else ""


def claim_ref(obj: Json, now: float) -> str:
    """The claim that holds a volume."""
    ref = obj.get("spec", {}).get("claimRef")
    return f"{ref.get('namespace', '')}/{ref.get('name', '')}" if ref else ""


def subjects(kind: str) -> Cell:
    """A cell with the subjects of one kind."""
    def cell(obj: Json, now: float) -> str:
        subjects = [subject for subject in obj.get("subjects") or [] if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in subjects)
        return ", ".join(subject.get("name", "") for subject in subjects)

    return cell


def endpoints(obj: Json, now: float) -> str:
    """The first three addresses of an Endpoints object."""
    subsets = obj.get("subsets") or []
    if not subsets:
        return "<none>"
    shown: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip", "") for address in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        shown.extend(f"{bracketed(ip)}:{port.get('port', 0)}" for port in ports for ip in addresses) if ports else shown.extend(addresses)
    return joined(shown[:3], 3, len(shown))


def bracketed(ip: str) -> str:
    """An address as it stands before a port."""
    return f"[{ip}]" if ":" in ip else ip


def slice_ports(obj: Json, now: float) -> str:
    """The first three ports of an EndpointSlice."""
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or []]
    return joined(ports[:3], 3, len(ports)) or "<unset>"


def slice_endpoints(obj: Json, now: float) -> str:
    """The first three addresses of an EndpointSlice."""
    addresses = [address for endpoint in obj.get("endpoints") or [] for address in endpoint.get("addresses") or []]
    return joined(addresses[:3], 3, len(addresses)) or "<unset>"


def controller(obj: Json, now: float) -> str:
    """The owner that controls an object."""
    for owner in obj["metadata"].get("ownerReferences") or []:
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            return f"{owner['kind']}{'.' + group if group else ''}".lower() + f"/{owner['name']}"
    return "<none>"


def quota(limits: bool) -> Cell:
    """A cell with used and hard quantities, of limits or of the rest."""
    def cell(obj: Json, now: float) -> str:
        hard, used = member("status.hard", {})(obj, now), member("status.used", {})(obj, now)
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


def default_marked(annotation: str) -> Cell:
    """A cell with the name, marked when an annotation makes it the default."""
    def cell(obj: Json, now: float) -> str:
        marked = (obj["metadata"].get("annotations") or {}).get(annotation) == "true"
        return str(obj["metadata"].get("name", "")) + (" (default)" if marked else "")

    return cell


def class_parameters(obj: Json, now: float) -> str:
    """What configures an ingress class."""
    given = obj.get("spec", {}).get("parameters")
    if not given:
        return "<none>"
    group = f".{given['apiGroup']}" if given.get("apiGroup") is not None else ""
    return f"{given.get('kind', '')}{group}/{given.get('name', '')}"
