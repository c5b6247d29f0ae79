"""Each rule on its fixtures: what must be flagged is, what must not be is not. A fixture file is audited alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.rules import SLUGS, page_of, rules, slug_of

FIXTURES = Path(__file__).parent / "fixtures"
HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Fix safety", "Known limits")
FILES = sorted(path for language in ("go", "python") for path in (FIXTURES / language).glob("FR*/*.*"))


def codes_in(path: Path) -> set[str]:
    report = audit([str(path)], Config(cache=False, tests=True))
    return {finding.code for finding in report.findings if finding.severity != "note"}


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.stem.startswith("bad")],
    ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.stem}",
)
def test_a_bad_fixture_is_flagged_by_its_rule(path: Path) -> None:
    """The rule whose directory the fixture is in finds something in it."""
    assert path.parent.name in codes_in(path)


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.stem.startswith("good")],
    ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.stem}",
)
def test_a_good_fixture_is_left_alone_by_its_rule(path: Path) -> None:
    """The rule whose directory the fixture is in finds nothing in it."""
    assert path.parent.name not in codes_in(path)


def test_every_rule_has_fixtures_of_both_kinds() -> None:
    """No rule is without a file that it must flag and a file that it must not."""
    for code in rules():
        stems = {path.stem.split("_")[0] for path in FILES if path.parent.name == code}
        assert stems == {"bad", "good"}, code


@pytest.mark.parametrize("code", list(rules()))
def test_a_page_has_every_heading_in_order(code: str) -> None:
    """A rule's docstring is its page: code and slug first, then the six headings."""
    page = page_of(code)
    assert page.splitlines()[0] == f"{code} {slug_of(code)}"
    places = [page.find(f"\n{heading}\n") for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)


def test_codes_follow_the_order_of_the_files() -> None:
    """FR001 to FR017 without a gap."""
    assert list(rules()) == [f"FR{number:03}" for number in range(1, len(SLUGS) + 1)]


def test_disjoint_policy_accepts_a_plain_merge_patch_of_own_fields() -> None:
    """FR002 belongs to the policy `locked`; under `disjoint` the same file is clean."""
    path = FIXTURES / "go" / "FR002" / "bad.go"
    report = audit([str(path)], Config(cache=False, policy="disjoint"))
    assert [finding.code for finding in report.findings] == []
    assert [str(site.verdict) for site in report.facts.sites] == ["ok"]


def test_the_pages_in_docs_are_those_of_the_rules() -> None:
    """docs/rules is what the generator writes today."""
    from fiferail.audit.rules.pages import index, page

    directory = Path(__file__).parents[2] / "docs" / "rules"
    assert (directory / "index.md").read_text() == index()
    for code in rules():
        assert (directory / f"{code}.md").read_text() == page(code), f"run python -m fiferail.audit.rules.pages docs/rules for {code}"


def test_calls_of_a_helper_that_tells_nobody_are_places_of_its_finding() -> None:
    """A helper without a result that logs the error of its write is one finding, at the write and at the call."""
    report = audit([str(FIXTURES / "go" / "FR009" / "bad_silent_helper.go")], Config(cache=False))
    (finding,) = [one for one in report.findings if one.code == "FR009"]
    assert [site.function for site in finding.sites] == ["updateStatus", "GadgetReconciler.Reconcile"]
    assert all("FR009" in site.rules for site in report.facts.sites if site.target == "status")


def test_a_call_is_judged_by_the_normal_path_of_its_helper() -> None:
    """A helper that patches, and PUTs only where that failed, is a patch for its callers."""
    report = audit([str(FIXTURES / "go" / "FR002" / "bad_beside_failure.go")], Config(cache=False))
    (call,) = [site for site in report.facts.sites if site.verb == "helper"]
    assert (str(call.way), call.rules) == ("merge-patch", ["FR002"])


def test_a_patch_that_is_made_elsewhere_is_for_review() -> None:
    """Nothing is claimed of a function that sends whatever it is handed, and a reader is told to look."""
    report = audit([str(FIXTURES / "go" / "FR002" / "good_handed_on.go")], Config(cache=False))
    said = {(site.function, str(site.verdict), site.reason) for site in report.facts.sites}
    reason = "sends a patch that is made elsewhere: whether it carries a resourceVersion is not seen"
    assert said == {("patchStatus", "review", reason), ("GadgetReconciler.Reconcile", "review", reason)}


def test_the_writers_own_method_is_a_place_of_a_foreign_write() -> None:
    """The finding stands where the call is decided, and the write that it leads to is named beside it."""
    report = audit([str(FIXTURES / "go" / "FR004" / "bad_through_method.go")], Config(cache=False))
    (finding,) = [one for one in report.findings if one.code == "FR004"]
    assert [site.function for site in finding.sites] == ["ProbeReconciler.Reconcile", "ProbeReconciler.patchStatus"]


def test_a_call_carries_what_is_wrong_with_either_way_of_its_helper() -> None:
    """A helper that applies or patches, as it is told, makes its caller a place of both findings."""
    report = audit([str(FIXTURES / "go" / "FR010" / "bad_either_way.go")], Config(cache=False))
    (call,) = [site for site in report.facts.sites if site.verb == "helper"]
    assert call.rules == ["FR002", "FR010"]
