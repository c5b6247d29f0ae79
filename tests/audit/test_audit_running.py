"""Running the auditor: exit codes, configuration, policies, suppressions, baseline, roles, the cache, and input that is no source."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fiferail.audit import audit
from fiferail.audit.cache import Cache
from fiferail.audit.config import Config, ConfigError, load
from fiferail.audit.golang.walk import Walk
from fiferail.cli.audit import register

FIXTURES = Path(__file__).parent / "fixtures"
NO_CACHE = Config(cache=False)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("FIFERAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return CliRunner()


def run(command: CliRunner, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    register(app)
    result = command.invoke(app, ["audit", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["go/FR001/bad.go"], 1, id="findings"),
        pytest.param(["go/FR004/good.go"], 0, id="clean"),
        pytest.param(["go/FR001/bad.go", "--ignore", "FR001"], 0, id="ignored"),
        pytest.param(["go/FR001/bad.go", "--select", "FR002,FR003"], 0, id="not selected"),
        pytest.param(["go/FR002/bad.go", "--policy", "disjoint"], 0, id="disjoint"),
        pytest.param(["nowhere"], 2, id="nothing to read"),
    ],
)
def test_exit_codes(command: CliRunner, arguments: list[str], code: int) -> None:
    """0 clean, 1 findings, 2 when nothing could be read."""
    assert run(command, str(FIXTURES / arguments[0]), *arguments[1:])[0] == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--policy", "open"], "expected policy to be one of locked, disjoint, got `open`", id="policy"),
        pytest.param(["--select", "FR099"], "expected a rule code between FR001 and FR017, got `FR099`", id="code"),
        pytest.param(["--format", "pdf"], "expected --format to be text, markdown, json, sarif, github or html, got `pdf`", id="format"),
        pytest.param(["--explain", "7"], "expected --explain to be between 1 and 1, got 7", id="explain"),
        pytest.param(["--exclude", "("], "expected a regular expression at `exclude`, got `(`", id="exclude"),
        pytest.param(["--baseline", "none.json"], "none.json: no such baseline", id="baseline"),
    ],
)
def test_wrong_arguments_are_said_and_end_with_2(command: CliRunner, arguments: list[str], words: str) -> None:
    """What was expected, what was given, and exit code 2."""
    code, output = run(command, str(FIXTURES / "go" / "FR001" / "bad.go"), *arguments)
    assert code == 2
    assert words in output


def test_rules_explains_one_rule(command: CliRunner) -> None:
    """`rules FR003` prints the page; the slug works too; an unknown one ends with 2."""
    app = typer.Typer()
    register(app)
    assert command.invoke(app, ["rules", "FR003"]).output.startswith("FR003 unlocked-list-patch\n")
    assert command.invoke(app, ["rules", "unlocked-list-patch"]).output.startswith("FR003 unlocked-list-patch\n")
    assert command.invoke(app, ["rules"]).output.splitlines()[16] == "FR017  wrong-patch-in-python"
    answer = command.invoke(app, ["rules", "FL100"])
    assert (answer.exit_code, "got `FL100`" in answer.output) == (2, True)


def test_diff_shows_and_changes_nothing(command: CliRunner, tmp_path: Path) -> None:
    """--diff prints a unified diff and leaves the file as it is."""
    path = tmp_path / "a.go"
    path.write_text((FIXTURES / "go" / "FR002" / "bad.go").read_text())
    before = path.read_text()
    code, output = run(command, str(path), "--diff")
    assert code == 1
    assert "-\tbase := client.MergeFrom(gadget.DeepCopy())" in output
    assert path.read_text() == before
    assert run(command, str(path), "--fix")[0] == 0


def test_a_baseline_lets_old_findings_pass_and_new_ones_not(command: CliRunner, tmp_path: Path) -> None:
    """What was there when the baseline was written does not fail the run; what came after does."""
    path = tmp_path / "a.go"
    path.write_text((FIXTURES / "go" / "FR001" / "bad.go").read_text())
    assert run(command, str(path), "--write-baseline", "known.json")[0] == 0
    assert run(command, str(path), "--baseline", "known.json")[0] == 0
    path.write_text(
        path.read_text()
        + "\nfunc (r *GadgetReconciler) second(ctx context.Context, gadget *Gadget) error {\n\treturn r.Status().Update(ctx, gadget)\n}\n"
    )
    code, output = run(command, str(path), "--baseline", "known.json")
    assert code == 1
    assert "1 findings, 1 in the baseline" in output


def test_configuration_is_found_above_the_audited_path(command: CliRunner, tmp_path: Path) -> None:
    """[tool.fiferail] of the project counts, and an argument wins over it."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.go").write_text((FIXTURES / "go" / "FR002" / "bad.go").read_text())
    (tmp_path / "pyproject.toml").write_text('[tool.fiferail]\npolicy = "disjoint"\n')
    assert run(command, str(tmp_path / "pkg"))[0] == 0
    assert run(command, str(tmp_path / "pkg"), "--policy", "locked")[0] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param('polcy = "locked"', "expected one of .*policy.*, got `polcy`", id="unknown key"),
        pytest.param('select = "FR001"', "expected list at `select`, got str", id="wrong type"),
        pytest.param("policy = ", "cannot be read as TOML", id="no TOML"),
    ],
)
def test_a_bad_configuration_names_the_key(tmp_path: Path, content: str, words: str) -> None:
    """A typo is an error, not a rule switched off."""
    path = tmp_path / ".fiferail.toml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=words):
        load(str(path))


