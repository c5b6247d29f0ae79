"""FR005 repeated-status-write

What it does
    Finds two status writes of one object on one path through a function: the second is reached after the first succeeded.
Why is this bad?
    Every write starts the watches of every other controller and of this one. Between the two writes the status says something that is
    only half true, and whoever reads it then acts on that. The second write is also the one most likely to meet a conflict: the first
    has just moved the object.
Example
    ```go
    if err := r.setPhase(ctx, gadget, "Running"); err != nil { return err }
    return r.setReady(ctx, gadget)
    ```
Use instead
    Change the status in memory along the way and write it once, where the reconcile ends.
Fix safety
    No automatic fix.
Known limits
    Paths are followed within one function, through helpers that write. Two functions called one after the other are seen only when
    both are such helpers. Two conditions that exclude each other, a helper that says whether it wrote, and a failure that is reported
    after an earlier step was stored are no finding. Writing ahead of an irreversible action is right and wants a suppression with that
    reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding

CODE = "FR005"
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for function in facts.functions:
        pairs = [pair for pair in function.paths if not (pair[0].in_retry and pair[0].in_retry == pair[1].in_retry)]
        if not pairs:
            continue
        first, second = pairs[0]
        sites = list({id(site): site for pair in pairs for site in (pair[1], pair[0])}.values())
        message = (
            f"{function.name} writes the status of {what(second)} at line {first.line} and again at line {second.line} on one path: "
            f"between the two, readers see half of what {who(second)} decided"
        )
        out.append(
            finding(CODE, sites, message, "stage the status in memory and write it once, at the end of the reconcile", severity=SEVERITY)
        )
    return out
