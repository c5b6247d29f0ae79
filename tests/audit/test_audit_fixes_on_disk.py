"""--fix on disk: whole or not at all, with mode, byte order mark and line endings, inside of the tree, one failure for one file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.fixes import Change, mend
from fiferail.cli.audit import register

FIXTURES = Path(__file__).parent / "fixtures"
GO = (FIXTURES / "go" / "FR002" / "bad.go").read_text()
MARKER = (FIXTURES / "go" / "FR013" / "bad.go").read_text()
PYTHON = (FIXTURES / "python" / "FR017" / "bad_content_type.py").read_text()
LOCK = b"MergeFromWithOptimisticLock{}"
NO_CACHE = Config(cache=False)


def fixed(path: Path) -> list[Change]:
    return mend(audit([str(path)], NO_CACHE), unsafe=True)


def run(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["audit", "--no-cache", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def failing_for(monkeypatch: pytest.MonkeyPatch, name: str, problem: OSError) -> None:
    """Replacing this file fails; replacing others works."""
    replaced = os.replace

    def replace(source: str, target: str) -> None:
        if os.path.basename(target) == name:
            raise problem
        replaced(source, target)

    monkeypatch.setattr(os, "replace", replace)


def test_a_write_that_fails_leaves_the_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk: the file has its old bytes, nothing is left beside it, and the change says why."""
    path = tmp_path / "a.go"
    path.write_text(GO)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert [(change.file, change.problem) for change in fixed(path)] == [("a.go", "cannot be written: No space left on device")]
    assert path.read_text() == GO
    assert os.listdir(tmp_path) == ["a.go"]


def test_files_that_cannot_be_written_are_named_after_the_others_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file before and the file behind are fixed; the one between is named last, and the command ends with 2."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.go").write_text(GO)
    failing_for(monkeypatch, "b.go", PermissionError(13, "Permission denied"))
    code, output = run(str(tmp_path), "--fix")
    assert code == 2
    said = [line for line in output.splitlines() if line.startswith(("mended", "fiferail audit"))]
    assert said == [
        f"mended {os.path.join('a', 'a.go')}: 2 changes",
        f"mended {os.path.join('c', 'c.go')}: 2 changes",
        f"fiferail audit: not fixed: {os.path.join('b', 'b.go')} cannot be written: Permission denied",
    ]
    assert [LOCK in (tmp_path / name / f"{name}.go").read_bytes() for name in ("a", "b", "c")] == [True, False, True]


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only file in a writable directory could be replaced, and is not."""
    path = tmp_path / "a.go"
    path.write_text(GO)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert [change.problem for change in fixed(path)] == ["cannot be written: Permission denied"]
    assert path.read_text() == GO


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    """Between the audit and the fix: the others are fixed."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.go").write_text(GO)
    report = audit([str(tmp_path)], NO_CACHE)
    (tmp_path / "a" / "x.go").unlink()
    assert [(change.file, change.problem) for change in mend(report)] == [
        ("b/x.go", ""),
        ("a/x.go", "cannot be read: No such file or directory"),
    ]


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    """A script stays executable, a private file private."""
    path = tmp_path / "a.go"
    path.write_text(GO)
    path.chmod(mode)
    assert [change.problem for change in fixed(path)] == [""]
    assert LOCK in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == mode


SOURCES = {
    "a base": ("a.go", GO),
    "a base on lines of its own": ("a.go", GO.replace("MergeFrom(gadget.DeepCopy())", "MergeFrom(\n\t\tgadget.DeepCopy(),\n\t)")),
    "a marker": ("a.go", MARKER),
    "a marker in the first line": ("a.go", MARKER[MARKER.index("// +kubebuilder:rbac") :].split("\n", 1)[0] + "\n\n" + MARKER),
    "a call": ("a.py", PYTHON),
    "a call on lines of its own": ("a.py", PYTHON.replace('{"status": {"phase": "Running"}})', '{"status": {"phase": "Running"}},\n    )')),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_byte_order_mark_and_line_endings_stay(tmp_path: Path, name: str, ending: str, mark: bytes) -> None:
    """The fixed file is the one that a plain file gives, with the same mark and endings."""
    file, source = SOURCES[name]
    plain, odd = tmp_path / "plain" / file, tmp_path / "odd" / file
    for path, content in ((plain, source.encode()), (odd, mark + source.replace("\n", ending).encode())):
        path.parent.mkdir()
        path.write_bytes(content)
        fixed(path)
    assert plain.read_bytes() != source.encode()
    assert odd.read_bytes() == mark + plain.read_bytes().replace(b"\n", ending.encode())


def test_a_file_in_utf16_is_named_and_left(tmp_path: Path) -> None:
    """Its lines are not those of its bytes."""
    path = tmp_path / "a.go"
    path.write_bytes(MARKER.encode("utf-16"))
    before = path.read_bytes()
    assert [change.problem for change in fixed(path)] == ["is in UTF-16: change it by hand"]
    assert path.read_bytes() == before


def test_nothing_is_written_through_a_link_that_leaves_the_tree(tmp_path: Path) -> None:
    """Neither when the tree has it from the start nor when a file becomes one after the audit."""
    outside = tmp_path / "outside.go"
    outside.write_text(GO)
    tree = tmp_path / "tree"
    tree.mkdir()
    os.symlink(outside, tree / "a.go")
    (tree / "b.go").write_text(GO)
    report = audit([str(tree)], NO_CACHE)
    (tree / "b.go").unlink()
    os.symlink(outside, tree / "b.go")
    assert [(change.file, change.problem) for change in mend(report)] == [("b.go", "is a link that leaves the audited directory")]
    assert outside.read_text() == GO


def test_a_link_given_by_name_is_read_and_not_written(tmp_path: Path) -> None:
    """The command says so, and ends with 2."""
    outside = tmp_path / "outside.go"
    outside.write_text(GO)
    (tmp_path / "tree").mkdir()
    os.symlink(outside, tmp_path / "tree" / "a.go")
    code, output = run(str(tmp_path / "tree" / "a.go"), "--fix")
    assert (code, "fiferail audit: not fixed: a.go is a link that leaves the audited directory" in output) == (2, True), output
    assert outside.read_text() == GO


def test_a_link_inside_the_tree_stays_a_link(tmp_path: Path) -> None:
    """The file that it leads to is fixed."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.go").write_text(GO)
    os.symlink("real/a.go", tmp_path / "link.go")
    assert run(str(tmp_path), "--fix")[0] == 0
    assert (tmp_path / "link.go").is_symlink()
    assert LOCK in (tmp_path / "real" / "a.go").read_bytes()


def test_a_marker_that_has_moved_is_left(tmp_path: Path) -> None:
    """A file that was changed after the audit loses no other line."""
    path = tmp_path / "a.go"
    path.write_text(MARKER)
    report = audit([str(path)], NO_CACHE)
    moved = "package moved\n" * 60 + MARKER
    path.write_text(moved)
    assert mend(report) == []
    assert path.read_text() == moved
