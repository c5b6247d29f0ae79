"""FR011 unconditional-status-write

What it does
    Finds status whose content differs on every pass (the current time, the order of a map) and is written on every pass, under no
    check that something changed.
Why is this bad?
    The write changes the object, the change starts the controller, the controller writes again: a loop that never rests, and every
    other writer's conflict.
Example
    ```go
    gadget.Status.LastChecked = metav1.Now()
    return r.Status().Update(ctx, gadget)
    ```
Use instead
    Set the time only where another field changes, compare before writing, and sort what comes from a map.
Fix safety
    No automatic fix.
Known limits
    Only what can be seen to differ is reported: a plain write of the same value is answered by the server without a change. Times
    inside conditions are left alone: the usual helpers keep them while the status stays. So are those that say when something
    began or ended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Event, Facts, Finding, Function, Site

CODE = "FR011"
# A time that says when something began or ended is set once, whatever leads there.
_ONCE = re.compile(r"(?:Start|Began|Begin|Complet|Finish|Stopped|Ended|EndTime|Terminat)\w*$")
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for function in facts.functions:
        for site in function.sites:
            if site.target != "status" or site.guarded or site.failing or site.verb == "helper":
                continue
            callers = [other for other in facts.sites if site.inner and other.helper_place == site.place]
            if callers and all(other.guarded or other.failing for other in callers):
                continue
            cause = _differs(site, function)
            if cause is None:
                continue
            message = (
                f"{who(site)} puts {'the current time' if 'now' in cause.detail.split('|')[0] else 'the order of a map'} into "
                f"{cause.path.lower()} of {what(site)} "
                "and writes on every pass: its own write starts the next pass, and every pass can conflict with another writer"
            )
            out.append(
                finding(
                    CODE,
                    [site],
                    message,
                    "write only when something else changed, and keep the old value otherwise; sort what comes from a map",
                    severity=SEVERITY,
                )
            )
    return out


def _differs(site: Site, function: Function) -> Event | None:
    own = next((event for event in function.events if event.site is site), None)
    if own is None:
        return None
    for event in function.events:
        if event.what != "mutate" or event.subject != site.subject or not event.path.startswith("Status.") or "Conditions" in event.path:
            continue
        if _ONCE.search(event.path):
            continue
        always = own.block[: len(event.block)] == event.block and event.line <= site.line
        if always and ("now" in event.detail.split("|")[0].split(" ") or "maporder" in event.detail.split("|")[0]):
            return event
    return None
