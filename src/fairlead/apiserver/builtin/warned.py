"""Warnings that creating or changing a built-in object earns. The commonest ones; `catalogue` lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import names

if TYPE_CHECKING:
    from ...objects.tree import Json

_IN_POD_NAMES = {("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "ReplicaSet"), ("batch", "Job"), ("batch", "CronJob")}


def warnings(group: str, kind: str, new: Json, old: Json | None) -> list[str]:
    """The texts, in the server's order."""
    found: list[str] = []
    if old is None:
        problems = names.dns_label(new["metadata"].get("name", ""))
        if problems and (group, kind) in _IN_POD_NAMES:
            found.append(_name_warning("this is used in Pod names and hostnames", problems))
        elif problems and (group, kind) == ("", "Pod"):
            found.append(_name_warning("this is used in the Pod's hostname", problems))
    if (group, kind) == ("batch", "CronJob") and old is not None and "TZ" in new["spec"].get("schedule", ""):
        found.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return found


def _name_warning(use: str, problems: list[str]) -> str:
    return f"metadata.name: {use}, which can result in surprising behavior; a DNS label is recommended: [{' '.join(problems)}]"
