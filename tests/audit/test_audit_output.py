"""What a report looks like: JSON names, SARIF against its schema, annotations, markdown, HTML, text, and the pytest of --explain."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config, ConfigError
from fiferail.audit.explain import explain
from fiferail.audit.model import Report
from fiferail.audit.render import FORMATS, render

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
SITE_NAMES = ["file", "line", "function", "controller", "kind", "ownership", "target", "verb", "base", "verdict", "rules", "reason"]


@pytest.fixture
def report() -> Report:
    return audit([str(HERE / "fixtures" / "go" / "FR003" / "bad.go")], Config(cache=False))


def test_json_has_every_field_of_a_site_by_name(report: Report) -> None:
    """sites, findings and summary; each site begins with the twelve names of a site."""
    content = json.loads(render(report, "json"))
    assert sorted(content) == ["findings", "sites", "summary"]
    assert list(content["sites"][0])[: len(SITE_NAMES)] == SITE_NAMES
    assert content["sites"][0] == {
        "file": "bad.go",
        "line": 49,
        "function": "GadgetReconciler.Reconcile",
        "controller": "GadgetReconciler",
        "kind": "Gadget",
        "ownership": "own",
        "target": "status",
        "verb": "merge-patch",
        "base": "bad.go:47",
        "verdict": "fix",
        "rules": ["FR002", "FR003"],
        "reason": content["sites"][0]["reason"],
        "via": "merge-patch",
        "helper": "",
        "fields": ["conditions"],
        "api": content["sites"][0]["api"],
        "language": "go",
    }
    assert content["summary"]["by_verb"] == {"merge-patch": 1, "merge-patch-locked": 1}


def test_sarif_is_valid_against_the_standards_schema(report: Report) -> None:
    """The whole document, with rules, results, related places and a code flow, passes the schema of SARIF 2.1.0."""
    schema = json.loads((HERE / "schemas" / "sarif-schema-2.1.0.json").read_text())
    jsonschema.validate(json.loads(render(report, "sarif")), schema)


def test_a_sarif_code_flow_leads_from_base_to_write(report: Report) -> None:
    """The first step is where the base is built, the second where it is sent."""
    results = json.loads(render(report, "sarif"))["runs"][0]["results"]
    steps = next(result for result in results if result["ruleId"] == "FR003")["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [47, 49]


def test_fingerprints_survive_moved_lines(report: Report, tmp_path: Path) -> None:
    """Comments and blank lines above a finding do not make it a new one."""
    source = (HERE / "fixtures" / "go" / "FR003" / "bad.go").read_text()
    (tmp_path / "bad.go").write_text("// a comment\n\n" + source)
    moved = audit([str(tmp_path / "bad.go")], Config(cache=False))
    assert [finding.fingerprint for finding in moved.findings] == [finding.fingerprint for finding in report.findings]


def test_annotations_escape_what_github_reads(report: Report) -> None:
    """One command per place, with file, line and title; no raw newline or percent sign."""
    lines = render(report, "github").splitlines()
    assert lines[0].startswith("::error file=bad.go,line=49,col=9,title=FR002 unlocked-status-patch::GadgetReconciler patches")
    assert all(line.count("::") >= 2 for line in lines)


def test_markdown_is_a_table_of_site_verdict_and_reason(report: Report) -> None:
    """What a reviewer pastes: one row per status write."""
    text = render(report, "markdown")
    assert "| `bad.go:49` GadgetReconciler.Reconcile | GadgetReconciler | Gadget | own | merge-patch | **fix** | FR002, FR003 |" in text
    assert "| Gadget | GadgetReconciler (1), **ProbeReconciler** (1, foreign) |" in text


def test_html_needs_nothing_from_outside(report: Report) -> None:
    """One page without scripts, links or images; a foreign writer's cell stands out."""
    text = render(report, "html")
    assert text.startswith("<!doctype html>")
    assert not any(word in text for word in ("<script", "src=", "<link", "@import", "href="))
    assert "class=foreign" in text


def test_text_shows_place_sentence_fix_and_matrix(report: Report) -> None:
    """A finding reads as place, rule, sentence, fix and page; the matrix names the foreign writer."""
    text = render(report, "text")
    assert "bad.go:49: FR003 unlocked-list-patch  [2]" in text
    assert "an entry that ProbeReconciler adds between the read and the patch is erased" in text
    assert "see docs/rules/FR003.md" in text
    assert "ProbeReconciler (foreign)" in text


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_can_print_an_empty_report(form: str, tmp_path: Path) -> None:
    """A project without a single write is no special case."""
    (tmp_path / "a.go").write_text("package a\n")
    assert isinstance(render(audit([str(tmp_path)], Config(cache=False)), form), str)


def test_the_printed_test_fails_on_the_lost_entry(report: Report, pytester: pytest.Pytester) -> None:
    """--explain of an unlocked list patch plays the interleaving on the API server and names the entry that is gone."""
    pytester.makepyfile(test_explained=explain(report, 2))
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["*lost: conditions, written by ProbeReconciler*"])


def test_the_printed_test_passes_once_the_writer_locks(report: Report, pytester: pytest.Pytester) -> None:
    """The same test with a careful first writer: the conflict is raised, so nothing is lost in silence."""
    source = explain(report, 2).replace(
        "    gadget_reconciler(client, seen)\n",
        '    gadget_reconciler(client, client.get(API_VERSION, "Gadget", "one", namespace="default"))\n',
    )
    pytester.makepyfile(test_explained=source)
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_explain_says_what_it_cannot_explain(report: Report) -> None:
    """A number out of range is answered with the range."""
    with pytest.raises(ConfigError, match="expected --explain to be between 1 and 3, got 9"):
        explain(report, 9)


@pytest.mark.skipif(shutil.which("go") is None, reason="needs gofmt")
def test_fixtures_are_formatted() -> None:
    """The Go fixtures are as gofmt would have them, so that fixes can be compared with it."""
    import subprocess

    listed = subprocess.run(["gofmt", "-l", str(HERE / "fixtures")], capture_output=True, text=True, check=True)
    assert listed.stdout == ""
