"""--explain for Python findings: the printed pytest runs on the embedded API server and shows what is lost, and whose it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config, ConfigError
from fiferail.audit.explain import explain
from fiferail.audit.model import Report

pytest_plugins = ["pytester"]

FIXTURES = Path(__file__).parent / "fixtures" / "python"
# Findings that tell of no lost update: a test of theirs would prove something else.
NO_LOSS = {"FR005", "FR011", "FR012", "FR013", "FR014", "FR015"}
LOST = {
    "FR001/bad": "phase, written by reconcile",
    "FR002/bad": "phase, written by another writer",
    "FR003/bad": "conditions, written by probe",
    "FR004/bad": "users, written by config",
    "FR006/bad": "phase, written by reconcile",
    "FR006/bad_alias": "phase, written by reconcile",
    "FR007/bad": "theirs, written by another writer",
    "FR007/bad_laundered": "theirs, written by another writer",
    "FR007/bad_version": "theirs, written by another writer",
    "FR008/bad": "phase, written by reconcile",
    "FR009/bad": "phase, written by reconcile",
    "FR010/bad": "phase, written by another writer",
    "FR010/bad_decides": "phase, written by another writer",
    "FR016/bad": "theirs, written by probe",
    "FR017/bad_kopf_list": "conditions, written by another writer",
    "FR017/bad_typed_put": "theirs, written by another writer",
}


def report_of(name: str) -> Report:
    return audit([str(FIXTURES / f"{name}.py")], Config(cache=False, tests=True))


def explained(name: str) -> str:
    report = report_of(name)
    return explain(report, next(finding.number for finding in report.findings if finding.code == name.partition("/")[0]))


def test_every_printed_test_fails_on_what_is_lost(pytester: pytest.Pytester) -> None:
    """Each plays its finding on an API server of its own; none passes, and each names the field and its writer."""
    names = {"test_" + name.replace("/", "_").lower(): name for name in LOST}
    pytester.makepyfile(**{file: explained(name) for file, name in names.items()})
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "--tb=line")
    outcome.assert_outcomes(failed=len(LOST))
    said = dict(re.findall(r"(test_\w+)\.py:\d+: AssertionError: lost: ([^\n]*)", outcome.stdout.str()))
    assert {names[file]: words for file, words in said.items()} == LOST


def test_the_printed_test_passes_once_the_writer_reads_first(pytester: pytest.Pytester) -> None:
    """The same test with a writer that decides from what is stored by then: nothing is lost, so the failure above is the finding's."""
    fresh = '    reconcile(client, client.get(API_VERSION, "Gadget", "one", namespace="default"))\n'
    source = explained("FR002/bad")
    assert "    reconcile(client, seen)\n" in source
    pytester.makepyfile(test_explained=source.replace("    reconcile(client, seen)\n", fresh))
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("FR*/bad*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_finding_is_played_or_refused_with_a_reason(path: Path) -> None:
    """Every finding of every fixture either has a test that compiles, or is said to be about no lost update."""
    report = report_of(f"{path.parent.name}/{path.stem}")
    for finding in report.findings:
        if finding.code in NO_LOSS or (finding.code == "FR017" and not {"kopf-list", "typed-put"} & set(finding.sites[0].notes)):
            with pytest.raises(ConfigError, match=rf"finding {finding.number} \({finding.code}\) is not about"):
                explain(report, finding.number)
        else:
            source = explain(report, finding.number)
            compile(source, "test_explained.py", "exec")
            assert re.search(r'assert .*, "lost: ', source)
