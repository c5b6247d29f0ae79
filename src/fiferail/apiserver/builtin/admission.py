"""What the admission plugins of a plain kube-apiserver do to pods: priority, runtime class, default tolerations.

They look at other objects, so they run where those can be read: `rules` calls `admit` before anything else happens to a new pod.
LimitRanger and ResourceQuota are not among them: limit ranges and quotas are stored and not enforced (`validation.catalogue`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects.tree import same
from .. import statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...objects.tree import Json

_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_SYSTEM = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
_DEFAULT_POLICY = "PreemptLowerPriority"


def admit(pod: Json, others: Callable[..., Iterable[Json]]) -> Json:
    """The new pod as it enters the registry, or the plugins' refusal."""
    spec = with_priority(pod, pod["spec"], others)
    spec = with_tolerations(spec)
    return {**pod, "spec": _with_runtime_class(pod, spec, others)}


def _refused(pod: Json, text: str) -> Exception:
    return statuses.forbidden("", "pods", pod["metadata"].get("name", ""), text)


def with_priority(pod: Json, spec: Json, others: Callable[..., Iterable[Json]]) -> Json:
    """The spec with the priority of its class, or of the default class."""
    name, priority, policy = _priority_of(pod, spec.get("priorityClassName", ""), others)
    if spec.get("priority") not in (None, priority):
        text = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
        raise _refused(pod, text + f"priority admission controller computed {priority} from the given PriorityClass name")
    if spec.get("preemptionPolicy") not in (None, policy):
        text = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
        raise _refused(pod, text + f"priority admission controller computed {policy} from the given PriorityClass name")
    return {**spec, "priority": priority, "preemptionPolicy": policy, **({"priorityClassName": name} if name else {})}


def _priority_of(pod: Json, name: str, others: Callable[..., Iterable[Json]]) -> tuple[str, int, str]:
    if name in _SYSTEM:
        return name, _SYSTEM[name], _DEFAULT_POLICY
    classes = {one["metadata"]["name"]: one for one in others("scheduling.k8s.io", "priorityclasses")}
    if name:
        if name not in classes:
            raise _refused(pod, f"no PriorityClass with name {name} was found")
        chosen = classes[name]
    else:
        defaults = [one for one in classes.values() if one.get("globalDefault")]
        if not defaults:
            return "", 0, _DEFAULT_POLICY
        chosen = min(defaults, key=lambda one: one.get("value", 0))
    return chosen["metadata"]["name"], chosen.get("value", 0), chosen.get("preemptionPolicy", _DEFAULT_POLICY)


def _tolerates(tolerations: Json, taint: str) -> bool:
    return any(one.get("key", "") in (taint, "") and one.get("effect", "") in ("NoExecute", "") for one in tolerations)


def with_tolerations(spec: Json) -> Json:
    """The spec with five minutes of patience for nodes that are lost."""
    given = spec.get("tolerations") or []
    added = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for taint in (_NOT_READY, _UNREACHABLE)
        if not _tolerates(given, taint)
    ]
    return {**spec, "tolerations": [*given, *added]} if added else spec


def _runtime_class(pod: Json, spec: Json, others: Callable[..., Iterable[Json]]) -> Json | None:
    name = spec.get("runtimeClassName")
    if name is None:
        return None
    found = next((one for one in others("node.k8s.io", "runtimeclasses") if one["metadata"]["name"] == name), None)
    if found is None:
        raise _refused(pod, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _with_runtime_class(pod: Json, spec: Json, others: Callable[..., Iterable[Json]]) -> Json:
    runtime = _runtime_class(pod, spec, others) or {}
    fixed = (runtime.get("overhead") or {}).get("podFixed")
    if runtime.get("overhead") is not None:
        if spec.get("overhead") and not same(spec["overhead"], fixed):
            raise _refused(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec = {**spec, "overhead": fixed} if fixed else spec
    scheduling = runtime.get("scheduling") or {}
    wanted, given = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if key in given and given[key] != value:
            text = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {given[key]}"
            raise _refused(pod, text)
    if wanted:
        spec = {**spec, "nodeSelector": {**given, **wanted}}
    added = [one for one in scheduling.get("tolerations") or () if not any(same(one, other) for other in spec.get("tolerations") or ())]
    return {**spec, "tolerations": [*(spec.get("tolerations") or ()), *added]} if added else spec


def check_overhead(pod: Json) -> None:
    """After validation: overhead is the runtime class's to say."""
    if pod["spec"].get("overhead") and pod["spec"].get("runtimeClassName") is None:
        raise _refused(pod, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
