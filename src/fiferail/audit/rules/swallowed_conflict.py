"""FR009 swallowed-conflict

What it does
    Finds status writes whose error goes nowhere: assigned to `_`, only logged, or turned into success when it is a conflict, with no
    request to run again.
Why is this bad?
    The loser of a conflict has decided something that nobody stored. When it goes on as if it had, no event will come to make it try
    again: the status stays wrong until the next change of the object, which may be never.
Example
    ```go
    if err := r.Status().Update(ctx, gadget); err != nil {
        log.Error(err, "update status")
    }
    return ctrl.Result{}, nil
    ```
Use instead
    ```go
    if err := r.Status().Update(ctx, gadget); err != nil {
        return ctrl.Result{}, err          // or Result{Requeue: true} for a conflict
    }
    ```
Fix safety
    No automatic fix.
Known limits
    A logged error is accepted where the function then returns another error that it has by then: the reconcile runs again anyway; and in a
    function that a loop or a period runs again, in a condition that is asked again, and where the caller is told by a value, the sender of
    a request by its answer, or the next round by a mark that is missing. Errors that are sent to a channel or kept in a field count as
    handled. Calls of a helper that tells nobody are places of its finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, status_sites, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Event, Facts, Finding, Function, Site

CODE = "FR009"
SEVERITY = "error"
_FIXES = {
    "go": "return the error, or ask to be run again (Requeue) when it is a conflict",
    "python": "let the exception go on, or ask to be run again (kopf.TemporaryError) when it is a conflict",
}
_WORDS = {
    "ignored": "drops the error of",
    "logged": "only logs the error of",
    "swallowed": "returns success after a failure of",
    "conflict-swallowed": "takes a conflict for success on",
}


def check(facts: Facts, policy: str) -> list[Finding]:
    functions = {id(site): function for function in facts.functions for site in function.sites}
    out = []
    for site in status_sites(facts):
        words = _WORDS.get(site.error)
        if words is None or (id(site) in functions and _fails_anyway(site, functions[id(site)])):
            continue
        message = (
            f"{who(site)} {words} the status write of {what(site)}: when another writer was first, this one's status is not "
            f"stored and nothing runs it again"
        )
        out.append(finding(CODE, [site, *_callers(site, facts)], message, _FIXES[site.language]))
    return out


def _callers(site: Site, facts: Facts) -> list[Site]:
    """Calls of a function that tells nobody what became of the write in it: they cannot know either."""
    if not site.inner:
        return []
    return [other for other in facts.sites if other.verb == "helper" and other.helper_place == site.place and other.error == "used"]


def _fails_anyway(site: Site, function: Function) -> bool:
    """The function returns an error after the write, so the reconcile is repeated."""
    own = next((event for event in function.events if event.site is site), None)
    if own is None or site.error == "conflict-swallowed":
        return False
    if site.deferred and site.failing:
        # At the end of a pass that has failed.
        return True
    for event in function.events:
        if event.what == "return" and event.line >= site.line and own.block[: len(event.block)] == event.block:
            last = event.detail.split(" ")[-1] if event.detail else ""
            if event.detail.startswith("bare ") and not site.failing:
                # The named result may well be nil.
                return False
            return _is_error(event.detail, last) and (site.deferred or not _made_since(last, own, event, function))
    return False


def _made_since(name: str, own: Event, returned: Event, function: Function) -> bool:
    """What is returned is the answer of a later call, which may well succeed."""
    return any(
        event.what in ("assign", "define")
        and event.subject == name
        and own.line < event.line <= returned.line
        and event.block == returned.block
        for event in function.events
    )


def _is_error(detail: str, last: str) -> bool:
    return detail.startswith("requeue ") or (last not in ("", "nil") and "err" in detail.lower())
