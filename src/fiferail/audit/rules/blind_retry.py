"""FR008 blind-retry

What it does
    Finds retries on conflict around a status write that do not read the object again, and retries that read again but put back only
    part of what was staged before.
Why is this bad?
    A conflict says that the copy is old. Sending the same copy again is refused again, until the retries are spent. Reading again and
    setting only the conditions silently drops every other field that the reconcile had staged: the write succeeds, the fields are
    gone.
Example
    ```go
    retry.RetryOnConflict(retry.DefaultRetry, func() error {
        return r.Status().Update(ctx, gadget)          // the same stale object each time
    })
    ```
Use instead
    ```go
    retry.RetryOnConflict(retry.DefaultRetry, func() error {
        if err := r.Get(ctx, key, gadget); err != nil { return err }
        decide(gadget)                                   // all fields, from what was just read
        return r.Status().Update(ctx, gadget)
    })
    ```
Fix safety
    No automatic fix.
Known limits
    A call in the retry whose name speaks of reading (Get, Fetch, Refresh, Load, Read, Latest, Current) counts as a read, and so does a
    helper that reads before it writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Function, Site

CODE = "FR008"
SEVERITY = "error"
_ANSWERED = re.compile(r"\.(?:Create|Update|Apply)(?:\(|$)")
_READS = re.compile(r"(?i)\b\w*(?:get|fetch|refresh|reload|load|read|latest|current)\w*$")


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    homes = {site.place: function for function in facts.functions for site in function.sites}
    for function in facts.functions:
        for site in function.sites:
            if site.target != "status" or not site.in_retry or site.way == "ssa":
                continue
            start, _, end = site.in_retry.partition("-")
            span = range(int(start), int(end) + 1)
            if not _reads_again(site, function, span) and not _reads_itself(site, homes):
                if site.way in ("update", "merge-patch-locked"):
                    message = (
                        f"{who(site)} tries the status write of {what(site)} again with the copy that was refused: it is as old as "
                        f"before, so it is refused until the retries are spent"
                    )
                    out.append(finding(CODE, [site], message, "read the object inside the retry and decide from it"))
                continue
            dropped = _dropped(site, function, span)
            if dropped:
                message = (
                    f"{who(site)} reads {what(site)} again in the retry and sets only "
                    f"{', '.join(sorted(site.fields)) or 'conditions'}: {', '.join(dropped)}, staged before, vanish after a conflict"
                )
                out.append(finding(CODE, [site], message, "set every staged field inside the retry"))
    return out


def _reads_again(site: Site, function: Function, span: range) -> bool:
    listed = {
        event.subject
        for event in function.events
        if event.what in ("define", "assign") and event.line in span and event.detail.split("(", 1)[0].endswith(".List")
    }
    # What is written may be a copy of what was read.
    written = {site.subject} | {event.subject for event in function.events if event.what == "copy" and event.path == site.subject}
    for event in function.events:
        if event.line not in span:
            continue
        if event.what == "get" or (event.what == "passed" and _READS.search(event.detail.rsplit(".", 1)[-1])) or event.what == "read":
            return True
        made = event.what in ("define", "assign") and event.subject in written
        if made and _READS.search(event.detail.split("(", 1)[0].rsplit(".", 1)[-1]):
            # `n, err := w.getNodeState()`
            return True
        if made and (_ANSWERED.search(event.detail) or event.detail.split(".", 1)[0] in listed):
            # What the server has just answered, or one of what it listed.
            return True
    return False


def _reads_itself(site: Site, homes: dict[str, Function]) -> bool:
    """Whether the helper that is called in the retry reads the object before it writes."""
    home = homes.get(site.helper_place) if site.verb == "helper" else None
    return home is not None and any(event.what in ("get", "read") for event in home.events)


def _dropped(site: Site, function: Function, span: range) -> list[str]:
    """Status fields that the function changed before the retry, on another copy of the kind, and does not set inside it."""
    inside = {event.path for event in function.events if event.what == "mutate" and event.line in span and event.path.startswith("Status")}
    if not inside or any(path == "Status" for path in inside) or not all("Conditions" in path for path in inside):
        return []
    before = {
        event.path.split(".")[1].split("[")[0]
        for event in function.events
        if event.what == "mutate" and event.line < span.start and event.path.startswith("Status.") and "Conditions" not in event.path
    }
    return sorted(name[:1].lower() + name[1:] for name in before)
