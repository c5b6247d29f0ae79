"""SARIF 2.1.0 for code scanning: rules with their pages, one result per finding, fingerprints that survive moved lines, a code flow from
base to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail._version import __version__
from fiferail.audit import rules
from fiferail.audit.quoting import printable, uri
from fiferail.audit.render.as_json import encoded

if TYPE_CHECKING:
    from fiferail.audit.model import Finding, Place, Report

_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render(report: Report) -> str:
    codes = list(rules.rules())
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "fiferail", "semanticVersion": __version__, "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The audited directory."}}},
        "results": [_result(finding, codes) for finding in report.findings],
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": [_skipped(one.file, one.why) for one in report.facts.skipped]}
        ],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return encoded(document)


def _rule(code: str) -> dict[str, Any]:
    page = rules.page_of(code)
    _, _, body = page.partition("\n")
    section = body.partition("What it does")[2].partition("Why is this bad?")[0]
    severity = rules.rules()[code].SEVERITY
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rules.slug_of(code).split("-")),
        "shortDescription": {"text": rules.slug_of(code).replace("-", " ")},
        "fullDescription": {"text": " ".join(section.split())},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[severity]},
        "properties": {"tags": ["kubernetes", "concurrency"], "precision": "high"},
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": _text(f"{finding.message}. Fix: {finding.fix}.")},
        "locations": [_location(finding.places[0])],
        "partialFingerprints": {"fiferail/v1": finding.fingerprint},
    }
    if len(finding.places) > 1:
        result["relatedLocations"] = [{**_location(place), "id": number} for number, place in enumerate(finding.places[1:], 1)]
    if finding.flow:
        steps = [{"location": {**_location(place), "message": {"text": _text(place.note)}}} for place in finding.flow]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.baselined:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return result


def _location(place: Place) -> dict[str, Any]:
    region = {"startLine": max(place.line, 1), "startColumn": max(place.column, 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": uri(place.file), "uriBaseId": "SRCROOT"}, "region": region}}


def _skipped(file: str, why: str) -> dict[str, Any]:
    return {"level": "note", "message": {"text": _text(f"skipped {file}: {why}")}}


def _text(text: str) -> str:
    """A message without control characters, in which no `[text](target)` becomes a link."""
    return printable(text).replace("](", "\\](")
