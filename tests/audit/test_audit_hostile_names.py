"""Names and source text of somebody else in what the auditor prints: they stay data in the test of --explain and in every format."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.explain import explain
from fiferail.audit.fixes import Change
from fiferail.audit.model import Finding, Place, Report, Site
from fiferail.audit.quoting import lines, printable
from fiferail.audit.render import FORMATS, render

HERE = Path(__file__).parent
BAD = (HERE / "fixtures" / "python" / "FR001" / "bad.py").read_text()
NO_CACHE = Config(cache=False, tests=True)

BREAKOUT = 'a""";__import__("os").system("touch pwned");""".py'
HOSTILE = [
    BREAKOUT,
    "a'''\";print(1)#",
    "a\nimport os\n",
    "a\\",
    '\\"""',
    "{finding}{0}{writer!r}",
    "%s%n",
    "\x1b]0;title\x07\x1b[2J",
    "::error::injected",
    "x\n::set-output name=a::b",
    "##[add-mask]secret",
    "</td><script>alert(1)</script>",
    "[link](javascript:alert(1))",
    "`code` | cell | <img src=x>",
    "[bold red]x[/wrong]",
    ":smile:",
    "\u202egnp.exe",
    "\u2028line",
    "\udce9half",
    "@everyone",
    "class",
    "client",
    "1two",
    "",
    "日本語",
]
anything = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40), st.text(alphabet="\"'\\\n\r#{}%:[]`|<>\x1b\x00;()", max_size=12))
ways = st.sampled_from(["update", "merge-patch", "merge-patch-locked", "ssa", "json-patch"])
codes = st.sampled_from(["FR001", "FR002", "FR003", "FR004", "FR006", "FR007", "FR008", "FR009", "FR010", "FR016", "FR017"])


def report_of(finding: Finding, site: Site) -> Report:
    from fiferail.audit.config import Config as Settings
    from fiferail.audit.judge import judge
    from fiferail.audit.model import Facts, Skipped

    report = judge(Facts(sites=[site]), Settings(select=("FR015",)))
    report.findings, report.facts.skipped = [finding], [Skipped(site.file, f"because of {finding.message}")]
    return report


def found(code: str, site: Site, message: str, writers: tuple[str, ...]) -> Finding:
    places = [Place(site.file, site.line, message), Place(site.file, 2, message)]
    return Finding(code, "a-rule", message, message, places, [site], writers=writers, flow=places, number=1, fingerprint="f")


KNOWN = {
    *("client", "seen", "API_VERSION", "CRD", "OBJECT", "status", "version", "body", "base", "changed", "difference", "key", "value"),
    *("fresh", "carried", "moved", "between", "wanted", "older", "problem", "range", "print", "Exception", "_", "apiserver", "known"),
}


