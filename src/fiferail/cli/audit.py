"""`fiferail audit` and `fiferail rules`: parsing and exit codes. 0 nothing found, 1 findings, 2 nothing could be read, a file could not be
written, or the arguments cannot be used.

Called by the command line's front door, which hands it the application. It decides nothing about findings: `fiferail.audit` does.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fiferail.audit.config import Config
    from fiferail.audit.model import Report, Skipped

_FORMATS = "text, markdown, json, sarif, github or html"


def register(app: typer.Typer) -> None:
    """Adds the two commands."""
    app.command("audit")(audit)
    app.command("rules")(show_rules)


def audit(
    paths: Annotated[list[str], typer.Argument(help="Files or directories to audit.")] = ["."],  # noqa: B006 - typer reads the default
    form: Annotated[str, typer.Option("--format", help=f"How to print: {_FORMATS}.")] = "text",
    policy: Annotated[
        str | None,
        typer.Option(help="locked: every status patch carries a resourceVersion. disjoint: plain merge patches of own fields are fine."),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed safely.")] = False,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="With --fix: fix more, where behaviour may change.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what --fix would change, and change nothing.")] = False,
    explain: Annotated[int | None, typer.Option(metavar="N", help="Print a pytest that plays finding N.")] = None,
    select: Annotated[list[str] | None, typer.Option(help="Only these rules (codes, comma separated).")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Not these rules.")] = None,
    baseline: Annotated[str | None, typer.Option(help="Findings in this file do not fail the run.")] = None,
    write_baseline: Annotated[str | None, typer.Option(help="Write all findings to this file.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="YAML file or directory with Roles and ClusterRoles.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Regular expression of paths to leave out.")] = None,
    tests: Annotated[bool, typer.Option("--tests", help="Audit test files too.")] = False,
    generated: Annotated[bool, typer.Option("--generated", help="Audit generated files too.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the index cache.")] = False,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Write the report to this file.")] = None,
    config_file: Annotated[str | None, typer.Option("--config", help="A .fiferail.toml or pyproject.toml.")] = None,
) -> None:
    """List every write to the Kubernetes API in an operator's source, with a verdict, a reason and a fix."""
    from fiferail.errors import FiferailError, missing_extra

    arguments: dict[str, Any] = {
        "policy": policy,
        "select": _codes(select),
        "ignore": _codes(ignore),
        "baseline": baseline,
        "roles": tuple(role or ()) or None,
        "exclude": tuple(exclude or ()) or None,
        "tests": tests or None,
        "generated": generated or None,
        "cache": False if no_cache else None,
    }
    try:
        config = _config(paths, config_file, arguments)
        code = _audit(
            paths, form, config, fix=fix or diff, unsafe=unsafe, diff=diff, explain=explain, write_baseline=write_baseline, output=output
        )
    except FiferailError as problem:
        _say(f"fiferail audit: {problem}")
        code = 2
    except ModuleNotFoundError as problem:
        typer.echo("fiferail audit: " + missing_extra("audit", problem.name), err=True)
        code = 2
    raise typer.Exit(code)


def _codes(values: list[str] | None) -> tuple[str, ...] | None:
    found = tuple(code.strip().upper() for value in values or () for code in value.split(",") if code.strip())
    return found or None


def _config(paths: list[str], config_file: str | None, arguments: dict[str, Any]) -> Config:
    from fiferail.audit.config import ConfigError, checked, find, load
    from fiferail.audit.patterns import matcher
    from fiferail.audit.rules import rules

    passed_over: list[Skipped] = []
    config = load(config_file or find(paths[0], passed_over))
    for one in passed_over:
        _say(f"skipped {one.file}: {one.why}")
    config = checked(replace(config, **{key: value for key, value in arguments.items() if value is not None}))
    for code in (*config.select, *config.ignore):
        if not any(known.startswith(code) for known in rules()):
            raise ConfigError(f"expected a rule code between FR001 and FR017, got `{code}`")
    if config.exclude:
        matcher(config.exclude)
    return config


