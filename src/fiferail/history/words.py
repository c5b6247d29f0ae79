"""A finding as a few sentences: what happened, by which two writers, in which requests, how sure that is, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import render
from ..objects.tree import ABSENT, Json
from . import findings

if TYPE_CHECKING:
    from .findings import Finding

_TITLES = {findings.CERTAIN: "LOST", findings.INFERRED: "LOST (inferred)", findings.POSSIBLE: "POSSIBLY LOST"}
_CONTENT = {"merge": "merge patch", "json": "JSON patch", "strategic": "strategic merge patch", "apply": "server-side apply"}
_WHY = {
    findings.CARRIED: "overwrote it with the older content it had read",
    findings.COMPUTED: "replaced it by a value computed from that older version",
    findings.SELF: "overwrote its own newer write from that older version",
    findings.DROPPED: "removed it without naming it",
    findings.LAUNDERED: "sent the values of its refused request again with a fresh resourceVersion",
}
_DO = {
    findings.CARRIED: "Send only the entries or fields that changed, and test what was read or send its resourceVersion",
    findings.COMPUTED: "Send the resourceVersion that was read, or a JSON patch that tests the field, and decide again when it is refused",
    findings.SELF: "Base each write on the answer to the previous one",
    findings.DROPPED: "Write through a version and a model of the API that know the field, or send a patch of the changed fields only",
    findings.LAUNDERED: "After a conflict make the change again on the object that was just read, instead of sending the old status",
}


def explain(finding: Finding) -> str:
    """One finding, in words."""
    where = f"{render(finding.path)} of {finding.object}" if finding.path else str(finding.object)
    match finding.name:
        case findings.LOST if finding.kind == findings.ABANDONED:
            return _abandoned(finding, where)
        case findings.LOST if finding.kind == findings.INCARNATION:
            return (
                f"LOST {where}: {finding.culprit} had read an earlier object of that name and wrote {shown(finding.now)} over "
                f"{shown(finding.was)} of the one that {finding.victim} created since ({_request(finding)}). "
                "Send the uid in a JSON patch test, or the resourceVersion."
            )
        case findings.LOST | findings.DOUBLE:
            return _lost(finding, where)
        case findings.STALE_DECISION:
            return _stale(finding, where)
        case findings.FOREIGN:
            return (
                f"FOREIGN {where}: {finding.culprit} wrote {shown(finding.now)} over {shown(finding.was)} at resourceVersion "
                f"{finding.overwritten}, but {finding.victim} owns it."
            )
        case findings.FIGHT:
            return (
                f"FIGHT {where}: {finding.culprit} and {finding.victim} overwrite each other, each having seen the other; "
                f"now {shown(finding.now)} over {shown(finding.was)} at resourceVersion {finding.overwritten}. "
                "Let one of them own the field."
            )
        case findings.HOT_LOOP:
            return f"HOT LOOP {where}: {finding.culprit} sent {finding.how}. Write only when something differs from what is stored."
        case findings.WASTE:
            return (
                f"WASTE {where}: {finding.culprit} sent {finding.how}. They wake nobody, but each costs a request: "
                "compare with what is stored before writing."
            )
    return f"TIME TRAVEL {where}: {finding.culprit} received resourceVersion {finding.now} after resourceVersion {finding.was}."


def _lost(finding: Finding, where: str) -> str:
    title = _TITLES[finding.certainty] if finding.name == findings.LOST else "CREATED TWICE"
    removed = finding.lost is ABSENT
    wrote = f"removed {shown(finding.was)}" if removed else f"wrote {shown(finding.lost)} (was {shown(finding.was)})"
    based = f"based on resourceVersion {finding.base}, {_WHY[finding.kind]}"
    did = based if finding.base else "without having read the object, replaced it"
    return (
        f"{title} {where}: {finding.victim} {wrote} at resourceVersion {finding.written}; {finding.culprit}, {did} ({_request(finding)}). "
        f"It is now {shown(finding.now)}.{_because(finding)} {_DO[finding.kind]}."
    )


def _abandoned(finding: Finding, where: str) -> str:
    by = f", as {finding.culprit} left it" if finding.culprit and finding.culprit != finding.victim else ""
    return (
        f"{_TITLES[finding.certainty]} {where}: {finding.victim} wanted {shown(finding.lost)}, was refused "
        f"({_sent(finding.how)}) and never sent it again. It is {shown(finding.now)}{by}.{_because(finding)} "
        "Handle the conflict: read the object, decide again, write."
    )


def _because(finding: Finding) -> str:
    because = finding.because.replace("{base}", str(finding.base))
    return f" {finding.certainty.capitalize()}: {because}." if because else ""


def _stale(finding: Finding, where: str) -> str:
    by = f" by {finding.victim}" if finding.victim else ""
    at = f" at resourceVersion {finding.written}" if finding.written else ""
    return (
        f"STALE {where}: {finding.culprit} decided on {shown(finding.was)} as of resourceVersion {finding.base}, but it had been "
        f"changed to {shown(finding.now)}{by}{at} when the decision was written ({_request(finding)}). Test what the decision depends on."
    )


def _request(finding: Finding) -> str:
    return f"{_sent(finding.how)}, resourceVersion {finding.overwritten}"


def _sent(how: str) -> str:
    """A request in the words of the API: `patch merge status` is a merge patch on /status."""
    verb, *rest = how.split()
    content = rest.pop(0) if rest and rest[0] in _CONTENT else ""
    name = _CONTENT.get(content) or {"update": "PUT"}.get(verb, verb)
    return f"{name} on /{rest[0]}" if rest else name


def shown(value: Json) -> str:
    """A value, short."""
    if value is ABSENT or value is None:
        return "nothing" if value is ABSENT else "null"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:117] + "..."
