"""From facts to findings and verdicts: runs the rules, honours suppressions and the baseline, and says a reason for every site.

Called by `run`. The verdict of a site is the worst of its findings; a write that is not of status is out of scope, because its
invariants are others.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from fiferail.audit import rules, suppressions
from fiferail.audit.model import Facts, Finding, Report, Site, Target, Verdict
from fiferail.audit.rules.writing import made_elsewhere

if TYPE_CHECKING:
    from fiferail.audit.config import Config

_SAFE = {
    "merge-patch-locked": "carries the resourceVersion that was read: a stale write is refused",
    "json-patch": "a JSON patch asserts only the paths it names",
    "ssa": "server-side apply asserts only the fields of its own manager",
    "create": "creates, it overwrites nothing",
    "merge-patch": "a plain merge patch of fields that this writer owns",
}
_ELSEWHERE = "sends a patch that is made elsewhere: whether it carries a resourceVersion is not seen"
_OUTSIDE = {
    Target.SPEC: "a write of the main resource, not of status",
    Target.METADATA: "a write of metadata, not of status",
    Target.CREATE: "a creation, not a status write",
    Target.DELETE: "a deletion, not a status write",
}


def judge(facts: Facts, config: Config, root: str = "") -> Report:
    findings: list[Finding] = []
    facts.known_writers = {}
    for code, rule in rules.rules().items():
        if code != "FR015" and _wanted(code, config):
            findings.extend(rule.check(facts, config.policy))
    findings, allowed = suppressions.honour(findings, facts.suppressions)
    if _wanted("FR015", config):
        findings.extend(rules.rules()["FR015"].check(facts, config.policy))
    findings.sort(key=lambda finding: (finding.places[0].file, finding.places[0].line, finding.code))
    for number, finding in enumerate(findings, 1):
        finding.number = number
        finding.fingerprint = fingerprint(finding)
    _verdicts(facts, findings, allowed)
    return Report(facts, findings, config.policy, root, matrix(facts))


def _wanted(code: str, config: Config) -> bool:
    selected = not config.select or any(code.startswith(one) for one in config.select)
    return selected and not any(code.startswith(one) for one in config.ignore)


def fingerprint(finding: Finding) -> str:
    """Stays the same when lines move: rule, file, function, kind, verb and the count of such sites, never a line number."""
    site = finding.sites[0] if finding.sites else None
    parts = [finding.code, finding.places[0].file]
    parts += [site.function, site.kind, str(site.verb), site.subject] if site else [finding.message]
    return blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _verdicts(facts: Facts, findings: list[Finding], allowed: dict[str, str]) -> None:
    by_site: dict[int, list[Finding]] = {}
    for finding in findings:
        for site in finding.sites:
            by_site.setdefault(id(site), []).append(finding)
    unknown = made_elsewhere(facts)
    for site in facts.sites:
        own = by_site.get(id(site), [])
        site.rules = sorted({finding.code for finding in own if finding.severity != "note"})
        site.verdict, site.reason = _verdict(site, [finding for finding in own if finding.severity != "note"], allowed.get(site.place, ""))
        if id(site) in unknown and site.target == Target.STATUS and not own and site.verdict == Verdict.OK:
            site.verdict, site.reason = Verdict.REVIEW, _ELSEWHERE


def _verdict(site: Site, own: list[Finding], reason: str) -> tuple[Verdict, str]:
    if site.target != Target.STATUS and not own:
        return Verdict.OUT_OF_SCOPE, _OUTSIDE[Target(site.target)]
    if own:
        worst = Verdict.FIX if any(finding.severity == "error" for finding in own) else Verdict.REVIEW
        return worst, "; ".join(finding.message for finding in own)
    if reason:
        return Verdict.OK, f"allowed: {reason}"
    if site.through == "another module":
        return Verdict.REVIEW, "written by a function of another module: whether it guards against a stale object is not seen here"
    return Verdict.OK, _ok(site)


def _ok(site: Site) -> str:
    if site.language == "python" and site.helper == "fiferail":
        return "written by fiferail: compares what it read before it writes"
    if site.through == "patch helper":
        return "a patch helper: conditions are merged by type under a resourceVersion, other fields by their difference"
    words = _SAFE.get(str(site.way), "no rule objects")
    return f"through {site.helper}: {words}" if site.verb == "helper" and site.helper else words


def matrix(facts: Facts) -> dict[str, dict[str, list[Site]]]:
    """Kind by writer: who writes whose status."""
    out: dict[str, dict[str, list[Site]]] = {}
    for kind in sorted({site.kind for site in facts.sites if site.kind and site.target == Target.STATUS}):
        writers = facts.writers(kind)
        if writers:
            out[kind] = writers
    return out


def summary(report: Report) -> dict[str, object]:
    sites = report.facts.sites
    return {
        "sites": len(sites),
        "status_sites": sum(site.target == Target.STATUS for site in sites),
        "files": report.facts.files,
        "lines": report.facts.lines,
        "policy": report.policy,
        "findings": sum(not finding.baselined for finding in report.findings),
        "baselined": sum(finding.baselined for finding in report.findings),
        "by_verb": _count(str(site.verb) for site in sites),
        "by_target": _count(str(site.target) for site in sites),
        "by_verdict": _count(str(site.verdict) for site in sites),
        "by_controller": _count(site.controller or site.function for site in sites),
        "by_rule": _count(finding.code for finding in report.findings),
        "matrix": {kind: {writer: len(found) for writer, found in writers.items()} for kind, writers in report.matrix.items()},
        "skipped": [{"file": one.file, "why": one.why} for one in report.facts.skipped],
    }


def _count(values: object) -> dict[str, int]:
    out: dict[str, int] = {}
    for value in values:  # type: ignore[attr-defined]
        out[value] = out.get(value, 0) + 1
    return dict(sorted(out.items(), key=lambda item: (-item[1], item[0])))