def test_a_reason_is_kept_with_the_site() -> None:
    """An allowed site is ok, and its reason is the suppression's."""
    report = audit([str(FIXTURES / "go" / "FR015" / "good.go")], NO_CACHE)
    assert [(str(site.verdict), site.reason) for site in report.facts.sites] == [
        ("ok", "allowed: sole writer, and the object was created a line above")
    ]


def test_a_role_given_by_path_grants(tmp_path: Path) -> None:
    """A ClusterRole that lacks patch on gadgets/status makes FR014 speak; one that grants an unused verb, FR013."""
    role = tmp_path / "role.yaml"
    role.write_text(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: manager}\nrules:\n"
        "- apiGroups: [example.io]\n  resources: [gadgets/status]\n  verbs: [update]\n- apiGroups: [example.io]\n  "
        "resources: [configs/status]\n  verbs: [patch]\n"
    )
    report = audit([str(FIXTURES / "go" / "FR004" / "good.go")], Config(cache=False, roles=(str(role),)))
    said = {finding.code: finding.message for finding in report.findings}
    assert said["FR014"] == "GadgetReconciler needs patch on gadgets/status and no marker or role grants it: the server answers 403"
    assert any("configs/status is granted and the audited code does not use it" in finding.message for finding in report.findings)


def test_an_aggregated_role_that_does_not_change_is_said(tmp_path: Path) -> None:
    """Two controllers with the same marker: dropping the dead one changes nothing in the generated role, and the finding says so."""
    for name, marker in (("one", "gadgets"), ("two", "gadgets")):
        (tmp_path / name).mkdir()
        source = (FIXTURES / "go" / "FR013" / "bad.go").read_text().replace("package controllers", f"package {name}")
        (tmp_path / name / "c.go").write_text(source if marker == "gadgets" else "")
    report = audit([str(tmp_path)], NO_CACHE)
    assert any(
        "the aggregated role does not change: two/c.go:" in finding.message for finding in report.findings if finding.code == "FR013"
    )


def test_bad_input_is_skipped_with_a_line_that_says_why(tmp_path: Path) -> None:
    """Unreadable, binary, giant and vendored files, links that loop, source that does not parse: each is named, none ends the run."""
    (tmp_path / "good.go").write_text((FIXTURES / "go" / "FR001" / "bad.go").read_text())
    (tmp_path / "binary.go").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "giant.go").write_bytes(b"package a\n" + b"// x\n" * 900_000)
    (tmp_path / "broken.go").write_text("package a\n\nfunc f( {{{ r.Status().Update(ctx, x)\n")
    (tmp_path / "broken.py").write_text("import kopf\ndef f(:\n")
    (tmp_path / "wide.py").write_text("import kopf\n", encoding="utf-16")
    (tmp_path / "latin.py").write_bytes(b"import kopf\n# caf\xe9\n")
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "v.go").write_text("package v\n")
    os.symlink(tmp_path, tmp_path / "loop")
    report = audit([str(tmp_path)], NO_CACHE)
    said = {one.file: one.why for one in report.facts.skipped}
    assert said["binary.go"] == "binary, not source"
    assert said["giant.go"] == "4 MB, over the limit of 4 MB"
    assert said["broken.go"].startswith("does not parse in full")
    assert said["broken.py"].startswith("does not parse: ")
    assert said["vendor"] == "vendored"
    assert said["loop"] == "a link to a directory that was already read"
    assert said["go.mod"] == "not found: packages are told apart by their directories"
    assert "wide.py" not in said
    assert [site.file for site in report.facts.sites if site.kind == "Gadget"] == ["good.go"]


def test_tests_and_generated_files_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    """_test.go, tests/, testing/ and files marked as generated are audited only on request."""
    source = (FIXTURES / "go" / "FR001" / "bad.go").read_text()
    (tmp_path / "a_test.go").write_text(source)
    (tmp_path / "b.go").write_text("// Code generated by hand. DO NOT EDIT.\n\n" + source)
    for name in ("testing", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "c.go").write_text(source)
    assert audit([str(tmp_path)], NO_CACHE).facts.sites == []
    found = audit([str(tmp_path)], Config(cache=False, tests=True, generated=True)).facts.sites
    assert [site.file for site in found] == ["a_test.go", "b.go", "testing/c.go", "tests/c.go"]


