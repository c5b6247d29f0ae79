"""The smallest labelled operators, as a guard: the whole corpus runs by `make corpus`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

SMALL = ("kustomize-controller", "external-secrets")
MORE = {"tier", "also", "arguable", "borderline", "note"}


@pytest.fixture(scope="module")
def corpus() -> Any:
    path = Path(__file__).parent / "corpus" / "corpus.py"
    spec = importlib.util.spec_from_file_location("audit_corpus", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audit_corpus"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_a_real_operator_is_read_as_a_person_read_it(corpus: Any, name: str) -> None:
    """Every labelled status write is found, with its verb, target and kind."""
    project = corpus.projects()[name]
    directory = corpus.download(project["module"], project["version"]) if shutil.which("go") else ""
    if not directory:
        pytest.skip("the module cannot be downloaded here")
    score = corpus.score(name, project, directory)
    assert (score.recall, score.share("verb"), score.share("target"), score.share("kind")) == (1.0, 1.0, 1.0, 1.0), score.problems


def test_labels_are_complete(corpus: Any) -> None:
    """At least 300 labels in at least eight projects, twenty or more of them held out, each complete, and nothing misspelled."""
    projects = corpus.projects()
    assert len(projects) >= 8
    assert sum(bool(project["held_out"]) for project in projects.values()) >= 20
    labels = [label for project in projects.values() for label in project["labels"]]
    assert len(labels) >= 300
    for label in labels:
        assert sorted(set(label) - MORE) == ["file", "function", "kind", "line", "ownership", "rules", "target", "verb"]
        assert label.get("tier", "direct") in corpus.TIERS
        assert set(label.get("also", {})) <= set(corpus.ASPECTS)
        assert set(label.get("arguable", [])) <= set(label["rules"])
