"""Python source as it comes: encodings, Python 2, broken and enormous files. What cannot be read is named; nothing ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.fixes import mend
from fiferail.audit.model import Report
from fiferail.audit.run import nothing_read

WRITE = (
    "def report(api, body):\n"
    '    api.replace_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", "g", body)\n'
)  # fmt: skip
SOURCE = f"import kubernetes\n\n\n{WRITE}"

READ = {
    "declared as latin-1": b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + SOURCE.encode(),
    "declared in the second line": b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nNAME = '\x80'\n" + SOURCE.encode(),
    "with a byte order mark": b"\xef\xbb\xbf" + SOURCE.encode(),
    "with a mark and a declaration": b"\xef\xbb\xbf# coding: utf-8\n" + SOURCE.encode(),
    "in UTF-16": SOURCE.encode("utf-16"),
    "with carriage returns alone": SOURCE.replace("\n", "\r").encode(),
    "with a line of a megabyte": f'import kubernetes\n\nDATA = "{"a" * 1_000_000}"\n\n\n{WRITE}'.encode(),
    "with a long sum": f"import kubernetes\n\nSUM = 1{'+1' * 500}\n\n\n{WRITE}".encode(),
    "with blocks in blocks": (
        "import kubernetes\n" + "".join(f"{' ' * depth}if x:\n" for depth in range(90)) + " " * 90 + "pass\n\n\n" + WRITE
    ).encode(),
}
SKIPPED = {
    "an unknown encoding": (b"# coding: klingon\n" + SOURCE.encode(), "does not parse: unknown encoding: klingon"),
    "Python 2's print": (b'import kubernetes\n\nprint "hello"\n', "does not parse: Python 2 source (line 3)"),
    "Python 2's except": (
        b"import kubernetes\ntry:\n    x()\nexcept ValueError, e:\n    raise\n",
        "does not parse: Python 2 source (line 4)",
    ),
    "a syntax error": (b"import kubernetes\ndef f(:\n", "does not parse: "),
    "tabs among spaces": (b"import kubernetes\nif x:\n        y()\n\tz()\n", "does not parse: "),
    "null bytes far down": (SOURCE.encode() + b"# " + b"x" * 5000 + b"\0\n", "does not parse: "),
    "a binary": (b"import kubernetes\n\0\1\2" * 100, "binary, not source"),
    "five megabytes": (SOURCE.encode() + b"# x\n" * 1_250_000, "5 MB, over the limit of 4 MB"),
    "parentheses without end": (f"import kubernetes\nx = {'(' * 400}{')' * 400}\n".encode(), "does not parse: "),
    "signs without end": (f"import kubernetes\nx = {'-' * 60_000}1\n".encode(), "does not parse: is nested too deeply"),
    "attributes without end": (f"import kubernetes\nx = a{'.b' * 30_000}\n".encode(), "does not parse: is nested too deeply"),
}


def audited(directory: Path, content: bytes) -> Report:
    """Audits the file beside a good one: whatever it is, the good one must be read."""
    (directory / "good.py").write_text(SOURCE)
    (directory / "odd.py").write_bytes(content)
    return audit([str(directory)], Config(cache=False))


@pytest.mark.parametrize("name", READ)
def test_a_file_of_another_kind_is_read(name: str, tmp_path: Path) -> None:
    """The write in it is found as in the plain file, and nothing is skipped."""
    report = audited(tmp_path, READ[name])
    assert [one.why for one in report.facts.skipped] == []
    assert sorted((site.file, site.kind) for site in report.facts.sites) == [("good.py", "Gadget"), ("odd.py", "Gadget")]


@pytest.mark.parametrize("name", SKIPPED)
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """One line says which file and why, and the rest is audited."""
    content, why = SKIPPED[name]
    report = audited(tmp_path, content)
    assert [(one.file, one.why.startswith(why)) for one in report.facts.skipped] == [("odd.py", True)], report.facts.skipped
    assert [site.file for site in report.facts.sites] == ["good.py"]


def test_a_file_too_deep_to_follow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What parses and then exhausts the stack is skipped like what does not parse."""
    from fiferail.audit.python.walk import Walk

    whole = Walk.statements

    def deep(self: Walk, body: object) -> None:
        if self.module.path == "odd.py":
            raise RecursionError
        whole(self, body)  # type: ignore[arg-type]

    monkeypatch.setattr(Walk, "statements", deep)
    report = audited(tmp_path, SOURCE.encode())
    assert [(one.file, one.why) for one in report.facts.skipped] == [("odd.py", "is nested too deeply to follow")]
    assert [site.file for site in report.facts.sites] == ["good.py"]


def test_a_fix_in_another_encoding_lands_in_its_place_or_nowhere(tmp_path: Path) -> None:
    """Columns are bytes of UTF-8: where they do not fit the file, the file stays as it is."""
    call = b'    await api.patch_namespaced_custom_object_status("e.io", "v1", "d", "gadgets", "g", {"status": {"a": "%s"}})\n'
    head = b"# coding: latin-1\nfrom kubernetes_asyncio import client\n\n\nasync def report(api: client.CustomObjectsApi):\n"
    path = tmp_path / "operator.py"
    for text in (b"plain", b"caf\xe9"):
        path.write_bytes(head + call % text)
        mend(audit([str(path)], Config(cache=False)))
        after = path.read_bytes()
        compile(after, "operator.py", "exec")
        mended = after.endswith(b'}, _content_type="application/merge-patch+json")\n')
        assert mended or after == head + call % text
    path.write_bytes(head + call % b"plain")
    mend(audit([str(path)], Config(cache=False)))
    assert b"_content_type" in path.read_bytes()


def test_only_what_was_read_counts(tmp_path: Path) -> None:
    """A lone file that does not parse: nothing could be read; with another beside it, one file was."""
    (tmp_path / "broken.py").write_text("from kubernetes import client\ndef (:\n")
    assert nothing_read(audit([str(tmp_path)], Config(cache=False)))
    (tmp_path / "sound.py").write_text("from kubernetes import client\n")
    assert not nothing_read(audit([str(tmp_path)], Config(cache=False)))
