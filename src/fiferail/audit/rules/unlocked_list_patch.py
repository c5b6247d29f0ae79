"""FR003 unlocked-list-patch

What it does
    Finds merge patches without a resourceVersion that write conditions, or another list, of a kind whose status another controller
    writes too.
Why is this bad?
    A merge patch replaces a list as a whole, whatever `listType` the schema says: that marker counts for server-side apply and for
    strategic merge patches, which custom resources refuse. An entry that the other controller added since this one read the object is
    erased, silently, and stays erased until its owner writes again.
Example
    ```go
    base := client.MergeFrom(gadget.DeepCopy())
    meta.SetStatusCondition(&gadget.Status.Conditions, ready)      // another controller sets Probed
    return r.Status().Patch(ctx, gadget, base)
    ```
Use instead
    ```go
    base := client.MergeFromWithOptions(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})
    ```
    or server-side apply with one field manager per controller, or one owner for the whole list.
Fix safety
    As for FR002: safe where the error is returned.
Known limits
    Lists are seen where the function changes them, or a helper with a condition's name does. A list that is filled elsewhere and
    passed in is not seen. A strategic merge patch (built-in kinds, aggregated APIs) merges lists by key, and is not meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import by_cause, finding, made_elsewhere, other_writers, root, status_sites, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR003"
SEVERITY = "error"
_FIXES = {
    "go": "lock the base with MergeFromWithOptimisticLock{}, apply with an own field manager, or give the list one owner",
    "python": "write through fiferail.StatusWriter, put the resourceVersion that was read into the patch, or give the list one owner",
}


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    unknown = made_elsewhere(facts)
    roots = {site.place: site for site in facts.sites}
    candidates = [
        site
        for site in status_sites(facts)
        if site.way == "merge-patch"
        and site.through != "patch helper"
        and site.lists
        and id(site) not in unknown
        and "strategic" not in root(site, roots).notes
        and _rivals(facts, site)
    ]
    for group in by_cause(candidates, facts, base=True):
        first = group[0]
        others = _rivals(facts, first)
        lists = ", ".join(dict.fromkeys(name for site in group for name in site.lists))
        message = (
            f"{who(first)} replaces {lists} of {what(first)} by a merge patch: an entry that {others[0]} adds between the "
            f"read and the patch is erased"
        )
        fix = _FIXES[first.language]
        made = finding(CODE, group, message, fix, writers=[who(first), *others])
        if first.language == "go" and first.base:
            made.fixable = "safe" if all(site.error == "returned" for site in group) else "unsafe"
        out.append(made)
    return out


def _rivals(facts: Facts, site: Site) -> list[str]:
    """Other controllers that write the kind's status; who is seen to write one of the lists comes first."""
    written = facts.writers(site.kind)
    lists = set(site.lists)
    return sorted(other_writers(facts, site), key=lambda name: (not any(lists & set(other.fields) for other in written[name]), name))
