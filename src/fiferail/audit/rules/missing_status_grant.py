"""FR014 missing-status-grant

What it does
    Finds status writes for which no kubebuilder marker and no given role grants the verb, in a project that has markers or roles.
Why is this bad?
    The write is refused with 403 in the cluster and succeeds in tests, where nobody asks for rights. `update` does not include
    `patch`: moving from PUT to patch needs the marker too.
Example
    ```go
    // +kubebuilder:rbac:groups=example.io,resources=gadgets/status,verbs=get;update
    ...
    return r.Status().Patch(ctx, gadget, base)        // needs patch
    ```
Use instead
    ```go
    // +kubebuilder:rbac:groups=example.io,resources=gadgets/status,verbs=get;update;patch
    ```
    For Python, which has no markers, the roles that `--role PATH` names are what grants. What kopf stages in `patch.status` needs `patch`.
Fix safety
    No automatic fix: a right is granted by a person.
Known limits
    Matched by the usual plural of the kind. Projects whose roles are written by hand elsewhere need `--role PATH`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fiferail.audit.rules.grants import WRITE, matches, plural, plurals, verb_of
from fiferail.audit.rules.writing import finding, status_sites, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR014"
SEVERITY = "error"


def check(facts: Facts, policy: str) -> list[Finding]:
    if not any(grant.resource.endswith("/status") and set(grant.verbs) & {*WRITE, "*"} for grant in facts.grants):
        return []
    missing: dict[tuple[str, str], list[Site]] = {}
    for site in status_sites(facts):
        if not site.kind or site.inner or not _marked(site, facts):
            continue
        verb, names = verb_of(site), {name + "/status" for name in plurals(site.kind)}
        fitting = [grant for grant in facts.grants if any(matches(grant, name) for name in names)]
        if not any(verb in grant.verbs or "*" in grant.verbs for grant in fitting):
            # The marker that grants another verb knows the plural better than the kind does.
            resource = next((grant.resource for grant in fitting if grant.resource in names), plural(site.kind) + "/status")
            missing.setdefault((resource, verb), []).append(site)
    out = []
    for (resource, verb), sites in missing.items():
        message = f"{who(sites[0])} needs {verb} on {resource} and no marker or role grants it: the server answers 403"
        where = "role of this operator" if sites[0].language == "python" else "RBAC marker of this controller"
        fix = f"add {verb} for {resource} to the {where}"
        out.append(finding(CODE, sites, message, fix))
    return out


def _marked(site: Site, facts: Facts) -> bool:
    """The site's package has markers, or roles were given: elsewhere rights may be written by hand."""
    package = os.path.dirname(site.file)
    return any(not grant.marker or os.path.dirname(grant.file) == package for grant in facts.grants)
