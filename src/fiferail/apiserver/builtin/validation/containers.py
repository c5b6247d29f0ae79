"""Checks of the containers of a pod: names, images, ports, environment, mounts, probes, hooks, resources, security."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....objects.fielderrors import FieldError, Literal, duplicate, forbidden, invalid, not_found, not_supported, required
from ....objects.gojson import encode
from ... import names
from .. import quantity
from . import volumes
from .shapes import NOT_NEGATIVE, config_key, not_negative, port_name, port_number, port_number_or_name, texts

if TYPE_CHECKING:
    from ....objects.tree import Json

PROTOCOLS = ("SCTP", "TCP", "UDP")
_ID_RANGE = "must be between 0 and 2147483647, inclusive"
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_ENV_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ONE_HANDLER = "may not specify more than 1 handler type"
_SIDECAR_ONLY = "may not be set for init containers without restartPolicy=Always"
_RESTARTS = ("Always", "Never", "OnFailure")


def containers(spec: Json, good_volumes: set[str], at: str) -> list[FieldError]:
    """The regular containers."""
    given = spec.get("containers") or []
    if not given:
        return [required(at)]
    found, seen = [], set()
    for index, container in enumerate(given):
        place = f"{at}[{index}]"
        found += _common(container, good_volumes, place)
        name = container.get("name", "")
        if name in seen:
            found.append(duplicate(f"{place}.name", name))
        seen.add(name)
        found += _lifecycle_and_probes(container, place) + _restart_policy(container, place)
    return found + _host_port_conflicts(given, at)


def init_containers(spec: Json, good_volumes: set[str], at: str) -> list[FieldError]:
    """The init containers, sidecars among them."""
    found: list[FieldError] = []
    seen = {container.get("name", "") for container in spec.get("containers") or ()}
    for index, container in enumerate(spec.get("initContainers") or ()):
        place = f"{at}[{index}]"
        found += _common(container, good_volumes, place)
        sidecar = container.get("restartPolicy") == "Always"
        if not sidecar:
            found += _restart_policy(container, place)
        name = container.get("name", "")
        if name in seen:
            found.append(duplicate(f"{place}.name", name))
        elif name:
            seen.add(name)
        found += _host_port_conflicts([container], at)
        if sidecar:
            found += _lifecycle_and_probes(container, place)
        else:
            found += [
                forbidden(f"{place}.{member}", _SIDECAR_ONLY)
                for member in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
                if container.get(member) is not None
            ]
    return found


def _common(container: Json, good_volumes: set[str], at: str) -> list[FieldError]:
    name = container.get("name", "")
    found = texts(f"{at}.name", name, names.dns_label(name)) if name else [required(f"{at}.name")]
    if not container.get("image"):
        found.append(required(f"{at}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if policy not in ("File", "FallbackToLogsOnError"):
        found.append(not_supported(f"{at}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError")))
    found += _ports(container.get("ports"), f"{at}.ports") + _env(container.get("env"), f"{at}.env")
    found += _env_from(container.get("envFrom"), f"{at}.envFrom") + _mounts(container, good_volumes, f"{at}.volumeMounts")
    pull = container.get("imagePullPolicy", "")
    if pull not in ("Always", "IfNotPresent", "Never"):
        found.append(not_supported(f"{at}.imagePullPolicy", pull, ("Always", "IfNotPresent", "Never")))
    found += resources(container.get("resources") or {}, f"{at}.resources")
    return found + _security(container.get("securityContext"), f"{at}.securityContext")


def _ports(ports: Json, at: str) -> list[FieldError]:
    found, seen = [], set()
    for index, port in enumerate(ports or ()):
        place = f"{at}[{index}]"
        name = port.get("name")
        if name:
            problems = port_name(name)
            found += texts(f"{place}.name", name, problems)
            if not problems and name in seen:
                found.append(duplicate(f"{place}.name", name))
            elif not problems:
                seen.add(name)
        number = port.get("containerPort", 0)
        found += port_number(number, f"{place}.containerPort") if number else [required(f"{place}.containerPort")]
        if port.get("hostPort"):
            found += port_number(port["hostPort"], f"{place}.hostPort")
        if port.get("protocol") not in PROTOCOLS:
            found.append(not_supported(f"{place}.protocol", port.get("protocol", ""), PROTOCOLS))
    return found


def _host_port_conflicts(given: Json, at: str) -> list[FieldError]:
    found, seen = [], set()
    for index, container in enumerate(given):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                found.append(duplicate(f"{at}[{index}].ports[{number}].hostPort", key))
            seen.add(key)
    return found


# --- environment


def _env_name(name: str) -> list[str]:
    return [] if all(" " <= char <= "~" and char != "=" for char in name) else [_ENV_TEXT]


def _env(variables: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, variable in enumerate(variables or ()):
        name, place = variable.get("name", ""), f"{at}[{index}]"
        found += texts(f"{place}.name", name, _env_name(name)) if name else [required(f"{place}.name")]
        if variable.get("valueFrom") is not None:
            found += _value_from(variable, f"{place}.valueFrom")
    return found


_VALUE_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def _value_from(variable: Json, at: str) -> list[FieldError]:
    source = variable["valueFrom"]
    present = [name for name in _VALUE_SOURCES if source.get(name) is not None]
    found: list[FieldError] = []
    for name in present:
        if name == "fieldRef":
            found += _field_ref(source[name], f"{at}.{name}")
        elif name == "resourceFieldRef":
            found += _resource_ref(source[name], f"{at}.{name}")
        elif name in ("configMapKeyRef", "secretKeyRef"):
            found += _key_ref(source[name], f"{at}.{name}")
    if not present:
        choices = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        found.append(invalid(at, "", f"must specify one of: {choices}"))
    elif variable.get("value"):
        found.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif len(present) > 1:
        found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


_ENV_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
    "status.podIP", "status.podIPs",
)  # fmt: skip
_KNOWN_FIELDS = (*_ENV_FIELDS, "metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase")
_SUBSCRIPT = re.compile(r"(metadata\.(?:annotations|labels))\['(.*)'\]")


def _field_ref(reference: Json, at: str) -> list[FieldError]:
    path = reference.get("fieldPath", "")
    if not path:
        return [required(f"{at}.fieldPath")]
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        key = subscript[2].lower() if subscript[1].endswith("annotations") else subscript[2]
        return texts(at, key, names.qualified_name(key))
    if path not in _KNOWN_FIELDS:
        return [invalid(f"{at}.fieldPath", path, f"error converting fieldPath: field label not supported: {path}")]
    return [] if path in _ENV_FIELDS else [not_supported(f"{at}.fieldPath", path, _ENV_FIELDS)]


_RESOURCE_FIELDS = tuple(f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))


def _resource_ref(reference: Json, at: str) -> list[FieldError]:
    resource = reference.get("resource", "")
    if not resource:
        return [required(f"{at}.resource")]
    if resource in _RESOURCE_FIELDS or resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        return []
    return [not_supported(f"{at}.resource", resource, _RESOURCE_FIELDS)]


def _key_ref(reference: Json, at: str) -> list[FieldError]:
    name, key = reference.get("name", ""), reference.get("key", "")
    found = texts(f"{at}.name", name, names.dns_subdomain(name))
    return found + (texts(f"{at}.key", key, config_key(key)) if key else [required(f"{at}.key")])


def _env_from(sources: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, source in enumerate(sources or ()):
        place = f"{at}[{index}]"
        if source.get("prefix"):
            found += texts(f"{place}.prefix", source["prefix"], _env_name(source["prefix"]))
        present = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for member in present:
            name = source[member].get("name", "")
            where = f"{place}.{member}.name"
            found += texts(where, name, names.dns_subdomain(names.masked(name))) if name else [required(where)]
        if not present:
            found.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(present) > 1:
            found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


# --- mounts, probes, hooks


def _mounts(container: Json, good_volumes: set[str], at: str) -> list[FieldError]:
    found, seen = [], set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        place, name, path = f"{at}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            found.append(required(f"{place}.name"))
        if name not in good_volumes:
            found.append(not_found(f"{place}.name", name))
        if not path:
            found.append(required(f"{place}.mountPath"))
        if path in seen:
            found.append(invalid(f"{place}.mountPath", path, "must be unique"))
        seen.add(path)
        if mount.get("subPath"):
            found += volumes.descending(mount["subPath"], f"{at}.subPath")
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                found.append(invalid(f"{place}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive"))
            found += volumes.descending(mount["subPathExpr"], f"{at}.subPathExpr")
    return found


def _lifecycle_and_probes(container: Json, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    lifecycle = container.get("lifecycle") or {}
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            found += _handler(lifecycle[hook], f"{at}.lifecycle.{hook}")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            found += _probe(probe, f"{at}.{name}")
            if name != "readinessProbe" and probe.get("successThreshold") != 1:
                found.append(invalid(f"{at}.{name}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
            grace = probe.get("terminationGracePeriodSeconds")
            if name == "readinessProbe" and grace is not None:
                found.append(invalid(f"{at}.{name}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"))
    return found


_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def _probe(probe: Json, at: str) -> list[FieldError]:
    found = _handler(probe, at)
    for name in _PROBE_NUMBERS:
        found += not_negative(probe.get(name, 0), f"{at}.{name}")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        found.append(invalid(f"{at}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return found


def _handler(handler: Json, at: str) -> list[FieldError]:
    present = [name for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if handler.get(name) is not None]
    if not present:
        return [required(at, "must specify a handler type")]
    first, place = handler[present[0]], f"{at}.{present[0]}"
    found: list[FieldError] = []
    if present[0] == "exec":
        found = [] if first.get("command") else [required(f"{place}.command")]
    elif present[0] == "httpGet":
        found = _http_get(first, place)
    elif present[0] in ("tcpSocket", "grpc"):
        found = port_number_or_name(first.get("port", 0), f"{place}.port")
    return found + [forbidden(f"{at}.{name}", _ONE_HANDLER) for name in present[1:]]


def _http_get(action: Json, at: str) -> list[FieldError]:
    found = port_number_or_name(action.get("port", 0), f"{at}.port")
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        found.append(not_supported(f"{at}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS")))
    text = names.regex_text("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name")
    for header in action.get("httpHeaders") or ():
        if not _HEADER.fullmatch(header.get("name", "")):
            found.append(invalid(f"{at}.httpHeaders", header.get("name", ""), text))
    return found


def _restart_policy(container: Json, at: str) -> list[FieldError]:
    policy = container.get("restartPolicy")
    if policy is None:
        rules = container.get("restartPolicyRules")
        return [required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")] if rules else []
    return [] if policy in _RESTARTS else [not_supported(f"{at}.restartPolicy", policy, _RESTARTS)]


# --- resources, security

_STANDARD = frozenset((
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu", "limits.memory",
    "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers",
))  # fmt: skip
_FOR_CONTAINERS = frozenset(("cpu", "memory", "ephemeral-storage"))


def _is_huge(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def _overcommit(name: str) -> bool:
    return _is_native(name) and not _is_huge(name)


def _resource_name(name: str, at: str) -> list[FieldError]:
    found = texts(at, name, names.qualified_name(name))
    if not found and "/" not in name and name not in _STANDARD and not _is_huge(name):
        found.append(invalid(at, name, "must be a standard resource type or fully qualified"))
    if "/" not in name:
        if name not in _FOR_CONTAINERS and not _is_huge(name):
            found.append(invalid(at, name, "must be a standard resource for containers"))
    elif not _is_native(name) and not _is_extended(name):
        found.append(invalid(at, name, "doesn't follow extended resource name standard"))
    return found


def _amount(name: str, amount: str, at: str) -> list[FieldError]:
    value = quantity.parse(amount).value
    found = [invalid(at, amount, NOT_NEGATIVE)] if value < 0 else []
    if _is_extended(name) and value.denominator != 1:
        found.append(invalid(at, amount, "must be an integer"))
    return found


def resources(requirements: Json, at: str) -> list[FieldError]:
    """Limits and requests. The server's order follows no rule where there are several resources; here it is by name."""
    limits, requests = requirements.get("limits") or {}, requirements.get("requests") or {}
    found: list[FieldError] = []
    for name in sorted(limits):
        found += _resource_name(name, f"{at}.limits[{name}]") + _amount(name, limits[name], f"{at}.limits[{name}]")
    for name in sorted(requests):
        found += _resource_name(name, f"{at}.requests[{name}]") + _amount(name, requests[name], f"{at}.requests[{name}]")
        found += _against_limit(name, requests[name], limits.get(name), at)
    if any(map(_is_huge, {**limits, **requests})) and not {"cpu", "memory"} & {*limits, *requests}:
        found.append(forbidden(at, "HugePages require cpu or memory"))
    return found


