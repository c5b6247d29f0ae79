"""The pre-commit hook and the composite Action, run for real: pre-commit's own program, and the Action's shell scripts under bash.

What needs a package registry (building the hook's environment, the Action's install step) is skipped where there is none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
BIN = Path(sys.executable).parent
NO_REGISTRY = re.compile(r"No matching distribution|Could not find a version|ConnectionError|NewConnectionError|Temporary failure|Network")

pytestmark = pytest.mark.skipif(shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash")


@dataclass
class Ran:
    code: int
    output: str


def run(arguments: list[str], where: Path, **environment: str) -> Ran:
    """Runs a command with this interpreter's programs first in the path, and no configuration but ours."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT", "GITHUB_", "VIRTUAL_ENV"))}
    known |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": os.devnull, "FIFERAIL_CACHE": str(where / ".cache")}
    answer = subprocess.run(
        arguments, cwd=where, env=known | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False
    )
    return Ran(answer.returncode, answer.stdout)


def repository(where: Path, files: dict[str, Path | str]) -> Path:
    """A git repository with one commit."""
    where.mkdir(parents=True)
    for name, content in files.items():
        target = where / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if isinstance(content, str) else content.read_text())
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        assert run(["git", *arguments], where).code == 0
    return where


# -- the hook --------------------------------------------------------------------------------------------------------


def hooked(tmp_path: Path, operator: Path, hook: str = "") -> Path:
    """An operator's repository that uses the hook of a repository which holds our manifest."""
    ours = repository(tmp_path / "fiferail", {".pre-commit-hooks.yaml": ROOT / ".pre-commit-hooks.yaml"})
    commit = run(["git", "rev-parse", "HEAD"], ours).output.strip()
    config = f"repos:\n- repo: {ours}\n  rev: {commit}\n  hooks:\n  - id: fiferail-audit\n{hook}"
    return repository(tmp_path / "operator", {".pre-commit-config.yaml": config, "gadgets/operator.py": operator})


# Without an environment of its own the hook runs the program that is installed: everything but the installation is real.
INSTALLED = "    language: system\n    additional_dependencies: []\n"


