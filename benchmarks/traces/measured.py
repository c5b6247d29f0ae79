"""Runs the checker on collected logs: as they are, and with stale writes in them."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import msgspec

from fiferail.history.auditlog import records
from fiferail.history.checker import Checker
from fiferail.history.findings import LOSSES
from fiferail.history.records import Commit, actor_of
from fiferail.history.words import explain
from fiferail.objects.paths import render

from . import inject

if TYPE_CHECKING:
    from pathlib import Path

    from fiferail.history.findings import Finding

#: What fails a test; the rest is only printed.
FAILING = ("certain", "inferred")
#: The server writes too (it makes its own roles at the start): its writes are checked, and not counted as an operator's.
SERVER = "kube-apiserver/"


def load(log: Path) -> list[inject.Event]:
    """The events of a compressed log, in the order of their answers. Requests that name no resource are left out."""
    with gzip.open(log, "rb") as lines:
        events = [msgspec.json.decode(line) for line in lines]
    events = [event for event in events if (event.get("objectRef") or {}).get("resource")]
    return sorted(events, key=lambda event: str(event["stageTimestamp"]))


def as_one(events: list[inject.Event]) -> list[inject.Event]:
    """The log of the unchanged suite: one User-Agent for the controllers and the test of a process."""
    return [{**event, "userAgent": _program(event)} for event in events]


def apart(events: list[inject.Event]) -> list[inject.Event]:
    """The log with a client per controller. They share the informers of their process, so each of them watches what it watches."""
    agents: dict[str, set[str]] = {}
    for event in events:
        agents.setdefault(_program(event), set()).add(event.get("userAgent", ""))
    made = []
    for event in events:
        is_shared = event["verb"] == "watch" and event.get("userAgent", "") == _program(event)
        made += [{**event, "userAgent": agent} for agent in sorted(agents[_program(event)])] if is_shared else [event]
    return made


#: `name/version (platform) kubernetes/commit`, and what `callers` adds to it. cluster-api says its own group in place of `kubernetes`.
_AGENT = re.compile(r"(.+ \([^)]*\) [^/ ]+/[^/ ]+)(?:/\S+)?")


def _program(event: inject.Event) -> str:
    """The User-Agent without the caller."""
    agent: str = event.get("userAgent", "")
    found = _AGENT.fullmatch(agent)
    return found[1] if found else agent


def check(events: list[inject.Event]) -> tuple[list[Commit], list[Finding]]:
    """The writes and the findings of a log."""
    found = records(map(msgspec.json.encode, events))
    checker = Checker()
    for record in found:
        checker.feed(record)
    checker.finish()
    return [record for record in found if isinstance(record, Commit)], checker.findings


def certainty(finding: Finding) -> str:
    """Certain, inferred, possible; `habit` for findings that are no losses."""
    return str(getattr(finding, "certainty", "certain")) if finding.name in LOSSES else "habit"


def clean(events: list[inject.Event]) -> dict[str, Any]:
    """What the checker says of a log as it is."""
    commits, findings = check(events)
    commits = [commit for commit in commits if not commit.actor.startswith(SERVER)]
    losses = [finding for finding in findings if certainty(finding) in FAILING]
    return {
        "events": len(events),
        "writes": len(commits),
        "status_writes": sum(commit.subresource == "status" for commit in commits),
        "objects": len({commit.object for commit in commits}),
        "clients": len({(commit.actor, commit.manager) for commit in commits}),
        "losses": [
            {"certainty": certainty(one), "kind": one.kind or one.name, "path": render(one.path), "text": explain(one)} for one in losses
        ],
        "possible": sum(certainty(finding) == "possible" for finding in findings),
        "habits": sum(certainty(finding) == "habit" for finding in findings),
    }


def stale(events: list[inject.Event], chosen: list[inject.Stale]) -> list[dict[str, Any]]:
    """Inject the stale writes, and say what the checker made of each."""
    outcomes = []
    for one in inject.rounds(chosen):
        _, findings = check(inject.injected(events, one))
        outcomes += [_judged(stale, findings) for stale in one]
    return outcomes


def _judged(stale: inject.Stale, findings: list[Finding]) -> dict[str, Any]:
    """The strongest finding about one injected write, and whether any names the right field and writers."""
    place, culprit, victim = stale.place, actor_of(stale.agent), actor_of(stale.place.agent)
    mine = [
        one for one in findings
        if one.object.uid == place.uid and one.overwritten == place.version + 1 and certainty(one) != "habit"
    ]  # fmt: skip
    classes = {certainty(one) for one in mine}
    strongest = next((name for name in (*FAILING, "possible") if name in classes), "missed")
    named = any(
        one.culprit.startswith(culprit) and one.victim.startswith(victim) and _is_changed(render(one.path), place)
        for one in mine if certainty(one) in FAILING
    )  # fmt: skip
    return {
        "form": stale.form, "class": strongest, "named": named, "where": "/".join(place.key), "changed": sorted(place.changed),
        "by": culprit, "over": victim,
    }  # fmt: skip


def _is_changed(path: str, place: inject.Place) -> bool:
    return path == "status.conditions" or any(path.startswith(f"status.conditions[{name}]") for name in place.changed)
