"""FR007 stale-patch-base

What it does
    Finds a base that is older than a write of the same function to the same object, and values that are carried over a fresh read:
    the object is changed, read again, and the change is put on the fresh copy as a whole.
Why is this bad?
    After an own write the server's answer is in the object, so a difference with the older base holds whatever anyone changed since,
    or fails on its resourceVersion every time. A fresh resourceVersion on stale values is worse: the lock now protects nothing, and
    another writer's newer value is overwritten with a clear conscience.
Example
    ```go
    base := client.MergeFrom(gadget.DeepCopy())
    controllerutil.AddFinalizer(gadget, name)
    if err := r.Update(ctx, gadget); err != nil { return err }
    gadget.Status.Phase = "Running"
    return r.Status().Patch(ctx, gadget, base)
    ```
Use instead
    Take a new base after each write. After a fresh read, decide again from what was read. In Python the fresh resourceVersion is often
    put on the old copy by hand, which is the same:
    ```python
    gadget["metadata"]["resourceVersion"] = api.get_namespaced_custom_object(...)["metadata"]["resourceVersion"]
    ```
Fix safety
    Display only.
Known limits
    Seen within one function. A base that travels through a struct is followed for its lock, not for its age.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Event, Facts, Finding, Function, Site

CODE = "FR007"
SEVERITY = "error"
_WHOLE = re.compile(r"^(?:\*)?([\w.\[\]]+)\.Status(?:\.DeepCopy\(\))?$")
_WHOLE_IN_PYTHON = re.compile(r"^(?:copy\.)?(?:deepcopy\()?([\w.]+?)(?:\.status|\['status'\]|\.get\('status'(?:, \{\})?\))\)?$")


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for function in facts.functions:
        for site in function.sites:
            if site.target != "status":
                continue
            older = _written_since_base(site, function)
            if older is not None:
                message = (
                    f"{who(site)} sends a base that is older than its own write at line {older.line}: what others changed in "
                    f"{what(site)} up to that write is "
                    "taken for this controller's change, or the old resourceVersion is refused"
                )
                out.append(finding(CODE, [site], message, "build the base again after the write"))
                continue
            source = _laundered(site, function)
            if source and source == site.subject:
                message = (
                    f"{who(site)} puts a fresh resourceVersion on {source}, whose values are old: the lock then lets them "
                    f"overwrite what another writer stored in {what(site)} in between"
                )
                out.append(finding(CODE, [site], message, "take the object that was just read, and set only what this controller decides"))
            elif source:
                message = (
                    f"{who(site)} reads {site.subject} again and puts the whole status of {source} on it: the fresh resourceVersion "
                    f"lets stale values of "
                    f"{what(site)} overwrite what another writer stored in between"
                )
                out.append(
                    finding(
                        CODE, [site], message, "after the fresh read set only the fields that this controller decides, from what was read"
                    )
                )
    return out


def _written_since_base(site: Site, function: Function) -> Site | None:
    if site.verb not in ("merge-patch", "merge-patch-locked") and not (site.language == "python" and site.verb == "json-patch"):
        return None
    file, _, text = site.base.rpartition(":")
    if file != site.file or not text.isdigit() or not function.line <= int(text) < site.line:
        return None
    own = _event_of(site, function)
    if own is None:
        return None
    for event in function.events:
        other = event.site
        if (
            event.what != "write"
            or other is None
            or other is site
            or other.subject != site.subject
            or other.target in ("create", "delete")
            or other.deferred
        ):
            continue
        if int(text) < other.line < site.line and own.block[: len(event.block)] == event.block and not _ends_first(event, own, function):
            return other
    return None


def _ends_first(event: Event, own: Event, function: Function) -> bool:
    """A return between the two in the first one's block: no path leads from one to the other."""
    return any(
        one.what == "return" and one.block == event.block and event.line <= one.line < own.line and len(one.block) > 0
        for one in function.events
    )


def _laundered(site: Site, function: Function) -> str:
    own = _event_of(site, function)
    if own is None:
        return ""
    if site.language == "python" and site.verb in ("update", "merge-patch-locked"):
        renewed = _renewed(site, function, own)
        if renewed:
            return renewed
    gets = [event.line for event in function.events if event.what == "get" and event.subject == site.subject and event.line <= site.line]
    if not gets:
        return ""
    for event in function.events:
        if (
            event.what == "mutate"
            and event.subject == site.subject
            and event.path == "Status"
            and gets[-1] <= event.line <= site.line
            and own.block[: len(event.block)] == event.block
        ):
            match = (_WHOLE_IN_PYTHON if site.language == "python" else _WHOLE).match(event.detail.partition("|")[2])
            if match and match.group(1) != site.subject:
                return match.group(1)
    return ""


def _renewed(site: Site, function: Function, own: Event) -> str:
    """The copy that gets the resourceVersion of another, fresher one: its values stay as old as they were."""
    for event in function.events:
        if (
            event.what == "mutate"
            and event.path == "Metadata.ResourceVersion"
            and event.subject == site.subject
            and event.line <= site.line
        ):
            source = event.detail.partition("|")[2]
            fresh = re.match(r"\w+", source)
            if fresh and fresh.group(0) not in (site.subject, "None") and own.block[: len(event.block)] == event.block:
                return site.subject
    return ""


def _event_of(site: Site, function: Function) -> Event | None:
    return next((event for event in function.events if event.site is site), None)
