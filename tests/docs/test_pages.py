"""The pages: links that lead somewhere, and examples that run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page: Path) -> None:
    """Every link to a file of the repository finds it."""
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_the_testing_guide_runs(apiserver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/testing is executed as it stands, with a CRD in the directory that it names."""
    crds = tmp_path / "crds"
    crds.mkdir()
    (crds / "gadgets.yaml").write_text(GADGETS)
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(import fiferail\n.*?)```", (ROOT / "docs/testing.md").read_text(), re.S)
    assert example is not None
    names: dict[str, Any] = {}
    exec(example.group(1), names)
    names["test_ready_survives_a_conflict"](apiserver)


def test_the_guides_held_request_loses_what_it_says(apiserver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of a hold in docs/testing loses the condition, and the page shows what is said about it."""
    crds = tmp_path / "crds"
    crds.mkdir()
    (crds / "gadgets.yaml").write_text(GADGETS)
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(import threading\n.*?)```.*?```text\n(.*?)```", (ROOT / "docs/testing.md").read_text(), re.S)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found.group(1), names)
    with pytest.raises(AssertionError) as lost:
        names["test_no_condition_is_lost"](apiserver)
    for said in ("1 update lost\nLOST status.conditions[Probed] of gadgets default/g: reporter wrote ", "; operator, based on"):
        assert said in str(lost.value)
        assert said in found.group(2)


def test_the_readmes_writer_runs(apiserver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the README is executed as it stands, around an object and a client that it takes for granted."""
    crds = tmp_path / "crds.yaml"
    crds.write_text(GADGETS)
    gadget = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
    apiserver.apply(crds, gadget)
    example = re.search(r"```python\n(import fiferail\n\nwriter.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert example is not None
    names: dict[str, Any] = {
        "client": apiserver.client, "obj": apiserver.get("example.io/v1", "Gadget", "g"), "build_plan": lambda obj: {"id": "p1"},
    }  # fmt: skip
    exec(example.group(1), names)
    status = apiserver.get("example.io/v1", "Gadget", "g")["status"]
    assert (status["phase"], [c["type"] for c in status["conditions"]], status["plan"]) == ("Running", ["Ready", "Probed"], {"id": "p1"})
    apiserver.assert_nothing_lost()


GADGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.io}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status:
            type: object
            properties:
              phase: {type: string}
              plan: {type: object, properties: {id: {type: string}}}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    observedGeneration: {type: integer}
"""


def test_nothing_tells_a_user_to_install_a_name_from_an_index() -> None:
    """There is no release: every `pip install` of ours names a checkout (`.` or a path), never a distribution on an index."""
    shipped = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = {name: (ROOT / name).read_text(errors="replace") for name in shipped if (ROOT / name).is_file()}
    wrong = [name for name, text in texts.items() if re.search(r"pip install[^\n]*['\" ]fiferail\b", text)]
    assert wrong == []
    assert [name for name, text in texts.items() if "fair" + "lead" in text.lower() and name != "CHANGELOG.md"] == []
