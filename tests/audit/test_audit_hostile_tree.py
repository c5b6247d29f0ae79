"""A tree that somebody else wrote: devices, FIFOs, links, names, configuration, roles, caches. Each is one line; the rest is audited."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.cache import Cache
from fiferail.audit.config import Config, ConfigError
from fiferail.audit.documents import ALIASED, DEPTH
from fiferail.audit.suppressions import read as suppressions_of

FIXTURES = Path(__file__).parent / "fixtures"
BAD = (FIXTURES / "go" / "FR001" / "bad.go").read_text()
NO_CACHE = Config(cache=False)


@dataclass
class Ran:
    code: int
    out: str
    err: str


def command(where: Path, *arguments: str) -> Ran:
    """The command as a user starts it, with one gigabyte of memory and half a minute."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    ran = subprocess.run(
        [sys.executable, "-m", "fiferail", "audit", *arguments],
        cwd=where,
        env={**os.environ, "FIFERAIL_CACHE": str(where / ".cache")},
        capture_output=True,
        timeout=30,
        check=False,
        preexec_fn=limited,
    )
    return Ran(ran.returncode, ran.stdout.decode("utf-8", "replace"), ran.stderr.decode("utf-8", "replace"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with one operator that has a finding."""
    where = tmp_path / "tree"
    where.mkdir()
    (where / "good.go").write_text(BAD)
    return where


def skipped(tree: Path, config: Config = NO_CACHE) -> dict[str, str]:
    """What was left out, and why; the operator beside it was audited."""
    report = audit([str(tree)], config)
    assert [site.file for site in report.facts.sites] == ["good.go"]
    return {one.file: one.why for one in report.facts.skipped if one.file != "go.mod"}


# -- files -----------------------------------------------------------------------------------------------------------


def test_only_regular_files_inside_the_tree_are_read(tree: Path, tmp_path: Path) -> None:
    """A device without end, a FIFO without a writer, links out of the tree: the command names each and ends with the finding."""
    (tmp_path / "secret.py").write_text("import kopf\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.go").write_text(BAD)
    os.symlink("/dev/zero", tree / "zero.go")
    os.mkfifo(tree / "fifo.py")
    os.symlink(tree / "fifo.py", tree / "link_to_fifo.py")
    os.symlink(tmp_path / "secret.py", tree / "secret.py")
    os.symlink(tmp_path / "elsewhere", tree / "elsewhere")
    os.symlink("/", tree / "root")
    os.symlink("nothing", tree / "dangling.go")
    ran = command(tree, ".")
    assert (ran.code, "good.go:" in ran.out) == (1, True), ran.err
    said = [line for line in ran.out.splitlines() if line.startswith("skipped ") and "go.mod" not in line]
    assert sorted(said) == [
        "skipped dangling.go: cannot be read: No such file or directory",
        "skipped elsewhere: a link that leaves the audited paths",
        "skipped fifo.py: is a FIFO, not a regular file",
        "skipped link_to_fifo.py: is a FIFO, not a regular file",
        "skipped root: a link that leaves the audited paths",
        "skipped secret.py: a link that leaves the audited paths",
        "skipped zero.go: a link that leaves the audited paths",
    ]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("/dev/zero", "skipped /dev/zero: is a device, not a regular file", id="device"),
        pytest.param("pipe.go", "skipped pipe.go: is a FIFO, not a regular file", id="FIFO"),
    ],
)
def test_a_path_that_is_no_file_ends_with_2(tmp_path: Path, path: str, words: str) -> None:
    """What was asked for and cannot be read is said, and nothing is waited for."""
    if not path.startswith("/"):
        os.mkfifo(tmp_path / path)
    ran = command(tmp_path, path)
    assert ran.code == 2
    assert words.replace("/dev/zero:", "zero:") in ran.err


def test_links_inside_the_tree_are_followed(tree: Path) -> None:
    """A link to another file or directory of the tree is read as before."""
    (tree / "real").mkdir()
    (tree / "real" / "one.py").write_text("import kopf\n")
    os.symlink("real", tree / "also")
    os.symlink("real/one.py", tree / "two.py")
    assert skipped(tree) == {"also": "a link to a directory that was already read"}


def test_a_name_that_is_not_utf8_is_one_line(tree: Path) -> None:
    """Files and directories with such names are named with escapes; every format can print that."""
    for name in (b"caf\xe9.go", b"caf\xe9"):
        path = os.path.join(os.fsencode(tree), name)
        if name.endswith(b".go"):
            Path(os.fsdecode(path)).write_text(BAD)
        else:
            os.mkdir(path)
    for form in ("text", "markdown", "json", "sarif", "github", "html"):
        ran = command(tree, ".", "--format", form)
        assert (ran.code, ran.err) == (1, ""), form
    said = command(tree, ".").out.splitlines()
    assert "skipped caf\\udce9.go: its name is not UTF-8" in said
    assert "skipped caf\\udce9: its name is not UTF-8" in said


def test_a_root_whose_name_is_not_utf8_is_audited(tmp_path: Path) -> None:
    """The directory that the user names may have any name."""
    where = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"caf\xe9")))
    where.mkdir()
    (where / "good.go").write_text(BAD)
    assert command(tmp_path, os.fsdecode(b"caf\xe9")).code == 1


def test_an_unreadable_file_is_one_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permission denied, an error of the disk: the system's words, and the rest is audited."""
    (tree / "locked.py").write_text("import kopf\n")
    opened = os.open

    def refusing(path: str, *rest: int) -> int:
        if str(path).endswith("locked.py"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", refusing)
    assert skipped(tree) == {"locked.py": "cannot be read: Permission denied"}


def test_all_files_together_have_a_limit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is over it is named; memory is bounded however many files there are."""
    monkeypatch.setattr("fiferail.audit.sources._ALL", len(BAD) + 100)
    (tree / "more.go").write_text("package a\n" + "// x\n" * 100)
    assert skipped(tree) == {"more.go": "not read: all files together are over the limit of 0 MB"}


# -- configuration ---------------------------------------------------------------------------------------------------


def test_a_catastrophic_pattern_takes_no_time(tree: Path) -> None:
    """`exclude` is matched in linear time; Python's own matcher would take years for this name."""
    (tree / ("a" * 200 + ".go")).write_text("package a\n")
    (tree / ".fiferail.toml").write_text('exclude = ["(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$"]\n')
    ran = command(tree, ".")
    assert (ran.code, "good.go:" in ran.out) == (1, True)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("(", "got `(`: missing ): ( (RE2)", id="no pattern"),
        pytest.param("(?=a)", "got `(?=a)`: invalid perl operator: (?= (RE2)", id="look-ahead"),
        pytest.param("((((a{100}){100}){100}){100})", "invalid repetition size: {100} (RE2)", id="an enormous automaton"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_said(tree: Path, pattern: str, words: str) -> None:
    """From the command line and from Python alike: one line with RE2's reason."""
    ran = command(tree, ".", "--exclude", pattern)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "expected a regular expression at `exclude`" in ran.err
    assert words in ran.err
    with pytest.raises(ConfigError, match="expected a regular expression at `exclude`"):
        audit([str(tree)], Config(cache=False, exclude=(pattern,)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"policy = ", "cannot be read as TOML: Invalid value", id="broken"),
        pytest.param(b"policy = '\xff'", "cannot be read as TOML: 'utf-8' codec can't decode", id="not UTF-8"),
        pytest.param(b"a = " + b"[" * 100_000, "cannot be read as TOML: maximum recursion depth", id="nested"),
        pytest.param(b"exclude = [5]", "expected a list of text at `exclude`", id="a list of numbers"),
        pytest.param(b"exclude = 5", "expected list at `exclude`, got int", id="a number"),
        pytest.param(b"#" * 5_000_000, "5 MB, over the limit of 4 MB", id="enormous"),
    ],
)
def test_a_configuration_of_ours_that_cannot_be_used_ends_with_2(tree: Path, content: bytes, words: str) -> None:
    """Auditing with other settings than those meant would be worse: one line says which file and why."""
    (tree / ".fiferail.toml").write_bytes(content)
    ran = command(tree, ".")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert f".fiferail.toml: {words}" in ran.err


@pytest.mark.parametrize("content", [b"[project\n", b"x = '\xff'\n", b"a = " + b"[" * 100_000], ids=["broken", "not UTF-8", "nested"])
def test_a_project_file_that_does_not_parse_is_passed_over_with_a_line(tree: Path, content: bytes) -> None:
    """A pyproject.toml that says nothing of fiferail is not ours to refuse: it is named, and the audit goes on."""
    (tree / "pyproject.toml").write_bytes(content)
    ran = command(tree, ".")
    assert (ran.code, ran.err.count("\n")) == (1, 1), ran.err
    assert "pyproject.toml: no configuration was taken from it: " in ran.err


@pytest.mark.parametrize("content", ["tool = 5\n", "[tool]\nfiferail = 5\n", "[tool.fiferail]\npolicy = \n"])
def test_a_project_file_of_another_shape_is_no_crash(tree: Path, content: str) -> None:
    """`tool` may be anything; what speaks of fiferail and cannot be used is an error."""
    (tree / "pyproject.toml").write_text(content)
    ran = command(tree, ".")
    assert (ran.code, "Traceback" in ran.err) == (2 if "fiferail" in content else 1, False), ran.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"[" * 100_000, "expected a baseline as --write-baseline makes it, got RecursionError", id="nested"),
        pytest.param(b"\xff", "got UnicodeDecodeError", id="not UTF-8"),
        pytest.param(b'{"findings": 5}', "got TypeError", id="a number"),
        pytest.param(b'{"findings": [{"fingerprint": []}]}', "got TypeError", id="a list for a fingerprint"),
    ],
)
def test_a_baseline_that_is_none_is_one_line(tree: Path, content: bytes, words: str) -> None:
    """Whatever the file holds, the line names it."""
    (tree / "known.json").write_bytes(content)
    ran = command(tree, ".", "--baseline", "known.json")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert ran.err.startswith("fiferail audit: known.json: ")
    assert words in ran.err


