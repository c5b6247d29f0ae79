"""FR012 append-only-references

What it does
    Finds a status list that is only ever appended to: no code recomputes it or removes from it.
Why is this bad?
    What was referenced once stays in the list for ever: deletion is blocked by things that are gone. And whoever appends from an old
    copy brings back what the owner had removed.
Example
    ```go
    config.Status.References = append(config.Status.References, ref)
    ```
Use instead
    The owner of the list recomputes it from what exists, additions and removals, and is its only writer.
Fix safety
    No automatic fix.
Known limits
    A removal in a function that writes nothing to the API is not seen; conditions are not lists of references, nor are lists that say what
    became of something (failed, finished, history, events): those are meant to grow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fiferail.audit.rules.writing import finding, what, who

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Finding, Site

CODE = "FR012"
_OUTCOMES = re.compile(r"(?i)fail|finish|succe|complet|histor|event|error|warning|message|result|progress|attempt")
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    appended: dict[tuple[str, str], list[tuple[Site, int]]] = {}
    otherwise: set[str] = set()
    for function in facts.functions:
        for event in function.events:
            if event.what != "mutate" or not event.path.startswith("Status.") or "Conditions" in event.path:
                continue
            field = event.path.split(".", 1)[1].split("[")[0]
            if _OUTCOMES.search(field):
                continue
            if event.detail.split("|")[0].split(" ")[0] == "append":
                sites = [site for site in function.sites if site.target == "status" and site.subject == event.subject]
                for site in sites[:1]:
                    appended.setdefault((site.kind, field), []).append((site, event.line))
            elif "index" not in event.detail.split("|")[0]:
                otherwise.add(field)
    out = []
    for (_, field), entries in appended.items():
        if field in otherwise:
            continue
        site, line = entries[0]
        name = field[:1].lower() + field[1:]
        message = (
            f"{who(site)} only ever appends to {name} of {what(site)} (line {line}): entries of what is gone stay, and a "
            f"stale copy brings back what was removed"
        )
        out.append(
            finding(
                CODE,
                [one for one, _ in entries],
                message,
                "recompute the list from what exists, in the controller that owns it",
                severity=SEVERITY,
            )
        )
    return out
