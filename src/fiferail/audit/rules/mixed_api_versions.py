"""FR016 mixed-api-versions

What it does
    Finds status writers of one kind that use different versions of its API.
Why is this bad?
    A writer that uses an older version does not know the fields that only the newer one has. With `conversion: None` the server
    erases those fields on any write through the older version, a patch included, and says nothing. With a webhook it depends on the
    webhook.
Example
    ```go
    // one controller                      // another
    var g v1alpha1.Gadget                  var g v1beta1.Gadget
    r.Status().Update(ctx, &g)             r.Status().Patch(ctx, &g, base)
    ```
Use instead
    All writers use the newest version, and move together.
Fix safety
    No automatic fix.
Known limits
    Versions are told apart by the package of the Go type; in Python by the version in the call, or of the class of the resource.
    Writers in other repositories are not seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, status_sites, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR016"
SEVERITY = "warning"
_VERSION = re.compile(r"^(.*?)/?(v\d+(?:(?:alpha|beta)\d+)?)$")


def check(facts: Facts, policy: str) -> list[Finding]:
    groups: dict[tuple[str, str], dict[str, list[Site]]] = {}
    for site in status_sites(facts):
        match = _VERSION.match(site.api)
        if match and site.kind and not site.inner:
            groups.setdefault((match.group(1), site.kind), {}).setdefault(match.group(2), []).append(site)
    out = []
    for (_, kind), versions in groups.items():
        if len(versions) < 2:
            continue
        names = sorted(versions)
        first, second = versions[names[0]], versions[names[-1]]
        message = (
            f"{who(first[0])} writes the status of {kind} as {names[0]} and {who(second[0])} as {names[-1]}: fields that "
            f"only one version knows are erased by the writer of the other"
        )
        sites = [site for name in names for site in versions[name]]
        out.append(
            finding(
                CODE, sites, message, "let every writer use the newest version", severity=SEVERITY, writers=[who(first[0]), who(second[0])]
            )
        )
    return out
