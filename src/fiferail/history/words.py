"""A finding as a sentence that names the writers, the field, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import render
from ..objects.tree import ABSENT, Json
from . import findings

if TYPE_CHECKING:
    from .findings import Finding

_WHY = {
    "carried": "put back what it had read, without meaning to touch it",
    "computed": "wrote a value that it had computed from an older version",
    "self": "wrote from an older version than its own last write",
    "dropped": "removed it without knowing it",
    "laundered": "tried again with the values of a refused attempt on a fresh resourceVersion",
    "abandoned": "was refused and never tried again",
}


def explain(finding: Finding) -> str:
    """One finding, in words."""
    where = f"{render(finding.path)} of {finding.object}" if finding.path else str(finding.object)
    match finding.name:
        case findings.LOST if finding.kind == findings.ABANDONED:
            return f"LOST {where}: {finding.victim} wanted {shown(finding.lost)}, {_WHY['abandoned']}; it is {shown(finding.now)}."
        case findings.LOST if finding.kind == findings.INCARNATION:
            return (
                f"LOST {where}: {finding.culprit} had read an earlier object of that name, and wrote {shown(finding.now)} over "
                f"{shown(finding.was)} of the one that {finding.victim} has made since: {finding.how} at {finding.overwritten}."
            )
        case findings.LOST | findings.DOUBLE:
            title = "LOST" if finding.name == findings.LOST else "CREATED TWICE"
            return (
                f"{title} {where}: {finding.victim} wrote {shown(finding.lost)} (was {shown(finding.was)}) at {finding.written}; "
                f"{finding.culprit}, based on {finding.base or 'nothing it had read'}, {_WHY[finding.kind]}: "
                f"{finding.how} at {finding.overwritten} left {shown(finding.now)}."
            )
        case findings.STALE_DECISION:
            by = f" by {finding.victim}" if finding.victim else ""
            return (
                f"STALE {where}: {finding.culprit} decided on {shown(finding.was)} as of {finding.base}, "
                f"but it had become {shown(finding.now)}{by} before {finding.overwritten}."
            )
        case findings.FOREIGN:
            return f"FOREIGN {where}: {finding.culprit} wrote {shown(finding.now)} over {shown(finding.was)}, but {finding.victim} owns it."
        case findings.FIGHT:
            return (
                f"FIGHT {where}: {finding.culprit} and {finding.victim} overwrite each other, each having seen the other; "
                f"now {shown(finding.now)} over {shown(finding.was)}."
            )
        case findings.HOT_LOOP:
            return f"HOT LOOP {where}: {finding.culprit} sent {finding.how}."
    return f"TIME TRAVEL {where}: {finding.culprit} had seen version {finding.was} and was then given {finding.now}."


def shown(value: Json) -> str:
    """A value, short."""
    if value is ABSENT or value is None:
        return "nothing" if value is ABSENT else "null"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "..."
