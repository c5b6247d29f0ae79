"""FR002 unlocked-status-patch

What it does
    Under policy `locked`, finds status merge patches that carry no resourceVersion: `client.MergeFrom(x)` and merge patches of raw
    bytes without one.
Why is this bad?
    The server applies such a patch to whatever is stored by then. Two reconciles that both read "no plan yet" both create one, and
    the second silently replaces the first. With a resourceVersion the second is refused and decides again.
Example
    ```go
    base := client.MergeFrom(gadget.DeepCopy())
    ```
Use instead
    ```go
    base := client.MergeFromWithOptions(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})
    ```
    Where every writer owns its fields and none is computed from another's, choose policy `disjoint`: this rule is silent there.
Fix safety
    Safe where the error of the patch is returned to the caller: a refused write is tried again by the next reconcile. Unsafe (`--fix
    --unsafe`) elsewhere, because a conflict that nobody handles would now be lost.
Known limits
    A base that comes from outside the audited files is reported for review as "base not seen". A function that sends whatever patch it is
    handed, and a patch that a function of another module sends, are listed, and their verdict is review: how the patch is made is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import by_cause, finding, made_elsewhere, other_writers, status_sites, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR002"
SEVERITY = "error"
# Patch helpers lock what must be locked themselves; what another module does with its argument is not seen, and reported for review.
_UNSEEN = ("patch helper", "another module")


def check(facts: Facts, policy: str) -> list[Finding]:
    if policy != "locked":
        return []
    out = []
    unknown = made_elsewhere(facts)
    plain = [
        site
        for site in status_sites(facts)
        if site.way == "merge-patch" and site.through not in _UNSEEN and site.language == "go" and id(site) not in unknown
    ]
    python = [site for site in status_sites(facts) if site.way == "merge-patch" and site.language == "python"]
    for group in by_cause([*plain, *python], facts, base=True):
        first = group[0]
        others = other_writers(facts, first)
        rival = others[0] if others else "another reconcile of the same object"
        unseen = "base not seen" in first.notes
        message = (
            f"{who(first)} patches the status of {what(first)} without a resourceVersion: what {rival} wrote to the same "
            f"field after the read "
            "is overwritten and nobody is told"
        )
        if unseen:
            message = (
                f"{who(first)} patches the status of {what(first)} with a base that is built outside the audited files: it may "
                f"carry no resourceVersion"
            )
        made = finding(CODE, group, message, _fix(first), severity="warning" if unseen else "error", writers=[who(first), *others])
        made.fixable = "" if unseen else _fixable(group)
        out.append(made)
    return out


def _fix(site: Site) -> str:
    if site.helper.startswith("kopf"):
        return "write through fiferail.AsyncStatusWriter, or use patch.fns, which kopf sends with a test of the resourceVersion"
    if site.language == "python":
        return "put metadata.resourceVersion of the object that was read into the patch, or write through fiferail.StatusWriter"
    if "strategic" in site.notes:
        return "build the base with client.StrategicMergeFrom(x, client.MergeFromWithOptimisticLock{})"
    return "build the base with client.MergeFromWithOptions(x, client.MergeFromWithOptimisticLock{})"


def _fixable(group: list[Site]) -> str:
    if any(site.language != "go" for site in group) or not group[0].base:
        return ""
    return "safe" if all(site.error == "returned" for site in group) else "unsafe"