def test_a_baseline_that_is_a_device_is_one_line(tree: Path) -> None:
    """It is not read at all."""
    ran = command(tree, ".", "--baseline", "/dev/zero")
    assert (ran.code, ran.err) == (2, "fiferail audit: /dev/zero: the baseline is a device, not a regular file\n")


# -- roles -----------------------------------------------------------------------------------------------------------

ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: y}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join(['*' + before] * 9)}]}}\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("- " * 50_000, f"is nested more than {DEPTH} deep", id="lists in lists"),
        pytest.param("[" * 50_000, f"is nested more than {DEPTH} deep", id="brackets"),
        pytest.param("{a: " * 50_000, f"is nested more than {DEPTH} deep", id="braces"),
        pytest.param("? " * 50_000, f"is nested more than {DEPTH} deep", id="keys"),
        pytest.param(ALIASES, f"has aliases that stand for more than {ALIASED} values", id="aliases"),
        pytest.param(MERGES, f"has aliases that stand for more than {ALIASED} values", id="merge keys"),
        pytest.param("a: &a [*a]", "has an alias inside of what it stands for: *a", id="an alias of itself"),
        pytest.param("a: *b", "is not YAML: found undefined alias", id="an alias of nothing"),
        pytest.param("\0", "is not YAML: unacceptable character", id="a null byte"),
        pytest.param("kind: Role\nrules: 5", "expected a list at `rules`, got `5`", id="rules"),
        pytest.param("kind: Role\nrules: [5]", "expected a map in `rules`, got `5`", id="a rule"),
        pytest.param("kind: Role\nrules: [{resources: [a], verbs: 5}]", "expected a list at `verbs`, got `5`", id="verbs"),
        pytest.param("kind: Role\nrules: [{resources: {a: b}}]", "expected a list at `resources`, got a map", id="resources"),
        pytest.param("x" * 17_000_000, "17 MB, over the limit of 16 MB", id="enormous"),
    ],
)
def test_a_role_that_is_none_is_one_line(tree: Path, content: str, words: str) -> None:
    """The command names the file and the reason, in time, and audits the source."""
    (tree / "role.yaml").write_text(content)
    ran = command(tree, ".", "--role", "role.yaml")
    assert (ran.code, "Traceback" in ran.err) == (1, False), ran.err
    assert [line for line in ran.out.splitlines() if line.startswith("skipped role.yaml")] == [f"skipped role.yaml: {words}"] or any(
        line.startswith(f"skipped role.yaml: {words}") for line in ran.out.splitlines()
    )


