"""What rules share when they write a finding: places, the words for a writer, and one finding per cause.

Called by the rule modules only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.audit.model import Finding, Place, Site, Target
from fiferail.audit.rules import slug_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fiferail.audit.model import Facts


def status_sites(facts: Facts) -> list[Site]:
    return [site for site in facts.sites if site.target == Target.STATUS]


def place(site: Site, note: str = "") -> Place:
    return Place(site.file, site.line, note, site.column)


def who(site: Site) -> str:
    return site.controller or site.function


def what(site: Site) -> str:
    return site.kind or "the object"


def other_writers(facts: Facts, site: Site) -> list[str]:
    """Other controllers that write the status of the same kind."""
    return sorted(name for name in facts.writers(site.kind) if name != who(site)) if site.kind else []


def finding(
    code: str, sites: Iterable[Site], message: str, fix: str, *, severity: str = "error", writers: Iterable[str] = (), fixable: str = ""
) -> Finding:
    listed = list(sites)
    first = listed[0]
    made = Finding(
        code,
        slug_of(code),
        message,
        fix,
        [place(site, _note(site)) for site in listed],
        listed,
        severity,
        first.kind,
        first.controller,
        tuple(writers),
    )
    made.fixable = fixable
    if first.base:
        file, _, line = first.base.rpartition(":")
        made.flow = [Place(file, int(line), "the base is built here"), place(first, "and sent here")]
    return made


def _note(site: Site) -> str:
    return f"through {site.helper}" if site.verb == "helper" and site.helper else ""


def root(site: Site, roots: dict[str, Site]) -> Site:
    """The write that a call of a wrapper leads to."""
    for _ in range(6):
        inner = roots.get(site.helper_place) if site.verb == "helper" else None
        if inner is None or inner is site:
            break
        site = inner
    return site


def made_elsewhere(facts: Facts) -> set[int]:
    """Writes, and calls that lead to them, of whatever patch a function is handed, where nothing shows how that was made: no ground for a
    finding."""
    if not any("base not seen" in site.notes for site in facts.sites):
        return set()
    roots = {site.place: site for site in facts.sites}
    return {id(site) for site in facts.sites if (written := root(site, roots)).inner and "base not seen" in written.notes}


def by_cause(sites: list[Site], facts: Facts, *, base: bool = False) -> list[list[Site]]:
    """Groups sites that share a cause: calls of one wrapper with the write inside it, and patches of one base."""
    roots = {site.place: site for site in facts.sites}
    groups: dict[str, list[Site]] = {}
    for site in sites:
        key = root(site, roots)
        cause = (key.base or key.place) if base else key.place
        if key.helper.startswith("kopf"):
            # kopf gathers what a handler stages and writes it once.
            cause = f"{key.file}:{key.function}"
        groups.setdefault(cause, []).append(site)
    for group in groups.values():
        group.sort(key=lambda site: (site.verb == "helper", site.file, site.line))
    return list(groups.values())


def with_callers(group: list[Site], facts: Facts) -> list[Site]:
    """A group, and the calls that lead to it by a wrapper's other way: which one is taken is decided when it runs."""
    homes = {id(site): function for function in facts.functions for site in function.sites}
    places = {site.place: site for site in facts.sites}
    callers: dict[int, list[Site]] = {}
    for site in facts.sites:
        written = places.get(site.helper_place) if site.verb == "helper" else None
        home = homes.get(id(written)) if written is not None and written is not site else None
        if written is not None and home is not None and site.target == written.target:
            callers.setdefault(id(home), []).append(site)
    out, level = {id(site): site for site in group}, group
    while level:
        ways = [homes[id(site)] for site in level if not site.failing and id(site) in homes]
        level = [site for function in ways for site in callers.get(id(function), ()) if id(site) not in out]
        out |= {id(site): site for site in level}
    return list(out.values())