def test_a_second_run_takes_facts_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is parsed again while the bytes are the same, and a changed file is."""
    monkeypatch.setenv("FIFERAIL_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.go").write_text((FIXTURES / "go" / "FR001" / "bad.go").read_text())
    first = audit([str(project)])
    entries = len(Cache(str(project)).entries)
    assert entries > 0
    monkeypatch.setattr("fiferail.audit.golang.load.lower", lambda *_: pytest.fail("parsed again"))
    assert [site.to_json() for site in audit([str(project)]).facts.sites] == [site.to_json() for site in first.facts.sites]


def test_a_broken_cache_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage in the cache file is ignored."""
    monkeypatch.setenv("FIFERAIL_CACHE", str(tmp_path / "cache"))
    path = FIXTURES / "go" / "FR001"
    audit([str(path)])
    Path(Cache(str(path)).path).write_bytes(b"garbage")
    assert audit([str(path)]).facts.sites


def test_the_hook_and_the_action_call_a_command_that_exists() -> None:
    """.pre-commit-hooks.yaml and action.yml are YAML that runs `fiferail audit` with options that it has."""
    import yaml

    root = Path(__file__).parents[2]
    hooks = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    assert [(hook["id"], hook["entry"], hook["language"]) for hook in hooks] == [("fiferail-audit", "fiferail audit", "python")]
    action = yaml.safe_load((root / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    script = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    assert "fiferail audit" in script
    assert set(action["inputs"]) == {"paths", "policy", "baseline", "sarif-file"}


def test_json_of_the_command_is_json(command: CliRunner) -> None:
    """--format json prints nothing but JSON."""
    code, output = run(command, str(FIXTURES / "go" / "FR001" / "bad.go"), "--format", "json")
    assert code == 1
    assert json.loads(output)["summary"]["findings"] == 1


def test_a_function_that_breaks_the_auditor_is_named_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one function cannot be followed, a line says which, and the others are audited."""
    shutil.copy(FIXTURES / "go" / "FR001" / "bad.go", tmp_path / "bad.go")
    (tmp_path / "odd.go").write_text(
        "package controllers\n\nfunc (r *GadgetReconciler) odd(gadget *Gadget) error {\n\treturn r.Status().Update(nil, gadget)\n}\n"
    )
    statement = Walk.statement

    def stumbles(walk: Walk, one: list[object], scope: object) -> None:
        if walk.func.name == "odd":
            raise IndexError("a shape that nobody thought of")
        statement(walk, one, scope)  # type: ignore[arg-type]

    monkeypatch.setattr(Walk, "statement", stumbles)
    report = audit([str(tmp_path)], NO_CACHE)
    assert ("odd.go:3", "GadgetReconciler.odd could not be followed (IndexError); please report it") in [
        (skipped.file, skipped.why) for skipped in report.facts.skipped
    ]
    assert "FR001" in {finding.code for finding in report.findings}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.randoms(use_true_random=False))
def test_mangled_source_never_ends_the_audit(mangled: Random) -> None:
    """Whatever is cut out of a file, doubled or swapped, each function is followed or was never one: nothing breaks, nothing is hidden."""
    paths = sorted((FIXTURES / "go_follow").rglob("*.go"))
    lines = mangled.choice(paths).read_text().splitlines()
    for _ in range(mangled.randint(1, 6)):
        at = mangled.randrange(len(lines))
        match mangled.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, mangled.choice(lines))
            case 2:
                words = lines[at].split(" ")
                mangled.shuffle(words)
                lines[at] = " ".join(words)
            case _:
                lines[at] = lines[at][: mangled.randrange(len(lines[at]) + 1)]
        if not lines:
            return
    with TemporaryDirectory() as folder:
        (Path(folder) / "mangled.go").write_text("\n".join(lines))
        report = audit([folder], NO_CACHE)
    assert not [skipped for skipped in report.facts.skipped if "could not be followed" in skipped.why]


def test_the_source_fuzzer_finds_nothing_in_its_first_cases() -> None:
    """Twenty fixed cases of the fuzzer that `make fuzz` runs for as long as wanted: nothing raises."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("source_fuzzer", Path(__file__).parent / "source_fuzzer.py")
    assert spec is not None
    assert spec.loader is not None
    fuzzer = importlib.util.module_from_spec(spec)
    sys.modules["source_fuzzer"] = fuzzer
    spec.loader.exec_module(fuzzer)
    outcome = fuzzer.Outcome()
    for number in range(20):
        fuzzer.one(7, number, fuzzer.corpus(), outcome)
    assert outcome.cases == 20
    assert [failure for failure in outcome.failures if "Traceback" in failure] == []