@pytest.mark.parametrize(
    "value",
    ["1:" * 100_000 + "1", "9" * 6_000, "!!python/object/apply:os.system [exit]", "!!int '9:9'", "2001-99-99", "!!binary '%'", "0b2"],
)
def test_scalars_of_a_role_are_never_computed(tree: Path, value: str) -> None:
    """Numbers in base 60, dates that do not exist and tags of other languages are text beside the role."""
    (tree / "role.yaml").write_text(f"odd: {value}\n---\nkind: Role\nrules: [{{resources: [gadgets/status], verbs: [delete]}}]\n")
    assert skipped(tree, Config(cache=False, roles=(str(tree / "role.yaml"),))) == {}


def test_anchors_and_merge_keys_of_an_honest_role_grant(tree: Path) -> None:
    """A role that uses them reads as kubectl reads it."""
    (tree / "role.yaml").write_text(
        "kind: Role\nrules:\n- &first\n  apiGroups: [example.io]\n  resources: [gadgets]\n  verbs: &all [get, update]\n"
        "- {<<: *first, resources: [gadgets/status]}\n"
    )
    report = audit([str(tree)], Config(cache=False, roles=(str(tree / "role.yaml"),)))
    assert [(grant.resource, grant.verbs, grant.line) for grant in report.facts.grants] == [
        ("gadgets", ("get", "update"), 5),
        ("gadgets/status", ("get", "update"), 7),
    ]


