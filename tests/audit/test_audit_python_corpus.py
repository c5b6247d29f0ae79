"""The smallest labelled Python projects, as a guard: `python tests/audit/corpus/python_corpus.py` runs them all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SMALL = ("adaptdl-sched", "dask-kubernetes", "lightkube-extensions")


@pytest.fixture(scope="module")
def corpus() -> Any:
    path = Path(__file__).parent / "corpus" / "python_corpus.py"
    spec = importlib.util.spec_from_file_location("audit_python_corpus", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audit_python_corpus"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_a_real_project_is_read_as_a_person_read_it(corpus: Any, name: str) -> None:
    """Every labelled write is found, with its verb, target, kind and ownership, and nothing else is."""
    project = corpus.projects()[name]
    directory = corpus.download(project["package"], project["version"])
    if not directory:
        pytest.skip("the package cannot be downloaded here")
    score = corpus.score(name, project, directory)
    shares = [score.share(aspect) for aspect in ("verb", "target", "kind", "ownership")]
    assert (score.recall, score.extra, shares) == (1.0, 0, [1.0] * 4), score.problems


def test_labels_are_complete(corpus: Any) -> None:
    """Twenty-six projects, twelve of them held out, and every label with every aspect, in order and once."""
    projects = corpus.projects()
    assert (len(projects), sum(project["held_out"] for project in projects.values())) == (26, 12)
    for name, project in projects.items():
        places = [(label["file"], label["line"]) for label in project["labels"]]
        assert places == sorted(set(places)), name
        for label in project["labels"]:
            assert sorted(label) == ["file", "function", "kind", "line", "ownership", "rules", "target", "verb"]
