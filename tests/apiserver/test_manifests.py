"""CRDs from files: what a careless or hostile file gets for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import ManifestError, documents, load_crds

if TYPE_CHECKING:
    from pathlib import Path

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.io}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
LINES = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
HOSTILE = {
    "50,000 dashes": ("x.yaml", "- " * 50_000, "not valid YAML: exceeded max depth of 10000"),
    "50,000 brackets": ("x.yaml", "[" * 50_000, "not valid YAML: exceeded max depth of 10000"),
    "aliases of aliases": (
        "x.yaml",
        "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]", *LINES]),
        "not valid YAML: document contains excessive aliasing",
    ),
    "300 levels": (
        "x.yaml",
        "- " * 300,
        "the embedded API server does not support YAML nested deeper than 256 levels: the real server reads up to 10000",
    ),
    "broken YAML": ("x.yaml", "a: 1\nb: [", "not valid YAML: line 2: did not find expected node content"),
    "broken JSON": ("x.json", '{"a": ', "not valid JSON: unexpected end of JSON input"),
    "deep JSON": ("x.json", "[" * 50_000, "not valid JSON: invalid character '[' exceeded max depth"),
    "a ConfigMap": ("x.yaml", CONFIG_MAP, "no CustomResourceDefinition in this file"),
    "nothing": ("x.yaml", "", "no CustomResourceDefinition in this file"),
}


def machine() -> Machine:
    """A server whose clock stands still."""
    return Machine(clock=lambda: 1_700_000_000.0)


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_files(tmp_path: Path, case: str) -> None:
    """A file that holds no CRD, or is made to harm whoever reads it, is refused with its name and the reason."""
    name, text, reason = HOSTILE[case]
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ManifestError) as caught:
        load_crds(machine(), [file])
    assert str(caught.value) == f"{file}: {reason}"


def test_directories_without_crds(tmp_path: Path) -> None:
    """A directory whose files hold no CRD is refused; one that also holds other kinds is not."""
    (tmp_path / "c.yaml").write_text(CONFIG_MAP)
    with pytest.raises(ManifestError) as caught:
        load_crds(machine(), [tmp_path])
    assert str(caught.value) == f"{tmp_path}: no CustomResourceDefinition in this directory"
    (tmp_path / "d.yaml").write_text(CRD)
    assert load_crds(machine(), [tmp_path]) == ["gadgets.example.io"]


def test_documents_are_read_as_kubectl_reads_them(tmp_path: Path) -> None:
    """Times in a manifest stay text, a plain y is a boolean, and every document of a file counts."""
    file = tmp_path / "x.yaml"
    file.write_text("a: 2026-01-01\nb: y\n---\nc: 010\n")
    assert documents(file) == [{"a": "2026-01-01", "b": True}, {"c": 8}]
