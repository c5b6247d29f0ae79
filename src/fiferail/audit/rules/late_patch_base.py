"""FR006 late-patch-base

What it does
    Finds patches whose base is the changed object itself, or a copy taken after the change: the difference is empty.
Why is this bad?
    `client.MergeFrom(x)` keeps a reference to x. When x itself is then changed and sent, both sides of the difference are the same
    and the patch is `{}`: it succeeds and nothing is written. The same when the copy is taken after the change.
Example
    ```go
    gadget.Status.Phase = "Running"
    base := client.MergeFrom(gadget.DeepCopy())
    return r.Status().Patch(ctx, gadget, base)        // sends {}
    ```
Use instead
    ```go
    base := client.MergeFrom(gadget.DeepCopy())
    gadget.Status.Phase = "Running"
    ```
    In Python, where a patch is the difference of two copies (`jsonpatch.make_patch(before, gadget)` and its like):
    ```python
    before = copy.deepcopy(gadget)                    # not `before = gadget`, which is the same object
    gadget["status"]["phase"] = "Running"
    ```
Fix safety
    Display only: moving a line across a change is for a person.
Known limits
    Seen where base, change and write stand in one function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Function, Site

CODE = "FR006"
SEVERITY = "error"
# A JSON patch made as the difference of two copies can be empty in the same way.
_VERBS = {"go": ("merge-patch", "merge-patch-locked"), "python": ("merge-patch", "merge-patch-locked", "json-patch")}


def check(facts: Facts, policy: str) -> list[Finding]:
    out = []
    for function in facts.functions:
        for site in function.sites:
            if site.target != "status" or site.verb not in _VERBS[site.language]:
                continue
            copied = f"copy.deepcopy({site.subject})" if site.language == "python" else f"{site.subject}.DeepCopy()"
            if "base is the object itself" in site.notes and _changed_here(site, function):
                message = (
                    f"{who(site)} sends {site.subject} against itself: base and object are one, so the patch of {what(site)} is "
                    f"empty and nothing is written"
                )
                out.append(finding(CODE, [site], message, f"take the base from {copied} before the change"))
            elif _late(site, function):
                message = (
                    f"{who(site)} copies {site.subject} after changing it: the patch of {what(site)} is empty and the change is "
                    f"never written"
                )
                out.append(finding(CODE, [site], message, f"take {copied} before the first change of its status"))
    return out


def _changed_here(site: Site, function: Function) -> bool:
    return not any(event.what == "assign" and event.subject == site.subject and "DeepCopy" in event.detail for event in function.events)


def _late(site: Site, function: Function) -> bool:
    file, _, text = site.base.rpartition(":")
    if site.base_of != site.subject or file != site.file or not text.isdigit() or not function.line <= int(text) <= site.line:
        return False
    base = int(text)
    copied = [event.line for event in function.events if event.what == "copy" and event.subject == site.subject and event.line <= base]
    taken = copied[-1] if copied else base
    before = [
        event
        for event in function.events
        if _changes(event.what, event.path) and event.subject == site.subject and function.line <= event.line < taken
    ]
    between = [
        event
        for event in function.events
        if event.subject.split(".")[0] == site.subject.split(".")[0]
        and taken <= event.line <= site.line
        and event.what in ("mutate", "assign", "passed", "get")
        and event.line != site.line
    ]
    between = [event for event in between if not (event.line in (taken, base) and event.what == "passed")]
    calls = [event for event in function.events if event.what in ("mutate",) and taken < event.line < site.line]
    reads = [
        event
        for event in function.events
        if event.what in ("get", "assign") and event.subject == site.subject and before and before[-1].line < event.line <= taken
    ]
    return bool(before) and not between and not calls and not reads and _dominates(before[-1].block, site, function)


def _changes(what: str, path: str) -> bool:
    return what == "mutate" and path.startswith("Status")


def _dominates(block: tuple[int, ...], site: Site, function: Function) -> bool:
    own = next((event.block for event in function.events if event.site is site), ())
    return own[: len(block)] == block