@pytest.mark.skipif(not (BIN / "pre-commit").exists(), reason="needs pre-commit")
@pytest.mark.parametrize(
    ("operator", "code", "words"),
    [
        pytest.param("python/FR001/bad.py", 1, "gadgets/operator.py:6: FR001 whole-status-put", id="a bad operator"),
        pytest.param("python/FR001/good.py", 0, "Passed", id="a good operator"),
    ],
)
def test_the_hook_finds_what_is_committed(tmp_path: Path, operator: str, code: int, words: str) -> None:
    """pre-commit runs the hook of our manifest over the whole repository; a finding fails it."""
    where = hooked(tmp_path, FIXTURES / operator, INSTALLED)
    ran = run(["pre-commit", "run", "--all-files", "--color", "never"], where, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert (ran.code, words in ran.output) == (code, True), ran.output


@pytest.mark.skipif(not (BIN / "pre-commit").exists(), reason="needs pre-commit")
def test_the_hook_leaves_other_commits_alone(tmp_path: Path) -> None:
    """A commit without Go or Python does not start the audit."""
    where = hooked(tmp_path, FIXTURES / "python/FR001/bad.py", INSTALLED)
    (where / "README.md").write_text("words\n")
    run(["git", "add", "README.md"], where)
    ran = run(["pre-commit", "run", "--color", "never"], where, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert (ran.code, "(no files to check)Skipped" in ran.output) == (0, True), ran.output


@pytest.mark.skipif(not (BIN / "pre-commit").exists(), reason="needs pre-commit")
def test_the_hook_installs_itself(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """As users have it: pre-commit builds an environment from this repository, extras included, and runs the program in it."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("builds an environment, and --fiferail-no-real was given")
    tracked = run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "src",
            "pyproject.toml",
            "README.md",
            "LICENSE",
            ".pre-commit-hooks.yaml",
        ],
        ROOT,
    ).output.split()
    ours = repository(tmp_path / "fiferail", {name: ROOT / name for name in tracked if (ROOT / name).exists()})
    where = repository(tmp_path / "operator", {"operator.py": FIXTURES / "python/FR001/bad.py"})
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    ran = run(["pre-commit", "try-repo", str(ours), "fiferail-audit", "--all-files", "--color", "never"], where, **home)
    if NO_REGISTRY.search(ran.output):
        pytest.skip("no package registry here")
    assert ran.code == 1, ran.output
    assert "operator.py:6: FR001 whole-status-put" in ran.output


# -- the Action ------------------------------------------------------------------------------------------------------


@dataclass
class Workflow:
    """What GitHub gives a composite action, and what it keeps of it."""

    workspace: Path
    files: Path

    def step(self, name: str, **inputs: str) -> Ran:
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        step = next(one for one in action["runs"]["steps"] if one["name"] == name)
        assert step["shell"] == "bash"
        values = {known: str(one["default"]) for known, one in action["inputs"].items()} | {
            k.replace("_", "-"): v for k, v in inputs.items()
        }
        environment = {known: self._substituted(text, values) for known, text in step.get("env", {}).items()}
        environment |= {name: value for name, value in inputs.items() if name.isupper()}
        environment |= {"GITHUB_OUTPUT": str(self.files / "output"), "GITHUB_STEP_SUMMARY": str(self.files / "summary")}
        environment |= {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_WORKSPACE": str(self.workspace), "CI": "true", "GITHUB_ACTIONS": "true"}
        script = self.files / "step.sh"
        script.write_text(step["run"])
        # The command line that GitHub uses for `shell: bash`.
        return run(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], self.workspace, **environment)

    @staticmethod
    def _substituted(text: str, inputs: dict[str, str]) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match.group(1)], text)

    def read(self, name: str) -> str:
        path = self.files / name
        return path.read_text() if path.exists() else ""


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    files = tmp_path / "runner"
    files.mkdir()
    workspace = tmp_path / "checkout"
    (workspace / "src" / "gadgets").mkdir(parents=True)
    shutil.copy(FIXTURES / "python" / "FR001" / "bad.py", workspace / "src" / "gadgets" / "operator.py")
    return Workflow(workspace, files)


def test_the_action_annotates_and_fails(workflow: Workflow) -> None:
    """A finding is an annotation on the line of the checkout, a row in the summary, an output, and exit code 1."""
    ran = workflow.step("Audit")
    assert ran.code == 1
    assert ran.output.startswith("::error file=src/gadgets/operator.py,line=6,col=5,title=FR001 whole-status-put::reconcile PUTs")
    assert workflow.read("output") == "findings=1\n"
    assert "| `src/gadgets/operator.py:6` reconcile |" in workflow.read("summary")


def test_annotations_name_files_from_the_checkout(workflow: Workflow) -> None:
    """Auditing a part of the repository does not make its names shorter: GitHub would find no such file."""
    ran = workflow.step("Audit", paths="src/gadgets", sarif_file="out.sarif")
    assert "::error file=src/gadgets/operator.py,line=6" in ran.output
    results = json.loads((workflow.workspace / "out.sarif").read_text())["runs"][0]["results"]
    assert [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results] == ["src/gadgets/operator.py"]


def test_the_action_writes_sarif_that_is_valid(workflow: Workflow) -> None:
    """Code scanning gets a document of the standard, with the finding in it, although the run fails."""
    import jsonschema

    assert workflow.step("Audit", sarif_file="out.sarif").code == 1
    document = json.loads((workflow.workspace / "out.sarif").read_text())
    jsonschema.validate(document, json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text()))
    assert [one["ruleId"] for one in document["runs"][0]["results"]] == ["FR001"]


def test_a_clean_repository_passes(workflow: Workflow) -> None:
    """No finding: no annotation, an output of nought, and exit code 0."""
    shutil.copy(FIXTURES / "python" / "FR001" / "good.py", workflow.workspace / "src" / "gadgets" / "operator.py")
    ran = workflow.step("Audit")
    assert (ran.code, ran.output, workflow.read("output")) == (0, "", "findings=0\n")


def test_the_actions_inputs_reach_the_command(workflow: Workflow) -> None:
    """Several paths, a policy and a baseline: each changes what is found."""
    shutil.copy(FIXTURES / "python" / "FR002" / "bad.py", workflow.workspace / "src" / "probe.py")
    assert workflow.step("Audit", paths="src/gadgets src/probe.py").output.count("::error") == 2
    assert workflow.step("Audit", paths="src/probe.py").code == 1
    assert workflow.step("Audit", paths="src/probe.py", policy="disjoint").code == 0
    run(["fiferail", "audit", "src", "--write-baseline", "known.json"], workflow.workspace)
    ran = workflow.step("Audit", paths="src", baseline="known.json")
    assert (ran.code, ran.output) == (0, "")


def test_a_wrong_input_ends_the_action_with_2(workflow: Workflow) -> None:
    """What cannot be run is not taken for clean, nor for findings."""
    ran = workflow.step("Audit", policy="open", sarif_file="out.sarif")
    assert (ran.code, "expected policy to be one of locked, disjoint, got `open`" in ran.output) == (2, True)
    assert workflow.step("Audit", paths="nowhere").code == 2


def test_a_sarif_file_that_cannot_be_written_fails_the_action_after_the_annotations(workflow: Workflow) -> None:
    """The findings are annotated, counted and summarised; one line names the file, and the step ends with 2."""
    ran = workflow.step("Audit", sarif_file="nowhere/out.sarif")
    assert ran.code == 2
    assert ran.output.startswith("::error file=src/gadgets/operator.py,line=6")
    assert ran.output.splitlines()[-1] == "fiferail audit: nowhere/out.sarif cannot be written: No such file or directory"
    assert workflow.read("output") == "findings=1\n"
    assert "| `src/gadgets/operator.py:6` reconcile |" in workflow.read("summary")


def test_the_action_takes_one_path_a_line(workflow: Workflow) -> None:
    """A path with a space, a second line, and a name that looks like an option: each is a path."""
    shutil.copytree(workflow.workspace / "src", workflow.workspace / "my operator")
    shutil.copytree(workflow.workspace / "src", workflow.workspace / "--fix")
    ran = workflow.step("Audit", paths="my operator\n\nsrc/gadgets\n--fix\n")
    assert (ran.code, ran.output.count("::error file=")) == (1, 3), ran.output
    assert "file=my operator/gadgets/operator.py" in ran.output


def test_a_crash_fails_the_action_with_2(workflow: Workflow) -> None:
    """A defect of the auditor is neither clean nor a finding."""
    (workflow.files / "sitecustomize.py").write_text("import fiferail.audit.judge\nfiferail.audit.judge.matrix = None\n")
    ran = workflow.step("Audit", PYTHONPATH=f"{workflow.files}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert (ran.code, ran.output.count("\n")) == (2, 1), ran.output
    assert ran.output.startswith("fiferail: could not run: TypeError: 'NoneType' object is not callable")


def test_the_action_installs_itself(workflow: Workflow, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The install step puts the action's own version, with what the audit needs, into the Python that the workflow has."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("installs packages, and --fiferail-no-real was given")
    fresh = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", str(fresh)], check=True)
    path = f"{fresh / 'bin'}{os.pathsep}{os.environ['PATH']}"
    script = next(one for one in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"] if one["name"] == "Install")["run"]
    ran = run(["bash", "-eo", "pipefail", "-c", script], workflow.workspace, PATH=path, GITHUB_ACTION_PATH=str(ROOT))
    if NO_REGISTRY.search(ran.output):
        pytest.skip("no package registry here")
    assert ran.code == 0, ran.output
    audited = run([str(fresh / "bin" / "fiferail"), "audit", "."], workflow.workspace)
    assert (audited.code, "FR001 whole-status-put" in audited.output) == (1, True), audited.output
