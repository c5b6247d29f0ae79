"""The least rights of a controller, from what it declares.

Only the owner of a status may write it, so only its own kind gets a status verb. Rules of one controller enforce nothing inside a
manager that runs several under one ServiceAccount: there the union holds, and claims and guard tests draw the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..objects.tree import Json
    from .controller import Controller

READ = ("get", "list", "watch")
_ORDER = ("get", "list", "watch", "create", "update", "patch", "delete")


def rules(controller: Controller, plurals: Mapping[str, str], *, events: bool) -> list[Json]:
    """The rules of one controller."""
    wanted: dict[tuple[str, str], set[str]] = {}

    def grant(api_version: str, resource: str, verbs: Iterable[str]) -> None:
        wanted.setdefault((api_version.rpartition("/")[0], resource), set()).update(verbs)

    own = _plural(controller.kind, plurals)
    grant(controller.api_version, own, READ)
    grant(controller.api_version, f"{own}/status", ["patch"])
    if controller.finalizer is not None:
        grant(controller.api_version, own, ["patch"])
    for source in controller.sources:
        grant(source.api_version, _plural(source.kind, plurals), (*READ, *source.verbs))
    if events:
        grant("events.k8s.io/v1", "events", ["create", "patch"])
    return _rendered(wanted)


def lease_rules(name: str) -> list[Json]:
    """What leader election needs: create cannot be limited to a name, the rest is."""
    group = ["coordination.k8s.io"]
    return [
        {"apiGroups": group, "resources": ["leases"], "verbs": ["create"]},
        {"apiGroups": group, "resources": ["leases"], "resourceNames": [name], "verbs": ["get", "update"]},
    ]


def merged(parts: Iterable[list[Json]]) -> list[Json]:
    """The union of several controllers' rules."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for rule in (rule for part in parts for rule in part):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                wanted.setdefault((group, resource), set()).update(rule["verbs"])
    return _rendered(wanted)


def _rendered(wanted: Mapping[tuple[str, str], set[str]]) -> list[Json]:
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(verbs, key=_ORDER.index)}
        for (group, resource), verbs in wanted.items()
    ]


def _plural(kind: str, plurals: Mapping[str, str]) -> str:
    """The resource's name as the API's own conventions make it from the kind; exceptions are given."""
    if kind in plurals:
        return plurals[kind]
    lower = kind.lower()
    if lower.endswith("s"):
        return lower + "es"
    return lower[:-1] + "ies" if lower.endswith("y") and lower[-2:-1] not in "aeiou" else lower + "s"