def _against_limit(name: str, request: str, limit: str | None, at: str) -> list[FieldError]:
    if limit is None:
        return [] if _overcommit(name) else [required(f"{at}.limits", "Limit must be set for non overcommitable resources")]
    asked, allowed = quantity.parse(request).value, quantity.parse(limit).value
    if asked != allowed and not _overcommit(name):
        return [invalid(f"{at}.requests", request, f"must be equal to {name} limit of {limit}")]
    if asked > allowed:
        return [invalid(f"{at}.requests", request, f"must be less than or equal to {name} limit of {limit}")]
    return []


def ids(context: Json, members: tuple[str, ...], at: str) -> list[FieldError]:
    """User and group ids in range."""
    return [
        invalid(f"{at}.{name}", context[name], _ID_RANGE)
        for name in members
        if context.get(name) is not None and not 0 <= context[name] <= 2147483647
    ]


_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")


def seccomp(profile: Json, at: str) -> list[FieldError]:
    """A seccomp profile."""
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    found = [] if kind else [required(f"{at}.type", "type is required when seccompProfile is set")]
    if kind and kind not in _SECCOMP:
        found.append(not_supported(f"{at}.type", kind, _SECCOMP))
    if kind == "Localhost":
        where = f"{at}.localhostProfile"
        found += volumes.descending(local, where) if local is not None else [required(where, "must be set when seccomp type is Localhost")]
    elif local is not None:
        shown = Literal(f'{{"Type":{encode(kind).decode()},"LocalhostProfile":{encode(local).decode()}}}')
        found.append(invalid(f"{at}.localhostProfile", shown, "can only be set when seccomp type is Localhost"))
    return found


_CONTEXT_MEMBERS = (
    "capabilities", "privileged", "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem",
    "allowPrivilegeEscalation", "procMount", "seccompProfile", "appArmorProfile",
)  # fmt: skip


def _go_context(context: Json) -> Literal:
    """The security context as the server's internal struct prints it."""
    parts = []
    for name in _CONTEXT_MEMBERS:
        value = context.get(name)
        if name == "capabilities" and value is not None:
            value = {"Add": value.get("add"), "Drop": value.get("drop")}
        label = "SELinuxOptions" if name == "seLinuxOptions" else name[0].upper() + name[1:]
        parts.append(f'"{label}":{encode(value).decode()}')
    return Literal("{" + ",".join(parts) + "}")


def _security(context: Json, at: str) -> list[FieldError]:
    if context is None:
        return []
    found = [forbidden(f"{at}.privileged", "disallowed by cluster policy")] if context.get("privileged") else []
    found += ids(context, ("runAsUser", "runAsGroup"), at)
    found += seccomp(context.get("seccompProfile"), f"{at}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            found.append(invalid(at, _go_context(context), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found.append(invalid(at, _go_context(context), detail))
    return found