class Skeleton(ast.NodeTransformer):
    """The code of a test without its data: every text is one text, every function of the two writers has one name."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("text") if isinstance(node.value, str) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = "test" if node.name.startswith("test_") else "writer"
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(node.id if node.id in KNOWN else "writer", node.ctx)


def skeleton(source: str) -> str:
    return ast.dump(Skeleton().visit(ast.parse(source)))


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(codes, ways, st.booleans(), st.booleans(), st.booleans(), *[anything] * 8)
def test_only_data_comes_out_of_explain(
    code: str, way: str, listed: bool, force: bool, several: bool, file: str, function: str, controller: str, kind: str, field: str,
    message: str, first: str, second: str,
) -> None:  # fmt: skip
    """Whatever files, functions, kinds, fields and writers are called, the printed test is the same code around other strings."""
    site = Site(file, 7, function, controller, kind, verb=way, target="status", fields=(field,), force=force, notes=("typed-put",))
    site.lists = (field,) if listed else ()
    names = (first, second) if several else ()
    # Two sentences of the rules choose the play; a hostile message may hold either.
    message = message + " older than" if force else message.replace("older than", "")
    plain = replace(site, file="a.py", function="reconcile", controller="Gadgets", kind="Gadget", fields=("phase",))
    plain.lists = ("items",) if listed else ()
    if field == "conditions":
        return
    written = explain(report_of(found(code, site, message, names), site), 1)
    expected = explain(report_of(found(code, plain, "older than" if force else "", ("One", "Two") if several else ()), plain), 1)
    assert skeleton(written) == skeleton(expected)
    assert written.isascii()
    assert not re.search(r"[^\n -~]", written)


def test_a_file_name_never_runs_in_the_printed_test(tmp_path: Path) -> None:
    """The name that ran its code: the command prints a test, and collecting it runs nothing."""
    (tmp_path / BREAKOUT).write_text(BAD)
    ran = subprocess.run(
        [sys.executable, "-m", "fiferail", "audit", BREAKOUT, "--no-cache", "--explain", "1"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    (tmp_path / "explained.py").write_text(ran.stdout)
    subprocess.run([sys.executable, "explained.py"], cwd=tmp_path, check=True, timeout=60)
    assert not (tmp_path / "pwned").exists()
    assert BREAKOUT in str(ast.get_docstring(ast.parse(ran.stdout)))


@pytest.mark.parametrize("name", ["class", "def", "client", "seen", "print", "range", "test_x", "1st", "None", "é"])
def test_the_printed_test_runs_for_a_writer_of_any_name(name: str) -> None:
    """A function is never named like a keyword, or like something that the test uses."""
    site = Site("a.py", 7, name, "", "Gadget", verb="update", target="status", fields=("phase",))
    tree = ast.parse(explain(report_of(found("FR001", site, "", ()), site), 1))
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len({*defined}) == 3
    assert not {*defined} & {"client", "seen", "print", "range", "apiserver"}


# -- formats ---------------------------------------------------------------------------------------------------------


def hostile_report(text: str) -> Report:
    site = Site(text, 7, text, text, text, verb="update", target="status", ownership="foreign", fields=(text,), reason=text)
    report = report_of(found("FR001", site, text, (text,)), site)
    site.reason = text
    return report


def check_safe(output: str) -> None:
    """Nothing in it is obeyed by a terminal or by the runner of a workflow."""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", output)
    assert "##[" not in output
    assert not [line for line in output.split("\n") if line.lstrip().startswith("::")]


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "github"])
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(text=anything)
def test_no_format_lets_a_name_act(form: str, text: str) -> None:
    """Control characters, workflow commands, other directions of writing: escaped wherever names and source text stand."""
    check_safe(render(hostile_report(text), form))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(text=anything)
def test_an_annotation_is_one_command_with_the_name_in_it(text: str) -> None:
    """Each line is the command that was meant, and its properties are those that were meant."""
    output = render(hostile_report(text), "github")
    assert "##[" not in output
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", output)
    written = output.split("\n")[:-1]
    assert len(written) == 2
    for line in written:
        assert re.match(r"::error file=[^,:]*,line=\d+,col=1,title=FR001 a-rule::", line), line


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(text=anything)
def test_a_terminal_gets_colours_and_nothing_else(text: str) -> None:
    """With colours on, the only control sequences are those of the colours."""
    from fiferail.audit.render import text as texts

    output = texts.render(hostile_report(text), colour=True, width=200)
    check_safe(re.sub(r"\x1b\[[0-9;]*m", "", output))


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(text=anything)
def test_sarif_names_files_by_uri(text: str) -> None:
    """The document is valid, its URI is relative and without a scheme, and gives the name back."""
    document = json.loads(render(hostile_report(text), "sarif"))
    location = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    split = urlsplit(location["uri"])
    assert (split.scheme, split.netloc, split.query, split.fragment) == ("", "", "", "")
    assert unquote(location["uri"], errors="surrogateescape") == text
    assert not re.search(r"(?<!\\)\]\(", document["runs"][0]["results"][0]["message"]["text"])


def test_sarif_of_hostile_names_is_valid() -> None:
    """Against the standard's schema, with all of them."""
    schema = json.loads((HERE / "schemas" / "sarif-schema-2.1.0.json").read_text())
    for text in HOSTILE:
        jsonschema.validate(json.loads(render(hostile_report(text), "sarif")), schema)


def test_markdown_shows_names_as_they_are() -> None:
    """Markup, HTML, cells and mentions in names are escaped; a name with a backtick is still code."""
    row = render(hostile_report("a`b|<img src=x>[l](u)**x**@me"), "markdown").splitlines()[4]
    assert row.startswith(r"| `` a`b\|<img src=x>[l](u)**x**@me:7 `` a\`b\|\<img src=x\>\[l\](u)\*\*x\*\*@" + "\u200bme | ")
    assert len(re.findall(r"(?<!\\)\|", row)) == 9
    assert "snake_case_name" in render(hostile_report("snake_case_name"), "markdown")