# -- the cache and the output ----------------------------------------------------------------------------------------


def test_a_damaged_cache_entry_is_parsed_again(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries with other bytes than were written are dropped, a line says how many, and the next run has them again."""
    import msgspec

    monkeypatch.setenv("FIFERAIL_CACHE", str(tmp_path / "cache"))
    first = [site.to_json() for site in audit([str(tree)]).facts.sites]
    path = Path(Cache(str(tree)).path)
    entries = msgspec.msgpack.decode(path.read_bytes())
    for rotten in (lambda old: old[:-1], lambda _: b"", lambda old: old[:8] + msgspec.msgpack.encode(5), lambda old: old[:8] + b"\xc1"):
        path.write_bytes(msgspec.msgpack.encode({key: rotten(value) for key, value in entries.items()}))
        report = audit([str(tree)])
        assert [site.to_json() for site in report.facts.sites] == first
        assert [one.why for one in report.facts.skipped if one.file == str(path)] == [
            f"the cache has {len(entries)} damaged entries: parsed again"
        ]
    assert [one.file for one in audit([str(tree)]).facts.skipped] == ["go.mod"]


@pytest.mark.parametrize("content", [b"garbage", b"\x91" * 100_000, b"\x05"], ids=["garbage", "nested", "a number"])
def test_a_file_that_is_no_cache_is_one_line(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """It is replaced by a good one."""
    monkeypatch.setenv("FIFERAIL_CACHE", str(tmp_path / "cache"))
    path = Path(Cache(str(tree)).path)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert skipped(tree, Config()) == {str(path): "the cache is damaged: parsed again"}
    assert skipped(tree, Config()) == {}


@pytest.mark.parametrize(
    ("output", "words"),
    [
        pytest.param("nowhere/out.txt", "nowhere/out.txt cannot be written: No such file or directory", id="no directory"),
        pytest.param(".", ". cannot be written: Is a directory", id="a directory"),
        pytest.param("good.go/out.txt", "good.go/out.txt cannot be written: Not a directory", id="below a file"),
    ],
)
@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
def test_an_output_that_cannot_be_written_is_one_line(tree: Path, option: str, output: str, words: str) -> None:
    """Exit code 2, never the 1 of findings."""
    ran = command(tree, ".", option, output)
    expected = words if option == "--output" else words.replace(" cannot", ": the baseline cannot", 1)
    assert (ran.code, ran.err) == (2, f"fiferail audit: {expected}\n")


def test_a_report_replaces_the_last_one_whole(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the old file as it was, and nothing beside it."""
    from fiferail.cli.audit import _write

    target = tree / "out.txt"
    target.write_text("the last report\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match=r"out\.txt cannot be written: No space left on device"):
        _write(str(target), b"a new report\n")
    assert target.read_text() == "the last report\n"
    assert sorted(path.name for path in tree.iterdir()) == ["good.go", "out.txt"]


def test_a_device_may_take_the_report(tree: Path) -> None:
    """`-o /dev/stdout` and `-o /dev/null` are written to, not replaced."""
    assert command(tree, ".", "-o", "/dev/null").code == 1
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


# -- much of the same ------------------------------------------------------------------------------------------------

MUCH = {
    "suppressions": b"//fiferail:allow FR001 reason\n" * 20_000,
    "comments": b"//fiferail:allow FR001 reason\n" + b"//\n" * 200_000,
    "markers": b"// +kubebuilder:rbac:groups=a,resources=b/status,verbs=get\n" * 10_000,
    "calls in calls": b"var a = x" + b".patch(" * 100_000 + b'"status")',
    "one long name": b"var a = b." + b"patch" * 100_000 + b"Status()\n",
    "dots": b"." * 400_000 + b" Status(\n",
    "words that are no Go": b"not " * 50_000 + b"\nx.Status().Update(ctx, y)",
    "writes in one function": (
        b"func (r *R) f(ctx context.Context, g *Gadget) error {\n"
        + b"\tif err := r.Status().Update(ctx, g); err != nil {\n\t\treturn err\n\t}\n" * 500
        + b"\treturn nil\n}\n"
    ),
}


@pytest.mark.parametrize("name", MUCH)
def test_much_of_the_same_is_read_in_linear_time(tree: Path, name: str) -> None:
    """Hundreds of kilobytes of one thing are audited in seconds: no step looks at everything again for each of them."""
    (tree / "much.go").write_bytes(b"package a\n\n" + MUCH[name] + b"\nvar Status = 1\n")
    started = time.process_time()
    audit([str(tree)], NO_CACHE)
    assert time.process_time() - started < 10


def test_a_function_with_more_writes_than_any_real_one_is_listed_and_named(tree: Path) -> None:
    """Every write of it is in the list; a line says that the rules did not look at it in full."""
    call = '    api.replace_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", "g", body)\n'
    (tree / "much.py").write_text("import kubernetes\n\n\ndef report(api, body):\n" + call * 1100)
    report = audit([str(tree)], NO_CACHE)
    assert sum(site.file == "much.py" for site in report.facts.sites) == 1100
    said = {one.file: one.why for one in report.facts.skipped}
    assert said["much.py:5"] == "report is too large to be judged in full (1100 writes in one function): they are listed"


def test_a_comment_covers_the_next_line_of_code() -> None:
    """Comments that follow each other stand for the same line; one at the end stands for the line below it."""
    source = b"//fiferail:allow FR001 a\n// words\n\n//fiferail:allow FR002 b\nx() //fiferail:allow FR003 c\n//fiferail:allow FR004 d\n"
    assert [(one.line, one.covers, one.codes) for one in suppressions_of("a.go", source)] == [
        (1, 5, ("FR001",)),
        (4, 5, ("FR002",)),
        (5, 5, ("FR003",)),
        (6, 7, ("FR004",)),
    ]
