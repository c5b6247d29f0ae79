"""Mending: what is changed, what is left alone, and that nothing is left to mend afterwards."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.fixes import mend

FIXTURES = Path(__file__).parent / "fixtures"
NO_CACHE = Config(cache=False)


def mended(path: Path, unsafe: bool = False) -> str:
    mend(audit([str(path)], NO_CACHE), unsafe=unsafe)
    return path.read_text()


def copied(tmp_path: Path, *parts: str) -> Path:
    target = tmp_path / parts[-1]
    shutil.copy(FIXTURES.joinpath(*parts), target)
    return target


def test_a_plain_base_gets_the_lock(tmp_path: Path) -> None:
    """MergeFrom becomes MergeFromWithOptions with the lock, where the error is returned; the rest of the file is untouched."""
    path = copied(tmp_path, "go", "FR002", "bad.go")
    before = path.read_text()
    after = mended(path)
    assert after == before.replace(
        "client.MergeFrom(gadget.DeepCopy())", "client.MergeFromWithOptions(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})"
    )
    assert [finding.code for finding in audit([str(path)], NO_CACHE).findings] == []


def test_a_strategic_base_takes_the_lock_as_it_is(tmp_path: Path) -> None:
    """StrategicMergeFrom has no variant with options: the lock is its second argument."""
    path = copied(tmp_path, "go", "FR003", "good_strategic.go")
    before = path.read_text()
    assert mended(path) == before.replace(
        "client.StrategicMergeFrom(gadget.DeepCopy())",
        "client.StrategicMergeFrom(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})",
    )
    assert "FR002" not in [finding.code for finding in audit([str(path)], NO_CACHE).findings]


def test_a_swallowed_error_makes_the_lock_unsafe(tmp_path: Path) -> None:
    """Where nobody would see the conflict, only --unsafe adds the lock."""
    path = copied(tmp_path, "go", "FR009", "bad.go")
    path.write_text(
        path.read_text().replace(
            "client.MergeFromWithOptions(gadget.DeepCopy(), client.MergeFromWithOptimisticLock{})", "client.MergeFrom(gadget.DeepCopy())"
        )
    )
    before = path.read_text()
    assert mended(path).count("MergeFromWithOptimisticLock") == 0
    assert path.read_text() == before
    assert mended(path, unsafe=True).count("MergeFromWithOptimisticLock{}") == 2


def test_arguments_on_lines_of_their_own_stay_so(tmp_path: Path) -> None:
    """The option gets its own line, indented as its neighbours."""
    path = copied(tmp_path, "go", "FR002", "bad.go")
    path.write_text(path.read_text().replace("client.MergeFrom(gadget.DeepCopy())", "client.MergeFrom(\n\t\tgadget.DeepCopy(),\n\t)"))
    assert "client.MergeFromWithOptions(\n\t\tgadget.DeepCopy(),\n\t\tclient.MergeFromWithOptimisticLock{},\n\t)" in mended(path)


def test_a_dead_marker_is_dropped(tmp_path: Path) -> None:
    """The line of the marker goes; the marker that is used stays."""
    path = copied(tmp_path, "go", "FR013", "bad.go")
    after = mended(path)
    assert "configs/status" not in after
    assert "gadgets/status" in after
    assert audit([str(path)], NO_CACHE).findings == []


def test_a_content_type_is_added(tmp_path: Path) -> None:
    """The call says what it sends; a second run finds nothing to add."""
    path = copied(tmp_path, "python", "FR017", "bad_content_type.py")
    after = mended(path)
    assert '{"status": {"phase": "Running"}}, _content_type="application/merge-patch+json")' in after
    assert "FR017" not in {finding.code for finding in audit([str(path)], NO_CACHE).findings}


@pytest.mark.parametrize("path", sorted((FIXTURES / "go").glob("FR*/bad*.go")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_second_run_mends_nothing_more(path: Path, tmp_path: Path) -> None:
    """After one run of --fix --unsafe another has nothing to do, and the file is as gofmt would have it."""
    target = copied(tmp_path, "go", path.parent.name, path.name)
    mended(target, unsafe=True)
    assert mend(audit([str(target)], NO_CACHE), unsafe=True, write=False) == []
    if shutil.which("gofmt"):
        assert subprocess.run(["gofmt", "-l", str(target)], capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.skipif(shutil.which("go") is None, reason="needs the Go toolchain")
@pytest.mark.parametrize("base", ["MergeFrom", "StrategicMergeFrom"])
def test_mended_source_compiles(tmp_path: Path, base: str) -> None:
    """go vet accepts the mended file, against stand-ins for the two packages that it imports."""
    stubs = FIXTURES / "go_stubs"
    shutil.copytree(stubs, tmp_path / "stubs")
    work = tmp_path / "operator"
    work.mkdir()
    (work / "gadget.go").write_text((FIXTURES / "go" / "FR002" / "bad.go").read_text().replace("client.MergeFrom(", f"client.{base}("))
    (work / "deepcopy.go").write_text("package controllers\n\nfunc (g *Gadget) DeepCopy() *Gadget { c := *g; return &c }\n")
    (work / "go.mod").write_text(
        "module example.io/operator\n\ngo 1.22\n\nrequire (\n\tk8s.io/apimachinery v0.0.0\n\tsigs.k8s.io/controller-runtime v0.0.0\n)\n\n"
        "replace k8s.io/apimachinery => ../stubs/apimachinery\n\nreplace sigs.k8s.io/controller-runtime => ../stubs/controller-runtime\n"
    )
    mend(audit([str(work)], NO_CACHE))
    assert "MergeFromWithOptimisticLock{}" in (work / "gadget.go").read_text()
    vetted = subprocess.run(
        ["go", "vet", "./..."], cwd=work, capture_output=True, text=True, check=False, env={**_environment(), "GOFLAGS": "-mod=mod"}
    )
    assert vetted.returncode == 0, vetted.stderr


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
