"""What RBAC and code say about `*/status`: shared by the two grant rules."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.model import Facts, Grant, Site

WRITE = ("update", "patch")
_VERBS = {"update": "update", "merge-patch": "patch", "merge-patch-locked": "patch", "json-patch": "patch", "ssa": "patch"}


def plural(kind: str) -> str:
    low = kind.lower()
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return low[:-1] + "ies"
    return low if low.endswith("endpoints") else low + "es" if low.endswith(("s", "x", "ch", "sh", "z")) else low + "s"


def plurals(kind: str) -> set[str]:
    """The plurals that a grant may mean: a kind that is a plural already (`Settings`) is most often its own, and some never get one."""
    return {plural(kind), kind.lower()}


def verb_of(site: Site) -> str:
    return _VERBS.get(str(site.way), "patch")


def needed(facts: Facts) -> dict[str, set[str]]:
    """Plural to the status verbs that code uses, over the whole project."""
    out: dict[str, set[str]] = {}
    for site in facts.sites:
        if site.target == "status" and site.kind:
            for resource in plurals(site.kind):
                out.setdefault(resource, set()).add(verb_of(site))
    return out


def matches(grant: Grant, resource: str) -> bool:
    return grant.resource in (resource, "*", "*/*", "*/status")


def used_in(grant: Grant, uses: dict[str, set[str]], facts: Facts) -> tuple[set[str], bool]:
    """The verbs used on the grant's resource by the marker's package (for a role: by all code), and whether something there cannot be
    seen."""
    resource = grant.resource.partition("/")[0]
    if not grant.marker:
        return uses.get(resource, set()), any(site.target == "status" and not site.kind for site in facts.sites)
    package = os.path.dirname(grant.file)
    sites = [site for site in facts.sites if os.path.dirname(site.file) == package and site.target == "status"]
    controllers = {site.controller for site in sites}
    # Writes that belong to no known controller may be reached from this one.
    reached = [
        site
        for site in facts.sites
        if site.target == "status" and (site in sites or site.controller in controllers or site.controller not in facts.controllers)
    ]
    blind = any(not site.kind for site in reached)
    if not any(os.path.dirname(site.file) == package for site in facts.sites):
        # No write of any kind stands here: the marker is for code elsewhere (main.go, doc.go).
        return uses.get(resource, set()), any(site.target == "status" and not site.kind for site in facts.sites)
    return {verb_of(site) for site in reached if site.kind and resource in plurals(site.kind)}, blind
