"""FR015 bad-suppression

What it does
    Finds suppressions without a reason, and suppressions that suppress nothing.
Why is this bad?
    A suppression is a decision, and the next reader needs its reason to know whether it still holds. One that matches nothing is a
    decision about code that is gone, and will silently swallow the next finding that appears there.
Example
    ```go
    //fiferail:allow FR001
    return r.Status().Update(ctx, gadget)
    ```
Use instead
    ```go
    //fiferail:allow FR001 sole writer, and the object was created in this function
    return r.Status().Update(ctx, gadget)
    ```
    In Python: `# fiferail: allow[FR001] reason`.
Fix safety
    No automatic fix.
Known limits
    None known. This rule cannot be suppressed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.model import Finding, Place
from fiferail.audit.rules import slug_of

if TYPE_CHECKING:
    from fiferail.audit.model import Facts

CODE = "FR015"
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    """Called after the others: only then is it known which suppressions were used."""
    out = []
    for one in facts.suppressions:
        codes = ", ".join(one.codes) or "nothing"
        if not one.codes:
            message, fix = "a suppression that names no rule", "name the rule it allows: allow FR001 reason"
        elif not one.reason:
            message, fix = f"a suppression of {codes} without a reason: it is not honoured", "say why it is right here"
        elif not one.used:
            message, fix = f"a suppression of {codes} that suppresses nothing", "remove it"
        else:
            continue
        made = Finding(CODE, slug_of(CODE), message, fix, [Place(one.file, one.line)])
        made.severity = SEVERITY
        out.append(made)
    return out
