"""FR004 foreign-status-write

What it does
    Finds writes to the status of a kind that another controller owns: the kind of that one's `For(...)`, or a built-in kind.
Why is this bad?
    Status is what the owner reports. A second writer needs the owner's fields to be left alone on every path, and the owner does not
    know that it must; sooner or later one puts back what it read. The owner can watch the other kind and compute the field itself.
Example
    ```go
    // in the Workload controller
    config.Status.ReferencingWorkloads = append(config.Status.ReferencingWorkloads, ref)
    return r.Status().Update(ctx, config)
    ```
Use instead
    Let the Config controller watch Workload and recompute the list, additions and removals. The workload writes its own status only.
Fix safety
    No automatic fix: removing a writer is a decision.
Known limits
    Without `For(...)` (client-go style) ownership is read from what the controller's queue is about, from who publishes the API, and from
    names; this rule then speaks only where some setup says whose kind it is. Migrating status.storedVersions of a CRD is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import by_cause, finding, status_sites, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR004"
SEVERITY = "warning"
_BUILT_IN = re.compile(r"(?:^|(?:^|/)api/)(?:core|apps|batch|autoscaling|policy)/v\d\w*$")


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    foreign = [site for site in status_sites(facts) if site.ownership == "foreign" and not _anybodys(site) and _known(site, facts)]
    groups: dict[tuple[str, str], list[Site]] = {}
    for group in by_cause(foreign, facts):
        # Where it is decided first; then the writer's own functions that it leads to.
        group.sort(key=lambda site: site.inner)
        groups.setdefault((who(group[0]), group[0].kind), []).extend(group)
    for (writer, kind), sites in groups.items():
        owners = [name for name, controller in facts.controllers.items() if kind in controller.own and name != writer]
        # Of several, who writes its status and is named after it.
        writing = facts.writers(kind)
        owners.sort(key=lambda name: (name not in writing, not name.lower().startswith(kind.lower()), name))
        owner = owners[0] if owners else "its own controller"
        message = (
            f"{writer} writes the status of {what(sites[0])}, which {owner} owns: when {owner} writes what it read before "
            f"this write, this write is gone, and the other way round"
        )
        fix = (
            f"let {owner} watch what {writer} knows and compute it; or agree on fields and write them by server-side apply "
            f"with an own field manager"
        )
        out.append(finding(CODE, sites, message, fix, severity=SEVERITY, writers=[writer, *owners]))
    return out


def _anybodys(site: Site) -> bool:
    """A function that is no method, called by others: what it writes is its callers' doing."""
    return site.inner and "." not in site.function


def _known(site: Site, facts: Facts) -> bool:
    """The writer is a known controller, or the kind has a known owner: guesses from names alone are not enough."""
    if site.kind == "CustomResourceDefinition":
        # Who migrates stored objects is told to write status.storedVersions.
        return False
    if site.through == "patch helper" and not site.fields:
        # Such a helper writes what differs, and nothing here is seen to change the status.
        return False
    if site.controller not in facts.controllers and _BUILT_IN.search(site.api):
        # A controller that is set up for pods or services watches them; it is not their owner.
        return False
    return site.controller in facts.controllers or any(site.kind in controller.own for controller in facts.controllers.values())
