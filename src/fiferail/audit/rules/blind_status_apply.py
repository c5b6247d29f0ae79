"""FR010 blind-status-apply

What it does
    Finds server-side apply to status with force, and apply without a resourceVersion in a function that decides from the status it
    read.
Why is this bad?
    Apply isolates fields by manager, not decisions. With force it takes every field it names from whoever owns it, without a word.
    Without a resourceVersion it does not see that what the decision was based on has changed: two applies with one manager name are
    last-writer-wins.
Example
    ```go
    r.Status().Patch(ctx, config, client.Apply, client.FieldOwner("operator"), client.ForceOwnership)
    ```
Use instead
    Apply without force, a field manager per controller, and the resourceVersion that was read where the value depends on it.
Fix safety
    No automatic fix.
Known limits
    Whether a decision depends on the status is judged by comparisons in the same function. Force is what controllers are told to use
    on objects they create: on spec this rule is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import by_cause, finding, other_writers, status_sites, what, who, with_callers

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Function, Site

CODE = "FR010"
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    functions = {id(site): function for function in facts.functions for site in function.sites}
    out = []
    applies = [site for site in status_sites(facts) if site.way == "ssa"]
    for group in by_cause([site for site in applies if site.force], facts):
        first = group[0]
        others = other_writers(facts, first)
        rival = others[0] if others else "another manager"
        message = (
            f"{who(first)} applies the status of {what(first)} with force: a field that {rival} owns and has just set is "
            f"taken over without a conflict"
        )
        out.append(
            finding(
                CODE,
                with_callers(group, facts),
                message,
                "apply without force, with a field manager of this controller's own",
                severity=SEVERITY,
                writers=[who(first), *others],
            )
        )
    for site in applies:
        if not site.force and site.verb == "ssa" and id(site) in functions and _decides(site, functions[id(site)]):
            message = (
                f"{who(site)} decides from the status of {what(site)} that it read and applies without a resourceVersion: a "
                f"second reconcile that read the same "
                "applies over it, and neither is refused"
            )
            fix = "set the resourceVersion that was read in the applied object"
            out.append(finding(CODE, with_callers([site], facts), message, fix, severity=SEVERITY))
    return out


def _decides(site: Site, function: Function) -> bool:
    return not site.no_version and any(
        event.what == "compare" and ".Status" in event.detail and event.line < site.line for event in function.events
    )