def _audit(
    paths: list[str],
    form: str,
    config: Config,
    *,
    fix: bool,
    unsafe: bool,
    diff: bool,
    explain: int | None,
    write_baseline: str | None,
    output: str | None,
) -> int:
    from fiferail.audit import baseline as baselines
    from fiferail.audit.config import ConfigError
    from fiferail.audit.render import FORMATS
    from fiferail.audit.run import nothing_read, run

    if form not in FORMATS:
        raise ConfigError(f"expected --format to be {_FORMATS}, got `{form}`")
    report = run(paths, config)
    if nothing_read(report):
        for one in report.facts.skipped:
            _say(f"skipped {one.file}: {one.why}")
        raise ConfigError(f"no Go or Python file could be read in {', '.join(paths)}")
    if config.baseline:
        baselines.apply(report, config.baseline)
    if explain is not None:
        from fiferail.audit.explain import explain as explained

        typer.echo(explained(report, explain))
        return 0
    if write_baseline:
        _say(f"wrote {baselines.write(report, write_baseline)} findings to {write_baseline}")
        return 0
    unwritten = 0
    if fix:
        report, unwritten = _fix(paths, config, report, unsafe=unsafe, diff=diff, output=output)
    if not diff:
        _print(report, form, output)
    if unwritten:
        return 2
    return 1 if _failing(report) else 0


def _fix(paths: list[str], config: Config, report: Report, *, unsafe: bool, diff: bool, output: str | None) -> tuple[Report, int]:
    """Fix or show what would be fixed; the report after that, and how many files could not be written."""
    from fiferail.audit.fixes import mend
    from fiferail.audit.run import run

    changes = mend(report, unsafe=unsafe, write=not diff)
    failed = [change for change in changes if change.problem]
    if diff:
        _show_diff("".join(change.diff() for change in changes), output)
    else:
        for change in changes:
            if not change.problem:
                _say(f"mended {change.file}: {change.count} {'change' if change.count == 1 else 'changes'}")
        if len(changes) > len(failed):
            report = run(paths, config)
    for change in failed:
        _say(f"fiferail audit: not fixed: {change.file} {change.problem}")
    return report, len(failed)


def _show_diff(diff: str, output: str | None) -> None:
    """Print a patch: escaped for a terminal and the log of a GitHub job, which obey what they print; exact for a file or a pipe."""
    import os

    from fiferail.audit.quoting import lines

    exact = diff.encode("utf-8", "surrogateescape")
    if output:
        _write(output, exact)
    elif sys.stdout.isatty() or os.environ.get("GITHUB_ACTIONS"):
        typer.echo(lines(diff), nl=False)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(exact)
        sys.stdout.buffer.flush()


def _say(text: str) -> None:
    """One line on the standard error stream, whatever the names in it contain."""
    from fiferail.audit.quoting import printable

    typer.echo(printable(text), err=True)


def _write(output: str, data: bytes) -> None:
    from fiferail.audit import files
    from fiferail.audit.config import ConfigError

    try:
        files.write(output, data)
    except files.Unwritable as problem:
        raise ConfigError(f"{output} {problem}") from problem


def _failing(report: Report) -> bool:
    return any(not finding.baselined and finding.severity != "note" for finding in report.findings)


def _print(report: Report, form: str, output: str | None) -> None:
    from fiferail.audit.render import render, text, workspace

    if form in ("github", "sarif"):
        workspace.from_here(report)
    if output:
        _write(output, render(report, form).encode("utf-8", "backslashreplace"))
        return
    if form == "text" and sys.stdout.isatty():
        import shutil

        typer.echo(text.render(report, colour=True, width=shutil.get_terminal_size().columns), nl=False)
        return
    typer.echo(render(report, form), nl=False)


def show_rules(code: Annotated[str | None, typer.Argument(help="A rule's code or slug, such as FR003.")] = None) -> None:
    """Explain a rule, or list them all."""
    from fiferail.audit.rules import page_of, rules, slug_of

    if code is None:
        for known in rules():
            typer.echo(f"{known}  {slug_of(known)}")
        raise typer.Exit(0)
    wanted = next((known for known in rules() if code.upper() == known or code.lower().replace("_", "-") == slug_of(known)), None)
    if wanted is None:
        _say(f"fiferail rules: expected a code between FR001 and FR017 or a rule's slug, got `{code}`")
        raise typer.Exit(2)
    typer.echo(page_of(wanted))
