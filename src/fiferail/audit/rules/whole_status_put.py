"""FR001 whole-status-put

What it does
    Finds writes that PUT the whole object to /status: `Status().Update`, `UpdateStatus`, `replace_*_status`; in Python also JSON
    patches that put a whole `/status` in place of the stored one without a `test`.
Why is this bad?
    A PUT asserts every field of the status as this controller last read it. When its copy is stale the server refuses with 409 and
    the whole reconcile is lost; when the resourceVersion was refreshed or cleared on the way, the fields of every other writer are
    put back to old values. A writer that changes one field has no reason to assert the rest.
Example
    ```go
    gadget.Status.Phase = "Running"
    return r.Status().Update(ctx, gadget)
    ```
Use instead
    ```go
    base := client.MergeFromWithOptions(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})
    gadget.Status.Phase = "Running"
    return r.Status().Patch(ctx, gadget, base)
    ```
    Policy `disjoint` accepts `client.MergeFrom(gadget.DeepCopy())` where this controller owns the fields it changes.
Fix safety
    There is no automatic fix: where the copy must be taken depends on where the status is changed.
Known limits
    A PUT under a retry that reads again and sets only its own fields loses nothing; it is still reported, because nothing in it says
    which fields are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import by_cause, finding, other_writers, status_sites, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding

CODE = "FR001"
SEVERITY = "error"
_FIXES = {
    "go": "patch only what changed: Status().Patch with a base copied before the change, locked by resourceVersion",
    "python": "patch only what changed, with the resourceVersion that was read in the body, or write through fiferail.StatusWriter",
}


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for group in by_cause([site for site in status_sites(facts) if site.way == "update" or "whole status" in site.notes], facts):
        first = group[0]
        others = other_writers(facts, first)
        rival = others[0] if others else "another writer"
        message = (
            f"{who(first)} PUTs the whole status of {what(first)}: what {rival} writes between its read and this PUT makes it a 409, "
            "or is put back where the resourceVersion was refreshed without the values"
        )
        if first.way != "update":
            message = (
                f"{who(first)} replaces the whole status of {what(first)} by a JSON patch that tests nothing: what {rival} wrote since "
                f"the read is gone, and nobody is told"
            )
        fix = _FIXES[first.language]
        out.append(finding(CODE, group, message, fix, writers=[who(first), *others]))
    return out
