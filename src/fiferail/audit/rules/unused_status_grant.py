"""FR013 unused-status-grant

What it does
    Finds RBAC markers and rules that grant a write verb on `*/status` which no code uses: per controller (the marker's package), and
    for the whole role.
Why is this bad?
    A grant that nothing uses hides the day on which something starts to: the next writer of that status needs no change that a
    reviewer would see.
Example
    ```go
    // +kubebuilder:rbac:groups=example.io,resources=configs/status,verbs=get;update;patch
    ```
    in a controller that no longer writes the status of Config.
Use instead
    Drop the marker. When another controller of the same operator has the same grant the generated role does not change: the finding
    says so.
    Python operators have no markers: their roles are read where `--role PATH` (or `roles` in the configuration) points, and judged
    against all code that is audited.
Fix safety
    Safe: a marker all of whose verbs are dead in its package is removed. Partly used ones are notes and are left alone.
Known limits
    The resource is matched with the usual plural of the kind. A package that writes kinds which cannot be seen (an interface,
    unstructured objects) is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.model import Finding, Grant, Place
from fiferail.audit.rules import slug_of
from fiferail.audit.rules.grants import WRITE, matches, needed, used_in

if TYPE_CHECKING:
    from fiferail.audit.model import Facts

CODE = "FR013"
SEVERITY = "warning"


def check(facts: Facts, policy: str) -> list[Finding]:
    uses = needed(facts)
    out: list[Finding] = []
    for grant in facts.grants:
        if not grant.resource.endswith("/status") or grant.resource.startswith("*"):
            continue
        granted = set(WRITE) if "*" in grant.verbs else set(grant.verbs) & set(WRITE)
        here, blind = used_in(grant, uses, facts)
        dead = granted - here
        if not granted or not dead or blind:
            continue
        out.append(_finding(grant, granted, dead, facts, uses))
    return out


def _finding(grant: Grant, granted: set[str], dead: set[str], facts: Facts, uses: dict[str, set[str]]) -> Finding:
    whole = dead == granted
    where = "its controller" if grant.marker else "the audited code"
    message = f"{', '.join(sorted(dead))} on {grant.resource} is granted and {where} does not use {'it' if len(dead) == 1 else 'them'}"
    twin = [one for one in facts.grants if one is not grant and matches(one, grant.resource) and dead & set(one.verbs)]
    if grant.marker and twin:
        message += f"; the aggregated role does not change: {twin[0].file}:{twin[0].line} grants the same"
    elif grant.marker and uses.get(grant.resource.partition("/")[0], set()) & dead:
        message += "; another controller of this operator uses it, so the aggregated role still needs it"
    made = Finding(
        CODE,
        slug_of(CODE),
        message,
        "drop it from the marker" if grant.marker else "drop it from the role",
        [Place(grant.file, grant.line)],
    )
    made.severity = SEVERITY if whole else "note"
    made.fixable = "safe" if whole and grant.marker and "/status" in grant.text and ";" not in _resources(grant.text) else ""
    return made


def _resources(text: str) -> str:
    return text.partition("resources=")[2].split(",")[0]
