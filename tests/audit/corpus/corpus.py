"""The corpus: labelled status writes of real operators, and how well the auditor finds and names them.

    python tests/audit/corpus/corpus.py [--held-out] [--tiers] [--problems] [--without-names] [project...]

Each `*.jsonl` here starts with a line that names a Go module and its version; every other line is one status write as a person read it
in that source: file, line,
function, verb, target, kind, ownership, and the rules that rightly object to it. A project is downloaded by name with `go mod download`
and audited; what the auditor
says is compared line by line. A label whose verb is `helper` counts as found only as a helper.

Labels that were made by reading alone may say more: `also` (other answers that a fair reader accepts, by aspect), `tier` (`direct`,
`named` for a helper named after the status, `purpose` for one that writes the status whatever its name), `arguable` (rules that another
careful reader might refuse), and `borderline` (calls of functions that decide and write among other things: listed or not, they count
neither for nor against).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.golang import frontend, purpose, wrapper, writers

HERE = Path(__file__).parent
ASPECTS = ("verb", "target", "kind", "ownership")
TIERS = ("direct", "named", "purpose")


@dataclass
class Score:
    """Counts of one project, or of a group of projects."""

    labels: int = 0
    found: int = 0
    right: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ASPECTS, 0))
    exact: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ASPECTS, 0))
    tiers: dict[str, list[int]] = field(default_factory=lambda: {tier: [0, 0] for tier in TIERS})
    findings: int = 0
    justified: int = 0
    strict: int = 0
    extra: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        self.labels += other.labels
        self.found += other.found
        self.findings += other.findings
        self.justified += other.justified
        self.strict += other.strict
        self.extra += other.extra
        for aspect in ASPECTS:
            self.right[aspect] += other.right[aspect]
            self.exact[aspect] += other.exact[aspect]
        for tier in TIERS:
            self.tiers[tier] = [left + right for left, right in zip(self.tiers[tier], other.tiers[tier], strict=True)]
        self.problems.extend(other.problems)

    def share(self, aspect: str, exact: bool = False) -> float:
        return (self.exact if exact else self.right)[aspect] / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.labels if self.labels else 1.0

    @property
    def precision(self) -> float:
        return self.justified / self.findings if self.findings else 1.0


def projects() -> dict[str, dict[str, Any]]:
    """Name to header and labels."""
    out: dict[str, dict[str, Any]] = {}
    for path in sorted(HERE.glob("*.jsonl")):
        header, *labels = [json.loads(line) for line in path.read_text().splitlines() if line]
        out[path.stem] = {**header, "labels": labels}
    return out


def download(module: str, version: str) -> str:
    """The directory of a module, downloaded when it is not there yet; empty when it cannot be had."""
    try:
        answer = subprocess.run(
            ["go", "mod", "download", "-json", f"{module}@{version}"], capture_output=True, text=True, check=False, timeout=600
        )
        return str(json.loads(answer.stdout).get("Dir", ""))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""


def score(name: str, project: dict[str, Any], directory: str) -> Score:
    report = audit([directory], Config(cache=False))
    read = {(label["file"], label["line"]): label for label in project["labels"]}
    labelled = {place: label for place, label in read.items() if not label.get("borderline")}
    sites = {(site.file, site.line): site for site in report.facts.sites}
    result = Score(labels=len(labelled))
    for place, label in labelled.items():
        site, tier = sites.get(place), result.tiers[label.get("tier", "direct")]
        tier[1] += 1
        if site is None:
            result.problems.append(f"{name}: {place[0]}:{place[1]} not found ({label['verb']} of {label['kind'] or 'any kind'})")
            continue
        result.found += 1
        tier[0] += 1
        for aspect in ASPECTS:
            said, wanted = str(getattr(site, aspect)), label[aspect]
            accepted = said in (wanted, *label.get("also", {}).get(aspect, ()))
            result.exact[aspect] += said == wanted
            result.right[aspect] += accepted
            if not accepted:
                result.problems.append(
                    f"{name}: {place[0]}:{place[1]} {aspect} is {wanted or 'unknown'}, the auditor says {said or 'unknown'}"
                )
    for place, site in sites.items():
        if site.target == "status" and place not in read:
            result.extra += 1
            result.problems.append(f"{name}: {place[0]}:{place[1]} is not in the labels")
    _judge(name, report, read, result)
    return result


def _judge(name: str, report: Any, labelled: dict[tuple[str, int], dict[str, Any]], result: Score) -> None:
    """A finding is justified when the label of its first place has its rule. Findings about RBAC have no site and are left out."""
    for finding in report.findings:
        if not finding.sites or finding.severity == "note":
            continue
        result.findings += 1
        label = labelled.get((finding.places[0].file, finding.places[0].line))
        if label is not None and finding.code in label["rules"]:
            result.justified += 1
            result.strict += finding.code not in label.get("arguable", ())
        else:
            result.problems.append(f"{name}: {finding.places[0].file}:{finding.places[0].line} {finding.code} is not justified")


def measure(names: list[str], held_out: bool) -> dict[str, Score]:
    out: dict[str, Score] = {}
    for name, project in projects().items():
        if (names and name not in names) or (not names and bool(project.get("held_out")) != held_out):
            continue
        directory = download(project["module"], project["version"])
        if not directory:
            print(f"{name}: {project['module']}@{project['version']} cannot be downloaded here; left out", file=sys.stderr)
            continue
        out[name] = score(name, project, directory)
    return out


def table(scores: dict[str, Score]) -> list[str]:
    lines = [
        "| project | status writes read | found | verb | target | kind | ownership | findings | justified |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total = Score()
    for name, one in scores.items():
        total.add(one)
        lines.append(_row(name, one))
    lines.append(_row("**all**", total))
    return lines


def tiered_table(scores: dict[str, Score]) -> list[str]:
    """For labels made by reading alone: recall by how plainly a call says what it does; in brackets, only the label's own answer counts."""
    lines = [
        "| project | direct | and named | and by purpose | verb | target | kind | ownership | findings | justified | strict |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total = Score()
    for one in scores.values():
        total.add(one)
    for name, one in [*scores.items(), ("**all**", total)]:
        sums = [[sum(one.tiers[tier][at] for tier in TIERS[: upto + 1]) for at in (0, 1)] for upto in range(3)]
        recall = " | ".join(f"{found}/{read} ({found / max(1, read):.1%})" for found, read in sums)
        shares = " | ".join(f"{one.share(aspect):.1%} ({one.share(aspect, exact=True):.1%})" for aspect in ASPECTS)
        strict = one.strict / one.findings if one.findings else 1.0
        lines.append(f"| {name} | {recall} | {shares} | {one.findings} | {one.precision:.1%} | {strict:.1%} |")
    return lines


def _row(name: str, one: Score) -> str:
    shares = " | ".join(f"{one.share(aspect):.1%}" for aspect in ASPECTS)
    return f"| {name} | {one.labels} | {one.recall:.1%} | {shares} | {one.findings} | {one.precision:.1%} |"


def forget_names() -> None:
    """Switches off what the auditor takes from the names of functions, receivers and packages: what is left is what functions do."""
    nothing = re.compile(r"(?!)")
    for module, names in {
        frontend: ("WRITER_NAME", "_FINDS", "_ABOUT_STATUS"),
        purpose: ("_MARKS",),
        wrapper: ("WRITER_NAME",),
        writers: ("WRITER_NAME", "_STATUS_PACKAGE", "_SENDS_ALL", "_BUILDER"),
    }.items():
        for name in names:
            assert isinstance(getattr(module, name), re.Pattern), name
            setattr(module, name, nothing)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the auditor on labelled operators.")
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--held-out", action="store_true", help="the projects that were kept out of development")
    parser.add_argument("--tiers", action="store_true", help="recall by tier, exact answers and strict precision beside the rest")
    parser.add_argument("--problems", action="store_true", help="print every difference")
    parser.add_argument("--without-names", action="store_true", help="how much is found by what functions do alone")
    arguments = parser.parse_args()
    if arguments.without_names:
        forget_names()
    scores = measure(arguments.projects, arguments.held_out)
    print("\n".join((tiered_table if arguments.tiers else table)(scores)))
    if arguments.problems:
        for one in scores.values():
            print("\n".join(one.problems))
    return 0 if scores else 2


if __name__ == "__main__":
    sys.exit(main())
