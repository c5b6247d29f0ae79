"""What the Go front end follows: a project in which every write says in a comment what it is, and nothing else is a write."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config

PROJECT = Path(__file__).parent / "fixtures" / "go_follow"
_WANT = re.compile(r"// want: (\S+) (\S+) (\S+) (\S+)")


def wanted() -> dict[str, str]:
    out = {}
    for path in sorted(PROJECT.rglob("*.go")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = _WANT.search(line)
            if match:
                out[f"{path.relative_to(PROJECT)}:{number}"] = " ".join(match.groups())
    return out


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    report = audit([str(PROJECT)], Config(cache=False))
    return {site.place: f"{site.verb} {site.target} {site.kind or '?'} {site.ownership}" for site in report.facts.sites}


@pytest.mark.parametrize(("place", "want"), list(wanted().items()), ids=list(wanted()))
def test_a_write_is_found_and_named(said: dict[str, str], place: str, want: str) -> None:
    """Each marked line is a site with the verb, target, kind and ownership that its comment says."""
    assert said.get(place) == want


def test_the_same_writes_are_found_without_a_module_file(said: dict[str, str], tmp_path: Path) -> None:
    """Packages are told apart by their directories where no go.mod names them: no write is lost by that."""
    project = tmp_path / "project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("go.mod"))
    report = audit([str(project)], Config(cache=False))
    assert {site.place for site in report.facts.sites} == set(said)


def test_nothing_else_is_a_write(said: dict[str, str]) -> None:
    """An in-memory status manager and a builder with an Apply method are not listed."""
    assert sorted(set(said) - set(wanted())) == []


def test_the_base_of_a_patch_is_where_it_was_built() -> None:
    """The base is given as file and line, also when a function returned it."""
    report = audit([str(PROJECT)], Config(cache=False))
    bases = {site.function: site.base for site in report.facts.sites if site.base}
    source = (PROJECT / "controllers" / "gadget.go").read_text().splitlines()
    for function, words in {
        "GadgetReconciler.receives": "ctrlclient.MergeFromWithOptions(gadget.DeepCopy(), opts...)",
        "GadgetReconciler.field": "patch: ctrlclient.MergeFrom(gadget.DeepCopy())",
    }.items():
        file, _, line = bases[function].rpartition(":")
        assert file == "controllers/gadget.go"
        assert words in source[int(line) - 1]


def test_a_helper_carries_the_verdict_of_what_it_does() -> None:
    """Calls of a generic helper are listed as helper, with its way of writing and its rules."""
    report = audit([str(PROJECT)], Config(cache=False))
    site = next(site for site in report.facts.sites if site.function == "GadgetReconciler.generic")
    assert (str(site.verb), site.way, site.helper, str(site.verdict)) == ("helper", "merge-patch", "MutateAndPatchStatus", "fix")
    assert "FR002" in site.rules


def test_two_controllers_and_one_config_are_seen_as_the_hazard_they_are() -> None:
    """A workload appends itself to a list by PUT, beside the owner's unlocked patch of conditions through a generic helper."""
    report = audit([str(PROJECT.parent / "go_references")], Config(cache=False))
    said = {finding.code: finding.writers[:2] for finding in report.findings}
    assert said == {
        "FR001": ("WorkloadReconciler", "ConfigReconciler"),
        "FR002": ("ConfigReconciler",),
        "FR003": ("ConfigReconciler", "WorkloadReconciler"),
        "FR004": ("WorkloadReconciler", "ConfigReconciler"),
        "FR012": (),
    }
    writers = {writer: sorted({name for site in sites for name in site.fields}) for writer, sites in report.matrix["Config"].items()}
    assert writers == {"ConfigReconciler": ["conditions"], "WorkloadReconciler": ["references"]}