def test_html_has_no_element_of_a_name() -> None:
    """What looks like an element is text."""
    page = render(hostile_report("</td><script>alert(1)</script>"), "html")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_json_keeps_the_name(tmp_path: Path) -> None:
    """Escaped on the wire, whole after reading."""
    content = json.loads(render(hostile_report("a\x1b\x7f##[x]::y"), "json"))
    assert content["sites"][0]["file"] == "a\x1b\x7f##[x]::y"


def test_lines_about_files_are_escaped_too(tmp_path: Path) -> None:
    """The command's own lines on the standard error stream, and the diff on a terminal."""
    name = "\x1b[31m\n::error::x.py"
    (tmp_path / name).write_bytes(b"\0")
    ran = subprocess.run(
        [sys.executable, "-m", "fiferail", "audit", name, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.splitlines() == [
        "skipped \\x1b[31m\\n:\\x3aerror:\\x3ax.py: binary, not source",
        "fiferail audit: no Go or Python file could be read in \\x1b[31m\\n:\\x3aerror:\\x3ax.py",
    ]


def test_a_diff_is_exact_in_a_pipe_and_escaped_in_a_job(tmp_path: Path) -> None:
    """`git apply` takes what a pipe or `-o` gets; a GitHub job prints no command of the source."""
    source = (HERE / "fixtures" / "go" / "FR002" / "bad.go").read_text()
    source = source.replace("\tbase := client", "\t/*\n::error::x caf\udce9 \x1b[2J\n*/\n\tbase := client")
    (tmp_path / "a.go").write_bytes(source.encode("utf-8", "surrogateescape"))
    plain = {key: value for key, value in os.environ.items() if key != "GITHUB_ACTIONS"}

    def diff(*more: str, **environment: str) -> str:
        command = [sys.executable, "-m", "fiferail", "audit", "a.go", "--no-cache", "--diff", *more]
        ran = subprocess.run(command, cwd=tmp_path, env=plain | environment, capture_output=True, check=False)
        return ran.stdout.decode("utf-8", "surrogateescape")

    exact = diff()
    assert "\n ::error::x caf\udce9 \x1b[2J\n" in exact
    assert diff("-o", "fix.patch") == ""
    assert (tmp_path / "fix.patch").read_bytes() == exact.encode("utf-8", "surrogateescape")
    assert subprocess.run(["git", "apply", "--check", "fix.patch"], cwd=tmp_path, check=False).returncode == 0
    assert diff(GITHUB_ACTIONS="true") == lines(exact)
    check_safe(diff(GITHUB_ACTIONS="true").replace("\t", ""))


def test_a_diff_names_odd_files_as_git_does() -> None:
    """Quoted where a name would end the line; a last line without its end is marked."""
    change = Change('a\n"b.go', b"one\x0ctwo\r\nthree", b"one\x0ctwo\r\nfour", 1)
    assert change.diff() == (
        '--- "a/a\\n\\"b.go"\n+++ "b/a\\n\\"b.go"\n@@ -1,2 +1,2 @@\n one\x0ctwo\r\n-three\n\\ No newline at end of file\n'
        "+four\n\\ No newline at end of file\n"
    )


def test_plain_text_stays_as_it_is() -> None:
    """What needs no escape gets none."""
    for text in ("controllers/gadget.go:49: FR003", "naïve — 日本語", "a:b", "GadgetReconciler.Reconcile", "50% of #3 [2]"):
        assert printable(text) == text


def test_a_whole_audit_of_hostile_names_prints(tmp_path: Path) -> None:
    """Files with every hostile name that a file can have are audited, and each format prints them."""
    for number, name in enumerate(HOSTILE):
        if name and "/" not in name and "\udce9" not in name:
            (tmp_path / f"{name}{number}.py").write_text(BAD)
    report = audit([str(tmp_path)], NO_CACHE)
    assert len(report.findings) > 15
    for form in FORMATS:
        assert render(report, form)
